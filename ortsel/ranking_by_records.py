"""What won before is tried first: records rank candidates, wherever they were measured.

A record of another key (another shape, another machine, out of a bundle) is no evidence for this
call, so it decides nothing. But what it names is the likeliest winner, and a search that runs out
of budget has then seen it.
"""

from attrs import evolve

from ortsel.candidates.search_space import SearchSpace
from ortsel.environment import read_environment
from ortsel.store import Store, StoreError
from ortsel.store.explanation import parse_key_text


def ranked_by_records(space: SearchSpace, store: Store, model: str) -> SearchSpace:
    """Return the space with the plan first, after the reference, that won for this model before.

    Among the model's records the one whose environment differs least counts. `model` is the digest
    of the model's content. The order is the only thing that changes, and it is no part of a key.
    """
    winner = remembered_winner(store, model)
    reference, *others = space.plans
    first = [plan for plan in others if plan.name == winner]
    rest = [plan for plan in others if plan.name != winner]
    return evolve(space, plans=(reference, *first, *rest))


def remembered_winner(store: Store, model: str) -> str:
    """Return the name of the plan that won for a model; empty where nothing did."""
    try:
        found = store.nearest({"environment": read_environment().parts(), "model": model})
    except StoreError:
        return ""
    if found is None or parse_key_text(found.stored.key_text).get("model") != model:
        return ""
    return found.stored.record.winner
