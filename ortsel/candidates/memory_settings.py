"""How the CPU provider allocates, and how it splits loops: settings that rarely matter.

The arena keeps what was allocated; without it every run asks the system, which may be faster for
few large tensors, since freshly mapped pages are zero and huge. Memory patterns plan all of a run's
allocations from an earlier run of the same shapes, which costs where shapes keep changing. A block
base lets threads take smaller pieces as a loop goes on, for less waiting where they are disturbed.
"""

from typing import Final

from ortsel.candidates.cpu_settings import explicit_threads, has_own_pool, runs_in_parallel
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan

ARENA: Final = "enable_cpu_mem_arena"
PATTERN: Final = "enable_mem_pattern"
BLOCK_BASE: Final = "session.dynamic_block_base"
BASE: Final = "4"


def memory_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return the reference with smaller blocks, without memory patterns, without an arena."""
    return (_blocks(reference, facts), _pattern(reference, facts), _arena(reference))


def _blocks(reference: Plan, facts: CandidateFacts) -> Plan | LeftOut:
    name = f"cpu:block-base={BASE}"
    if BLOCK_BASE in dict(reference.settings.config):
        return LeftOut(name, "users-choice", "the user set it")
    if not has_own_pool(reference):
        return LeftOut(name, "shared-threads", "the process's threads are not this session's")
    if (explicit_threads(reference) or facts.physical_cores) == 1:
        return LeftOut(name, "no-gain", "one thread shares no loop")
    settings = reference.settings.with_config(BLOCK_BASE, BASE)
    return derive(reference, name, settings=settings, notes="smaller pieces of loops for threads")


def _pattern(reference: Plan, facts: CandidateFacts) -> Plan | LeftOut:
    name = "cpu:mem-pattern=off"
    if not reference.settings.attribute(PATTERN, default=True):
        return LeftOut(name, "same-as-reference", "memory patterns are off")
    if facts.model.dynamic_shapes is False:
        return LeftOut(name, "no-gain", "the model's shapes never change")
    if runs_in_parallel(reference):
        return LeftOut(name, "no-gain", "parallel execution uses none")
    settings = reference.settings.with_attribute(PATTERN, value=False)
    return derive(reference, name, settings=settings, notes="allocations not planned from a run")


def _arena(reference: Plan) -> Plan | LeftOut:
    name = "cpu:arena=off"
    if not reference.settings.attribute(ARENA, default=True):
        return LeftOut(name, "same-as-reference", "the arena is off")
    settings = reference.settings.with_attribute(ARENA, value=False)
    return derive(reference, name, settings=settings, notes="memory from the system at each run")
