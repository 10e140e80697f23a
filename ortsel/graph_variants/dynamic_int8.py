"""Products with weights in 8 bits, activations quantised at each call. Not exact.

Weights are signed, with a scale for each output channel: with one scale for a whole matrix, or
unsigned, sentence embeddings moved further from the original. They use 7 of the bits, so that sums
of neighbouring products can't overflow where a processor adds them in 16 bits: with all 8, the
cosine to the original fell from 0.996 to 0.962 (MiniLM, 3 layers, random tokens). Only for who
asked for it.
"""

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

INTEGER_PRODUCTS: Final = (
    "MatMulInteger",
    "com.microsoft::MatMulIntegerToFloat",
    "com.microsoft::DynamicQuantizeMatMul",
)
FLOAT: Final = 1
"""What is quantised where types are not known: elements of ONNX Runtime's own operators."""
MOST_WEIGHT_BYTES: Final = 1_500_000_000
"""The quantiser reads one file, which can't exceed 2 GiB."""


def quantise(model: "ir.Model") -> "ir.Model":
    """Return the model with its products of activations and weights in integers."""
    import onnx_ir as ir
    from onnxruntime.quantization import QuantType, quantize_dynamic

    weights = sum(
        value.const_value.nbytes
        for graph in model.graphs()
        for value in graph.initializers.values()
        if value.const_value is not None
    )
    if weights > MOST_WEIGHT_BYTES:
        reason = f"got {weights} bytes of weights, need at most {MOST_WEIGHT_BYTES}"
        raise NotApplicableError(reason)
    root, level = logging.getLogger(), logging.getLogger().level
    with tempfile.TemporaryDirectory(prefix="ortsel-") as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "int8.onnx"
        ir.save(ir.external_data.load_to_model(model), source)
        root.setLevel(logging.ERROR)  # it warns that the model could be preprocessed
        try:
            quantize_dynamic(
                source,
                target,
                op_types_to_quantize=["MatMul"],
                per_channel=True,
                reduce_range=True,
                weight_type=QuantType.QInt8,
                extra_options={"MatMulConstBOnly": True, "DefaultTensorType": FLOAT},
            )
        except Exception as error:  # it meets graphs that its author never saw
            reason = f"ONNX Runtime's quantiser failed: {error!r}"
            raise NotApplicableError(reason) from error
        finally:
            root.setLevel(level)
        quantised = ir.load(target)
        return ir.external_data.load_to_model(quantised)


def ensures_integers(before: Census, after: Census) -> str:
    """Products of integers came."""
    came = sum(after[name] - before[name] for name in INTEGER_PRODUCTS)
    return "" if came > 0 else "no product with weights could be quantised"


DYNAMIC_INT8: Final = GraphVariant(
    "dynamic-int8",
    "products with weights in 8 bits; not exact",
    ("onnxruntime",),
    quantise,
    ensures_integers,
    lossy=True,
)
