"""Threads that sleep between operators instead of spinning.

Spinning wins on an idle machine, since waking a thread costs microseconds. It loses where something
else needs the CPUs that the idle threads burn.
"""

from ortsel.candidates.cpu_settings import (
    BETWEEN_OPERATORS_SPINNING,
    SPINNING,
    explicit_threads,
    has_own_pool,
    runs_in_parallel,
)
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan


def spinning_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference without spinning; none where no thread of its own could spin."""
    if not has_own_pool(reference):
        return ()
    parallel = runs_in_parallel(reference)
    if not parallel and (explicit_threads(reference) or facts.physical_cores) == 1:
        return ()
    keys = (SPINNING, BETWEEN_OPERATORS_SPINNING) if parallel else (SPINNING,)
    config = dict(reference.settings.config)
    if all(config.get(key) == "0" for key in keys):
        return ()
    settings = reference.settings
    for key in keys:
        settings = settings.with_config(key, "0")
    return (
        derive(
            reference,
            "cpu:spin=off",
            settings=settings,
            notes="idle threads sleep instead of spinning",
        ),
    )
