"""What `spec` and its rooms offer, by name, typed; and what importing them loads."""

import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import attrs
import pytest

import spec

ROOT = Path(__file__).parents[2]

LISTED = {
    "spec": """
        Abandoned Answer AnytimeValid AnytimeValidRegression CacheKey Candidate CandidateReport
        CandidateSet Compared Decision Effect Event Failure FailureKind IncidentPolicy InvalidValue
        Invalidated LoadRecord Measure Measured MedianMad Mode Moment Origin Outcome Policy Problem
        ProtocolError Purpose Record RecordAbsent RecordLoaded RecordUnreadable RemoveRecord
        Requested SaveRecord Scope Source SpecError State Statistics StoreFailed Transition
        TrialFailed TrialReport Unverifiable Validate Validated WindowMedian cache_key initial_state
        lower_level_fingerprint replay step
    """,
    "spec.capability": """
        ALL_RULES Advice AttentionInput Backend Basis CPU_WHEEL_1_32 CacheForm CacheScale Case
        Configuration DeviceKind ElementType Exclusion GPU_WHEEL_1_31 Hardware KernelOptions Layout
        MaskKind MemoryEstimate MemoryPart NothingRunsError ORDER Objective Observation Operator
        OrtBuild PRESETS Packing Provider RULES Ranked Rule ScoresOutput Settings Sink Slot Survey
        Switches Toggle UnreachableBackendError advice_key advise case_of executed_flops
        kernel_options memory_estimate needed_flops place precedence resolve sdpa_bits settings_for
        survey visible_pairs workload_key
    """,
    "spec.engine": """
        Abandoned Answer Compared Effect Event Invalidated LoadRecord Measure Measured ProtocolError
        Purpose RecordAbsent RecordLoaded RecordUnreadable RemoveRecord Requested SaveRecord State
        Statistics StoreFailed Transition TrialFailed Unverifiable Validate Validated initial_state
        lower_level_fingerprint replay step
    """,
    "spec.evidence": """
        AnytimeValid Block BlockOrder EvidenceRule Faster MedianMad NotFaster Side TooNoisy
        Undecided Verdict assess block_order shared_by
    """,
    "spec.learning": """
        Algorithm Calibration Comparison FittedPredictor FittedRidge HeldOut HybridPolicy
        Observation OrderingError Point Prediction Predictor Ridge SkipPolicy Skipped
        WorkloadFeatures by_prediction by_score calibrate compare hopeless ordering_error
        quantised_ns reordered tail
    """,
    "spec.ranking": """
        AccessPattern BenchmarkResult Characteristics Constraint Constraints ELEMENT_BITS Estimate
        Excluded Failed Hindsight History HistoryPolicy Kernel KernelInputs Moments NothingEligible
        Origin Outcome Ranked Ranking RankingPolicy RankingRequest Registry Scaling ScalingLaw
        SelectionReason SelectionStatistics ShapePattern SizeRange Standing Succeeded Tally
        TensorInput Terms Unjudged Unmet Usage Variant VariantKind Weights best doubled
        extrapolated_latency_ns halved judge rank score unmet
    """,
    "spec.regression": """
        AnytimeValidRegression Ban Consequence Degraded Demote Holds IncidentPolicy Incidents
        RegressionHistory RegressionRule RegressionVerdict WindowMedian after_degradation is_banned
        observe went_away
    """,
}
"""Every public name, room by room. A change here is a change of what others rely on."""

SURFACE = {room: names.split() for room, names in LISTED.items()}
ROOMS = tuple(SURFACE)


def public(room: str) -> dict[str, object]:
    module = importlib.import_module(room)
    return {name: getattr(module, name) for name in SURFACE[room]}


def untyped(function: Callable[..., object]) -> list[str]:
    """Parameters without a type, and "return" if that has none."""
    signature = inspect.signature(function)
    named = [name for name in signature.parameters if name not in {"self", "cls"}]
    return [name for name in (*named, "return") if name not in inspect.get_annotations(function)]


def functions_of(value: object) -> dict[str, FunctionType]:
    """A function, or the public ones that a class of ours defines."""
    if isinstance(value, FunctionType):
        return {value.__name__: value}
    if not inspect.isclass(value) or value.__module__.split(".")[0] != "spec":
        return {}
    own = {name: one for name, one in vars(value).items() if not name.startswith("_")}
    return {
        f"{value.__name__}.{name}": found
        for name, one in own.items()
        if isinstance(found := one.fget if isinstance(one, property) else one, FunctionType)
    }


def loaded_by(code: str) -> set[str]:
    """Modules that are there after a new interpreter has run some code."""
    report = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", report]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("room", ROOMS)
def test_the_public_names_are_exactly_the_listed_ones(room: str) -> None:
    offered = importlib.import_module(room).__all__
    assert sorted(offered) == SURFACE[room], "each exactly once, in order"
    assert all(value is not None for value in public(room).values())


def test_every_room_is_listed() -> None:
    rooms = {f"spec.{one.parent.name}" for one in (ROOT / "spec").glob("*/__init__.py")}
    assert rooms | {"spec"} == set(ROOMS)


def test_a_name_is_loaded_from_where_it_is_defined_and_is_the_same_everywhere() -> None:
    for name in SURFACE["spec.engine"]:
        assert getattr(spec, name) is getattr(importlib.import_module("spec.engine"), name)
    assert set(dir(spec)) >= set(spec.__all__)
    star: dict[str, object] = {}
    exec("from spec import *", star)
    assert set(spec.__all__) <= set(star)


def test_no_name_of_the_package_is_also_a_module_of_it() -> None:
    modules = {path.stem for path in (ROOT / "spec").iterdir()}
    assert "keys" in modules, "pointless unless modules were found"
    assert modules & set(spec.__all__) == set(), "a loaded module would hide the name"


def test_an_unknown_name_is_an_attribute_error_and_an_import_error() -> None:
    missing = "nothing"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(spec, missing)
    with pytest.raises(ImportError):
        exec("from spec import nothing")


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_class_and_function_is_documented(room: str) -> None:
    named = {name: one for name, one in public(room).items() if hasattr(one, "__module__")}
    own = {
        name: one
        for name, one in named.items()
        if inspect.isclass(one) or isinstance(one, FunctionType)
    }
    assert own, "pointless unless the room offers some"
    bare = [name for name, one in own.items() if not one.__doc__]
    assert bare == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_function_method_and_field_is_typed(room: str) -> None:
    missing = {
        place: lacking
        for value in public(room).values()
        for place, function in functions_of(value).items()
        if (lacking := untyped(function))
    }
    assert missing == {}
    bare = [
        f"{name}.{field.name}"
        for name, value in public(room).items()
        if inspect.isclass(value) and attrs.has(value)
        for field in attrs.fields(value)
        if field.type is None
    ]
    assert bare == []


def test_a_name_without_a_type_is_noticed() -> None:
    assert untyped(lambda one: one) == ["one", "return"]


@pytest.mark.parametrize("room", ROOMS)
def test_public_values_cannot_be_changed(room: str) -> None:
    classes = [one for one in public(room).values() if inspect.isclass(one) and attrs.has(one)]
    assert classes, "pointless unless the room offers values"
    thawed = [one.__name__ for one in classes if one.__setattr__ is object.__setattr__]
    assert thawed == []


HEAVY = {
    "numpy", "onnx", "onnxruntime", "cattrs", "psutil", "click", "rich", "sklearn", "sqlite3",
    "multiprocessing", "asyncio", "subprocess", "tempfile", "random", "logging", "unittest",
}  # fmt: skip
ALLOWED = {"attr", "attrs", "immutables", "spec"}


def test_importing_the_package_loads_no_room_and_no_package_of_others() -> None:
    loaded = loaded_by("import spec")
    assert "spec" in loaded, "pointless unless the package was loaded"
    assert {name for name in loaded if name.startswith(("spec.", "attr", "immutables"))} == set()


def test_using_selection_loads_neither_capability_nor_ranking_nor_learning() -> None:
    loaded = loaded_by("from spec import *")
    assert "spec.engine.step" in loaded, "pointless unless selection was loaded"
    assert loaded & (HEAVY | {"spec.capability", "spec.ranking", "spec.learning"}) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_needs_the_standard_library_attrs_and_immutables_only(room: str) -> None:
    bare = loaded_by("")
    loaded = loaded_by(f"import {room}\nfrom {room} import *") - bare
    packages = {name.split(".")[0] for name in loaded}
    assert "spec" in packages, "pointless unless the room was loaded"
    assert {name for name in packages if name not in sys.stdlib_module_names} <= ALLOWED
    assert loaded & HEAVY == set()


def test_a_heavy_module_is_noticed() -> None:
    assert "logging" in loaded_by("import spec\nimport logging") & HEAVY
