"""Several requests, devices, failures, clock jumps and store faults, in any order."""

from hypothesis.stateful import run_state_machine_as_test

from tests.spec.engine.machine import EngineMachine


def test_every_interleaving_keeps_every_invariant() -> None:
    run_state_machine_as_test(EngineMachine)
