"""Ways in which something else than the reference's result could reach a caller, each closed."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from onnx import TensorProto, helper

import ortsel
from ortsel.call_trials import Call, CallTrials, Subject
from ortsel.choice import Choice
from ortsel.loaded_model import LoadedModel
from ortsel.selectors import forget_all
from ortsel.store import open_store
from ortsel.trial.calling import Calling
from ortsel.trial.errors import TrialFailedError
from ortsel.variant_cache import VariantCache, VariantMissingError
from tests.ortsel.session.session_models import (
    folding,
    unoptimized,
    wasteful,
    wasteful_feed,
)
from tests.ortsel.trial import models

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _new_process() -> Iterator[None]:
    forget_all()
    yield
    forget_all()


def blocking(store: Path | None = None) -> ortsel.SelectionConfig:
    return ortsel.SelectionConfig("blocking", store, 60.0, candidates=folding)


def plan_of(session: ortsel.InferenceSession) -> object:
    return session.explain().rows()[-1]["plan"]


def serving(tmp_path: Path, store: Path | None = None) -> ortsel.InferenceSession:
    model = wasteful(tmp_path / "model.onnx")
    session = ortsel.InferenceSession(model, unoptimized(), selection=blocking(store))
    session.run(None, wasteful_feed())
    assert plan_of(session) == "folding", "pointless unless a plan serves"
    return session


def test_a_users_mistake_raises_as_ever_and_costs_the_plan_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    session = serving(tmp_path, store)
    wrong = {"x": wasteful_feed()["x"]}
    assert session._ortsel_connection is not None
    choices = session._ortsel_connection.choices

    class Refusing:
        """A session that refuses the values of one call, as an index out of range would."""

        def run(self, *_: object) -> object:
            raise RuntimeError("out of range")

    [(signature, choice)] = choices.items()
    refusing = Refusing()
    choices[signature] = Choice(choice.session, choice.until_ns, refusing.run)
    native = session._sess
    session._sess = _Raising(native)
    with pytest.raises(RuntimeError, match="the reference refuses"):
        session.run(None, wrong)
    session._sess = native
    assert plan_of(session) == "folding"
    assert len(list(open_store(store).records())) == 1


class _Raising:
    def __init__(self, native: object) -> None:
        self._native = native

    def run(self, *_: object) -> object:
        raise RuntimeError("the reference refuses")

    def __getattr__(self, name: str) -> object:
        return getattr(self._native, name)


def test_a_model_file_that_was_replaced_after_loading_is_no_longer_tuned(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "model.onnx")
    session = ortsel.InferenceSession(model, selection=blocking())
    plain = onnxruntime.InferenceSession(model)
    os.replace(models.linear(tmp_path / "new.onnx", factor=3.0), model)
    for _ in range(2):
        served = session.run(None, models.FEED)[0]
        np.testing.assert_array_equal(served, plain.run(None, models.FEED)[0])
    assert "changed since the session loaded it" in str(session.explain().rows()[0]["reason"])


def test_external_data_that_was_replaced_after_loading_is_noticed(tmp_path: Path) -> None:
    proto = onnx.load(models.linear(tmp_path / "inline.onnx"))
    model = tmp_path / "model.onnx"
    onnx.save(proto, model, save_as_external_data=True, location="weights.bin", size_threshold=16)
    session = ortsel.InferenceSession(model, selection=blocking())
    weights = tmp_path / "weights.bin"
    (tmp_path / "other.bin").write_bytes(bytes(weights.stat().st_size))
    os.replace(tmp_path / "other.bin", weights)
    session.run(None, models.FEED)
    assert "weights.bin changed" in str(session.explain().rows()[0]["reason"])


def test_a_relative_path_means_what_it_meant_at_creation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    wasteful(tmp_path / "here" / "model.onnx")
    models.linear(tmp_path / "there" / "model.onnx")
    monkeypatch.chdir(tmp_path / "here")
    session = ortsel.InferenceSession("model.onnx", unoptimized(), selection=blocking())
    monkeypatch.chdir(tmp_path / "there")
    session.run(None, wasteful_feed())
    assert plan_of(session) == "folding"


def test_providers_that_are_not_there_do_not_keep_a_session_from_being_tuned(
    tmp_path: Path,
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    store = tmp_path / "store.sqlite"
    named = [
        ["CPUExecutionProvider"],
        ["CUDAExecutionProvider", "CPUExecutionProvider"],
        onnxruntime.get_available_providers(),
        None,
    ]
    sources = []
    for providers in named:
        forget_all()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            session = ortsel.InferenceSession(
                model, unoptimized(), providers=providers, selection=blocking(store)
            )
        session.run(None, wasteful_feed())
        assert plan_of(session) == "folding"
        sources.append(session.explain().rows()[0]["source"])
    assert sources[0] == "tuned"
    assert set(sources[1:]) == {"stored"}, "one decision for all names of one session"


@pytest.mark.parametrize("to", [TensorProto.STRING, TensorProto.BFLOAT16])
def test_bound_outputs_that_numpy_cannot_hold_are_left_alone(tmp_path: Path, to: int) -> None:
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=to)],
        "cast",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", to, ["n"])],
    )
    model = tmp_path / "cast.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model
    )
    store = tmp_path / "store.sqlite"
    for config in (ortsel.SelectionConfig(store=None), blocking(store)):
        session = ortsel.InferenceSession(model, selection=config)
        binding = session.io_binding()
        binding.bind_cpu_input("x", np.ones(3, np.float32))
        binding.bind_output("y")
        for _ in range(2):
            session.run_with_iobinding(binding)
        [value] = binding.get_outputs()
        assert value.shape() == [3]
        assert plan_of(session) == "reference"


def test_the_same_shapes_bound_over_each_other_are_another_call(tmp_path: Path) -> None:
    session = serving(tmp_path)
    separate, shared = session.io_binding(), session.io_binding()
    values = wasteful_feed()["x"]
    value = onnxruntime.OrtValue.ortvalue_from_numpy(values.copy())
    other = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(values))
    separate.bind_ortvalue_input("x", value)
    separate.bind_ortvalue_output("y", other)
    shared.bind_ortvalue_input("x", value)
    shared.bind_ortvalue_output("y", value)
    assert separate.signature() != shared.signature()
    assert separate.obstacle() == ""
    assert "overlap" in shared.obstacle()
    session.run_with_iobinding(shared)
    assert "overlap" in str(session.explain().rows()[-1]["reason"])


def test_a_session_built_anew_during_a_search_gets_nothing_of_the_old_one(tmp_path: Path) -> None:
    model = wasteful(tmp_path / "model.onnx")
    begun = threading.Event()
    config = evolve(blocking(), progress=lambda _: begun.set())
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    results: list[object] = []
    caller = threading.Thread(target=lambda: results.append(session.run(None, wasteful_feed())))
    caller.start()
    assert begun.wait(60)
    session.set_providers(["CPUExecutionProvider"])
    caller.join()
    assert len(results) == 1
    assert session._ortsel_connection is not None
    assert dict(session._ortsel_connection.choices) == {}
    assert session.explain().rows() == []


def trials_of(model: Path, plan: ortsel.Plan, cache: VariantCache) -> CallTrials:
    loaded = LoadedModel.of(model, time.time_ns())
    reference = ortsel.Plan("reference")
    subject = Subject(loaded, (reference, plan), lambda _: None, 10**9, False, None, False, cache)
    outputs = onnxruntime.InferenceSession(model).run(None, models.FEED)
    return CallTrials(subject, Call(models.FEED, ("y",), Calling.NUMPY, lambda: outputs))


def test_no_request_waits_for_a_graph_variant_that_may_not_be_built_now(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "model.onnx")
    plan = ortsel.Plan("rewritten", variant="ort-fusions")
    cache = VariantCache(tmp_path / "variants")
    with (
        trials_of(model, plan, cache) as trials,
        pytest.raises(VariantMissingError, match="ort-fusions is not built here"),
    ):
        trials.check_here(1)
    content = LoadedModel.of(model, time.time_ns()).content().digest
    cache.keep(content, "ort-fusions", models.linear(tmp_path / "built.onnx"))
    with trials_of(model, plan, cache) as trials:
        session = trials.check_here(1)
    assert session.get_outputs()[0].name == "y"


def test_a_kept_variant_that_is_something_else_does_not_serve(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "model.onnx")
    cache = VariantCache(tmp_path / "variants")
    content = LoadedModel.of(model, time.time_ns()).content().digest
    cache.keep(content, "ort-fusions", models.linear(tmp_path / "other.onnx", factor=2.0))
    plan = ortsel.Plan("rewritten", variant="ort-fusions")
    with (
        trials_of(model, plan, cache) as trials,
        pytest.raises(TrialFailedError, match="different"),
    ):
        trials.check_here(1)


def test_kept_variants_are_few_private_and_apart_by_model_and_variant(tmp_path: Path) -> None:
    cache = VariantCache(tmp_path / "variants")
    built = models.linear(tmp_path / "built.onnx")
    for number in range(20):
        cache.keep(f"model {number}", "ort-fusions", built)
    assert len(list((tmp_path / "variants").iterdir())) == 16
    newest = cache.find("model 19", "ort-fusions")
    assert newest is not None
    assert newest.read_bytes() == built.read_bytes()
    assert newest.stat().st_mode & 0o77 == 0
    assert cache.find("model 19", "prescaled-query") is None
    assert cache.find("model 0", "ort-fusions") is None
    assert VariantCache(None).find("model 19", "ort-fusions") is None


def test_a_random_operator_in_a_branch_not_taken_keeps_the_reference(tmp_path: Path) -> None:
    def branch(name: str, node: onnx.NodeProto) -> onnx.GraphProto:
        output = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
        return helper.make_graph([node], name, [], [output])

    graph = helper.make_graph(
        [
            helper.make_node(
                "If",
                ["draw"],
                ["y"],
                then_branch=branch("yes", helper.make_node("RandomNormal", [], ["r"], shape=[2])),
                else_branch=branch("no", helper.make_node("Identity", ["x"], ["r"])),
            )
        ],
        "maybe",
        [
            helper.make_tensor_value_info("draw", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    model = tmp_path / "maybe.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model
    )
    session = ortsel.InferenceSession(
        model, selection=ortsel.SelectionConfig("blocking", None, 30.0)
    )
    plain = onnxruntime.InferenceSession(model)
    for draw in (False, True, True, True):
        feed = {"draw": np.asarray(draw), "x": np.ones(2, np.float32)}
        np.testing.assert_array_equal(session.run(None, feed)[0], plain.run(None, feed)[0])
    assert "RandomNormal" in str(session.explain().rows()[0]["reason"])
