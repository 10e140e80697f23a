"""Candidates that users bring: plans, a function that makes them, or a package that does.

They get the same suspicion as ours: every item is checked before it can reach a search, and every
plan is tried in a child process and verified like any other.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Final, TypeAlias

from attrs import evolve, frozen

from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.generation import REFERENCE, search_space
from ortsel.candidates.search_space import LeftOut, SearchSpace
from ortsel.errors import OrtselError, UsageError
from ortsel.plan import Plan

GROUP: Final = "ortsel.candidates"
"""Entry points in this group name a function of the facts that returns plans."""

MAX_NAME_BYTES: Final = 4096
MAX_CANDIDATES: Final = 4096

PlanFunction: TypeAlias = Callable[[CandidateFacts], Iterable[Plan]]
CandidateSource: TypeAlias = Sequence[Plan] | PlanFunction

logger: Final = logging.getLogger("ortsel.candidates")


@frozen
class CandidateSourceError(OrtselError):
    """A function of the user's that should have made candidates raised. The cause is chained."""

    source: str
    error: str

    def __str__(self) -> str:
        return f"candidates from {self.source}: got {self.error}, need plans"


def candidate_space(
    reference: Plan,
    facts: CandidateFacts,
    source: CandidateSource | None = None,
    installed: Mapping[str, Callable[[], PlanFunction]] | None = None,
) -> SearchSpace:
    """Return the reference, then the plans of `source`, then those of installed packages.

    `source` is a sequence of plans, a function of the facts, or None for ortsel's own, in ranked
    order. A function finds the reference in the facts, and may call `generate` to add to it; its
    order is kept. Plans that equal an earlier one in their parts are left out. `installed` maps
    names to loaders and is `installed_sources()` unless given: a package that can't be loaded,
    raises or breaks a rule costs its own plans and one log entry.

    Raises `UsageError` for anything in `source` that is no valid candidate, `CandidateSourceError`
    where the function raised.
    """
    facts = evolve(facts, reference=evolve(reference, name=REFERENCE))
    plans = [facts.reference]
    left_out: list[LeftOut] = []
    if source is None:
        own = search_space(facts.reference, facts)
        plans.extend(own.plans[1:])
        left_out.extend(own.left_out)
    else:
        label, made = _made_by(source, facts)
        _add(plans, left_out, _for_shapes(_checked(made, label, plans), facts, left_out))
    for name, load in sorted((installed_sources() if installed is None else installed).items()):
        label = f"entry point {name}"
        try:
            more = _checked(load()(facts), label, plans)
        except Exception:  # a foreign package may raise anything
            logger.exception("%s of group %s is left out", label, GROUP)
            left_out.append(LeftOut(label, "broken-source", "see the log"))
            continue
        _add(plans, left_out, _for_shapes(more, facts, left_out))
    return SearchSpace(tuple(plans), tuple(left_out))


def candidate_plans(
    reference: Plan,
    facts: CandidateFacts,
    source: CandidateSource | None = None,
    installed: Mapping[str, Callable[[], PlanFunction]] | None = None,
) -> tuple[Plan, ...]:
    """Return the plans of `candidate_space`. Raises what that raises."""
    return candidate_space(reference, facts, source, installed).plans


def installed_sources() -> dict[str, Callable[[], PlanFunction]]:
    """Return the entry points of installed packages by name; nothing is imported until called."""
    return {point.name: point.load for point in entry_points(group=GROUP)}


def _made_by(source: object, facts: CandidateFacts) -> tuple[str, object]:
    """Return what the source is called, and what it gives, checked no further."""
    if not callable(source):
        return "candidates", source
    name = str(getattr(source, "__qualname__", None) or repr(source))
    try:
        made = source(facts)
        return f"candidates of {name}", tuple(made) if isinstance(made, Iterable) else made
    except Exception as error:
        raise CandidateSourceError(name, repr(error)) from error


def _add(plans: list[Plan], left_out: list[LeftOut], more: Iterable[Plan]) -> None:
    for plan in more:
        parts = plan.parts()
        same = next((earlier for earlier in plans if earlier.parts() == parts), None)
        if same is None:
            plans.append(plan)
        elif same.name != plan.name:
            left_out.append(LeftOut(plan.name, "same-plan", f"it is {same.name} in other words"))


def _for_shapes(
    plans: Iterable[Plan], facts: CandidateFacts, left_out: list[LeftOut]
) -> Iterable[Plan]:
    """Yield the plans for any shape and those for the call's; note the others."""
    for plan in plans:
        if plan.shapes in ((), facts.shapes):
            yield plan
        else:
            sizes = ", ".join(f"{name} {list(shape)}" for name, shape in plan.shapes)
            left_out.append(LeftOut(plan.name, "another-shape", f"it is for {sizes}"))


def _checked(made: object, label: str, earlier: Sequence[Plan]) -> tuple[Plan, ...]:
    """Return the plans of one source, or raise `UsageError` for the first item that is none."""
    if isinstance(made, (str, bytes, Mapping)) or not isinstance(made, Iterable):
        raise UsageError(label, repr(made), "a sequence of plans, or a function that returns one")
    items = tuple(made)
    if len(earlier) + len(items) > MAX_CANDIDATES:
        raise UsageError(label, f"{len(items)} plans", f"at most {MAX_CANDIDATES} in all")
    taken = {plan.name: plan for plan in earlier}
    for position, item in enumerate(items):
        where = f"{label}[{position}]"
        if not isinstance(item, Plan):
            raise UsageError(where, repr(item), "an ortsel.Plan")
        _check_name(item.name, f"{where}.name")
        if item.fixed_addresses and not item.shapes:
            shapes_field = f"{where}.shapes"
            raise UsageError(shapes_field, "()", "the inputs' shapes, for fixed_addresses")
        if item.name in taken and taken[item.name] != item:
            name_field = f"{where}.name"
            raise UsageError(name_field, repr(item.name), "a name that no other plan has")
        taken[item.name] = item
    return items


def _check_name(name: object, where: str) -> None:
    if not isinstance(name, str) or not name:
        raise UsageError(where, repr(name), "a non-empty string")
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise UsageError(where, ascii(name), "text without lone surrogates") from None
    if size > MAX_NAME_BYTES:
        raise UsageError(where, f"{size} bytes", f"at most {MAX_NAME_BYTES} bytes of UTF-8")
