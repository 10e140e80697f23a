"""Plans that capture a graph: for one shape, through buffers of the session's own.

A captured graph replays at the addresses and with the sizes that it was captured with.
"""

from attrs import evolve

from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.shape_labels import label, sizes_text
from ortsel.plan import Plan


def captured(plan: Plan, facts: CandidateFacts) -> Plan:
    """Return the plan for the call's shapes alone, served through buffers at fixed addresses."""
    return evolve(for_shapes(plan, facts), fixed_addresses=True)


def for_shapes(plan: Plan, facts: CandidateFacts) -> Plan:
    """Return the plan for the call's shapes alone, with those in its name that may be others."""
    if plan.shapes or not facts.shapes:
        return plan
    sizes = () if facts.model.dynamic_shapes is False else sizes_text(facts.shapes)
    return evolve(plan, name=f"{plan.name}{label(sizes)}", shapes=facts.shapes)
