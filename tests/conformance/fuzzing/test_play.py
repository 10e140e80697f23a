"""Plans: every one can be played, in the style it is for, and the same plan gives the same play."""

import pytest
from hypothesis import given

from conformance.fuzzing.candidate import script_of
from conformance.fuzzing.drawing import (
    ACTION_BYTES,
    NOISES,
    QUESTIONS,
    WORLD_BYTES,
    action_of,
    plans,
    policy_of,
)
from conformance.fuzzing.plan import Plan
from conformance.fuzzing.play import Refused, Took, played
from conformance.fuzzing.search import drive, spec_alone
from conformance.protocol import Style
from conformance.runner.exchange import calling_exchanges, stepping_exchanges
from spec.decision import Decision, Source
from spec.engine.effect import Answer
from spec.engine.event import Requested
from spec.failure import Failure, FailureKind


@given(plans(Style.STEPPING))
def test_a_plan_plays_the_same_every_time(plan: Plan) -> None:
    assert played(plan, Style.STEPPING) == played(plan, Style.STEPPING)


@given(plans(Style.CALLING))
def test_a_calling_play_can_be_told_to_a_blocking_engine(plan: Plan) -> None:
    script = script_of(played(plan, Style.CALLING), ("calling",))
    exchanges = calling_exchanges(script)
    assert exchanges is not None
    assert len(stepping_exchanges(script)) == len(script.steps)


@given(plans(Style.STEPPING))
def test_a_refused_event_is_one_that_the_model_refuses_for_a_reason(plan: Plan) -> None:
    for step in played(plan, Style.STEPPING).steps:
        if isinstance(step, Refused):
            assert step.refused in {"out-of-turn", "invalid-value"}
            assert not isinstance(step.event, Requested), "a request is always answered"


def test_the_plainest_numbers_are_the_plainest_plan() -> None:
    policy = policy_of(bytes(WORLD_BYTES))
    assert policy.mode.value == "explore"
    action = action_of(Style.STEPPING, bytes(ACTION_BYTES))
    assert type(action).__name__ == "Ask"
    assert NOISES[0] == (0,)
    assert len(QUESTIONS) > 20


@pytest.mark.parametrize("style", Style)
def test_random_plans_reach_every_answer_and_failure_that_the_style_can_have(
    style: Style,
) -> None:
    seen: set[str] = set()

    def note(plan: Plan) -> None:
        for step in played(plan, style).steps:
            if isinstance(step, Took):
                for effect in step.effects:
                    if isinstance(effect, Answer):
                        seen.add(_word(effect.result))

    assert drive(note, 1, 800, style) == 800
    expected = {source.value for source in Source} | {
        FailureKind.INVALID.value,
        FailureKind.QUARANTINED.value,
        FailureKind.DEVICE.value,
    }
    if style is Style.CALLING:
        expected -= {Source.BUSY.value}
    assert seen == expected


def _word(result: Decision | Failure) -> str:
    return result.source.value if isinstance(result, Decision) else result.kind.value


def test_the_reference_model_alone_is_measured_in_selections() -> None:
    search = spec_alone(3, 20, Style.STEPPING)
    assert search.examples == 20
    assert search.selections > 20
    assert search.finding is None
    assert search.selections_per_s > 0
