"""Keys of real sessions: each part that changes misses, and what must not matter hits.

The store holds a record of something else, so that every session looks for its own.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.environment.variables import PREFIXES, VARIABLES
from ortsel.plan import Plan
from ortsel.store import SqliteStore
from spec.policy import Policy
from tests.ortsel.keys.sample_models import save_with_external_weights
from tests.ortsel.store.sample_records import record

ROOT = Path(__file__).parents[3]
X = np.ones((2, 3), np.float32)
CPU = ["CPUExecutionProvider"]


def _model(weight: float = 1.0, node: str = "product") -> onnx.ModelProto:
    """y = x @ w + b and z = -y, where the caller may replace b."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"], name=node),
            helper.make_node("Add", ["p", "b"], ["y"], name="sum"),
            helper.make_node("Neg", ["y"], ["z"], name="negative"),
        ],
        "graph",
        [info("x", TensorProto.FLOAT, ["n", 3]), info("b", TensorProto.FLOAT, [4])],
        [info("y", TensorProto.FLOAT, ["n", 4]), info("z", TensorProto.FLOAT, ["n", 4])],
        [
            numpy_helper.from_array(np.full((3, 4), weight, np.float32), "w"),
            numpy_helper.from_array(np.zeros(4, np.float32), "b"),
        ],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def _threads(name: str, count: int) -> Callable[[CandidateFacts], tuple[Plan, ...]]:
    def plans(facts: CandidateFacts) -> tuple[Plan, ...]:
        settings = facts.reference.settings.with_attribute("intra_op_num_threads", count)
        return (evolve(facts.reference, name=name, settings=settings),)

    return plans


def _two(facts: CandidateFacts) -> tuple[Plan, ...]:
    return (*_threads("one", 1)(facts), *_threads("two", 2)(facts))


class Keys:
    """Opens sessions on one store and says under which keys they look."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "m.onnx"
        onnx.save(_model(), self.path)
        with closing(SqliteStore(folder / "s")) as store:
            store.save(record("something else"), "{}")

    def config(self, **changes: Any) -> "ortsel.SelectionConfig":
        plain: dict[str, Any] = {
            "mode": "cache-only",
            "store": str(self.folder / "s"),
            "candidates": _threads("one", 1),
        }
        return ortsel.SelectionConfig(**plain | changes)

    def of(
        self,
        call: Callable[["ortsel.InferenceSession"], object] = lambda one: one.run(None, {"x": X}),
        *,
        model: Any = None,
        options: "ortsel.SessionOptions | None" = None,
        providers: Any = CPU,
        selection: dict[str, Any] | None = None,
    ) -> str:
        session = ortsel.InferenceSession(
            self.path if model is None else model,
            options,
            providers=providers,
            selection=self.config(**(selection or {})),
        )
        call(session)
        [explained] = session.explain().workloads
        assert re.fullmatch("[0-9a-f]{64}", explained.key), explained
        return explained.key


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def _options(**attributes: Any) -> "ortsel.SessionOptions":
    options = ortsel.SessionOptions()
    for name, value in attributes.items():
        setattr(options, name, value)
    return options


def _configured(name: str, value: str) -> "ortsel.SessionOptions":
    options = ortsel.SessionOptions()
    options.add_session_config_entry(name, value)
    return options


def _overridden() -> "ortsel.SessionOptions":
    options = ortsel.SessionOptions()
    options.add_free_dimension_override_by_name("n", 2)
    return options


LEVEL = ortsel.GraphOptimizationLevel.ORT_ENABLE_BASIC


@pytest.mark.parametrize(
    "options",
    [
        lambda: _options(intra_op_num_threads=1),
        lambda: _options(inter_op_num_threads=1),
        lambda: _options(graph_optimization_level=LEVEL),
        lambda: _options(execution_mode=ortsel.ExecutionMode.ORT_PARALLEL),
        lambda: _options(enable_mem_pattern=False),
        lambda: _options(enable_cpu_mem_arena=False),
        lambda: _options(use_deterministic_compute=True),
        lambda: _configured("session.disable_prepacking", "1"),
        lambda: _configured("session.set_denormal_as_zero", "1"),
        lambda: _configured("session.intra_op.allow_spinning", "0"),
        _overridden,
    ],
)
def test_every_session_option_counts(
    keys: Keys, options: Callable[[], "ortsel.SessionOptions"]
) -> None:
    plain = ortsel.SessionOptions()
    assert keys.of(options=options()) != keys.of(options=plain) == keys.of()


def test_options_of_providers_count_and_naming_the_usual_providers_does_not(keys: Keys) -> None:
    plain = keys.of()
    assert keys.of(providers=["CPUExecutionProvider"]) == plain
    assert keys.of(providers=[("CPUExecutionProvider", {})]) == plain
    assert keys.of(providers=["AzureExecutionProvider", "CPUExecutionProvider"]) == plain
    assert keys.of(providers=[("CPUExecutionProvider", {"use_arena": "0"})]) != plain


def _bound(session: "ortsel.InferenceSession") -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    binding.bind_output("z")
    session.run_with_iobinding(binding)


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.run(None, {"x": np.ones((3, 3), np.float32)}),
        lambda one: one.run(["y"], {"x": X}),
        lambda one: one.run(["z"], {"x": X}),
        lambda one: one.run(None, {"x": X, "b": np.ones(4, np.float32)}),
        lambda one: one.run(None, {"x": np.asfortranarray(X)}),
        _bound,
    ],
)
def test_every_part_of_a_call_counts(
    keys: Keys, call: Callable[["ortsel.InferenceSession"], object]
) -> None:
    assert keys.of(call) != keys.of()


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.run(None, {"x": X * 7}),
        lambda one: one.run(["y", "z"], {"x": X}),
        lambda one: one.run(["z", "y"], {"x": X}),
        lambda one: one.run(None, {"x": X.copy()}),
    ],
)
def test_values_and_the_order_of_names_do_not_count(
    keys: Keys, call: Callable[["ortsel.InferenceSession"], object]
) -> None:
    assert keys.of(call) == keys.of()


def test_the_order_of_a_feed_does_not_count(keys: Keys) -> None:
    bias = np.ones(4, np.float32)
    first = keys.of(lambda one: one.run(None, {"x": X, "b": bias}))
    assert keys.of(lambda one: one.run(None, {"b": bias, "x": X})) == first


@pytest.mark.parametrize(
    "selection",
    [
        {"candidates": _threads("another", 1)},
        {"candidates": _threads("one", 2)},
        {"candidates": _two},
        {"candidates": ()},
        {"tolerance": "exact"},
        {"tolerance": {"y": "close"}},
        {"policy": evolve(Policy(), require_validation=False)},
        {"policy": evolve(Policy(), min_speedup=Policy().min_speedup * 2)},
    ],
)
def test_candidates_and_policy_count(keys: Keys, selection: dict[str, Any]) -> None:
    assert keys.of(selection=selection) != keys.of()


def test_budgets_seeds_and_capacities_do_not_count(keys: Keys) -> None:
    selection = {"budget_s": 1.0, "seed": 5, "max_shapes": 3}
    assert keys.of(selection=selection) == keys.of()


def test_the_model_counts_and_its_name_place_and_node_names_do_not(keys: Keys) -> None:
    plain = keys.of()
    elsewhere = keys.folder / "other" / "n.onnx"
    elsewhere.parent.mkdir()
    shutil.copy(keys.path, elsewhere)
    assert keys.of(model=elsewhere) == plain
    assert keys.of(model=str(elsewhere)) == plain
    assert keys.of(model=keys.path.read_bytes()) == plain
    onnx.save(_model(node="renamed"), elsewhere)
    assert keys.of(model=elsewhere) == plain
    onnx.save(_model(weight=np.nextafter(np.float32(1), np.float32(2))), elsewhere)
    assert keys.of(model=elsewhere) != plain


def test_weights_in_a_file_beside_the_model_count(keys: Keys) -> None:
    plain = keys.of()
    for name, weight in (("a", 1.0), ("b", 2.0)):
        path = keys.folder / name / "m.onnx"
        save_with_external_weights(_model(weight), path, "w.bin")
    assert (keys.folder / "a" / "m.onnx").read_bytes() == (
        keys.folder / "b" / "m.onnx"
    ).read_bytes(), "pointless unless only the other file differs"
    assert keys.of(model=keys.folder / "a" / "m.onnx") == plain
    assert keys.of(model=keys.folder / "b" / "m.onnx") != plain


def test_the_cpus_that_the_process_may_use_count(keys: Keys) -> None:
    plain = keys.of()
    cpus = os.sched_getaffinity(0)
    if len(cpus) == 1:
        pytest.skip("this process may use one CPU only")
    os.sched_setaffinity(0, {min(cpus)})
    try:
        bound = keys.of()
    finally:
        os.sched_setaffinity(0, cpus)
    assert bound != plain
    assert keys.of() == plain


@pytest.mark.parametrize(
    "name", ["ORT_DISABLE_FLASH_ATTENTION", "ORT_INTRA_OP_NUM_THREADS", "ORT_QMOE_ANYTHING"]
)
def test_a_variable_that_changes_kernels_counts(
    keys: Keys, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plain = keys.of()
    monkeypatch.setenv("SOMETHING_ELSE", "1")
    assert keys.of() == plain
    monkeypatch.setenv(name, "1")
    assert keys.of() != plain


@pytest.mark.slow
def test_the_process_its_directory_and_its_hash_seed_do_not_count(keys: Keys) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.ortsel.keys.test_session_keys import Keys\n"
        "print(Keys(Path(sys.argv[1])).of())\n"
    )
    (keys.folder / "new").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, str(keys.folder / "new")],
        cwd=keys.folder / "new",
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == keys.of() + "\n"


NO_VARIABLES = re.compile(
    "ORT_(ARENA_ALLOCATOR|DEVICE_ALLOCATOR|DISABLE_ALL|ENABLE_(ALL|BASIC|EXTENDED|LAYOUT)|PARALLEL"
    "|SEQUENTIAL|SPARSE_(BLOCK_SPARSE|COO|CSRC|UNDEFINED)|DISABLE_TELEMETRY)"
)
"""Names of constants; and the switch of telemetry, which computes nothing."""


def test_every_variable_that_this_onnx_runtime_knows_is_in_the_list() -> None:
    libraries = list(Path(onnxruntime.__file__).parent.glob("capi/onnxruntime_pybind11_state*"))
    assert libraries, "pointless unless the library is found"
    data = b"".join(path.read_bytes() for path in libraries)
    found = set(re.findall(rb"(?<=\0)(?:ORT|MLAS)_[A-Z0-9_]{3,60}(?=\0)", data))
    names = {name.decode() for name in found}
    assert "ORT_DISABLE_FLASH_ATTENTION" in names, "pointless unless names can be found"
    unknown = {
        name
        for name in names
        if name not in VARIABLES
        and not name.startswith(tuple(PREFIXES))
        and NO_VARIABLES.fullmatch(name) is None
    }
    assert unknown == set()
