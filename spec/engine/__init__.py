"""The selection engine: a pure step machine over immutable values."""

from spec.engine.effect import (
    Answer,
    Effect,
    LoadRecord,
    Measure,
    Purpose,
    RemoveRecord,
    SaveRecord,
    Validate,
)
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
from spec.engine.fingerprint import lower_level_fingerprint
from spec.engine.protocol import ProtocolError
from spec.engine.replay import replay
from spec.engine.state import State, Transition, initial_state
from spec.engine.statistics import Statistics
from spec.engine.step import step

__all__ = [
    "Abandoned",
    "Answer",
    "Compared",
    "Effect",
    "Event",
    "Invalidated",
    "LoadRecord",
    "Measure",
    "Measured",
    "ProtocolError",
    "Purpose",
    "RecordAbsent",
    "RecordLoaded",
    "RecordUnreadable",
    "RemoveRecord",
    "Requested",
    "SaveRecord",
    "State",
    "Statistics",
    "StoreFailed",
    "Transition",
    "TrialFailed",
    "Unverifiable",
    "Validate",
    "Validated",
    "initial_state",
    "lower_level_fingerprint",
    "replay",
    "step",
]
