"""Ways to make an engine that is wrong in one place of an engine that is right."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TypeAlias

from attrs import evolve

from conformance.adapters.harness import serve
from conformance.adapters.in_process import Main
from conformance.implementations.python import ReferenceHarness
from conformance.implementations.python.reference_harness import Step
from spec.decision import Decision
from spec.engine.effect import Answer, Effect
from spec.engine.event import (
    Event,
)
from spec.engine.state import State, Transition
from spec.engine.step import step
from spec.policy import Policy

Swap: TypeAlias = Callable[[], AbstractContextManager[None]]


def engine(new_step: Callable[[], Step], *swaps: Swap) -> Main:
    """Return a harness with an engine made anew for each script, parts replaced meanwhile."""

    def main(lines: Iterator[str], write: Callable[[str], object]) -> None:
        with ExitStack() as stack:
            for swap in swaps:
                stack.enter_context(swap())
            serve(ReferenceHarness(new_step), lines, write)

    return main


def stepping(wrong_step: Step) -> Main:
    """Return a harness that takes its steps this way."""
    return engine(lambda: wrong_step)


def hearing(change: Callable[[State, Event], Event]) -> Main:
    """Return an engine that hears another event than was told."""
    return stepping(lambda state, event: step(state, change(state, event)))


def under(change: Callable[[Policy], Policy]) -> Main:
    """Return an engine that keeps another policy in a field that is not part of any key."""

    def other(state: State, event: Event) -> Transition:
        transition = step(evolve(state, policy=change(state.policy)), event)
        return evolve(transition, state=evolve(transition.state, policy=state.policy))

    return stepping(other)


def saying(change: Callable[[State, Event, Transition], tuple[Effect, ...]]) -> Main:
    """Return an engine that does the right thing and says another."""

    def other(state: State, event: Event) -> Transition:
        transition = step(state, event)
        return evolve(transition, effects=change(state, event, transition))

    return stepping(other)


def swapping(*swaps: Swap) -> Main:
    """Return a harness with parts of the reference model replaced."""
    return engine(lambda: step, *swaps)


def decision_of(effect: Effect) -> Decision | None:
    """Return the decision that an effect answers with, if it does."""
    if isinstance(effect, Answer) and isinstance(effect.result, Decision):
        return effect.result
    return None
