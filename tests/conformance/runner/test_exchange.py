"""One script, two styles: what is said, and what may not be said in the calling style."""

from typing import Final

from conformance.codec import encode_event
from conformance.fuzzing.plan import Ask, LookAround, Misbehave, TakeBack, Trouble
from conformance.protocol import Capability, Style
from conformance.runner.exchange import calling_exchanges, needs, stepping_exchanges
from conformance.vectors.vector import Happens, Script, Vector
from spec.engine.event import StoreFailed
from spec.moment import Moment
from tests.conformance.runner.samples import concurrent_script, script, tuned_script

STORE_FAILED: Final = "store-failed"


def body(vector: Vector) -> Script:
    assert isinstance(vector.body, Script)
    return vector.body


def test_in_the_stepping_style_every_step_is_one_exchange() -> None:
    one = body(tuned_script())
    exchanges = stepping_exchanges(one)
    assert len(exchanges) == len(one.steps)
    assert [exchange.step for exchange in exchanges] == list(range(len(one.steps)))
    assert {exchange.kind.__name__ for exchange in exchanges} == {"Happened"}


def test_in_the_calling_style_effects_are_questions_and_events_their_answers() -> None:
    exchanges = calling_exchanges(body(tuned_script()))
    assert exchanges is not None
    kinds = [exchange.kind.__name__ for exchange in exchanges]
    assert kinds[0] == "Select"
    assert kinds[-1] == "Select"
    assert set(kinds[1:-1]) == {"Outcome"}
    assert [exchange.expected["type"] for exchange in exchanges[-2:]] == ["decided", "decided"]
    saved = exchanges[-3]
    assert "save-record" in str(saved.expected)
    assert exchanges[-2].members == {"outcome": {"type": "done"}}


def test_taking_back_a_decision_asks_for_a_removal_and_is_noted() -> None:
    one = body(script(Ask(0), TakeBack(0, ban=True)))
    exchanges = calling_exchanges(one)
    assert exchanges is not None
    assert [exchange.kind.__name__ for exchange in exchanges[-2:]] == ["Tell", "Outcome"]
    assert "remove-record" in str(exchanges[-2].expected)
    assert exchanges[-1].expected == {"type": "noted"}


def test_a_store_that_fails_answers_the_question_in_the_calling_style() -> None:
    one = body(script(Ask(0)))
    record = str(one.steps[-1])
    assert "save-record" in record, "pointless unless it saves"
    last = one.steps[-1]
    assert isinstance(last, Happens)
    assert isinstance(last.effects, list)
    saved = last.effects[0]
    assert isinstance(saved, dict)
    assert isinstance(saved["record"], dict)
    key = str(saved["record"]["key"])
    failure = Happens(encode_event(StoreFailed(Moment(9, 9), key, "full")), [])
    failing = Script(one.policy, (*one.steps, failure), one.styles, ())
    exchanges = calling_exchanges(failing)
    assert exchanges is not None
    assert STORE_FAILED in str(exchanges[-1].members)
    assert exchanges[-1].expected["type"] == "decided"


def test_what_a_blocking_engine_cannot_be_told_is_not_for_the_calling_style() -> None:
    assert calling_exchanges(body(concurrent_script())) is None
    assert calling_exchanges(body(script(Ask(0, patience=3)))) is None
    assert calling_exchanges(body(script(Ask(0), Misbehave(0, 2)))) is None
    stray = Happens(encode_event(StoreFailed(Moment(9, 9), "0" * 64, "full")), [])
    assert calling_exchanges(Script({}, (stray,), (), ())) is None


def test_a_script_needs_what_its_steps_use() -> None:
    stepping = Capability.STEPPING
    assert needs(body(tuned_script()), Style.STEPPING) == {stepping}
    assert needs(body(tuned_script()), Style.CALLING) == {Capability.CALLING}
    assert needs(body(concurrent_script()), Style.STEPPING) == {stepping, Capability.CONCURRENCY}
    looking = body(script(Ask(0), LookAround(0)))
    assert needs(looking, Style.STEPPING) == {stepping, Capability.LOOKING}
    giving_up = body(script(Ask(0, trouble=Trouble(1, 25))))
    assert "abandoned" in str(giving_up.steps[2]), "pointless unless it is given up"
    assert needs(giving_up, Style.STEPPING) == {stepping, Capability.ABANDONING}
