"""Thread counts within the CPUs that the process really has.

ONNX Runtime's default counts the machine's physical cores and pins a thread to each. In a container
with a quota, or beside other processes, fewer threads are faster; and even the same number behaves
differently, since an explicit count does not pin. A count above the user's own is never offered:
whoever limits threads needs the other CPUs for something else.
"""

from ortsel.candidates.cpu_settings import (
    AFFINITIES,
    THREADS,
    explicit_threads,
    has_own_pool,
    may_use_threads,
)
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan


def thread_counts(limit: int, physical_cores: int | None) -> tuple[int, ...]:
    """Return the counts worth trying up to `limit`, the most promising first.

    All of the limit, the physical cores (two threads of one core share its arithmetic units), half
    of the limit (for a busy machine), one (no hand-over between threads at all), two.
    """
    counts = (limit, physical_cores or limit, limit // 2, 1, 2)
    return tuple(dict.fromkeys(count for count in counts if 1 <= count <= limit))


def thread_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return the reference with other thread counts.

    None where the settings cannot take effect (threads shared by all sessions) or would contradict
    the user's (an affinity per thread fixes their number).
    """
    if not has_own_pool(reference):
        reason = "the process's threads are not this session's"
        return (LeftOut("cpu:threads", "shared-threads", reason),)
    if dict(reference.settings.config).get(AFFINITIES):
        return (LeftOut("cpu:threads", "users-choice", "the user placed each thread"),)
    chosen = explicit_threads(reference)
    return tuple(
        derive(
            reference,
            f"cpu:threads={count}",
            settings=reference.settings.with_attribute(THREADS, count),
            notes=f"{count} thread{'s'[: count > 1]} within an operator",
        )
        if count != chosen
        else LeftOut(f"cpu:threads={count}", "same-as-reference", "the user's own number")
        for count in thread_counts(may_use_threads(reference, facts), facts.physical_cores)
    )
