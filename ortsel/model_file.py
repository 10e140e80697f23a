"""A model file of the user's own as the graph variant of a plan.

For those who have rewritten their model by hand or with another tool and want to know whether it is
faster and equal: `evolve(facts.reference, name="mine", variant=model_file_variant("mine.onnx"))`.
"""

import os
from pathlib import Path
from typing import Final

from ortsel.content_memory import ContentMemory, content_memory
from ortsel.model_content import content_hash
from ortsel.plan import Plan
from ortsel.trial.errors import TrialFailedError
from spec.failure import Failure, FailureKind

PREFIX: Final = "file:"
_NOTHING: Final = ContentMemory(None)


def model_file_variant(path: str | os.PathLike[str], *, store: str | None = None) -> str:
    """Return the variant that stands for a model file with the content it has now.

    With `store`, a path or "default" as in `SelectionConfig`, its hash is remembered beside that
    store, so that a large file is read once. Raises `ortsel.OrtselError` when it cannot be read.
    """
    place = Path(path).absolute()
    return f"{PREFIX}{content_hash(place, memory=content_memory(store)).digest}:{place}"


def model_file(plan: Plan) -> Path | None:
    """Return the file of a plan whose variant is one; None for every other plan."""
    if not plan.variant.startswith(PREFIX):
        return None
    return Path(plan.variant.removeprefix(PREFIX).partition(":")[2])


def check_model_file(plan: Plan, path: Path, memory: ContentMemory = _NOTHING) -> None:
    """Raise `TrialFailedError` (unsupported) when a plan's file is not what it was any more."""
    expected = plan.variant.removeprefix(PREFIX).partition(":")[0]
    found = content_hash(path, memory=memory).digest
    if found != expected:
        detail = f"{path}: got content {found}, need {expected}"
        raise TrialFailedError(plan.name, Failure(FailureKind.UNSUPPORTED, "file-changed", detail))
