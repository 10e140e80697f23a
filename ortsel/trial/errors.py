"""How a trial tells that it did not work."""

from attrs import frozen

from ortsel.errors import OrtselError
from spec.failure import Failure


@frozen
class TrialsUnavailableError(OrtselError):
    """No child process of this interpreter can be started here, so nothing can be tried."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"trials are not possible: got {self.got}, need {self.need}"


@frozen
class TrialFailedError(OrtselError):
    """A plan failed its trial. The rig is unharmed: other plans can be tried."""

    plan: str
    failure: Failure

    def __str__(self) -> str:
        failure = self.failure
        return f"plan {self.plan}: {failure.kind.value} ({failure.code}): {failure.detail}"
