"""A short look at many plans, before any of them is measured in pairs.

Most candidates are nowhere near the best, and a proper turn costs each a process, a verification
and many blocks. So one child first builds the session of one plan after the other, alone, and times
a few calls; the reference comes again every few plans, and how much its own times differ says how
far such times can be trusted. What this finds only orders turns and saves hopeless ones: a plan is
promoted for nothing that was measured here.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from attrs import Factory, define, frozen

from ortsel.plan import Plan
from ortsel.trial.calling import Calling
from ortsel.trial.child import Child, ChildError, CommandFailedError
from ortsel.trial.failures import failure_of_error
from ortsel.trial.limits import MILLISECOND_NS, TrialLimits
from ortsel.trial.messages import Load, Loaded, MeasureCalls, Timed
from spec.failure import Failure

T = TypeVar("T")

SEGMENT: Final = 4
"""Plans between two looks at the reference: the machine's pace is known on either side of each."""
LOOKS: Final = 3
"""Measurements of one session, of which the median counts."""
LOOK_NS: Final = 15 * MILLISECOND_NS
"""Shortest measurement. Shorter than in a proper trial: this decides about turns alone."""
MOST_CALLS: Final = 1_000_000


@frozen
class Subject:
    """What every plan of a screening runs."""

    model: Path
    feed: Path
    """A value file."""
    output_names: tuple[str, ...]
    calling: Calling
    folder: Path
    """Where variants are written that are built for a look."""


@define
class Screened:
    """What a screening found."""

    ratios: dict[str, float] = Factory(dict)
    """Time over the reference's, by plan name; without those that failed or were not reached."""
    failures: dict[str, Failure] = Factory(dict)
    """What plans raised that could not be built or run, by name."""
    spread: float = 0.0
    """By what part of itself the reference's time differed from look to look."""
    variants: dict[str, Path] = Factory(dict)
    """Model files of graph variants that were built for it, by variant."""


def screen(
    plans: Sequence[Plan],
    subject: Subject,
    limits: TrialLimits,
    deadline_ns: int,
    variants: Mapping[str, Path],
    undisturbed: Callable[[Callable[[], int]], int],
    turn: Callable[[int], None],
) -> Screened:
    """Look at every plan after the first, the reference, as far as the time goes.

    `variants` are model files of graph variants that were built before. `undisturbed` repeats a
    look that something disturbed, and returns its result in nanoseconds; `turn` hears of the
    position whose turn it is. A child's end ends the screening: a proper trial will tell what is
    the matter.

    Raises `TrialsUnavailableError` where no child can be started, and what `undisturbed` raises.
    """
    screened = Screened()
    try:
        child = Child(subject.folder, "screening", limits, deadline_ns)
    except ChildError:
        return screened
    screening = _Screening(child, subject, limits, deadline_ns, dict(variants), undisturbed)
    times: list[tuple[str, float]] = []
    try:
        reference_ns = [screening.time_ns(plans[0])]
        for begin in range(1, len(plans), SEGMENT):
            segment = []
            for position, plan in enumerate(plans[begin : begin + SEGMENT], begin):
                turn(position)
                try:
                    segment.append((plan.name, screening.time_ns(plan)))
                except CommandFailedError as error:
                    screened.failures[plan.name] = failure_of_error(error.failed)
            turn(0)
            reference_ns.append(screening.time_ns(plans[0]))
            both_ns = sum(reference_ns[-2:]) / 2
            times += [(name, time_ns / both_ns) for name, time_ns in segment]
            screened.spread = max(reference_ns) / min(reference_ns) - 1
    except (ChildError, CommandFailedError):
        pass  # it was killed, or the reference fails
    finally:
        child.close()
        screened.ratios = dict(times)
        screened.variants = screening.built
    return screened


@define
class _Screening:
    child: Child
    subject: Subject
    limits: TrialLimits
    deadline_ns: int
    variants: dict[str, Path]
    undisturbed: Callable[[Callable[[], int]], int]
    built: dict[str, Path] = Factory(dict)
    calls: int | None = None
    """Of a measurement; known once the reference was timed."""

    def time_ns(self, plan: Plan) -> int:
        """Return the time of a call of a plan, in a session that is built for it alone."""
        self._load(plan)
        self._measured(self.limits.warmup_calls, self.limits.first_call_ns)
        if self.calls is None:
            call_ns = self._measured(1, self.limits.call_ns)
            self.calls = max(1, min(MOST_CALLS, LOOK_NS // max(1, call_ns)))
        calls = self.calls

        def look() -> int:
            most_ns = self.limits.call_ns
            return int(statistics.median(self._measured(calls, most_ns) for _ in range(LOOKS)))

        return self.undisturbed(look)

    def _load(self, plan: Plan) -> None:
        subject = self.subject
        model, target = self.variants.get(plan.variant, subject.model), ""
        if plan.variant and plan.variant not in self.variants:
            folder = subject.folder / f"screened-{len(self.built)}"
            folder.mkdir(exist_ok=True)
            target = str(folder / "model.onnx")
        load = Load(
            plan,
            str(model),
            verify_providers=False,
            variant_target=target,
            calling=subject.calling,
            output_names=subject.output_names,
            feeds=(str(subject.feed),),
        )
        self._asked(load, Loaded, self.limits.creation_ns)
        if target:
            self.variants[plan.variant] = self.built[plan.variant] = Path(target)

    def _measured(self, calls: int, limit_ns: int) -> int:
        command = MeasureCalls(calls, feeds=1, wake_ns=0, most_ns=LOOK_NS * LOOKS)
        return self._asked(command, Timed, limit_ns).latency_ns

    def _asked(self, command: Load | MeasureCalls, kind: type[T], limit_ns: int) -> T:
        answer = self.child.ask(command, limit_ns, self.deadline_ns)
        assert isinstance(answer, kind), f"{type(answer).__name__} for {command!r:.200}"
        return answer
