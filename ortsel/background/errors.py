"""Why background work ends early. None of these reaches a caller of a session."""

from attrs import frozen

from ortsel.errors import OrtselError


@frozen
class WorkStoppedError(OrtselError):
    """The process ends, or whatever the work was for is gone. Clean up and return."""

    reason: str

    def __str__(self) -> str:
        return f"background work stopped: {self.reason}"


@frozen
class DisturbedError(OrtselError):
    """Requests keep coming. Give up for now, and come back later."""

    reason: str

    def __str__(self) -> str:
        return f"background work disturbed: {self.reason}"
