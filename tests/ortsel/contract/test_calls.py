"""Every way to build, ask, call and copy a session gives what ONNX Runtime's own gives."""

import copy
import os
import pickle
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

import ortsel
from tests.ortsel.contract.outcomes import outcome
from tests.ortsel.session.test_drop_in import Everything
from tests.ortsel.trial import models

WIDTH = models.WIDTH


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = x W with an overridable W, and metadata."""
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    inputs = [models.floats("x", "n", WIDTH), models.floats("w", WIDTH, WIDTH)]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Neg", ["y"], ["z"])],
        "graph",
        inputs,
        [models.floats("y", "n", WIDTH), models.floats("z", "n", WIDTH)],
        [numpy_helper.from_array(models.weights(), "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    made.producer_name, made.model_version, made.doc_string = "somebody", 7, "what it is"
    helper.set_model_props(made, {"key": "value"})
    onnx.save(made, path)
    return path


def sessions(
    model: Any, folder: Path, *, arguments: dict[str, Any] | None = None
) -> tuple[Any, list[Any]]:
    """Return a plain session, and ours: one with nothing decided, one that a plan always serves."""
    given = arguments or {}
    config = ortsel.SelectionConfig("cache-only", folder / "store.sqlite")
    own = [ortsel.InferenceSession(model, selection=config, **given) for _ in range(2)]
    served = own[1]
    if served._ortsel_connection is not None:
        choices = Everything(onnxruntime.InferenceSession(model, **given))
        served._ortsel_connection = evolve(served._ortsel_connection, choices=choices)
    return onnxruntime.InferenceSession(model, **given), own


def value(array: np.ndarray) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def asynchronous(session: Any, names: Any, feed: Any) -> Any:
    done, got = threading.Event(), []

    def callback(*arguments: Any) -> None:
        got.append(arguments)
        done.set()

    session.run_async(names, feed, callback, "mine")
    assert done.wait(30)
    return got


def vectors(session: Any) -> Any:
    native = onnxruntime.capi.onnxruntime_pybind11_state
    feeds, fetches = native.OrtValueVector(), native.OrtValueVector()
    feeds.push_back(value(models.FEED["x"])._ortvalue)
    device = native.OrtDevice(native.OrtDevice.cpu(), native.OrtDevice.default_memory(), 0)
    session.run_with_ortvaluevector(None, ["x"], feeds, ["y"], fetches, [device])
    return [one.numpy() for one in fetches]


FEED = models.FEED
OTHER = models.weights() * np.float32(2)

ACTIONS: dict[str, Callable[[Any], Any]] = {
    "asynchronous": lambda s: asynchronous(s, None, FEED),
    "asynchronous, one output": lambda s: asynchronous(s, ["z"], FEED),
    "asynchronous, missing input": lambda s: s.run_async(None, {}, print, None),
    "ort values": lambda s: s.run_with_ort_values(["z", "y"], {"x": value(FEED["x"])}),
    "ort values of arrays": lambda s: s.run_with_ort_values(None, FEED),
    "ort values, unknown output": lambda s: s.run_with_ort_values(["no"], {"x": value(FEED["x"])}),
    "vectors": vectors,
    "an overridden initialiser": lambda s: s.run(None, FEED | {"w": OTHER}),
    "and the model's own again": lambda s: s.run(None, FEED),
    "mixed feeds": lambda s: s.run(None, {"x": value(FEED["x"]), "w": OTHER}),
    "nested lists": lambda s: s.run(None, {"x": FEED["x"].tolist()}),
    "overridable": lambda s: [one.name for one in s.get_overridable_initializers()],
    "metadata": lambda s: [
        getattr(s.get_modelmeta(), name)
        for name in ("producer_name", "version", "description", "custom_metadata_map")
    ],
    "memory": lambda s: [len(s.get_input_memory_infos()), len(s.get_output_memory_infos())],
    "tuning results": lambda s: s.get_tuning_results(),
    "no tuning results": lambda s: s.set_tuning_results([]),
    "wrong tuning results": lambda s: s.set_tuning_results([{"ep": "no"}], error_on_invalid=True),
    "dynamic options": lambda s: s.set_ep_dynamic_options({"no": "such"}),
    "after them": lambda s: s.run(None, FEED),
    "fallback": lambda s: (s.disable_fallback(), s._enable_fallback, s.enable_fallback()),
    "profiling that is off": lambda s: s.end_profiling(),
    "graph": lambda s: s.get_provider_graph_assignment_info(),
    "options": lambda s: s.get_session_options().intra_op_num_threads,
    "providers set": lambda s: s.set_providers(["CPUExecutionProvider"], [{}]),
    "run again": lambda s: s.run(["z"], FEED),
    "deep copy": copy.deepcopy,
    "pickle": pickle.dumps,
    "weak": lambda s: weakref.ref(s)() is s,
    "copied": lambda s: copy.copy(s).run(None, FEED),
    "copied binding": lambda s: type(copy.copy(s.io_binding())._iobinding).__name__,
    "providers set wrongly": lambda s: s.set_providers("no", [{}]),
    "run after that": lambda s: s.run(["z"], FEED),
    "copied after that": lambda s: type(copy.deepcopy(s)).__name__,
}


def test_a_sequence_of_calls_gives_the_same_step_by_step(model: Path, tmp_path: Path) -> None:
    plain, own = sessions(model, tmp_path)
    for name, action in ACTIONS.items():
        expected = outcome(partial(action, plain))
        for session in own:
            assert outcome(partial(action, session)) == expected, name


class Place(os.PathLike[str]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def in_ort_format(model: Path, folder: Path) -> Path:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model, options)
    return folder / "model.ort"


def with_external_data(model: Path, folder: Path) -> Path:
    path = folder / "external.onnx"
    onnx.save(
        onnx.load(model), path, save_as_external_data=True, location="w.bin", size_threshold=0
    )
    assert (folder / "w.bin").exists(), "pointless unless the weights are outside"
    return path


SOURCES: dict[str, Callable[[Path, Path], Any]] = {
    "text": lambda model, _: str(model),
    "path": lambda model, _: model,
    "path-like": lambda model, _: Place(model),
    "bytes": lambda model, _: model.read_bytes(),
    "ORT format": in_ort_format,
    "ORT format as bytes": lambda model, folder: in_ort_format(model, folder).read_bytes(),
    "external data": with_external_data,
}


@pytest.mark.parametrize("source", list(SOURCES))
def test_a_model_from_anywhere_runs_the_same(source: str, model: Path, tmp_path: Path) -> None:
    plain, own = sessions(SOURCES[source](model, tmp_path), tmp_path)
    expected = outcome(lambda: plain.run(None, FEED))
    assert expected[0] == "list"
    for session in own:
        for _ in range(2):
            assert outcome(partial(session.run, None, FEED)) == expected


def test_an_adapter_in_the_run_options_counts_and_only_there(model: Path, tmp_path: Path) -> None:
    writer = onnxruntime.AdapterFormat()
    writer.set_adapter_version(1)
    writer.set_model_version(1)
    writer.set_parameters({"w": value(OTHER)})
    writer.export_adapter(str(tmp_path / "adapter"))
    adapter = onnxruntime.LoraAdapter()
    adapter.Load(str(tmp_path / "adapter"))
    options = onnxruntime.RunOptions()
    options.add_active_adapter(adapter)
    plain, own = sessions(model, tmp_path)
    adapted, bare = plain.run(None, FEED, options), plain.run(None, FEED)
    assert not np.array_equal(adapted[0], bare[0]), "pointless unless the adapter counts"
    for session in own:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(None, FEED, options), adapted)
            np.testing.assert_array_equal(session.run(None, FEED), bare)


def test_a_profile_is_written_once_and_sees_every_run(model: Path, tmp_path: Path) -> None:
    options = ortsel.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    config = ortsel.SelectionConfig("cache-only", tmp_path / "store.sqlite")
    session = ortsel.InferenceSession(model, options, selection=config)
    for _ in range(3):
        session.run(None, FEED)
    assert session.get_profiling_start_time_ns() > 0
    written = Path(session.end_profiling())
    assert list(tmp_path.glob("profile*")) == [written]
    assert written.read_text().count('"model_run"') == 3


def test_a_sparse_input_gives_the_same(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("SparseToDenseMatMul", ["x", "d"], ["y"], domain="com.microsoft")],
        "graph",
        [
            helper.make_sparse_tensor_value_info("x", TensorProto.FLOAT, [4, 4]),
            models.floats("d", 4, 3),
        ],
        [models.floats("y", 4, 3)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    path = tmp_path / "sparse.onnx"
    onnx.save(made, path)
    sparse = onnxruntime.SparseTensor.sparse_coo_from_numpy(
        np.asarray([4, 4], np.int64),
        np.asarray([1, 2], np.float32),
        np.asarray([[0, 1], [1, 2]], np.int64),
        onnxruntime.OrtDevice.make("cpu", 0),
    )
    dense = np.arange(12, dtype=np.float32).reshape(4, 3)
    feed = {"x": onnxruntime.OrtValue.ort_value_from_sparse_tensor(sparse), "d": dense}
    plain, own = sessions(path, tmp_path)
    expected = outcome(lambda: plain.run(None, feed))
    assert expected[0] == "list", expected
    for session in own:
        assert outcome(partial(session.run, None, feed)) == expected


def test_a_users_subclass_sees_and_changes_every_call(model: Path, tmp_path: Path) -> None:
    class Doubling(ortsel.InferenceSession):
        def run(self, output_names: Any, input_feed: Any, run_options: Any = None) -> Any:
            return [2 * one for one in super().run(output_names, input_feed, run_options)]

    config = ortsel.SelectionConfig("cache-only", tmp_path / "store.sqlite")
    session = Doubling(model, selection=config)
    expected = onnxruntime.InferenceSession(model).run(None, FEED)
    assert isinstance(session, onnxruntime.InferenceSession)
    for _ in range(2):
        np.testing.assert_array_equal(session.run(None, FEED), [2 * one for one in expected])


def test_a_copy_of_a_binding_shares_what_is_bound(model: Path, tmp_path: Path) -> None:
    plain, own = sessions(model, tmp_path)
    for session in own:
        binding = session.io_binding()
        other = copy.copy(binding)
        binding.bind_cpu_input("x", FEED["x"])
        binding.bind_output("y")
        assert other.signature() == binding.signature() != session.io_binding().signature()
        session.run_with_iobinding(other)
        np.testing.assert_array_equal(other.copy_outputs_to_cpu()[0], plain.run(["y"], FEED)[0])
