"""A session with mapped weights is the session without, and a copy costs nobody anything."""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

from ortsel import mapped_weights as module
from ortsel.call_trials import Call, CallTrials, Subject
from ortsel.loaded_model import LoadedModel
from ortsel.mapped_weights import ALIGNMENT, KEPT_BYTES, LEAST_BYTES, is_on_disk, mapped_weights
from ortsel.plan import Plan, Provider, SessionSettings
from ortsel.plan_session import PLACED_BY_CONFIG, build_plan_session
from ortsel.trial.calling import Calling
from ortsel.trial.messages import Envelope, Load, Loaded
from ortsel.trial.values import write_values
from ortsel.trial.worker import Worker
from ortsel.variant_cache import VariantCache

SIZE = 256
"""Of a square weight: as 32-bit numbers, four times what stays in a model."""
PLAN = Plan("plan", (Provider("CPUExecutionProvider"),), SessionSettings())
FEED = {"x": np.random.default_rng(0).random((2, SIZE), dtype=np.float32)}


@pytest.fixture(autouse=True)
def _small_models_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_BYTES", 1)


def _weight(dtype: Any = np.float32) -> np.ndarray[Any, np.dtype[Any]]:
    values = np.random.default_rng(1).standard_normal((SIZE, SIZE))
    return (values * 4).astype(dtype)


def _model(
    nodes: list[onnx.NodeProto],
    initializers: list[onnx.TensorProto],
    *,
    ir_version: int = 10,
    opset: int = 21,
    **parts: Any,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        initializers,
        **parts,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def _linear() -> onnx.ModelProto:
    return _model([helper.make_node("MatMul", ["x", "w"], ["y"])], [_named(_weight(), "w")])


def _named(values: np.ndarray[Any, np.dtype[Any]], name: str) -> onnx.TensorProto:
    return numpy_helper.from_array(values, name)


def _cast(data_type: int) -> Callable[[], onnx.ModelProto]:
    """Weights of a type that no kernel multiplies: they are cast, and folded, while loading."""

    def build() -> onnx.ModelProto:
        bits: dict[int, int] = {TensorProto.INT4: 4, TensorProto.UINT4: 4, TensorProto.BFLOAT16: 16}
        size = bits.get(data_type, 8) * SIZE * SIZE * 4 // 8
        raw = np.random.default_rng(2).integers(0, 120, size, np.uint8)
        raw[1::2] = 63  # no NaN and nothing huge in 16 bits
        weight = TensorProto(name="w", data_type=data_type, dims=[SIZE, 4 * SIZE])
        weight.raw_data = raw.tobytes()
        cast = helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT)
        return _model([cast, helper.make_node("MatMul", ["x", "f"], ["y"])], [weight])

    return build


def _float16() -> onnx.ModelProto:
    cast = helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT)
    weight = _named(_weight(np.float16), "w")
    return _model([cast, helper.make_node("MatMul", ["x", "f"], ["y"])], [weight])


def _quantized() -> onnx.ModelProto:
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=1),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    scale = np.full(SIZE, 0.1, np.float32)
    weights = [
        _named(np.tile(_weight(np.int8), (1, 2)), "w"),
        _named(np.tile(scale, 2), "s"),
        _named(np.zeros(2 * SIZE, np.int8), "z"),
    ]
    return _model(nodes, weights)


def _folded() -> onnx.ModelProto:
    """Constants that are computed when the session is made."""
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["t", "w"], ["f"]),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    return _model(nodes, [_named(_weight(), "w")])


def _normalized_convolution() -> onnx.ModelProto:
    """Weights of two operators that become one."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["i"]),
        helper.make_node("Conv", ["i", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
    ]
    ones = np.ones(SIZE, np.float32)
    weights = [
        _named(_weight().reshape(SIZE, SIZE, 1, 1), "w"),
        _named(np.array([0, SIZE, 1, 1], np.int64), "shape"),
        *(_named(ones * part, name) for name, part in zip("sbmv", (2, 3, 4, 5), strict=True)),
    ]
    return _model(nodes, weights)


def _in_branches() -> onnx.ModelProto:
    """Weights of a branch stay in it; those around it are read from there."""
    inner = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "v"], ["p"]),
            helper.make_node("MatMul", ["p", "w"], ["q"]),
        ],
        "inner",
        [],
        [helper.make_tensor_value_info("q", TensorProto.FLOAT, None)],
        [_named(_weight() / 2, "v")],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["r"])],
        "other",
        [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
    branch = helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=other)
    return _model([branch], [_named(np.array(True), "yes"), _named(_weight(), "w")])


def _sparse() -> onnx.ModelProto:
    values = _named(np.ones(20_000, np.float32), "s")
    sparse = helper.make_sparse_tensor(
        values, _named(np.arange(20_000, dtype=np.int64), ""), [SIZE, SIZE]
    )
    nodes = [
        helper.make_node("MatMul", ["x", "s"], ["p"]),
        helper.make_node("MatMul", ["p", "w"], ["y"]),
    ]
    return _model(nodes, [_named(_weight(), "w")], sparse_initializer=[sparse])


def _function() -> onnx.ModelProto:
    model = _model(
        [helper.make_node("F", ["x", "w"], ["y"], domain="own")], [_named(_weight(), "w")]
    )
    body = [
        helper.make_node("Constant", [], ["c"], value=_named(_weight() / 3, "c")),
        helper.make_node("MatMul", ["a", "b"], ["p"]),
        helper.make_node("MatMul", ["p", "c"], ["o"]),
    ]
    opset = [helper.make_opsetid("", 21)]
    model.functions.append(helper.make_function("own", "F", ["a", "b"], ["o"], body, opset))
    return model


def _training() -> onnx.ModelProto:
    model = _linear()
    model.training_info.add().initialization.initializer.append(_named(_weight(), "t"))
    model.metadata_props.add(key="k", value="v")
    return model


def _unknown_fields() -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.ParseFromString(_linear().SerializeToString() + b"\xc2\x3e\x03abc")
    return model


def _large_integers() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["g"], axis=1),
        helper.make_node("MatMul", ["g", "w"], ["y"]),
    ]
    indices = np.arange(SIZE * 40, dtype=np.int64) % SIZE
    weights = [_named(np.tile(_weight(), (40, 1)), "w"), _named(indices, "i")]
    return _model(nodes, weights)


def _text() -> onnx.ModelProto:
    words = np.array([f"{place:07}" for place in range(SIZE * SIZE)], object)
    nodes = [
        helper.make_node("Gather", ["t", "z"], ["one"]),
        helper.make_node("StringNormalizer", ["one"], ["same"]),
        helper.make_node("Cast", ["same"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "f"], ["y"]),
    ]
    weights = [_named(words, "t"), _named(np.array([7]), "z"), _named(_weight(), "w")]
    return _model(nodes, weights)


MODELS = {
    "linear": _linear,
    "float16": _float16,
    "bfloat16": _cast(TensorProto.BFLOAT16),
    "float8": _cast(TensorProto.FLOAT8E4M3FN),
    "int4": _cast(TensorProto.INT4),
    "uint4": _cast(TensorProto.UINT4),
    "quantized": _quantized,
    "folded": _folded,
    "normalized convolution": _normalized_convolution,
    "branches": _in_branches,
    "sparse": _sparse,
    "function": _function,
    "training": _training,
    "unknown fields": _unknown_fields,
    "large integers": _large_integers,
    "text": _text,
}


def _optimized(source: Path | bytes, target: Path) -> tuple[Any, Any]:
    """Return a session's result, and the graph that ONNX Runtime made of its model."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(target)
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # writing an optimised model is warned of
    session = onnxruntime.InferenceSession(
        source, options, providers=["CPUExecutionProvider"], enable_fallback=0
    )
    graph = onnx.load_model(target, load_external_data=False).graph
    nodes = sorted((node.op_type, node.domain, len(node.input)) for node in graph.node)
    return session.run(None, FEED), nodes


def _skip_unless_it_loads(path: Path) -> None:
    """Older versions refuse some: weights of branches, and text that constants are computed of."""
    try:
        onnxruntime.InferenceSession(path)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        if not onnxruntime.__version__.startswith("1.24."):
            raise
        pytest.skip(f"ONNX Runtime {onnxruntime.__version__} does not load it: {error!s:.80}")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_mapped_model_gives_the_same_outputs_by_the_same_graph(
    tmp_path: Path, name: str, as_bytes: bool
) -> None:
    data = MODELS[name]().SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    _skip_unless_it_loads(path)
    expected, nodes = _optimized(path, tmp_path / "plain.onnx")
    with mapped_weights(data if as_bytes else path, tmp_path) as source:
        assert isinstance(source, Path)
        assert source != path, "pointless unless weights are mapped"
        got, mapped_nodes = _optimized(source, tmp_path / "mapped.onnx")
    assert mapped_nodes == nodes
    for one, other in zip(expected, got, strict=True):
        assert np.isfinite(one).all(), "pointless unless there are numbers"
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("ir_version", [3, 8])
def test_initializers_that_are_inputs_stay_what_they_are(tmp_path: Path, ir_version: int) -> None:
    model = _linear()
    model.ir_version, model.opset_import[0].version = ir_version, 17
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [SIZE, SIZE]))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())

    def outcome(session: onnxruntime.InferenceSession, feed: Any) -> object:
        names = [one.name for one in session.get_overridable_initializers()]
        try:
            return names, session.run(None, feed)[0].tobytes()
        except Exception as error:  # noqa: BLE001
            return names, type(error), str(error)

    plain = onnxruntime.InferenceSession(path)
    with mapped_weights(path, tmp_path) as source:
        assert source != path
        session = onnxruntime.InferenceSession(source)
    given = FEED | {"w": _weight() / 7}
    assert (outcome(plain, FEED) == outcome(plain, given)) is False
    for feed in (FEED, given):
        assert outcome(session, feed) == outcome(plain, feed)


def test_a_session_outlives_copy_and_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    [expected] = onnxruntime.InferenceSession(path).run(None, FEED)
    with mapped_weights(path, tmp_path) as source:
        assert isinstance(source, Path)
        entries = onnx.load_model(source, load_external_data=False).graph.initializer[0]
        offset = {one.key: one.value for one in entries.external_data}["offset"]
        assert int(offset) % ALIGNMENT == 0
        session = onnxruntime.InferenceSession(source)
    assert os.listdir(tmp_path) == ["m.onnx"]
    path.write_bytes(b"\0" * path.stat().st_size)
    np.testing.assert_array_equal(session.run(None, FEED)[0], expected)


def test_integers_that_may_be_sizes_stay_in_the_model(tmp_path: Path) -> None:
    data = _large_integers().SerializeToString()
    with mapped_weights(data, tmp_path) as source:
        assert isinstance(source, Path)
        loaded = onnx.load_model(source, load_external_data=False).graph.initializer
        assert [one.data_location for one in loaded] == [TensorProto.EXTERNAL, TensorProto.DEFAULT]
        assert len(loaded[1].raw_data) > KEPT_BYTES


def _external(folder: Path, at: str) -> bytes:
    model = _in_branches()
    [branch] = [one.g for one in model.graph.node[0].attribute if one.name == "then_branch"]
    tensor = {"outside": model.graph.initializer[1], "inside": branch.initializer[0]}[at]
    (folder / "beside").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="beside")
    model.graph.initializer.append(_named(_weight(), "unused"))
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("at", ["outside", "inside"])
def test_a_model_with_weights_beside_it_is_loaded_as_it_is(tmp_path: Path, at: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_external(tmp_path, at))
    with mapped_weights(path, tmp_path) as source:
        assert source == path
    _skip_unless_it_loads(path)
    session = build_plan_session(path, PLAN, tmp_path)
    assert np.isfinite(session.run(None, FEED)[0]).all()


def test_a_small_model_is_loaded_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _linear().SerializeToString()
    monkeypatch.setattr(module, "LEAST_BYTES", LEAST_BYTES)
    assert len(data) < LEAST_BYTES
    with mapped_weights(data, tmp_path) as source:
        assert source is data


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _other_format(path: Path) -> None:
    path.write_bytes(b"\x18\0\0\0ORTM" + path.read_bytes())


def _no_protobuf(path: Path) -> None:
    path.write_bytes(os.urandom(1000))


def _missing(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("spoil", [_cut, _other_format, _no_protobuf, _missing])
def test_what_is_no_model_fails_as_it_does_without(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    spoil(path)

    def failure(build: Callable[[], object]) -> tuple[type, str]:
        with pytest.raises(Exception) as error:  # noqa: PT011
            build()
        return error.type, str(error.value)

    plain = failure(lambda: onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]))
    assert failure(lambda: build_plan_session(path, PLAN, tmp_path)) == plain


def _is_mapped(model: Path, scratch: Path) -> bool:
    with mapped_weights(model, scratch) as source:
        return source != model


def test_a_copy_needs_a_writable_disk_with_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    assert _is_mapped(path, tmp_path)
    assert not _is_mapped(path, tmp_path / "missing")
    monkeypatch.setattr(module, "FREE_TIMES", 10**12)
    assert not _is_mapped(path, tmp_path)


def test_a_disk_that_becomes_full_leaves_nothing_behind(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The system refuses to let a file grow, as it does where there is no room.
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * KEPT_BYTES, before[1]))
    try:
        mapped = _is_mapped(path, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not mapped
    assert os.listdir(tmp_path) == ["m.onnx"]


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no file system in memory is here")
def test_a_copy_in_memory_is_no_gain(tmp_path: Path) -> None:
    assert is_on_disk(tmp_path)
    assert not is_on_disk(Path("/dev/shm"))


@pytest.mark.parametrize(
    "plan",
    [
        Plan("none named", None, SessionSettings()),
        Plan("gpu", (Provider("CUDAExecutionProvider"), *(PLAN.providers or ())), PLAN.settings),
        Plan("placed", PLAN.providers, SessionSettings(config=((PLACED_BY_CONFIG, "/data"),))),
    ],
    ids=lambda plan: plan.name,
)
def test_plans_whose_weights_lie_elsewhere_are_built_from_the_model_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan
) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(
        "ortsel.plan_session.build_session", lambda model, plan: loaded.append((model, plan))
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    build_plan_session(path, plan, tmp_path)
    assert loaded == [(path, plan)]
    build_plan_session(path, PLAN, tmp_path)
    assert loaded[1] != (path, PLAN), "pointless unless other plans are built from a copy"


def test_a_model_that_does_not_load_mapped_is_loaded_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX Runtime infers shapes from values that lie in the model, and refuses others."""
    shape = _named(np.array([0, SIZE], np.int64), "shape")
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"]),
    ]
    path = tmp_path / "m.onnx"
    path.write_bytes(_model(nodes, [_named(_weight(), "w"), shape]).SerializeToString())
    written = module._written

    def careless(model: Path | bytes, outline: Any, folder: Path) -> Path | None:
        target = written(model, outline, folder)
        assert target is not None
        proto = onnx.load_model(target, load_external_data=False)
        proto.graph.initializer[1].ClearField("raw_data")
        proto.graph.initializer[1].data_location = TensorProto.EXTERNAL
        proto.graph.initializer[1].external_data.add(key="location", value="weights")
        target.write_bytes(proto.SerializeToString())
        return target

    monkeypatch.setattr(module, "_written", careless)
    with mapped_weights(path, tmp_path) as source, pytest.raises(Exception, match="external"):
        onnxruntime.InferenceSession(source)
    session = build_plan_session(path, PLAN, tmp_path)
    assert np.isfinite(session.run(None, FEED)[0]).all()


def test_many_threads_load_one_model_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    [expected] = onnxruntime.InferenceSession(path).run(None, FEED)
    results: list[Any] = []

    def load() -> None:
        with mapped_weights(path, tmp_path) as source:
            assert source != path
            session = onnxruntime.InferenceSession(source)
        results.append(session.run(None, FEED)[0])

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(threads)
    for result in results:
        np.testing.assert_array_equal(result, expected)
    assert os.listdir(tmp_path) == ["m.onnx"]


UNPACKED = Plan(
    "plan",
    PLAN.providers,
    SessionSettings((("intra_op_num_threads", 1),), config=(("session.disable_prepacking", "1"),)),
)
"""Weights that are not packed stay mapped, for all to see."""


def _mapped_files() -> set[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if "/mapped-" in line}


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/maps")


@LINUX
@pytest.mark.parametrize("is_reference", [False, True])
def test_a_trial_builds_a_candidate_as_it_is_served_and_the_reference_as_it_was(
    tmp_path: Path, is_reference: bool
) -> None:
    path, feed = tmp_path / "m.onnx", tmp_path / "feed.values"
    path.write_bytes(_linear().SerializeToString())
    write_values(feed, FEED)
    worker, before = Worker(), _mapped_files()
    load = Load(UNPACKED, str(path), not is_reference, "", Calling.NUMPY, None, (str(feed),))
    try:
        assert isinstance(worker.answer(Envelope(load, 0, 0)), Loaded)
        assert bool(_mapped_files() - before) is not is_reference
    finally:
        gc.unfreeze()


def _checked(path: Path) -> onnxruntime.InferenceSession:
    """Return the session that is to serve, compared with the reference on one call."""
    [expected] = onnxruntime.InferenceSession(path).run(None, FEED)
    subject = Subject(
        LoadedModel.of(path, time.time_ns()),
        (evolve(PLAN, name="reference"), UNPACKED),
        session_of=lambda _: None,
        budget_ns=1,
        synthetic_feeds=False,
        progress=None,
        may_build_variants=False,
        variants=VariantCache(None),
    )
    with CallTrials(subject, Call(FEED, ("y",), Calling.NUMPY, lambda: [expected])) as trials:
        return trials.check_here(1)


@LINUX
def test_a_candidate_that_is_to_serve_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    before = _mapped_files()
    session = _checked(path)
    assert _mapped_files() - before
    del session


@LINUX
def test_a_plan_serves_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    before = _mapped_files()
    assert _checked(path).run(None, FEED)
    assert not _mapped_files() - before


@LINUX
def test_a_forked_child_reads_what_its_parent_mapped(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(_linear().SerializeToString())
    before = _mapped_files()
    session = build_plan_session(path, UNPACKED, tmp_path)
    assert _mapped_files() - before, "pointless unless something is mapped"
    [expected] = session.run(None, FEED)
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(session.run(None, FEED)[0], expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
