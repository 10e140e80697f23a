"""What a search for disagreements brings home."""

from attrs import field, frozen

from conformance.fuzzing.play import Play
from conformance.protocol.fault import ConversationError
from conformance.runner.check import Disagreement


@frozen
class HypothesisMissingError(Exception):
    """Drawing needs a package that only tests need."""

    package: str = field(default="hypothesis")

    def __str__(self) -> str:
        return f"got no {self.package}, need it for random scripts: pip install 'ortsel[test]'"


@frozen
class Finding:
    """The smallest script on which an implementation and the reference model part."""

    play: Play
    disagreement: Disagreement | None
    broken: ConversationError | None
    """Where the conversation itself broke on it."""

    @property
    def size(self) -> int:
        """Number of steps up to the one in dispute."""
        if self.disagreement is None:
            return len(self.play.steps)
        return self.disagreement.step + 1
