"""Which vectors to run. A wish that matches nothing is an error, never an empty success."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from attrs import frozen

from conformance.vectors.vector import Vector


@frozen
class NothingChosenError(Exception):
    """A level, area or pattern that no vector has."""

    wish: str
    got: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        known = f", need one of {', '.join(self.known)}" if self.known else ""
        return f"{self.wish}: {self.got!r} matches no vector{known}"


def chosen(
    vectors: Sequence[Vector], areas: Sequence[str] = (), patterns: Sequence[str] = ()
) -> tuple[Vector, ...]:
    """Return the vectors of the areas (all without any) whose id matches a pattern (all without).

    Patterns are shell patterns over the whole id. Raises `NothingChosenError` for an area or a
    pattern that matches nothing, also where others match.
    """
    known = tuple(dict.fromkeys(vector.area for vector in vectors))
    for area in areas:
        if area not in known:
            raise NothingChosenError("area", area, known)
    kept = [vector for vector in vectors if not areas or vector.area in areas]
    for pattern in patterns:
        if not any(fnmatchcase(vector.id, pattern) for vector in kept):
            raise NothingChosenError("id", pattern, ())
    kept = [
        vector
        for vector in kept
        if not patterns or any(fnmatchcase(vector.id, pattern) for pattern in patterns)
    ]
    if not kept:
        raise NothingChosenError("vectors", "nothing", ())
    return tuple(kept)
