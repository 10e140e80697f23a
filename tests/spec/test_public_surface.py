"""What `import spec` offers, by name, and what it costs to load."""

import subprocess
import sys
from pathlib import Path

import spec
import spec.engine

ROOT = Path(__file__).parents[2]

SURFACE = {
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
}


def test_the_public_names_are_exactly_the_listed_ones() -> None:
    assert sorted(spec.__all__) == sorted(SURFACE), "each exactly once"
    assert all(hasattr(spec, name) for name in spec.__all__)


def test_the_engine_offers_nothing_that_the_package_does_not() -> None:
    assert set(spec.engine.__all__) <= set(spec.__all__)


def test_every_public_name_is_documented() -> None:
    aliases = {"Effect", "Event"}
    bare = [
        name for name in sorted(SURFACE) if name not in aliases and not getattr(spec, name).__doc__
    ]
    assert bare == []


def test_importing_the_package_loads_no_other_room_and_nothing_heavy() -> None:
    code = "import sys, spec; print(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "spec.engine.step" in loaded, "pointless unless the package was loaded"
    heavy = {"numpy", "onnx", "onnxruntime", "cattrs", "psutil", "sqlite3", "multiprocessing"}
    rooms = {"spec.capability", "spec.ranking", "spec.learning"}
    assert loaded & (heavy | rooms) == set()
