"""Threads that sleep between operators instead of spinning.

Spinning wins on an idle machine, since waking a thread costs microseconds. It loses where something
else needs the CPUs that the idle threads burn.
"""

from typing import Final

from ortsel.candidates.cpu_settings import (
    BETWEEN_OPERATORS_SPINNING,
    SPINNING,
    explicit_threads,
    has_own_pool,
    runs_in_parallel,
)
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan

NAME: Final = "cpu:spin=off"


def spinning_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return the reference without spinning; none where no thread of its own could spin."""
    if not has_own_pool(reference):
        return (LeftOut(NAME, "shared-threads", "the process's threads are not this session's"),)
    parallel = runs_in_parallel(reference)
    if not parallel and (explicit_threads(reference) or facts.physical_cores) == 1:
        return (LeftOut(NAME, "no-gain", "one thread never waits for another"),)
    keys = (SPINNING, BETWEEN_OPERATORS_SPINNING) if parallel else (SPINNING,)
    config = dict(reference.settings.config)
    if all(config.get(key) == "0" for key in keys):
        return (LeftOut(NAME, "same-as-reference", "spinning is off"),)
    settings = reference.settings
    for key in keys:
        settings = settings.with_config(key, "0")
    return (
        derive(
            reference,
            NAME,
            settings=settings,
            notes="idle threads sleep instead of spinning",
        ),
    )
