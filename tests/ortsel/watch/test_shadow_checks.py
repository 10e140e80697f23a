"""A served result that differs from the reference's takes its plan back and bans it (V7)."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from attrs import evolve

import ortsel
from ortsel import telemetry
from ortsel.background import IDLE_WORK
from ortsel.selectors import forget_all
from tests.ortsel.session.session_models import (
    files,
    folding,
    unoptimized,
    wasteful,
    wasteful_feed,
)
from tests.ortsel.watch.watched_models import sometimes_wrong

pytestmark = pytest.mark.slow
WAIT_S = 60.0


@pytest.fixture(autouse=True)
def _new_process() -> Iterator[None]:
    forget_all()
    telemetry.forget_warnings()
    yield
    assert eventually(lambda: not IDLE_WORK.is_busy())
    forget_all()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return wasteful(tmp_path / "model.onnx")


CONFIG = ortsel.SelectionConfig(
    mode="blocking",
    store=None,
    candidates=folding,
    budget_s=60.0,
    idle_s=0.02,
    shadow_share=1.0,
    watch_every_s=0,
)


def eventually(holds: Callable[[], bool], seconds: float = WAIT_S) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def tuned(model: Path, config: ortsel.SelectionConfig = CONFIG) -> ortsel.InferenceSession:
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    session.run(None, wasteful_feed())
    return session


def plan(session: ortsel.InferenceSession) -> object:
    return session.explain().rows()[-1]["plan"]


def served(session: ortsel.InferenceSession, calls: int) -> None:
    """Serve calls, each with a pause in which it can be looked at."""
    for seed in range(calls):
        session.run(None, wasteful_feed(seed))
        assert eventually(lambda: not IDLE_WORK.is_busy())


class _WrongFrom:
    """ONNX Runtime's session, but wrong from one of its calls on."""

    def __init__(self, session: Any, first_wrong: int) -> None:
        self._real = session
        self._left = first_wrong - 1

    def run(self, names: Sequence[str], feed: Mapping[str, Any], options: None) -> list[Any]:
        outputs = self._real.run(names, feed, options)
        self._left -= 1
        return list(outputs) if self._left >= 0 else [output + 1 for output in outputs]


def spoil(session: ortsel.InferenceSession, first_wrong: int) -> None:
    connection = session._ortsel_connection
    assert connection is not None
    [choice] = connection.choices.values()
    assert choice.session is not None, "pointless unless a plan serves"
    stub = _WrongFrom(choice.session._sess, first_wrong)
    choice.session._sess = stub
    choice.run = stub.run


def test_results_that_are_right_are_found_equal_and_the_plan_stays(
    model: Path, newly_held_bytes: Callable[[], int]
) -> None:
    session = tuned(model)
    assert plan(session) == "folding"
    served(session, 8)
    checks = session.explain().checks
    assert (checks.equal, checks.different, checks.skipped) == (3, 0, 0), "calls 1, 3 and 7"
    assert plan(session) == "folding"
    assert newly_held_bytes() == 0
    assert "3 equal" in str(session.explain())


def test_a_plan_that_is_wrong_from_the_nth_call_is_banned_with_what_differed(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = tuned(model)
    spoil(session, first_wrong=3)
    with caplog.at_level(logging.WARNING, "ortsel"):
        served(session, 4)
    assert plan(session) == "reference"
    assert session.explain().checks.different == 1
    reason = str(session.explain().rows()[-1]["reason"])
    assert "differed while serving" in reason
    assert "output 'y'" in reason
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "nothing need be done" in record.getMessage()
    fields = record.__dict__
    assert (fields["ortsel_event"], fields["ortsel_plan"]) == ("plan-withdrawn", "folding")
    assert fields["ortsel_cause"] == "different"
    plain = onnxruntime.InferenceSession(model, unoptimized())
    feed = wasteful_feed(9)
    np.testing.assert_array_equal(session.run(None, feed)[0], plain.run(None, feed)[0])
    assert session.statistics().invalidations == 1


def test_a_banned_plan_does_not_come_back_when_the_shape_is_decided_anew(model: Path) -> None:
    policy = evolve(CONFIG.policy, retry_after_s=1)
    session = tuned(model, evolve(CONFIG, policy=policy))
    spoil(session, first_wrong=1)
    served(session, 1)
    assert plan(session) == "reference"
    time.sleep(1.1)
    served(session, 1)
    assert session.statistics().explorations == 2
    [row] = [row for row in session.explain().candidate_rows() if row["plan"] == "folding"]
    assert row["outcome"] == "banned"
    assert plan(session) == "reference"


def test_a_real_plan_that_turns_wrong_after_many_calls_is_found(
    model: Path, tmp_path: Path
) -> None:
    """Right in all calls of its trial, and wrong in one of eight from then on."""
    limit = 1 - 1 / 8
    for seed in range(1, 5000):
        draws = onnxruntime.InferenceSession(_draws(float(seed))).run(None, {})[0]
        if np.all(draws[:40] <= limit) and np.any(draws[40:120] > limit):
            break
    else:
        pytest.fail("no seed is right for 40 calls and then wrong")
    path = sometimes_wrong(tmp_path / "later.onnx", model, float(seed), limit)

    def later(facts: Any) -> Sequence[ortsel.Plan]:
        [plan] = files({"later": path})(facts)
        settings = plan.settings.with_attribute("graph_optimization_level", 1)
        return [evolve(plan, settings=settings)]

    session = tuned(model, evolve(CONFIG, candidates=later, shadow_every_s=0.01))
    assert plan(session) == "later", session.explain()
    for number in range(300):
        if plan(session) == "reference":
            break
        served(session, 1)
        if number == 0:
            assert session.explain().checks.equal == 1, "right at first"
    assert session.explain().checks.different == 1
    assert "differed while serving" in str(session.explain().rows()[-1]["reason"])


def _draws(seed: float) -> bytes:
    from onnx import TensorProto, helper

    nodes = [helper.make_node("RandomUniform", [], ["r"], shape=[120], seed=seed)]
    graph = helper.make_graph(
        nodes, "draws", [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, [120])]
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def test_a_bound_run_is_looked_at_too(model: Path) -> None:
    session = ortsel.InferenceSession(model, unoptimized(), selection=CONFIG)
    feed = wasteful_feed()
    binding = session.io_binding()
    binding.bind_cpu_input("x", feed["x"])
    binding.bind_output("y")
    for _ in range(4):
        session.run_with_iobinding(binding)
        assert eventually(lambda: not IDLE_WORK.is_busy())
    assert plan(session) == "folding"
    assert session.explain().checks.equal == 2, "calls 2 and 4"


@pytest.mark.parametrize(
    "config",
    [
        evolve(CONFIG, keep_feeds=False),
        evolve(CONFIG, shadow_share=0.0),
    ],
)
def test_nothing_is_copied_where_nobody_wants_it(
    model: Path, config: ortsel.SelectionConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tuned(model, config)
    assert plan(session) == "folding"

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a copy was taken")

    monkeypatch.setattr("ortsel.background.snapshots.Snapshots.take", refuse)
    served(session, 8)
    assert session.explain().checks == ortsel.explain.Explanation(()).checks


def test_a_call_without_room_for_its_copy_is_served_and_not_looked_at(model: Path) -> None:
    session = tuned(model, evolve(CONFIG, snapshot_bytes=1000))
    served(session, 4)
    checks = session.explain().checks
    assert (checks.equal, checks.skipped) == (0, 1), "and stays away for a while"
    assert plan(session) == "folding"


@pytest.mark.parametrize(
    ("field", "build"),
    [
        ("shadow_share", lambda: evolve(CONFIG, shadow_share=1.5)),
        ("shadow_share", lambda: evolve(CONFIG, shadow_share=True)),
        ("shadow_every_s", lambda: evolve(CONFIG, shadow_every_s=0)),
        ("watch_every_s", lambda: evolve(CONFIG, watch_every_s=-1)),
    ],
)
def test_a_setting_out_of_range_is_refused(field: str, build: Callable[[], object]) -> None:
    with pytest.raises(ortsel.UsageError, match=field):
        build()
