"""A bound run is looked up by text, and asks ONNX Runtime nothing twice."""

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ortsel
from tests.ortsel.trial import models

NAMES = st.text(max_size=4) | st.sampled_from(["'", '"', "\\", "', ", "\n", "a'), ('b"])
SIZES = st.lists(st.integers(0, 2**63 - 1), max_size=3)
KINDS = st.sampled_from(["float32", "tensor(float)", "<class 'numpy.float32'>"])
BOUND = st.dictionaries(NAMES, st.tuples(KINDS, SIZES.map(tuple)), max_size=3)


def _bound(session: Any, kind: type = ortsel.IOBinding, width: int = models.WIDTH) -> Any:
    binding = kind(session)
    binding.bind_cpu_input("x", np.ones((1, width), np.float32))
    binding.bind_output("y")
    return binding


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.linear(tmp_path_factory.mktemp("bound") / "model.onnx")


@pytest.fixture(scope="module")
def session(model: Path) -> ortsel.InferenceSession:
    return ortsel.InferenceSession(model, selection=ortsel.SelectionConfig("cache-only"))


@given(BOUND, BOUND, st.lists(NAMES, unique=True, max_size=2))
def test_the_signature_says_everything_that_is_bound(
    session: ortsel.InferenceSession,
    inputs: dict[str, tuple[str, tuple[int, ...]]],
    outputs: dict[str, tuple[str, tuple[int, ...]]],
    unknown: list[str],
) -> None:
    binding = session.io_binding()
    for name, description in inputs.items():
        binding._input(name, description, None)
    for name, description in outputs.items():
        binding._output(name, description, None)
    binding._seen.unknown.update(dict.fromkeys(unknown))
    told = ast.literal_eval(binding.signature())
    # What can be read back from a text is never the same text for two bindings.
    assert told == (tuple(inputs.items()), tuple(outputs.items()), False, tuple(unknown))


def test_numbers_of_numpy_in_a_shape_are_numbers(session: ortsel.InferenceSession) -> None:
    buffer = np.ones((1, models.WIDTH), np.float32)
    plain, numpy = session.io_binding(), session.io_binding()
    for binding, shape in ((plain, [1, 16]), (numpy, [np.int64(1), np.int64(16)])):
        binding.bind_input("x", "cpu", 0, np.float32, shape, buffer.ctypes.data)
    assert plain.signature() == numpy.signature()


def test_binding_again_is_another_signature(session: ortsel.InferenceSession) -> None:
    binding = _bound(session)
    before = binding.signature()
    binding.bind_cpu_input("x", np.ones((2, models.WIDTH), np.float32))
    assert binding.signature() != before
    binding.clear_binding_outputs()
    assert "y" not in binding.signature()


class Inherited(ortsel.IOBinding):
    """A binding class of a caller's own."""


@pytest.mark.parametrize("kind", [ortsel.IOBinding, Inherited, onnxruntime.IOBinding])
def test_every_kind_of_binding_runs(session: ortsel.InferenceSession, kind: type) -> None:
    [expected] = session.run(None, {"x": np.ones((1, models.WIDTH), np.float32)})
    binding = _bound(session, kind)
    for _ in range(3):  # the first run of a shape, and hits
        session.run_with_iobinding(binding)
        [value] = binding.get_outputs()
        assert np.array_equal(value.numpy(), expected)


def _another_sessions(session: Any, model: Path) -> Any:
    other = onnxruntime.InferenceSession(model)
    binding = _bound(session, type(session.io_binding()))
    session.run_with_iobinding(binding)
    return _bound(other, type(binding))


def _nothing(session: Any, _: Path) -> Any:
    return session.io_binding()


def _no_binding(session: Any, _: Path) -> Any:
    del session
    return object()


def _native(session: Any, _: Path) -> Any:
    return _bound(session, type(session.io_binding()))._iobinding


def _wrong_width(session: Any, _: Path) -> Any:
    return _bound(session, type(session.io_binding()), width=models.WIDTH + 1)


def _none(session: Any, _: Path) -> Any:
    del session


@pytest.mark.parametrize(
    "make", [_another_sessions, _nothing, _no_binding, _native, _wrong_width, _none]
)
def test_what_cannot_be_run_raises_what_onnx_runtime_raises(
    model: Path, make: Callable[[Any, Path], Any]
) -> None:
    def outcome(session: Any) -> tuple[type, str] | None:
        binding = make(session, model)
        found = []
        for _ in range(2):  # the second time it is a hit, if it can be
            try:
                session.run_with_iobinding(binding)
            except Exception as error:  # noqa: BLE001
                found.append((type(error), str(error)))
        assert not found or found[0] == found[-1]
        return found[0] if found else None

    ours = ortsel.InferenceSession(model, selection=ortsel.SelectionConfig("cache-only"))
    assert outcome(ours) == outcome(onnxruntime.InferenceSession(model))


def test_a_binding_of_a_session_that_was_built_anew_is_refused_as_by_onnx_runtime(
    model: Path,
) -> None:
    def outcome(session: Any) -> str:
        binding = _bound(session, type(session.io_binding()))
        session.run_with_iobinding(binding)
        session.set_providers(["CPUExecutionProvider"])
        try:
            session.run_with_iobinding(binding)
        except ValueError as error:
            return str(error)
        return ""

    ours = ortsel.InferenceSession(model, selection=ortsel.SelectionConfig("cache-only"))
    assert outcome(ours) == outcome(onnxruntime.InferenceSession(model))


def test_a_copied_session_runs_the_bindings_of_the_first(session: ortsel.InferenceSession) -> None:
    binding = _bound(session)
    copy.copy(session).run_with_iobinding(binding)
    [value] = binding.get_outputs()
    [expected] = session.run(None, {"x": np.ones((1, models.WIDTH), np.float32)})
    assert np.array_equal(value.numpy(), expected)
