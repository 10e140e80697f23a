"""What a request must be (S1)."""

from collections.abc import Mapping, Sequence
from typing import Final

from spec.candidate import Candidate, CandidateSet
from spec.canonical_json import Json, canonical
from spec.engine.event import Requested
from spec.errors import InvalidValue
from spec.failure import Failure, FailureKind
from spec.keys import MAX_KEY_BYTES, CacheKey, cache_key
from spec.policy import Policy

MAX_CANDIDATES: Final = 4096
MAX_NAME_BYTES: Final = 4096
"""Of UTF-8."""
_LONGEST_CHARACTER_BYTES: Final = 4


def admitted(policy: Policy, event: Requested) -> CacheKey | Failure:
    """Return the key of a request, or the first rule that it breaks, in the order of this file."""
    broken = (
        _broken_candidates(event.candidates, event.reference)
        or _broken_problem(event)
        or _broken_names(event.candidates)
        or _broken_reference(policy, event.candidates[event.reference])
    )
    if broken is not None:
        return broken
    try:
        key = cache_key(event.problem, event.candidates, event.reference, policy)
    except InvalidValue as error:
        return _invalid("not-canonical", error.field, error.got, error.need)
    if len(key.text) * _LONGEST_CHARACTER_BYTES > MAX_KEY_BYTES:
        size = len(key.text.encode())
        if size > MAX_KEY_BYTES:
            return _invalid("key-too-long", "key", f"{size} bytes", f"at most {MAX_KEY_BYTES}")
    return key


def _invalid(code: str, what: str, got: str, need: str) -> Failure:
    return Failure(FailureKind.INVALID, code, f"{what}: got {got}, need {need} (S1)")


def _broken_candidates(candidates: Sequence[Candidate], reference: int) -> Failure | None:
    count = len(candidates)
    if count == 0:
        return _invalid("no-candidates", "candidates", "0", f"1 to {MAX_CANDIDATES}")
    if count > MAX_CANDIDATES:
        return _invalid("too-many-candidates", "candidates", str(count), f"1 to {MAX_CANDIDATES}")
    if type(reference) is not int or not 0 <= reference < count:
        need = f"an index from 0 to {count - 1}"
        return _invalid("reference-index", "reference", repr(reference), need)
    return None


def _broken_problem(event: Requested) -> Failure | None:
    problem = event.problem
    parts: tuple[tuple[str, Json], ...] = (
        ("operation", problem.operation),
        ("environment", problem.environment),
        ("workload", problem.workload),
    )
    for name, part in parts:
        if _is_empty(part):
            return _invalid(f"empty-{name}", name, canonical(part), "a value that is not empty")
    return None


def _is_empty(part: Json) -> bool:
    if isinstance(part, (bytes, bytearray)):
        return False  # Bytes are a sequence, but no JSON: refused as not canonical.
    return part is None or (isinstance(part, (str, Mapping, Sequence)) and len(part) == 0)


def _broken_names(candidates: CandidateSet) -> Failure | None:
    names = candidates.names
    if (
        min(map(len, names)) > 0
        and max(map(len, names)) * _LONGEST_CHARACTER_BYTES <= MAX_NAME_BYTES
        and len(set(names)) == len(names)
    ):
        return None
    for position, name in enumerate(names):
        if not name:
            need = "at least 1 character"
            return _invalid("empty-name", f"name of candidate {position}", '""', need)
        if len(name) * _LONGEST_CHARACTER_BYTES > MAX_NAME_BYTES:
            size = len(name.encode("utf-8", "surrogatepass"))
            if size > MAX_NAME_BYTES:
                need = f"at most {MAX_NAME_BYTES} bytes"
                return _invalid(
                    "name-too-long", f"name of candidate {position}", f"{size} bytes", need
                )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return _invalid("duplicate-name", "candidates", f'"{name}" twice', "unique names")
        seen.add(name)
    return None


def _broken_reference(policy: Policy, reference: Candidate) -> Failure | None:
    if reference.fits(policy.max_workspace_bytes):
        return None
    if reference.ineligible:
        need = "an eligible reference"
        return _invalid("reference-unfit", reference.name, reference.ineligible, need)
    size = "unknown" if reference.workspace_bytes is None else f"{reference.workspace_bytes} bytes"
    need = f"a workspace of at most {policy.max_workspace_bytes} bytes"
    return _invalid("reference-unfit", reference.name, size, need)
