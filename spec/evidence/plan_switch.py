"""When to serve which of two plans that trade places with the state of a machine (E9).

A search records what each of two plans takes in each of two states. What serves is told apart by
its own latencies: nothing else is measured. Some plans take the same time in both states and tell
nothing; where such a plan serves, the other one is looked at now and then. Pure: each step takes
what was seen and returns what serves.
"""

from collections.abc import Callable
from typing import Final

from attrs import Attribute, evolve, field, frozen

from spec.errors import InvalidValue
from spec.evidence.machine_states import JUMP

RULE: Final = "E9: two plans are switched only where they trade places, and not too often"
MOST_SWITCHES: Final = 2
"""In any period: there and back."""
MOST_DOUBLINGS: Final = 3
"""Looks that find nothing wait longer and longer, at most 8 times `look_ns`."""


def _at_least(low: int) -> Callable[[object, "Attribute[int]", int], None]:
    def check(_: object, attribute: "Attribute[int]", value: int) -> None:
        if type(value) is not int or value < low:
            raise InvalidValue(attribute.name, repr(value), f"a whole number >= {low}", RULE)

    return check


@frozen
class RecordedPlan:
    """What one plan took in each of two states of the machine, by the same order of states."""

    name: str
    first_ns: int = field(validator=_at_least(1))
    second_ns: int = field(validator=_at_least(1))

    def in_state(self, state: int) -> int:
        """Return the recorded latency in state 0 or 1."""
        return self.second_ns if state else self.first_ns

    @property
    def tells(self) -> bool:
        """Whether its latencies tell the states apart: they differ by at least `JUMP`."""
        low_ns, high_ns = sorted((self.first_ns, self.second_ns))
        return high_ns * JUMP.denominator >= low_ns * JUMP.numerator

    def state_of(self, latency_ns: int) -> int | None:
        """Return the state that a latency is nearer to, by ratio; None where it tells nothing.

        Exactly between the two it tells nothing either.
        """
        square, middle = latency_ns * latency_ns, self.first_ns * self.second_ns
        if not self.tells or square == middle:
            return None
        return int((square > middle) == (self.second_ns > self.first_ns))


def trade_places(one: RecordedPlan, other: RecordedPlan) -> bool:
    """Say whether each of two plans is strictly the faster one in one of the states."""
    first = one.first_ns - other.first_ns
    second = one.second_ns - other.second_ns
    return first * second < 0


@frozen
class SwitchRule:
    """How sure a switch must be, and how often there may be one."""

    agree: int = field(default=3, validator=_at_least(1))
    """So many latencies in a row must tell the other state: one slow call is an accident."""
    period_ns: int = field(default=2_000_000_000, validator=_at_least(1))
    """In any time of this length there are at most two switches: there and back."""
    look_ns: int = field(default=2_000_000_000, validator=_at_least(1))
    """A plan that tells nothing serves so long before the other one is looked at; twice as long
    after each look that found nothing, at most 8 times."""


@frozen
class Serving:
    """What serves, and what was seen since it does."""

    plan: int
    """0 or 1."""
    since_ns: int
    against: int = 0
    """Signals in a row that tell a state in which the other plan is faster."""
    confirmed: bool = False
    """Whether `agree` signals in a row told a state in which this one is faster."""
    agreed: int = 0
    in_vain: int = 0
    """Looks in a row after which the plan went back at once."""
    switched_ns: tuple[int, ...] = ()
    """Moments of the last two switches."""


@frozen
class PlanSwitch:
    """Two plans that trade places, and the rule that says which serves.

    Raises `InvalidValue` where they don't, or where neither tells the states apart.
    """

    plans: tuple[RecordedPlan, RecordedPlan] = field()
    rule: SwitchRule = field(factory=SwitchRule)

    @plans.validator
    def _worth_it(
        self,
        attribute: "Attribute[tuple[RecordedPlan, RecordedPlan]]",
        plans: tuple[RecordedPlan, RecordedPlan],
    ) -> None:
        one, other = plans
        if not trade_places(one, other):
            raise InvalidValue(attribute.name, repr(plans), "plans that trade places", RULE)
        if not (one.tells or other.tells):
            need = "a plan whose latencies differ by half between the states"
            raise InvalidValue(attribute.name, repr(plans), need, RULE)

    def best_in(self, state: int) -> int:
        """Return which of the two plans is faster in a state."""
        return int(self.plans[1].in_state(state) < self.plans[0].in_state(state))

    def observed(self, serving: Serving, now_ns: int, latency_ns: int) -> Serving:
        """Return what serves after a latency of the plan that serves. Time never goes back."""
        return self.told(serving, now_ns, self.plans[serving.plan].state_of(latency_ns))

    def told(self, serving: Serving, now_ns: int, state: int | None) -> Serving:
        """Return what serves after a signal that tells a state, or None where it tells nothing."""
        seen = self._counted(serving, state)
        if not self._may_switch(seen, now_ns):
            return seen
        if seen.against >= self.rule.agree:
            return self._switched(seen, now_ns, 0 if seen.confirmed else seen.in_vain + 1)
        waited_ns = self.rule.look_ns * 2 ** min(seen.in_vain, MOST_DOUBLINGS)
        blind = state is None and not self.plans[seen.plan].tells
        if blind and now_ns - seen.since_ns >= waited_ns:
            return self._switched(seen, now_ns, seen.in_vain)
        return seen

    def _counted(self, serving: Serving, state: int | None) -> Serving:
        if state is None:
            return evolve(serving, against=0, agreed=0)
        if self.best_in(state) != serving.plan:
            return evolve(serving, against=serving.against + 1, agreed=0)
        agreed = serving.agreed + 1
        confirmed = serving.confirmed or agreed >= self.rule.agree
        return evolve(serving, against=0, agreed=agreed, confirmed=confirmed)

    def _may_switch(self, serving: Serving, now_ns: int) -> bool:
        before = serving.switched_ns
        return len(before) < MOST_SWITCHES or now_ns - before[0] >= self.rule.period_ns

    def _switched(self, serving: Serving, now_ns: int, in_vain: int) -> Serving:
        switched_ns = (*serving.switched_ns, now_ns)[-MOST_SWITCHES:]
        return Serving(1 - serving.plan, now_ns, in_vain=in_vain, switched_ns=switched_ns)
