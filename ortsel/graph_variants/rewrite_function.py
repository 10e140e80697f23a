"""A function of the user's own as a graph variant, named by where it is imported from.

A child process builds variants, so the function must be importable there; and since its outcome is
kept and decisions rest on it, its name carries a hash of the source file that it is written in.
"""

import hashlib
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ortsel.errors import UsageError
from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

PREFIX: Final = "function:"
HASH_DIGITS: Final = 16


def rewrite_variant(function: "str | Callable[[ir.Model], ir.Model]") -> str:
    """Return the variant that a rewrite function makes, for `Plan.variant`.

    The function gets an `onnx_ir.Model` of its own and returns it changed, or another. It is given
    as "package.module:name", or as itself where it is at the top of an importable module. Raises
    `UsageError` otherwise. What it returns is checked, tried and verified like every variant.
    """
    place = function if isinstance(function, str) else _place_of(function)
    module, _, name = place.partition(":")
    if not module or not name.isidentifier() or "+" in module:
        raise UsageError("rewrite function", repr(place), "'package.module:name'")
    return f"{PREFIX}{_source_hash(module)}:{place}"


def variant_of_function(name: str) -> GraphVariant | None:
    """Return the variant of a name that `rewrite_variant` gave; None for every other name."""
    if not name.startswith(PREFIX):
        return None
    return GraphVariant(
        name=name,
        summary=f"the model as {name.split(':', 2)[-1]} writes it",
        packages=(),
        rewrite=lambda model: _rewritten(name, model),
        ensures=_nothing,
    )


def _rewritten(name: str, model: "ir.Model") -> "ir.Model":
    import onnx_ir as ir

    expected, _, place = name.removeprefix(PREFIX).partition(":")
    module, _, function = place.partition(":")
    if (found := _source_hash(module)) != expected:
        reason = f"the source of {module} changed: got {found}, need {expected}"
        raise NotApplicableError(reason)
    try:
        rewrite = getattr(importlib.import_module(module), function)
        result = rewrite(model)
    except NotApplicableError:
        raise
    except Exception as error:  # a foreign function may raise anything
        reason = f"{place} raised {type(error).__name__}: {error}"
        raise NotApplicableError(reason) from error
    if not isinstance(result, ir.Model):
        reason = f"{place} returned {type(result).__name__}, need an onnx_ir.Model"
        raise NotApplicableError(reason)
    return result


def _nothing(_before: Census, _after: Census) -> str:
    """Ask nothing of the operators: only its author knows what it should have done."""
    return ""


def _place_of(function: "Callable[[ir.Model], ir.Model]") -> str:
    module = str(getattr(function, "__module__", ""))
    name = str(getattr(function, "__qualname__", ""))
    if module in {"", "__main__"} or not name.isidentifier():
        need = "a function at the top of a module that a child process can import"
        raise UsageError("rewrite function", f"{module}:{name}", need)
    return f"{module}:{name}"


def _source_hash(module: str) -> str:
    """Return a hash of the file that a module is in; the module itself is not imported."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise UsageError("rewrite function", repr(module), "a module that can be imported")
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()[:HASH_DIGITS]
