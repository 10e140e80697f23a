"""The reference model of plan selection: pure values, and one pure step machine over them.

Names are loaded when they are first asked for, room by room, so that importing the package costs
next to nothing and whoever needs one room does not build the classes of the others.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
    from spec.keys import CacheKey, cache_key
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

_HOMES: Final = MappingProxyType(
    {
        name: home
        for names, home in (
            ("CacheKey cache_key", "spec.keys"),
            ("Candidate CandidateSet", "spec.candidate"),
            ("Decision Source", "spec.decision"),
            ("Abandoned Compared Event Invalidated Measured RecordAbsent", "spec.engine"),
            ("RecordLoaded RecordUnreadable Requested StoreFailed TrialFailed", "spec.engine"),
            ("Unverifiable Validated", "spec.engine"),
            ("Answer Effect LoadRecord Measure Purpose RemoveRecord SaveRecord", "spec.engine"),
            ("ProtocolError State Statistics Transition Validate initial_state", "spec.engine"),
            ("lower_level_fingerprint replay step", "spec.engine"),
            ("InvalidValue SpecError", "spec.errors"),
            ("AnytimeValid", "spec.evidence.anytime_valid"),
            ("MedianMad", "spec.evidence.median_mad"),
            ("Failure FailureKind", "spec.failure"),
            ("Moment", "spec.moment"),
            ("Mode Policy", "spec.policy"),
            ("Problem Scope", "spec.problem"),
            ("Origin Record", "spec.record"),
            ("AnytimeValidRegression IncidentPolicy WindowMedian", "spec.regression"),
            ("CandidateReport Outcome TrialReport", "spec.report"),
        )
        for name in names.split()
    }
)
"""Public name and the module that it is loaded from. No name is a module's, since a module that is
loaded becomes an attribute of the package."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found: object = getattr(import_module(home), name)
    globals()[name] = found  # From now on an ordinary attribute.
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
