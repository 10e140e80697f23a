"""Building a variant of a model file into another file, and checking the result."""

import os
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ortsel.errors import MissingPackageError, UsageError
from ortsel.graph_variants.attention_24 import ATTENTION_24
from ortsel.graph_variants.dynamic_int8 import DYNAMIC_INT8
from ortsel.graph_variants.errors import UnknownVariantError, VariantRefusedError
from ortsel.graph_variants.flash_decode import FLASH_DECODE
from ortsel.graph_variants.float32_computation import FLOAT32_COMPUTATION
from ortsel.graph_variants.group_query_attention import GROUP_QUERY
from ortsel.graph_variants.interface import interface_difference, interface_obstacle
from ortsel.graph_variants.loading import UnreadableModelError, load_model
from ortsel.graph_variants.math_attention import MATH
from ortsel.graph_variants.memory_efficient import MEMORY_EFFICIENT
from ortsel.graph_variants.multi_head_attention import MULTI_HEAD, MULTI_HEAD_4D
from ortsel.graph_variants.onnx_attention import ONNX_ATTENTION_VARIANT
from ortsel.graph_variants.ort_fusions import ORT_FUSIONS
from ortsel.graph_variants.ort_optimizer import ORT_OPTIMIZER
from ortsel.graph_variants.prescaled_query import PRESCALED_QUERY
from ortsel.graph_variants.rewrite_function import variant_of_function
from ortsel.graph_variants.variant import GraphVariant, NotApplicableError, take_census

if TYPE_CHECKING:
    import onnx_ir as ir

VARIANTS: Final[tuple[GraphVariant, ...]] = (
    ORT_FUSIONS,
    PRESCALED_QUERY,
    ONNX_ATTENTION_VARIANT,
    ATTENTION_24,
    MATH,
    MEMORY_EFFICIENT,
    FLASH_DECODE,
    MULTI_HEAD,
    MULTI_HEAD_4D,
    GROUP_QUERY,
    ORT_OPTIMIZER,
    FLOAT32_COMPUTATION,
    DYNAMIC_INT8,
)

MAX_EMBEDDED_BYTES: Final = 1_500_000_000
"""Weights beyond this go into a second file: one ONNX file can't exceed 2 GiB."""

DATA_SUFFIX: Final = ".data"


JOINT: Final = "+"
"""Between the names of rewrites that are done one after the other."""


def variant_names(*, lossy: bool = False) -> tuple[str, ...]:
    """Return the names of single rewrites that `build_variant` knows: exact ones, or lossy ones."""
    return tuple(variant.name for variant in VARIANTS if variant.lossy is lossy)


def build_variant(
    name: str,
    model: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    max_embedded_bytes: int = MAX_EMBEDDED_BYTES,
) -> None:
    """Write the variant `name` of the model file `model` to `target`; `model` stays as it is.

    A name is that of a rewrite, or of several joined by "+", done in that order.

    The result stands alone: weights are inside, or beside it in `target` + ".data" when there are
    more than `max_embedded_bytes` of them. It has the inputs, outputs and versions of the original,
    and is a valid model. On any error `target` is not written.

    Raises `UnknownVariantError`, `MissingPackageError` (extra `variants`), `VariantRefusedError`
    with the reason where the variant does not apply or broke a condition, and `UsageError` where
    `target` would overwrite `model`.
    """
    steps = _steps(name)
    for package in ("onnx_ir", *(package for step in steps for package in step.packages)):
        if find_spec(package) is None:
            part = f"graph variant {name}"
            raise MissingPackageError(part, package.replace("_", "-"), "variants")
    source, destination = Path(model).resolve(), Path(target).resolve()
    if source == destination:
        raise UsageError("target", str(target), "another file than the model")
    try:
        rewritten = _rewritten(steps, source)
        _write(rewritten, source, destination, max_embedded_bytes)
    except UnreadableModelError as error:
        raise VariantRefusedError(name, error.reason) from error
    except NotApplicableError as error:
        raise VariantRefusedError(name, str(error)) from error


def _steps(name: str) -> tuple[GraphVariant, ...]:
    names = name.split(JOINT)
    functions = filter(None, map(variant_of_function, names))
    by_name = {variant.name: variant for variant in (*VARIANTS, *functions)}
    if not by_name.keys() >= set(names) or len(set(names)) < len(names):
        raise UnknownVariantError(name, tuple(by_name))
    return tuple(by_name[step] for step in names)


def _rewritten(steps: tuple[GraphVariant, ...], source: Path) -> "ir.Model":
    original, rewritten = load_model(source), load_model(source)
    if obstacle := interface_obstacle(original):
        raise NotApplicableError(obstacle)
    for step in steps:
        before = take_census(rewritten)
        rewritten = step.rewrite(rewritten)
        if failure := step.ensures(before, take_census(rewritten)):
            raise NotApplicableError(failure)
    if difference := interface_difference(original, rewritten):
        raise NotApplicableError(difference)
    return rewritten


def _write(rewritten: "ir.Model", source: Path, target: Path, max_embedded: int) -> None:
    import onnx_ir as ir

    data = target.name + DATA_SUFFIX
    with tempfile.TemporaryDirectory(prefix=".ortsel-", dir=target.parent) as folder:
        written = Path(folder) / target.name
        tensors = (
            value.const_value
            for graph in rewritten.graphs()
            for value in graph.initializers.values()
        )
        weight_bytes = sum(tensor.nbytes for tensor in tensors if tensor is not None)
        if weight_bytes > max_embedded:
            ir.save(rewritten, written, external_data=data)
        else:
            ir.save(ir.external_data.load_to_model(rewritten), written)
        if (failure := _invalid(written)) and not _invalid(source):
            reason = f"the result is no valid model: {failure}"
            raise NotApplicableError(reason)
        beside = written.with_name(data)
        if beside.exists():
            beside.replace(target.with_name(data))
        else:
            with suppress(FileNotFoundError):
                target.with_name(data).unlink()
        written.replace(target)


def _invalid(path: Path) -> str:
    """Return what ONNX's checker says against a model file; empty if nothing."""
    import onnx

    try:
        onnx.checker.check_model(path)
    except onnx.checker.ValidationError as error:
        return str(error).strip().splitlines()[0]
    return ""
