"""Every case that ONNX has for its operators gives through ortsel what it gives through ORT."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnxruntime
import pytest
from attrs import evolve

import ortsel
from ortsel.store import open_store
from tests.ortsel.bundle.bundle_samples import stored
from tests.ortsel.contract.node_cases import NodeCase, node_cases
from tests.ortsel.contract.outcomes import outcome
from tests.ortsel.session.test_drop_in import Everything

SLICES = 8
LEAST = 1400
"""Cases that the oldest ONNX Runtime in use can run; 1.32 runs about 1700."""

LOOKED_UP = 20
SILENT = 4
Builds: TypeAlias = Sequence[Callable[[NodeCase, Path], Any]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store") / "store.sqlite"


@pytest.fixture(scope="module")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is not empty, so that a session asks it about every shape."""
    path = tmp_path_factory.mktemp("store") / "store.sqlite"
    record = stored()
    open_store(str(path)).save(record.record, record.key_text)
    return path


def options_of(kind: Callable[[], Any]) -> Any:
    options = kind()
    options.intra_op_num_threads = 1
    options.log_severity_level = SILENT
    return options


def plain(case: NodeCase) -> Any:
    return onnxruntime.InferenceSession(case.model, options_of(onnxruntime.SessionOptions))


def kept_apart(case: NodeCase, store: Path) -> Any:
    """Return a session that gives something else from its second run on."""

    class Forgetful(ortsel.InferenceSession):
        runs = 0

        def run(self, *arguments: Any, **keywords: Any) -> Any:
            self.runs += 1
            outputs = super().run(*arguments, **keywords)
            return outputs if self.runs == 1 else outputs[::-1]

    return Forgetful(case.model, options_of(ortsel.SessionOptions))


def ours(case: NodeCase, store: Path) -> Any:
    config = ortsel.SelectionConfig("cache-only", store)
    return ortsel.InferenceSession(case.model, options_of(ortsel.SessionOptions), selection=config)


def served(case: NodeCase, store: Path) -> Any:
    """Return a session of which every call is served by a plan."""
    session = ours(case, store)
    if session._ortsel_connection is not None:
        choices = Everything(plain(case))
        session._ortsel_connection = evolve(session._ortsel_connection, choices=choices)
    return session


def answers(build: Callable[[], Any], case: NodeCase) -> Iterator[Any]:
    """Return what each of a sequence of calls gives, until the first that cannot be made."""
    session: Any = None

    def built() -> None:
        nonlocal session
        session = build()

    yield outcome(built)
    if session is None:
        return
    names = [output.name for output in session.get_outputs()]
    yield outcome(lambda: session.run(None, case.feed))
    yield outcome(lambda: session.run([*reversed(names), names[0]], case.feed))
    yield outcome(lambda: session.run(None, case.feed))
    yield outcome(lambda: bound(session, case, names))


def bound(session: Any, case: NodeCase, names: list[str]) -> list[Any]:
    binding = session.io_binding()
    for name, value in case.feed.items():
        if isinstance(value, onnxruntime.OrtValue):
            binding.bind_ortvalue_input(name, value)
        elif isinstance(value, np.ndarray):
            binding.bind_cpu_input(name, value)
        else:
            return ["not bound"]
    for name in names:
        binding.bind_output(name)
    results = []
    for _ in range(2):
        session.run_with_iobinding(binding)
        results.append(binding.get_outputs())
    return results


def different(
    build: Callable[[NodeCase, Path], Any], case: NodeCase, expected: list[Any], store: Path
) -> list[Any]:
    found = list(answers(partial(build, case, store), case))
    if len(found) != len(expected):
        return [found, expected]
    return [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]]


def all_different(builds: Builds, cases: Sequence[NodeCase], store: Path) -> dict[str, Any]:
    """Return what differs from plain ONNX Runtime, by the case and by how its session was built."""
    found: dict[str, Any] = {}
    for case in cases:
        expected = list(answers(partial(plain, case), case))
        for build in builds:
            if pairs := different(build, case, expected, store):
                found[f"{case.name} {build.__name__}"] = pairs
    return found


@pytest.mark.parametrize("part", range(SLICES))
def test_a_case_gives_the_same_through_every_way(part: int, store: Path) -> None:
    assert all_different((ours, served), node_cases()[part::SLICES], store) == {}


def test_a_case_gives_the_same_where_every_shape_is_looked_up(filled_store: Path) -> None:
    assert all_different((ours,), node_cases()[:: 2 * SLICES], filled_store) == {}


@pytest.mark.deep
def test_every_case_gives_the_same_where_every_shape_is_looked_up(filled_store: Path) -> None:
    assert all_different((ours,), node_cases(), filled_store) == {}


def test_most_cases_run_and_are_looked_up(filled_store: Path) -> None:
    ran = asked = 0
    for case in node_cases()[::SLICES]:
        gave = list(answers(partial(plain, case), case))
        if len(gave) > 1 and gave[1][0] == "list":
            ran += 1
            if ran <= LOOKED_UP:
                session = ours(case, filled_store)
                before = session.statistics().requests
                session.run(None, case.feed)
                asked += session.statistics().requests > before
    assert ran >= LEAST // SLICES
    assert asked > LOOKED_UP / 2


def test_a_session_that_gives_something_else_later_is_seen(store: Path) -> None:
    case = next(case for case in node_cases() if case.name == "test_split_equal_parts_1d_opset18")
    expected = list(answers(partial(plain, case), case))
    assert expected[1][0] == "list", "pointless unless the case runs"
    assert different(ours, case, expected, store) == []
    assert len(different(kept_apart, case, expected, store)) == 2
