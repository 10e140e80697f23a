"""A set of provider options worth trying, and what was left out of the set, as values."""

from attrs import field, frozen


def _sorted(options: "tuple[tuple[str, str], ...]") -> tuple[tuple[str, str], ...]:
    return tuple(sorted(options))


@frozen
class ProviderPlan:
    """One provider with options, under a stable name."""

    name: str
    provider: str
    options: tuple[tuple[str, str], ...] = field(converter=_sorted)
    """Complete: the user's options are among them."""
    notes: str = field(default="", eq=False)
    captures: bool = False
    """Whether it captures a graph: then it reads and writes the same addresses at each call."""


@frozen
class LeftOut:
    """A plan that would not be worth a trial, and why."""

    name: str
    reason: str


@frozen
class ProviderPlans:
    """What to try, in order, and what not."""

    plans: tuple[ProviderPlan, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
