"""What a plan's settings mean on the CPU, with ONNX Runtime's defaults filled in."""

from enum import IntEnum
from typing import Final

from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

THREADS: Final = "intra_op_num_threads"
LEVEL: Final = "graph_optimization_level"
SPINNING: Final = "session.intra_op.allow_spinning"
BETWEEN_OPERATORS_SPINNING: Final = "session.inter_op.allow_spinning"
AFFINITIES: Final = "session.intra_op_thread_affinities"
DISABLED_OPTIMIZERS: Final = "optimization.disable_specified_optimizers"


class Level(IntEnum):
    """Graph optimization levels by their number in ONNX Runtime, in increasing order."""

    DISABLED = 0
    BASIC = 1
    EXTENDED = 2
    LAYOUT = 3
    ALL = 99


def level(plan: Plan) -> int:
    """Return the graph optimization level of a plan; ONNX Runtime's default is all."""
    return int(plan.settings.attribute(LEVEL, Level.ALL.value))


def explicit_threads(plan: Plan) -> int | None:
    """Return the thread count that the user chose, None where ONNX Runtime decides."""
    threads = int(plan.settings.attribute(THREADS, 0))
    return threads if threads > 0 else None


def has_own_pool(plan: Plan) -> bool:
    """Whether the session has threads of its own, which its settings govern."""
    return bool(plan.settings.attribute("use_per_session_threads", default=True))


def may_use_threads(plan: Plan, facts: CandidateFacts) -> int:
    """Return the most threads that a candidate may use: the budget, and never over the user's."""
    chosen = explicit_threads(plan)
    return facts.thread_budget if chosen is None else min(chosen, facts.thread_budget)


def runs_in_parallel(plan: Plan) -> bool:
    """Whether operators run beside each other, which starts a second pool of threads."""
    return int(plan.settings.attribute("execution_mode", 0)) == 1
