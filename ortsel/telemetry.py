"""What ortsel tells operators: log records with fields, and counters where OpenTelemetry is there.

Told at decisions, checks and failures; never for an ordinary request. Records go to the logger
`ortsel`, each with `ortsel_event` and further fields whose names begin with `ortsel_`. Metrics go
through OpenTelemetry's API, whose cost is next to nothing as long as the program sets up no
provider; without the package there are none.
"""

import logging
import threading
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import field, frozen

from ortsel.fork import starts_over
from spec.decision import Decision
from spec.failure import Failure
from spec.report import TrialReport

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram

Cell: TypeAlias = str | int | float | bool

log: Final = logging.getLogger("ortsel")

MOST_REMEMBERED: Final = 1024
"""Warnings that are known to have been given; the oldest is given again."""
MOST_TEXT: Final = 500
"""Characters of an error in a warning; some of ONNX Runtime's quote whole graphs."""
METER: Final = "ortsel"
SEARCH_BOUNDARIES_S: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def tell(level: int, event: str, message: str, **fields: Cell) -> None:
    """Write one record: `event` is a stable word, every field becomes `ortsel_<name>`."""
    if log.isEnabledFor(level):
        extra = {f"ortsel_{name}": value for name, value in fields.items()}
        log.log(level, "ortsel: %s", message, extra={"ortsel_event": event, **extra})


def warn_once(subject: str, event: str, message: str, **fields: Cell) -> None:
    """Write a warning the first time that it is about `subject`; later ones are for debugging."""
    level = logging.WARNING if _given.is_new(f"{event}\0{subject}") else logging.DEBUG
    tell(level, event, message, **fields)


def unexpected(what: str, error: Exception) -> None:
    """Tell once, in one line, of an error that nobody foresaw; where it was is for debugging.

    What a program without logging is told, Python prints, and a traceback there helps nobody.
    """
    got = f"{type(error).__name__}: {error}"
    one_line = " ".join(got.split())[:MOST_TEXT]
    message = f"{what}: {one_line}; requests are not affected; this is a fault worth reporting"
    is_new = _given.is_new(f"unexpected-error\0{what}\0{one_line}")
    level = logging.ERROR if is_new else logging.DEBUG
    tell(level, "unexpected-error", message, error=one_line)
    log.debug("ortsel: %s", what, exc_info=error)


class _Given:
    """The warnings that were given. Safe for many threads."""

    def __init__(self) -> None:
        self.after_fork_in_child()
        self._known: dict[str, None] = {}
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """The lock may be held by a thread that the child does not have."""
        self._lock = threading.RLock()

    def is_new(self, subject: str) -> bool:
        with self._lock:
            if subject in self._known:
                return False
            while len(self._known) >= MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[subject] = None
            return True

    def forget(self) -> None:
        with self._lock:
            self._known.clear()


_given: Final = _Given()


def forget_warnings() -> None:
    """Give every warning again, as a new process would."""
    _given.forget()


@frozen
class _Instruments:
    decisions: "Counter"
    searches: "Counter"
    duration: "Histogram"
    candidates: "Counter"
    promotions: "Counter"
    bans: "Counter"
    checks: "Counter"
    differences: "Counter"
    pairs: "Counter"
    regressions: "Counter"


@frozen
class _Description:
    name: str
    unit: str
    words: str
    boundaries: tuple[float, ...] = field(default=())


METRICS: Final = {
    "decisions": _Description(
        "ortsel.decisions", "{decision}", "Answers of the selector, by ortsel.source"
    ),
    "searches": _Description(
        "ortsel.searches", "{search}", "Searches that ended, by ortsel.outcome"
    ),
    "duration": _Description(
        "ortsel.search.duration", "s", "Time that searches took", SEARCH_BOUNDARIES_S
    ),
    "candidates": _Description(
        "ortsel.candidates", "{candidate}", "Candidates of searches, by ortsel.outcome"
    ),
    "promotions": _Description(
        "ortsel.promotions", "{plan}", "Searches that a plan won, by ortsel.plan"
    ),
    "bans": _Description("ortsel.bans", "{plan}", "Served plans that were banned, by ortsel.cause"),
    "checks": _Description(
        "ortsel.shadow.checks", "{check}", "Looks at served results, by ortsel.result"
    ),
    "differences": _Description(
        "ortsel.shadow.failures", "{check}", "Served results that were not the reference's"
    ),
    "pairs": _Description(
        "ortsel.watch.pairs", "{pair}", "Paired timings of served plans with the reference"
    ),
    "regressions": _Description(
        "ortsel.regressions", "{plan}", "Served plans found slower, by ortsel.consequence"
    ),
}
"""Every metric; all count up, but for the histogram of durations."""


@cache
def _instruments() -> _Instruments | None:
    try:
        from opentelemetry import metrics
    except ImportError:
        return None
    meter = metrics.get_meter(METER)
    made = {
        name: meter.create_counter(one.name, one.unit, one.words)
        for name, one in METRICS.items()
        if not one.boundaries
    }
    duration = METRICS["duration"]
    histogram = meter.create_histogram(
        duration.name,
        duration.unit,
        duration.words,
        explicit_bucket_boundaries_advisory=duration.boundaries,
    )
    return _Instruments(duration=histogram, **made)


def answered(answer: Decision | Failure) -> None:
    """Count an answer of the selector."""
    if (to := _instruments()) is not None:
        source = answer.source.value if isinstance(answer, Decision) else answer.kind.value
        to.decisions.add(1, {"ortsel.source": source})


def searched(report: TrialReport, reference: str) -> None:
    """Tell of a search that ended."""
    promoted = report.winner != reference
    outcome = "promoted" if promoted else "kept"
    seconds = report.elapsed_ns / 1e9
    tell(
        logging.INFO,
        "search-ended",
        f"a search of {seconds:.1f} s over {len(report.candidates)} plans chose {report.winner}",
        outcome=outcome,
        plan=report.winner,
        key=report.key,
        elapsed_s=seconds,
        candidates=len(report.candidates),
        budget_exhausted=report.budget_exhausted,
    )
    if (to := _instruments()) is None:
        return
    to.searches.add(1, {"ortsel.outcome": outcome})
    to.duration.record(seconds, {"ortsel.outcome": outcome})
    for candidate in report.candidates:
        to.candidates.add(1, {"ortsel.outcome": candidate.outcome.value})
    if promoted:
        to.promotions.add(1, {"ortsel.plan": report.winner})


def banned(cause: str) -> None:
    """Count a ban of a plan that served: failed, different, regressed."""
    if (to := _instruments()) is not None:
        to.bans.add(1, {"ortsel.cause": cause})


def checked(result: str) -> None:
    """Count a look at a served result: equal, different, inconclusive, skipped."""
    if (to := _instruments()) is not None:
        to.checks.add(1, {"ortsel.result": result})
        if result == "different":
            to.differences.add(1)


def paired() -> None:
    """Count one paired timing."""
    if (to := _instruments()) is not None:
        to.pairs.add(1)


def regressed(consequence: str) -> None:
    """Count a plan that was found slower: demoted, banned."""
    if (to := _instruments()) is not None:
        to.regressions.add(1, {"ortsel.consequence": consequence})
