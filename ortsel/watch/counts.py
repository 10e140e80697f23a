"""What looking at served calls found so far."""

from attrs import asdict, frozen


@frozen
class ServedChecks:
    """Counts of one session since it was built."""

    equal: int = 0
    """Served results that were compared with the reference's, and the same."""
    different: int = 0
    """Served results that were not. Each took its plan back and banned it."""
    inconclusive: int = 0
    """Served results that could not be compared, or prove nothing."""
    skipped: int = 0
    """Calls whose copy found no room (`snapshot_bytes`), or which nobody could compare in time."""
    replays: int = 0
    """Rounds of paired timing of a served plan with the reference."""
    pairs: int = 0
    """Pairs in those rounds that counted."""
    demoted: int = 0
    """Plans that those pairs showed to be slower than the reference, for the first time."""
    banned: int = 0
    """The same, once more within the policy's time."""

    def as_dict(self) -> dict[str, int]:
        """Return the counts by their names."""
        return dict(asdict(self))
