import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ortsel.plan import Plan, SessionSettings
from ortsel.trial.calling import Calling
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.screening import SEGMENT, Screened, Subject, screen
from ortsel.trial.values import write_values
from spec.failure import FailureKind
from tests.ortsel.trial.models import FEED, REFERENCE, linear

LIMITS = TrialLimits(calls_least=1)
ALIKE = tuple(
    Plan(f"level {level}", settings=SessionSettings((("graph_optimization_level", level),)))
    for level in (0, 1, 2, 99)
)
BROKEN = Plan("broken", settings=SessionSettings(custom_op_libraries=("/no/such/library.so",)))


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    feed = tmp_path / "feed.values"
    write_values(feed, FEED)
    return Subject(linear(tmp_path / "m.onnx"), feed, ("y",), Calling.NUMPY, tmp_path)


def screened(
    subject: Subject,
    plans: tuple[Plan, ...],
    seconds: float = 60,
    turn: Callable[[int], None] = lambda _: None,
) -> Screened:
    ends_ns = time.monotonic_ns() + int(seconds * SECOND_NS)
    return screen((REFERENCE, *plans), subject, LIMITS, ends_ns, {}, lambda look: look(), turn)


def test_every_plan_gets_a_ratio_in_one_child_that_is_gone_afterwards(subject: Subject) -> None:
    children: set[int] = set()

    def turn(_: int) -> None:
        children.update(one.pid for one in psutil.Process().children())

    before = {one.pid for one in psutil.Process().children()}
    found = screened(subject, (*ALIKE, BROKEN), turn=turn)
    assert len(children - before) == 1
    assert not any(psutil.pid_exists(pid) for pid in children - before)
    assert set(found.ratios) == {plan.name for plan in ALIKE}
    assert all(ratio > 0 for ratio in found.ratios.values())
    assert found.spread >= 0


def test_a_plan_that_cannot_be_built_says_why_and_ends_nothing(subject: Subject) -> None:
    found = screened(subject, (BROKEN, *ALIKE))
    assert len(ALIKE) >= SEGMENT, "a second look at the reference follows"
    assert found.failures["broken"].kind is FailureKind.UNSUPPORTED
    assert set(found.ratios) == {plan.name for plan in ALIKE}


def test_without_time_nothing_is_known_of_anybody(subject: Subject) -> None:
    assert screened(subject, ALIKE, seconds=0).ratios == {}
