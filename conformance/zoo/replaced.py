"""Parts of the reference model, replaced by wrong ones."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import TypeAlias

from attrs import evolve
from immutables import Map

from conformance.zoo.swapped import swapped
from spec.engine import exploration, promotion
from spec.engine.fifo import Fifo
from spec.engine.search import Contender, Exploring, Search, Trial
from spec.engine.state import State
from spec.evidence.block import Block
from spec.evidence.verdict import Faster, NotFaster, TooNoisy
from spec.moment import Moment
from spec.policy import Mode, Policy
from spec.report import Outcome


def newest_first() -> AbstractContextManager[None]:
    """Evict the newest key."""

    def change(
        real: Callable[["Fifo[str]"], tuple[str, "Fifo[str]"]],
    ) -> Callable[["Fifo[str]"], tuple[str, "Fifo[str]"]]:
        del real

        def pop(queue: "Fifo[str]") -> tuple[str, "Fifo[str]"]:
            *kept, newest = queue
            rest = Fifo[str]()
            for value in kept:
                rest = rest.push(value)
            return newest, rest

        return pop

    return swapped(Fifo, "pop", change)


Judge: TypeAlias = Callable[[Policy, Faster | NotFaster | TooNoisy, Fraction], tuple[Outcome, str]]
Face: TypeAlias = Callable[[State, Search, Exploring, Moment], Trial | None]
Best: TypeAlias = Callable[[State, Search, Exploring, Moment], Contender]


def judged_leniently() -> AbstractContextManager[None]:
    """Promote ties."""

    def change(real: Judge) -> Judge:
        def judged(
            policy: Policy, verdict: Faster | NotFaster | TooNoisy, cost: Fraction
        ) -> tuple[Outcome, str]:
            return (Outcome.FASTER, "") if verdict.ratio <= 1 else real(policy, verdict, cost)

        return judged

    return swapped(promotion, "_judged", change)


def noise_ignored() -> AbstractContextManager[None]:
    """Promote noise."""

    def change(real: Judge) -> Judge:
        def judged(
            policy: Policy, verdict: Faster | NotFaster | TooNoisy, cost: Fraction
        ) -> tuple[Outcome, str]:
            if isinstance(verdict, TooNoisy):
                lucky = Faster(verdict.ratio, verdict.dispersion, verdict.blocks)
                return real(policy, lucky, cost)
            return real(policy, verdict, cost)

        return judged

    return swapped(promotion, "_judged", change)


def last_best() -> AbstractContextManager[None]:
    """Let the last of equals win."""

    def change(real: Best) -> Best:
        def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
            found = real(state, search, stage, now)
            equal = [one for one in stage.contenders if one.ratio == found.ratio]
            return equal[-1] if equal else found

        return best

    return swapped(promotion, "_best", change)


def first_that_qualifies() -> AbstractContextManager[None]:
    """Let the first that qualifies win."""

    def change(real: Best) -> Best:
        def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
            return real(state, search, evolve(stage, contenders=stage.contenders[:1]), now)

        return best

    return swapped(promotion, "_best", change)


def banned_meanwhile() -> AbstractContextManager[None]:
    """Forget, at the end, what was banned."""

    def change(real: Best) -> Best:
        def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
            return real(evolve(state, entries=Map()), search, stage, now)

        return best

    return swapped(promotion, "_best", change)


def always_one_order() -> AbstractContextManager[None]:
    """Draw one order for every block."""

    def change(
        real: Callable[[int, str, str, int], tuple[object, ...]],
    ) -> Callable[[int, str, str, int], tuple[object, ...]]:
        return lambda _seed, _key, _candidate, _block: real(0, "", "", 0)

    return swapped(exploration, "block_order", change)


def in_mode(mode: Mode) -> Callable[[Policy], Policy]:
    """Return a change that explores in a mode that must not."""

    def change(policy: Policy) -> Policy:
        return evolve(policy, mode=Mode.EXPLORE) if policy.mode is mode else policy

    return change


def first_calls_free() -> AbstractContextManager[None]:
    """Weigh steady times alone."""

    def change(real: Callable[[Policy, Exploring], Fraction]) -> Callable[..., Fraction]:
        del real
        return lambda *_: Fraction(0)

    return swapped(promotion, "_extra", change)


def rivals_ignored() -> AbstractContextManager[None]:
    """Measure every candidate to the end, also one that is clearly slower than the best so far."""

    def change(real: Face) -> Face:
        def facing(state: State, search: Search, stage: Exploring, now: Moment) -> Trial | None:
            trial = real(state, search, stage, now)
            return None if trial is None else evolve(trial, to_beat=None)

        return facing

    return swapped(exploration, "facing_the_best", change)


def one_median() -> AbstractContextManager[None]:
    """Pool the blocks of all states of a machine into one median."""

    def change(real: Callable[[Sequence[Block]], int]) -> Callable[[Sequence[Block]], int]:
        def seen(blocks: Sequence[Block]) -> int:
            return min(1, real(blocks))

        return seen

    return swapped(promotion, "states_seen", change)
