"""Every invariant can fail: for each there is an engine with a fault that it alone notices."""

import pytest
from hypothesis import HealthCheck, Phase, reject, settings
from hypothesis.stateful import run_state_machine_as_test

from spec import Event
from tests.spec.engine.invariants import Invariant, ViolationError
from tests.spec.engine.machine import EngineMachine
from tests.spec.engine.mutants import MUTANTS, Mutant

HUNT = settings(
    max_examples=1000,
    stateful_step_count=30,
    phases=(Phase.generate,),
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_faulty_engine_is_caught_by_the_invariant_it_breaks(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = mutant.make(monkeypatch)

    class Machine(EngineMachine):
        engine = (faulty,)

        def apply(self, event: Event) -> None:
            try:
                super().apply(event)
            except ViolationError as violation:
                if violation.invariant is not mutant.caught_by:
                    reject()  # One fault may break several rules; the named one must be among them.
                raise

        def check_replay(self) -> None:
            if mutant.caught_by is Invariant.REPLAY:
                super().check_replay()

    with pytest.raises(ViolationError) as caught:
        run_state_machine_as_test(Machine, settings=HUNT)
    assert caught.value.invariant is mutant.caught_by


def test_every_invariant_is_broken_by_some_mutant() -> None:
    assert {mutant.caught_by for mutant in MUTANTS} == set(Invariant)
