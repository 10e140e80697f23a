"""The messages, one class each, in two closed unions: one per direction.

Their JSON follows from their fields (`conformance.codec`): an object whose member "type" is the
class's name in lower case, and one member per field.
"""

from enum import Enum
from typing import Final, TypeAlias

from attrs import frozen

from spec.canonical_json import Json
from spec.decision import Decision
from spec.engine.effect import Effect, LoadRecord, Measure, RemoveRecord, SaveRecord, Validate
from spec.engine.event import (
    Abandoned,
    Compared,
    Event,
    Invalidated,
    Measured,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    Requested,
    StoreFailed,
    TrialFailed,
    Unverifiable,
    Validated,
)
from spec.failure import Failure
from spec.moment import Moment
from spec.policy import Policy

PROTOCOL: Final = 1
"""Version of the conversation. Another number is another protocol: there is no negotiation."""


class Level(Enum):
    """What an implementation says it does. Each level is an area of vectors."""

    KEYS = "keys"
    RECORDS = "records"
    EVIDENCE = "evidence"
    REGRESSION = "regression"
    SELECTION = "selection"
    CACHE = "cache"
    CAPABILITY = "capability"
    RANKING = "ranking"


class Capability(Enum):
    """How an implementation can be spoken to. Only what is declared here excuses from a vector."""

    STEPPING = "stepping"
    """Takes an event and returns effects."""
    CALLING = "calling"
    """Takes a selection and asks for what it needs, one question at a time, until it decides."""
    CONCURRENCY = "concurrency"
    """Several requests under way at a time, and events that belong to none. Stepping only."""
    ABANDONING = "abandoning"
    """A request under way may be given up."""
    LOOKING = "looking"
    """Can tell its statistics, reports and fingerprint."""


class Style(Enum):
    """How the events of one script are told."""

    STEPPING = "stepping"
    CALLING = "calling"


# From the suite


@frozen
class Hello:
    """The first line. Answered by `Welcome`."""

    seq: int
    protocol: int


@frozen
class Begin:
    """Forget everything: a new selector with this policy. Answered by `Ready`."""

    seq: int
    style: Style
    policy: Policy


@frozen
class Happened:
    """Stepping: one event. Answered by `Effects` or `Refused`."""

    seq: int
    event: Event


@frozen
class Select:
    """Calling: somebody wants a decision. Answered by `Asked`, `Decided` or `Refused`."""

    seq: int
    request: Requested


Told: TypeAlias = Invalidated | Compared


@frozen
class Tell:
    """Calling: something became known about a decision. Answered by `Asked`, `Noted`, `Refused`."""

    seq: int
    event: Told


@frozen
class Done:
    """A save or a removal worked."""


Reported: TypeAlias = (
    RecordLoaded
    | RecordAbsent
    | RecordUnreadable
    | Measured
    | Validated
    | Unverifiable
    | TrialFailed
    | Abandoned
    | StoreFailed
    | Done
)


@frozen
class Outcome:
    """Calling: what came of the question just asked. Answered as what it was asked for."""

    seq: int
    outcome: Reported


class Sight(Enum):
    """What can be looked at."""

    FINGERPRINT = "fingerprint"
    """Of the lower-level decisions at a moment (S12)."""
    STATISTICS = "statistics"
    REPORTS = "reports"
    """Of the searches that are over, oldest first."""


@frozen
class Look:
    """Tell what the selector holds. Answered by `Returned`."""

    seq: int
    sight: Sight
    now: Moment | None
    """For the fingerprint; null otherwise."""


@frozen
class Call:
    """One function of the reference model. Answered by `Returned` or `Refused`."""

    seq: int
    function: str
    input: Json


@frozen
class Bye:
    """The last line. Answered by `Goodbye`; then the implementation ends with status 0."""

    seq: int


FromSuite: TypeAlias = Hello | Begin | Happened | Select | Tell | Outcome | Look | Call | Bye


# From the implementation


@frozen
class Welcome:
    """Who speaks, and what may be asked of it."""

    seq: int
    protocol: int
    name: str
    version: str
    language: str
    levels: tuple[Level, ...]
    capabilities: tuple[Capability, ...] = ()


@frozen
class Ready:
    """The new selector is there."""

    seq: int


@frozen
class Effects:
    """What the event led to, in order; empty where it led to nothing."""

    seq: int
    effects: tuple[Effect, ...]


Question: TypeAlias = LoadRecord | SaveRecord | RemoveRecord | Measure | Validate


@frozen
class Asked:
    """The implementation calls back: the next line is the `Outcome`."""

    seq: int
    question: Question


@frozen
class Decided:
    """The end of a selection."""

    seq: int
    result: Decision | Failure


@frozen
class Noted:
    """The end of a `Tell`."""

    seq: int


@frozen
class Returned:
    """What the function returned, or what was seen."""

    seq: int
    value: Json


class Refusal(Enum):
    """Why nothing was done."""

    INVALID_VALUE = "invalid-value"
    """A value breaks a rule of its type."""
    OUT_OF_TURN = "out-of-turn"
    """An event that answers no outstanding effect."""


@frozen
class Refused:
    """The message was understood and must not be obeyed; nothing has changed."""

    seq: int
    refusal: Refusal
    reason: str = ""
    """For people."""


@frozen
class Goodbye:
    """Nothing follows."""

    seq: int


FromImplementation: TypeAlias = (
    Welcome | Ready | Effects | Asked | Decided | Noted | Returned | Refused | Goodbye
)
Answerable: TypeAlias = Happened | Select | Tell | Outcome | Look | Call
"""What a vector consists of; the rest of the conversation is its frame."""
