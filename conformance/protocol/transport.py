"""How lines travel: to a process, or to a harness in this one."""

from typing import Final, Protocol

from attrs import field, frozen
from attrs.validators import gt

DEFAULT_ANSWER_S: Final = 10.0
DEFAULT_LINE_BYTES: Final = 4 * 2**20


@frozen
class Limits:
    """What an implementation may take."""

    answer_s: float = field(default=DEFAULT_ANSWER_S, validator=gt(0))
    """Wall-clock seconds for one answer, start of the program included."""
    line_bytes: int = field(default=DEFAULT_LINE_BYTES, validator=gt(0))
    """Longest line of an answer. The longest honest one repeats a name of 4096 bytes."""


class Transport(Protocol):
    """One implementation at the other end. Every method raises `ConversationError`."""

    def send(self, line: str) -> None:
        """Write one line."""

    def receive(self) -> str | None:
        """Return the next line without its end, or None where none will come any more."""

    def pending(self) -> bool:
        """Say whether something unasked has been written already. Does not wait."""

    def close_input(self) -> None:
        """Let the implementation read its end of input."""

    def finish(self) -> int | None:
        """Wait for the end and return the exit status; None where there is none."""

    def stop(self) -> None:
        """End it, whatever it is doing. Never raises."""

    def stderr_tail(self) -> str:
        """Return the last of what it wrote to standard error."""
