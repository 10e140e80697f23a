"""One vector: a question with its answer, or a script of events with the effects that follow."""

from typing import Final, TypeAlias

from attrs import frozen

from spec.canonical_json import Json

SCRIPT: Final = "script"
"""Kind of every vector that is a script; all other kinds are questions."""


@frozen
class Question:
    """One call of a pure function."""

    kind: str
    """Which function: a name of `conformance.vectors.questions.KINDS`."""
    input: Json
    expected: Json
    """The answer, or {"refused": true}."""


@frozen
class Happens:
    """An event, and the effects that must follow, in order. Words for people are left out."""

    event: Json
    effects: Json


@frozen
class Refused:
    """An event that must be refused, and leaves the state as it was."""

    event: Json
    refused: str
    """"out-of-turn" if it answers nothing under way, "invalid-value" if it cannot be."""


@frozen
class Looked:
    """A look at what the machine holds."""

    look: str
    """"fingerprint", "statistics" or "reports"."""
    now: Json
    """The moment of a fingerprint; null for the others."""
    expected: Json


Step: TypeAlias = Happens | Refused | Looked


@frozen
class Script:
    """A policy, and what happens to a machine that starts with it and knows nothing."""

    policy: Json
    steps: tuple[Step, ...]
    styles: tuple[str, ...]
    """"stepping", and "calling" where never more than one request is under way."""
    answers: tuple[str, ...]
    """What the author expects of the answers, in order: "tuned fast", "rejected wrong-output"."""


@frozen
class Vector:
    """One vector, with why it exists."""

    id: str
    """area/group/name. It never changes and is never used again for another meaning."""
    comment: str
    holds: tuple[str, ...]
    """Rules whose condition the input meets."""
    breaks: tuple[str, ...]
    """Rules whose condition it doesn't meet; the expected answer is what follows then."""
    flags: tuple[str, ...]
    body: Question | Script

    @property
    def area(self) -> str:
        """The first part of the id."""
        return self.id.split("/", maxsplit=1)[0]

    @property
    def group(self) -> str:
        """The second part of the id."""
        return self.id.split("/")[1]

    @property
    def kind(self) -> str:
        """Which function, or "script"."""
        return self.body.kind if isinstance(self.body, Question) else SCRIPT

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that it tests, from whichever side."""
        return tuple(dict.fromkeys((*self.holds, *self.breaks)))
