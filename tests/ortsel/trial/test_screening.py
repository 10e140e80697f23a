"""A short look at many plans in one child."""

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import psutil
import pytest

from ortsel.plan import Plan, SessionSettings
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import Rig
from ortsel.trial.screening import Screened, screen
from spec.engine.effect import Purpose
from spec.failure import FailureKind
from tests.ortsel.trial.models import FEED, REFERENCE, linear

ALIKE = tuple(
    Plan(f"level {level}", settings=SessionSettings((("graph_optimization_level", level),)))
    for level in (0, 1, 2, 99)
)
BROKEN = Plan("broken", settings=SessionSettings(custom_op_libraries=("/no/such/library.so",)))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    model = linear(tmp_path / "m.onnx")
    limits = TrialLimits(measurement_least_ns=2_000_000)
    with Rig(model, REFERENCE, [FEED], None, scratch=tmp_path, limits=limits) as rig:
        yield rig


def screened(
    rig: Rig, plans: tuple[Plan, ...], seconds: float = 60, seen: set[int] | None = None
) -> Screened:
    ends_ns = time.monotonic_ns() + int(seconds * SECOND_NS)

    def left_ns() -> int:
        return ends_ns - time.monotonic_ns()

    def undisturbed(look: Callable[[], Fraction]) -> Fraction:
        ratio = look()
        if seen is not None:
            seen.update(rig.process_ids().values())
        return ratio

    return screen(plans, rig, left_ns, lambda: ends_ns, undisturbed, lambda _: None)


def test_every_plan_gets_a_ratio_in_one_child_beside_the_reference_s(rig: Rig) -> None:
    seen: set[int] = set()
    found = screened(rig, ALIKE, seen=seen)
    assert set(found.ratios) == {plan.name for plan in ALIKE}
    assert all(ratio > 0 for ratio in found.ratios.values())
    assert len(seen) == 2


def test_what_is_tried_afterwards_gets_a_child_of_its_own(rig: Rig) -> None:
    seen: set[int] = set()
    screened(rig, ALIKE, seen=seen)
    reference = rig.process_ids()
    assert set(reference) == {REFERENCE.name}
    for gone in seen - set(reference.values()):
        assert not psutil.pid_exists(gone)
    assert rig.measure(ALIKE[-1], Purpose.WARMUP, time.monotonic_ns() + 60 * SECOND_NS) > 0
    assert rig.process_ids()[ALIKE[-1].name] not in seen


def test_a_plan_that_cannot_be_built_says_why_and_the_next_has_its_child(rig: Rig) -> None:
    seen: set[int] = set()
    found = screened(rig, (ALIKE[0], BROKEN, *ALIKE[1:]), seen=seen)
    assert found.failures["broken"].kind is FailureKind.UNSUPPORTED
    assert set(found.ratios) == {plan.name for plan in ALIKE}
    assert len(seen) == 2


def test_without_time_nothing_is_known_of_anybody(rig: Rig) -> None:
    found = screened(rig, ALIKE, seconds=0)
    assert not found.ratios
    assert not found.failures


def test_nobody_is_looked_at_without_time_for_another_child(rig: Rig) -> None:
    def no_look(_: Callable[[], Fraction]) -> Fraction:
        raise AssertionError

    def looked_at(left: Fraction) -> Screened:
        return screen(
            ALIKE,
            rig,
            lambda: int(max(rig.opening_ns, 1) * left),
            lambda: time.monotonic_ns() + 60 * SECOND_NS,
            no_look,
            lambda _: None,
        )

    found = looked_at(Fraction(3, 2))
    assert not found.ratios
    assert not found.failures
    assert set(rig.process_ids()) == {REFERENCE.name}
    assert rig.turn_ns() > rig.opening_ns > 0
    with pytest.raises(AssertionError):
        looked_at(Fraction(3))
