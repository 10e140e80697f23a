"""Building a variant of a model file into another file, and checking the result."""

import os
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ortsel.errors import MissingPackageError, UsageError
from ortsel.graph_variants.attention_24 import ATTENTION_24
from ortsel.graph_variants.errors import UnknownVariantError, VariantRefusedError
from ortsel.graph_variants.interface import interface_difference, interface_obstacle
from ortsel.graph_variants.loading import UnreadableModelError, load_model
from ortsel.graph_variants.onnx_attention import ONNX_ATTENTION_VARIANT
from ortsel.graph_variants.ort_fusions import ORT_FUSIONS
from ortsel.graph_variants.prescaled_query import PRESCALED_QUERY
from ortsel.graph_variants.variant import GraphVariant, NotApplicableError, take_census

if TYPE_CHECKING:
    import onnx_ir as ir

VARIANTS: Final[tuple[GraphVariant, ...]] = (
    ORT_FUSIONS,
    PRESCALED_QUERY,
    ONNX_ATTENTION_VARIANT,
    ATTENTION_24,
)

MAX_EMBEDDED_BYTES: Final = 1_500_000_000
"""Weights beyond this go into a second file: one ONNX file can't exceed 2 GiB."""

DATA_SUFFIX: Final = ".data"


def variant_names() -> tuple[str, ...]:
    """Return the names that `build_variant` knows."""
    return tuple(variant.name for variant in VARIANTS)


def build_variant(
    name: str,
    model: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    max_embedded_bytes: int = MAX_EMBEDDED_BYTES,
) -> None:
    """Write the variant `name` of the model file `model` to `target`; `model` stays as it is.

    The result stands alone: weights are inside, or beside it in `target` + ".data" when there are
    more than `max_embedded_bytes` of them. It has the inputs, outputs and versions of the original,
    and is a valid model. On any error `target` is not written.

    Raises `UnknownVariantError`, `MissingPackageError` (extra `variants`), `VariantRefusedError`
    with the reason where the variant does not apply or broke a condition, and `UsageError` where
    `target` would overwrite `model`.
    """
    variant = next((variant for variant in VARIANTS if variant.name == name), None)
    if variant is None:
        raise UnknownVariantError(name, variant_names())
    for package in ("onnx_ir", *variant.packages):
        if find_spec(package) is None:
            part = f"graph variant {name}"
            raise MissingPackageError(part, package.replace("_", "-"), "variants")
    source, destination = Path(model).resolve(), Path(target).resolve()
    if source == destination:
        raise UsageError("target", str(target), "another file than the model")
    rewritten = _rewritten(variant, source)
    _write(variant, rewritten, source, destination, max_embedded_bytes)


def _rewritten(variant: GraphVariant, source: Path) -> "ir.Model":
    try:
        original, copy = load_model(source), load_model(source)
    except UnreadableModelError as error:
        raise VariantRefusedError(variant.name, error.reason) from error
    if obstacle := interface_obstacle(original):
        raise VariantRefusedError(variant.name, obstacle)
    try:
        rewritten = variant.rewrite(copy)
    except NotApplicableError as error:
        raise VariantRefusedError(variant.name, str(error)) from error
    failed = variant.ensures(take_census(original), take_census(rewritten))
    if failure := failed or interface_difference(original, rewritten):
        raise VariantRefusedError(variant.name, failure)
    return rewritten


def _write(
    variant: GraphVariant, rewritten: "ir.Model", source: Path, target: Path, max_embedded: int
) -> None:
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
            raise VariantRefusedError(variant.name, f"the result is no valid model: {failure}")
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
