"""One way to solve a problem."""

from attrs import frozen


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
