"""What was seen of a model without running it, kept beside its hash.

Seeing it takes the package onnx and a parsed model. A second process of a service has neither: it
recalls what the first one saw.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from attrs import asdict, frozen

from ortsel.candidates.model_traits import ModelTraits, read_model_traits
from ortsel.errors import OrtselError
from ortsel.loaded_model import LoadedModel
from ortsel.random_operators import random_operators
from spec.canonical_json import Json

FINDINGS_SCHEMA: Final = 1
"""Goes up when something else is found of the same model."""


@frozen
class ModelFindings:
    """What is known of a model from looking at it."""

    traits: ModelTraits
    random_operators: tuple[str, ...]
    """Operators that draw random numbers, in any branch."""


def findings_of(model: LoadedModel) -> ModelFindings:
    """Return what is known of a model; recalled, where a process of this version saw it before.

    Raises `OSError` where its file cannot be read, and `ModelChangedError`.
    """
    try:
        content, own = model.content().digest, version("ortsel")
    except (OrtselError, PackageNotFoundError):
        return _seen(model)
    name: Json = {"content": content, "schema": FINDINGS_SCHEMA, "version": own}
    found = _decode(model.memory.recall_findings(name))
    if found is None:
        found = _seen(model)
        model.memory.remember_findings(name, _encode(found))
    return found


def _seen(model: LoadedModel) -> ModelFindings:
    model.check_unchanged()
    return ModelFindings(read_model_traits(model.source), random_operators(model.source))


def _encode(findings: ModelFindings) -> Json:
    traits: dict[str, Any] = asdict(findings.traits, recurse=False)
    if traits["operator_types"] is not None:
        traits["operator_types"] = sorted(traits["operator_types"])
    if traits["inputs"] is not None:
        traits["inputs"] = [[name, list(shape)] for name, shape in traits["inputs"]]
    return {"random": list(findings.random_operators), "traits": traits}


def _decode(found: Any) -> ModelFindings | None:
    """Return what was encoded; None for anything that `_encode` does not write."""
    try:
        traits = dict(found["traits"])
        types, inputs = traits["operator_types"], traits["inputs"]
        if types is not None:
            traits["operator_types"] = frozenset(types)
        if inputs is not None:
            traits["inputs"] = tuple((name, tuple(shape)) for name, shape in inputs)
        decoded = ModelFindings(ModelTraits(**traits), tuple(found["random"]))
        return decoded if _encode(decoded) == found else None
    except (TypeError, ValueError, KeyError):
        return None
