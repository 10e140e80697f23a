"""What the engine says to a shell that breaks the conversation."""

from attrs import frozen

from spec.errors import SpecError


@frozen
class ProtocolError(SpecError):
    """An event that answers no outstanding effect. The state is unchanged: it is a value.

    A shell that sees this has a fault of its own, such as reporting one measurement twice. It must
    not be answered by dropping the event: the outcome that is missing would leave a request open.
    """

    got: str
    """Type of the event, with its request."""
    need: str
    """What was outstanding."""

    def __str__(self) -> str:
        return f"got {self.got}, need {self.need}"
