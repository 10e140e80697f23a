"""The ways to solve a problem."""

from collections.abc import Iterable
from functools import cached_property

from attrs import frozen

from spec.canonical_json import text_array


@frozen
class Candidate:
    """A named alternative. The name is its identity across processes, never its position."""

    name: str
    """Stable, non-empty, at most 4096 bytes of UTF-8, unique among the candidates (S1)."""
    workspace_bytes: int | None = 0
    """Extra memory that it needs; None means that nobody knows, which no limit admits."""
    ineligible: str = ""
    """Why it must not be tried, such as a failed hardware rule; empty when it may be."""

    def fits(self, max_workspace_bytes: int | None) -> bool:
        """Whether it may be tried under a workspace limit; None is no limit."""
        if self.ineligible:
            return False
        if max_workspace_bytes is None:
            return True
        return self.workspace_bytes is not None and self.workspace_bytes <= max_workspace_bytes


class CandidateSet(tuple[Candidate, ...]):
    """The candidates of a request, in ranked order: a tuple that remembers what a key needs of it.

    Whoever asks often keeps one and sends it again, so that names are sorted and written once.
    """

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> "CandidateSet":
        """Return the candidates as a set; the same one, if they are one already."""
        return candidates if isinstance(candidates, cls) else cls(candidates)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names, in ranked order."""
        return tuple([candidate.name for candidate in self])

    @cached_property
    def names_text(self) -> str:
        """Canonical JSON of the names, sorted by code point. Raises `InvalidValue` as that does."""
        return text_array(sorted(self.names))
