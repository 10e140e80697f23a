"""The graph as ONNX Runtime's own optimizer for transformers writes it, offline.

It finds attention, normalisation and embeddings of BERT-like encoders that the optimizer inside a
session leaves alone, among them the projections, which it joins.
"""

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

FUSED: Final = "com.microsoft::"
MOST_WEIGHT_BYTES: Final = 1_500_000_000
"""The optimizer reads one file, which can't exceed 2 GiB."""


def optimise(model: "ir.Model") -> "ir.Model":
    """Return the model with what the optimizer fuses; heads and sizes are its own to find."""
    import onnx_ir as ir
    from onnxruntime.transformers.optimizer import optimize_model

    weights = sum(
        value.const_value.nbytes
        for graph in model.graphs()
        for value in graph.initializers.values()
        if value.const_value is not None
    )
    if weights > MOST_WEIGHT_BYTES:
        reason = f"got {weights} bytes of weights, need at most {MOST_WEIGHT_BYTES}"
        raise NotApplicableError(reason)
    level = logging.getLogger("onnxruntime").level
    with tempfile.TemporaryDirectory(prefix="ortsel-") as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "optimised.onnx"
        ir.save(ir.external_data.load_to_model(model), source)
        logging.getLogger("onnxruntime").setLevel(logging.ERROR)
        try:
            optimised = optimize_model(
                str(source), model_type="bert", num_heads=0, hidden_size=0, opt_level=0
            )
            optimised.save_model_to_file(str(target))
        except Exception as error:  # it meets graphs that its author never saw
            reason = f"ONNX Runtime's optimizer failed: {error!r}"
            raise NotApplicableError(reason) from error
        finally:
            logging.getLogger("onnxruntime").setLevel(level)
        return ir.external_data.load_to_model(ir.load(target))


def ensures_fused(before: Census, after: Census) -> str:
    """Fused operators were added."""
    more = any(count > before[name] for name, count in after.items() if name.startswith(FUSED))
    return "" if more else "nothing was fused"


ORT_OPTIMIZER: Final = GraphVariant(
    "ort-optimizer",
    "attention and normalisation fused by ONNX Runtime's optimizer for transformers",
    ("onnxruntime", "sympy"),
    optimise,
    ensures_fused,
)
