"""Several requests, devices, failures, clock jumps and store faults, in any order."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.spec.engine.machine import EngineMachine


def test_every_interleaving_keeps_every_invariant() -> None:
    run_state_machine_as_test(EngineMachine)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_long_interleavings_keep_every_invariant() -> None:
    patient = settings(
        max_examples=3000,
        stateful_step_count=80,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(EngineMachine, settings=patient)
