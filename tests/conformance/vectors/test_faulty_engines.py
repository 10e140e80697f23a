"""The scripts tell a faulty engine from a right one, whatever the fault."""

import pytest

from conformance.codec import (
    REPORT,
    STATISTICS,
    decode_event,
    decode_moment,
    decode_policy,
    encode_effects,
    without_words,
)
from conformance.vectors import Happens, Looked, Refused, Script, Step, Vector, load
from spec import State, initial_state, lower_level_fingerprint, step
from spec.canonical_json import Json
from spec.errors import SpecError
from tests.spec.engine.machine import Engine
from tests.spec.engine.mutants import MUTANTS, Mutant


def length(vector: Vector) -> int:
    assert isinstance(vector.body, Script)
    return len(vector.body.steps)


SCRIPTS = sorted((one for one in load() if isinstance(one.body, Script)), key=length)
"""The shortest first, since the first disagreement is enough."""


def agrees(engine: Engine, vector: Vector) -> bool:
    assert isinstance(vector.body, Script)
    state = initial_state(decode_policy(vector.body.policy))
    for one in vector.body.steps:
        following = after(engine, state, one)
        if following is None:
            return False
        state = following
    return True


def after(engine: Engine, state: State, one: Step) -> State | None:
    """The state behind a step; None where the engine disagrees with it."""
    if isinstance(one, Looked):
        return state if seen(state, one) == one.expected else None
    try:
        transition = engine(state, decode_event(one.event))
    except (SpecError, LookupError, AssertionError):
        return state if isinstance(one, Refused) else None
    if (
        isinstance(one, Happens)
        and without_words(encode_effects(transition.effects)) == one.effects
    ):
        return transition.state
    return None


def seen(state: State, one: Looked) -> Json:
    if one.look == "fingerprint":
        return lower_level_fingerprint(state, decode_moment(one.now))
    if one.look == "statistics":
        return STATISTICS.encode(state.statistics)
    return [without_words(REPORT.encode(report)) for report in state.reports]


def test_the_reference_model_agrees_with_every_script() -> None:
    assert [vector.id for vector in SCRIPTS if not agrees(step, vector)] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_some_script_disagrees_with_a_faulty_engine(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = mutant.make(monkeypatch)
    # Twice, since a fault may lie in what is remembered between two lives.
    told = any(not agrees(faulty, vector) for _ in range(2) for vector in SCRIPTS)
    assert told, "no script tells this engine from a right one"
