"""Graph optimization levels other than the user's.

The highest level is mostly the fastest. It is not where one fused operator runs slower than those
it replaces, or a change of layout costs more than it gains.
"""

from typing import Final

from ortsel.candidates.cpu_settings import LEVEL, Level, level
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan

NAMES: Final = (
    (Level.ALL, "all", "every graph optimization"),
    (Level.EXTENDED, "extended", "no change of memory layout"),
    (Level.BASIC, "basic", "no fused operators, no change of memory layout"),
    (Level.DISABLED, "disabled", "the graph as it is written"),
)
"""Offered levels in the order they are worth trying. `LAYOUT` is not among them: what `ALL` adds to
it concerns half-precision initialisers alone, so the two are one candidate."""


def optimization_level_candidates(
    reference: Plan, _facts: CandidateFacts
) -> tuple[Plan | LeftOut, ...]:
    """Return the reference at the other optimization levels."""
    own = level(reference)
    same = {Level.LAYOUT.value: Level.ALL.value}
    return tuple(
        derive(
            reference,
            f"cpu:level={name}",
            settings=reference.settings.with_attribute(LEVEL, offered.value),
            notes=notes,
        )
        if offered.value != same.get(own, own)
        else LeftOut(f"cpu:level={name}", "same-as-reference", "the session's own level")
        for offered, name, notes in NAMES
    )
