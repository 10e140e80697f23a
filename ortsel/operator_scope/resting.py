"""What a whole model's candidates rest on: the decisions about its attention by itself (S12).

They are in the key of the whole: the keys by name, and with what they decided in the fingerprint.
So a process that finds the whole's record finds with it which decisions it needs, asks the store
for those, and takes the record only if they still say the same.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from ortsel.candidates.attention_variants import ATTENTION_REWRITES
from ortsel.candidates.search_space import LeftOut, SearchSpace
from ortsel.operator_scope.operators_part import OPERATORS
from ortsel.plan import Plan
from ortsel.selector import Selector
from ortsel.store import StoreError
from ortsel.store.explanation import parse_key_text
from ortsel.store.store import Store
from spec.canonical_json import Json, canonical, digest
from spec.problem import Scope
from spec.record import Record

RULE: Final = "lost-at-operator-scope"
JOINT: Final = "+"
MAY_DIFFER: Final = frozenset(
    {"candidates", "lower_level", "options.candidates", f"options.{OPERATORS}"}
)
"""Parts of a key that what it rests on changes."""
ELSEWHERE: Final = "lost on attention alone, when the stored decision was made"


@frozen
class Resting:
    """Decisions about attention by itself, and what follows from them."""

    decisions: tuple[tuple[str, str], ...] = ()
    """Key and name of the plan that won, sorted."""
    left_out: tuple[LeftOut, ...] = ()
    """Plans that lost."""
    first: tuple[str, ...] = ()
    """Names of plans that won, to be tried first. An order is no part of a key."""
    last: tuple[str, ...] = ()
    """Names of plans that are to be tried last."""

    def fingerprint(self) -> str:
        """Return the SHA-256 of the canonical list of [key, name of the plan], sorted by key."""
        return digest(canonical([[key, name] for key, name in sorted(self.decisions)]))

    def options(self) -> dict[str, Json]:
        """Return what goes into the options of the whole's key."""
        keys: list[Json] = [key for key, _ in sorted(self.decisions)]
        return {OPERATORS: keys} if keys else {}

    def narrowed(self, space: SearchSpace) -> SearchSpace:
        """Return the space without what lost, and with what won in front."""
        lost = {one.name for one in self.left_out}
        reference, *others = [plan for plan in space.plans if plan.name not in lost]
        ahead = [plan for name in self.first for plan in others if plan.name == name]
        moved = {*self.first, *self.last}
        between = [plan for plan in others if plan.name not in moved]
        behind = [plan for plan in others if plan.name in moved - {*self.first}]
        left_out = (*space.left_out, *(one for one in self.left_out if _is_in(one.name, space)))
        return SearchSpace((reference, *ahead, *between, *behind), left_out)


NOTHING: Final = Resting()


def _is_in(name: str, space: SearchSpace) -> bool:
    return any(plan.name == name for plan in space.plans)


def attention_plans(space: SearchSpace) -> tuple[Plan, ...]:
    """Return the candidates that are the reference but for how attention is written."""
    reference = space.plans[0]
    plain = _without_variant(reference)
    return tuple(
        plan
        for plan in space.plans[1:]
        if set(plan.variant.split(JOINT)) <= ATTENTION_REWRITES and _without_variant(plan) == plain
    )


def _without_variant(plan: Plan) -> Json:
    parts = plan.parts()
    assert isinstance(parts, dict), "named parts"
    return {name: part for name, part in parts.items() if name != "variant"}


def standing_decision(selector: Selector, key: str, store: Store | None = None) -> Record | None:
    """Return the stored decision about one attention, if candidates may be left out over it.

    It orders and narrows what is tried, and verifies nothing: so it counts as evidence although no
    output was compared in this process, and although it was made on inputs that nobody sent.
    """
    record = selector.stored_record(key, store)
    if record is None or record.scope is not Scope.OPERATOR or not record.complete:
        return None
    if selector.policy.require_validation and not record.verified:
        return None
    return record


def resting_in_store(
    selector: Selector, asked: Mapping[str, Json], space: SearchSpace, store: Store
) -> Resting:
    """Return what a stored record of this question rests on; nothing where there is none.

    `asked` are the parts of the question's key. Nothing, too, where one of the decisions is gone,
    too old or another by now.
    """
    wanted = {name: asked[name] for name in asked if name not in {"candidates", "lower_level"}}
    try:
        found = store.nearest(wanted)
    except StoreError:
        return NOTHING
    if found is None or not MAY_DIFFER.issuperset(found.differing):
        return NOTHING
    parts = parse_key_text(found.stored.key_text)
    names, options = parts.get("candidates"), parts.get("options")
    keys = options.get(OPERATORS) if isinstance(options, dict) else None
    if not isinstance(keys, list) or not isinstance(names, list):
        return NOTHING
    decisions = []
    for key in keys:
        record = standing_decision(selector, key, store) if isinstance(key, str) else None
        if record is None:
            return NOTHING
        decisions.append((record.key, record.winner))
    left_out = tuple(
        LeftOut(plan.name, RULE, ELSEWHERE)
        for plan in attention_plans(space)
        if plan.name not in names
    )
    resting = Resting(tuple(sorted(decisions)), left_out)
    return resting if resting.fingerprint() == parts.get("lower_level") else NOTHING
