"""The reference model of plan selection: pure values, and one pure step machine over them."""

from spec.cache_key import CacheKey, cache_key
from spec.candidate import Candidate, CandidateSet
from spec.decision import Decision, Source
from spec.engine import (
    Abandoned,
    Answer,
    Compared,
    Effect,
    Event,
    Invalidated,
    LoadRecord,
    Measure,
    Measured,
    ProtocolError,
    Purpose,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    RemoveRecord,
    Requested,
    SaveRecord,
    State,
    Statistics,
    StoreFailed,
    Transition,
    TrialFailed,
    Unverifiable,
    Validate,
    Validated,
    initial_state,
    lower_level_fingerprint,
    replay,
    step,
)
from spec.errors import InvalidValue, SpecError
from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.median_mad import MedianMad
from spec.failure import Failure, FailureKind
from spec.moment import Moment
from spec.policy import Mode, Policy
from spec.problem import Problem, Scope
from spec.record import Origin, Record
from spec.regression import (
    AnytimeValidRegression,
    IncidentPolicy,
    WindowMedian,
)
from spec.report import CandidateReport, Outcome, TrialReport

__all__ = [
    "Abandoned",
    "Answer",
    "AnytimeValid",
    "AnytimeValidRegression",
    "CacheKey",
    "Candidate",
    "CandidateReport",
    "CandidateSet",
    "Compared",
    "Decision",
    "Effect",
    "Event",
    "Failure",
    "FailureKind",
    "IncidentPolicy",
    "InvalidValue",
    "Invalidated",
    "LoadRecord",
    "Measure",
    "Measured",
    "MedianMad",
    "Mode",
    "Moment",
    "Origin",
    "Outcome",
    "Policy",
    "Problem",
    "ProtocolError",
    "Purpose",
    "Record",
    "RecordAbsent",
    "RecordLoaded",
    "RecordUnreadable",
    "RemoveRecord",
    "Requested",
    "SaveRecord",
    "Scope",
    "Source",
    "SpecError",
    "State",
    "Statistics",
    "StoreFailed",
    "Transition",
    "TrialFailed",
    "TrialReport",
    "Unverifiable",
    "Validate",
    "Validated",
    "WindowMedian",
    "cache_key",
    "initial_state",
    "lower_level_fingerprint",
    "replay",
    "step",
]
