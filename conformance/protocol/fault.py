"""How a conversation breaks: at which stage, against which rule of the protocol."""

from enum import Enum

from attrs import frozen


class Stage(Enum):
    """Where in the conversation it broke."""

    START = "start"
    """The command could not be started."""
    HANDSHAKE = "handshake"
    """The first lines did not agree on anything."""
    PROTOCOL = "protocol"
    """A line is not a message, or not one at this point."""
    ANSWER = "answer"
    """A message is not the answer to its question: number, count."""
    TIME_LIMIT = "time limit"
    CRASH = "crash"


class Fault(Enum):
    """The rules of the protocol, as `conformance/README.md` states them."""

    STARTS = "P1"
    """The command starts and stays alive until it was told goodbye."""
    HANDSHAKE = "P2"
    """The first line is the welcome; nothing is written before it was asked for."""
    MESSAGE = "P3"
    """Every line is one JSON object of the direction's schema; no floats, no NaN."""
    NUMBER = "P4"
    """An answer repeats the number of its question."""
    COUNT = "P5"
    """Every question gets exactly one line."""
    TIME = "P6"
    """An answer comes within the time limit."""
    SIZE = "P7"
    """A line keeps the size limit."""
    KIND = "P8"
    """The answer is of a kind that the question allows."""


@frozen
class ConversationError(Exception):
    """The conversation cannot go on. It says nothing about the rules of selection."""

    stage: Stage
    fault: Fault
    got: str
    need: str
    stderr: str = ""
    """The last of what the implementation wrote there."""

    def __str__(self) -> str:
        text = f"{self.stage.value} ({self.fault.value}): got {self.got}, need {self.need}"
        return f"{text}\nstandard error ends with:\n{self.stderr}" if self.stderr else text
