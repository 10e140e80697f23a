"""What a series of times of two plans says, on made series, and the probe on this machine."""

from random import Random

import pytest

from benchmarks.switching.__main__ import row, words
from benchmarks.switching.probe import Probe
from benchmarks.switching.series import (
    Slot,
    across,
    agreement,
    boundary,
    correlation,
    durations_s,
    labels,
    states_of,
)
from spec.evidence.plan_switch import SwitchRule

NAMES = ("threads=2", "threads=1")
MS = 1_000_000


def made(states: list[int], seed: int = 0, probe_sees: bool = True) -> list[Slot]:
    """A slot each 100 ms, with 3 % of noise."""
    draw = Random(seed)

    def noisy(milliseconds: float) -> int:
        return round(milliseconds * MS * draw.uniform(0.97, 1.03))

    return [
        Slot(
            100 * MS * place,
            (noisy(26 if state else 12), noisy(19.5)),
            noisy(0.05),
            noisy(0.1 if state and probe_sees else 0.055),
        )
        for place, state in enumerate(states)
    ]


FLIPS = ([0] * 200 + [1] * 100) * 4


def test_states_and_their_stays_are_found() -> None:
    slots = made(FLIPS)
    states, teller = states_of(slots)
    assert (states, teller) == (FLIPS, 0)
    fast, slow = durations_s(slots, FLIPS)
    assert fast == pytest.approx([20.0] * 4)
    assert slow == pytest.approx([10.0] * 3 + [9.9])


def test_noise_and_single_slow_blocks_are_no_state() -> None:
    assert states_of(made([0] * 200))[0] is None
    assert labels([1.0] * 40 + [2.0] * 1) is None
    assert labels(([1.0] * 10 + [2.0]) * 5) is None, "none of them lasts"
    assert boundary([1.0]) is None


def test_a_switch_gains_where_plans_trade_places_and_less_than_the_oracle() -> None:
    found = row("made", made(FLIPS), SwitchRule())
    assert found["trade_places"]
    assert found["better_fixed"] == "threads=2"
    assert 1 < found["switch_gain"] < found["oracle_gain"]
    assert 0 < found["switches"] <= len(FLIPS)
    assert found["probe_agreement"] == 1.0
    assert found["probe_switch_gain"] > 1
    assert "probe agrees in 100.0% of blocks" in words(found)


def test_without_a_second_state_nothing_is_switched_and_that_is_said() -> None:
    found = row("made", made([0] * 300), SwitchRule())
    assert (found["switch_gain"], found["switches"], found["states"]) == (1.0, 0, 1)
    assert "do not trade places" in words(found)


def test_a_state_that_the_other_half_did_not_record_is_not_used() -> None:
    slots = made([0] * 300 + [1] * 300)
    assert across(slots, NAMES, SwitchRule()).switches == 0


def test_a_probe_that_sees_nothing_agrees_by_chance_alone() -> None:
    found = row("made", made(FLIPS, probe_sees=False), SwitchRule())
    assert found["probe_states"] == 1
    assert found["probe_kappa"] == pytest.approx(0.0, abs=1e-9)
    assert "(it sees one state)" in words(found)
    assert found["probe_agreement"] == pytest.approx(2 / 3)
    assert abs(found["probe_correlation"]) < 0.2


def test_agreement_and_correlation() -> None:
    assert agreement([0, 1, 0, 1], [0, 1, 0, 1]).kappa == 1.0
    assert agreement([0, 1, 0, 1], [1, 0, 1, 0]).kappa == -1.0
    assert agreement([0, 0], [0, 0]).kappa == 0.0
    assert correlation([1.0, 2.0, 1.0, 2.0], [0, 1, 0, 1]) == pytest.approx(1.0)
    assert correlation([1.0, 1.0], [0, 1]) == 0.0


def test_the_probe_answers_and_ends() -> None:
    with Probe() as probe:
        alone, together = probe.take()
    assert alone > 0
    assert together > 0
