"""The rig: trials of candidates against a reference, each side in a child process of its own."""

import logging
import os
import tempfile
import time
import weakref
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from attrs import evolve, frozen

from ortsel.errors import UsageError
from ortsel.load import ONE_AFTER_ANOTHER, Load
from ortsel.plan import Plan
from ortsel.trial.calling import Calling, WayOfCalling
from ortsel.trial.disturbance import REMEMBERED, Effort, disturbance
from ortsel.trial.errors import TrialFailedError, TrialsUnavailableError
from ortsel.trial.interpreter import WORKER_MODULE
from ortsel.trial.limits import TrialLimits
from ortsel.trial.messages import MeasureCalls, Ran, RunOnce, Timed
from ortsel.trial.second_feed import same_feed, second_feeds
from ortsel.trial.sides import Resources, Sides, Workload
from ortsel.trial.third_opinion import third_opinion as opinion_of
from ortsel.trial.values import FeedValue, read_values, write_values
from ortsel.verification.comparison import Comparison, Different, Equal, Incomparable, compare
from ortsel.verification.tolerance import BY_TYPE, EXACT, Tolerance
from spec.engine.effect import Purpose
from spec.failure import Failure, FailureKind

_logger: Final = logging.getLogger("ortsel.trial")

KEPT_TIMINGS: Final = 4096
"""Measurements that a rig remembers in detail; the oldest go first."""

MOST_SPACED_CALLS: Final = 16
"""Each spaced call is timed by itself, so that more of them only take longer."""

LOOKS: Final = 3
"""Blocks of a short look; fewer are enough where they show a difference of more than `NEAR`."""
NEAR: Final = Fraction(3, 20)

BLOCKS_OF_A_TURN: Final = 12
"""Blocks to a verdict, where a candidate gains or loses clearly."""
RUNS_OF_A_BLOCK: Final = 4

ONE_FEED: Final = "only one feed: nothing shows that a plan reads its inputs"
"""The reason of `CannotVerify` where no other feed is valid and has another answer (E7)."""

_DEFAULT_LIMITS: Final = TrialLimits()


@frozen
class Verified:
    """The outputs are the reference's."""

    feeds: int
    """On so many different feeds of the caller's."""
    provisional: bool = False
    """Nobody really sent the feeds."""


@frozen
class CannotVerify:
    """The outputs cannot be compared, or prove nothing."""

    reason: str


Verdict: TypeAlias = Verified | CannotVerify


@frozen
class SessionDescription:
    """What a plan's session turned out to be."""

    providers: tuple[str, ...]
    nodes_by_provider: Mapping[str, int] | None
    """None where ONNX Runtime does not say, for the reference, and for the CPU alone."""
    variant_ns: int
    """Building the graph variant; 0 where there is none or it was there already."""
    creation_ns: int
    """Building the session."""
    first_call_ns: int
    """The very first call, with what is compiled or searched in it."""
    peak_resident_bytes: int
    """Most memory that the child held so far, ONNX Runtime itself included."""


@frozen
class Timing:
    """One measurement in detail."""

    plan: str
    purpose: Purpose
    timed: Timed
    waited_ns: int
    """How long it took until the other side's threads slept, before."""
    alone: bool
    """Whether they did. Otherwise the other side may have disturbed this measurement."""
    idle_cpu_ns: int = 0
    """Processor time that the other side took meanwhile, in ticks of the system's clock."""
    disturbed: str = ""
    """What disturbed it, in words; empty where nothing did."""


class Rig:
    """Trials of plans for one model, one reference and one workload. Not thread-safe.

    A context manager. `close` leaves no process, thread, descriptor or file behind; a rig that is
    forgotten is closed when it is collected or the interpreter ends.
    """

    def __init__(
        self,
        model: Path,
        reference: Plan,
        feeds: Sequence[Mapping[str, FeedValue]],
        output_names: Sequence[str] | None,
        *,
        calling: WayOfCalling = Calling.NUMPY,
        tolerance: Tolerance = BY_TYPE,
        third_opinion: bool = False,
        scratch: Path | None = None,
        outer_scratch: Path | None = None,
        limits: TrialLimits = _DEFAULT_LIMITS,
        variant_models: Mapping[str, Path] | None = None,
        synthetic_feeds: bool = False,
        worker: str = WORKER_MODULE,
        load: Load = ONE_AFTER_ANOTHER,
    ) -> None:
        """Take a snapshot of the feeds (all of the same types and shapes); start nothing yet.

        `output_names` None asks for all outputs. With `third_opinion` a rejection says which side
        is nearer to what ONNX's own evaluator computes. `scratch` is the folder in which a private
        one is made (None: the system's). `outer_scratch` is a folder of the caller's own, which
        the caller removes; the children do so only after this process was killed. `variant_models`
        are graph variants that were built before, by name. With `synthetic_feeds` nobody sent the
        feeds, and what is verified on them is provisional (E7). `worker` is the module that the
        children run, `load` how calls follow each other while they are timed.

        Raises `TrialsUnavailableError` where the feeds cannot be written anywhere.
        """
        if not feeds:
            raise UsageError("feeds", "none", "at least one")
        self._reference = reference
        self._tolerance = tolerance
        self._model = model.absolute() if third_opinion else None
        """What a third opinion is computed of; None where none is asked for."""
        self._limits = limits
        self._synthetic = synthetic_feeds
        self._reference_outputs: dict[int, Path] = {}
        self._reference_verdict: Verdict | Failure | None = None
        self._reference_latency_ns: int | None = None
        self._load = load
        self._timings: deque[Timing] = deque(maxlen=KEPT_TIMINGS)
        self._efforts: dict[str, deque[Effort]] = {}
        """Of the last scored measurements, by plan."""
        self._disturbed: Counter[str] = Counter()
        self._first_told: set[str] = set()
        self._runs = 0
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="ortsel-trial-", dir=scratch)).absolute()
        except OSError as error:
            raise TrialsUnavailableError(
                _reason(error), "a folder that can be written to"
            ) from error
        outer = None if outer_scratch is None else outer_scratch.absolute()
        resources = Resources(self._folder, os.getpid(), outer)
        self._finalizer = weakref.finalize(self, resources.release)
        try:
            self._sent = 1 if all(same_feed(feed, feeds[0]) for feed in feeds) else len(feeds)
            every = list(feeds[: self._sent])
            if self._sent == 1:
                every.extend(second_feeds(feeds[0]))
            files = tuple(self._written(index, feed) for index, feed in enumerate(every))
        except OSError as error:
            self.close()
            raise TrialsUnavailableError(_reason(error), "room for the feeds on disk") from error
        except BaseException:
            self.close()
            raise
        self._compared = list(range(min(self._sent, limits.feeds_compared)))
        """Feeds that outputs are compared on, with those that nobody sent until one has served."""
        self._compared.extend(range(self._sent, len(every)))
        self._needs_another = self._sent == 1 and bool(feeds[0])
        names = None if output_names is None else tuple(output_names)
        workload = Workload(model.absolute(), calling, files, names)
        self._sides = Sides(reference, workload, resources, limits, variant_models or {}, worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def timings(self) -> tuple[Timing, ...]:
        """The measurements so far, oldest first."""
        return tuple(self._timings)

    @property
    def calls_per_measurement(self) -> int:
        """Calls in one scored measurement, from the reference's own latency."""
        return calls_for(self._reference_latency_ns, self._limits, self._load.gap_ns)

    @property
    def disturbed(self) -> Mapping[str, int]:
        """How many scored measurements of each plan something else disturbed.

        Each was taken again, as often as the limits allow; the last one counted.
        """
        return dict(self._disturbed)

    def measure(self, plan: Plan, purpose: Purpose, deadline_ns: int) -> int:
        """Return the mean time of one call in nanoseconds, while the other side's threads sleep.

        A plan's first warm-up returns the time of its session's very first call, with whatever is
        compiled or searched in it (S7); building the session is apart from that. A scored
        measurement that something else disturbed is taken again, within limits and deadline.

        `deadline_ns` is a time of `time.monotonic_ns`. Raises `TrialFailedError`, and
        `TrialsUnavailableError` where no child can be started.
        """
        self._check_open()
        if plan != self._reference and self._reference_latency_ns is None:
            self._timed(self._reference, Purpose.WARMUP, deadline_ns)
        if purpose is Purpose.WARMUP:
            return self._warmed(plan, deadline_ns)
        for _ in range(self._limits.disturbed_repeats):
            timing = self._timed(plan, purpose, deadline_ns)
            if not timing.disturbed or time.monotonic_ns() >= deadline_ns:
                return timing.timed.latency_ns
        return self._timed(plan, purpose, deadline_ns).timed.latency_ns

    def restart(self) -> None:
        """End all children; whoever is measured next runs in a new one."""
        self._check_open()
        for side in self._sides.all_open():
            self._sides.drop(side.plan)
        self._efforts.clear()

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Let candidates share a child for `look`; there is none of it left afterwards."""
        with self._sides.sharing_child():
            yield

    def look(self, plan: Plan, deadline_ns: int) -> Fraction:
        """Return a candidate's time over the reference's, from a few blocks of measurements.

        Nothing is verified, disturbed measurements count, and within `looking` the child has had
        other sessions before: it orders trials, and is no evidence. Raises as `measure` does.
        """
        self._check_open()
        reference = self._reference
        if self._reference_latency_ns is None:
            self._timed(reference, Purpose.WARMUP, deadline_ns)
        self._timed(plan, Purpose.WARMUP, deadline_ns)
        ratio, spent_ns = Fraction(1), {reference.name: 0, plan.name: 0}
        for _ in range(LOOKS):
            for side in (reference, plan, plan, reference):
                spent_ns[side.name] += self._timed(
                    side, Purpose.BASELINE, deadline_ns
                ).timed.latency_ns
            ratio = Fraction(max(1, spent_ns[plan.name]), max(1, spent_ns[reference.name]))
            if abs(ratio - 1) > NEAR:
                break
        return ratio

    def validate(self, plan: Plan, deadline_ns: int) -> Verdict:
        """Compare a plan's outputs with the reference's, or the reference with itself (E6, E7).

        First and later outputs, and different feeds in A-B-A order. Raises `TrialFailedError`: kind
        rejected when they differ (code "reference_nondeterministic" when the reference differs from
        itself), other kinds when a plan did not run.
        """
        self._check_open()
        if self._reference_verdict is None:
            self._reference_verdict = self._reference_against_itself(deadline_ns)
        if isinstance(self._reference_verdict, Failure):
            raise TrialFailedError(self._reference.name, self._reference_verdict)
        if plan == self._reference or isinstance(self._reference_verdict, CannotVerify):
            return self._reference_verdict
        return self._candidate_against_reference(plan, deadline_ns)

    def opened(self, plan: Plan, deadline_ns: int) -> SessionDescription:
        """Start the child of a plan, if it is not there, and describe its session.

        Raises `TrialFailedError`, and `TrialsUnavailableError` where no child can be started.
        """
        self._check_open()
        self._sides.side(plan, deadline_ns)
        return self.description(plan)

    def description(self, plan: Plan) -> SessionDescription:
        """Describe the session of a plan under trial. Raises `UsageError` when it is not."""
        side = self._sides.opened(plan)
        if side is None:
            raise UsageError("plan", repr(plan.name), "the reference or the candidate under trial")
        return SessionDescription(
            side.loaded.providers,
            side.loaded.nodes_by_provider,
            side.loaded.variant_ns,
            side.loaded.creation_ns,
            side.first_call_ns,
            side.peak_resident_bytes,
        )

    def open_reference(self, deadline_ns: int) -> None:
        """Start the reference's child, if it is not there. Raises as `opened` does."""
        self.opened(self._reference, deadline_ns)

    @property
    def opening_ns(self) -> int:
        """The longest that starting a child, its session and its first call took so far."""
        return self._sides.opening_ns

    def turn_ns(self) -> int:
        """Return about how long a candidate's turn to a verdict takes, of what was seen so far.

        Starting its child, the runs that compare its outputs, and some blocks. Building a graph
        variant, and a machine that disturbs, come on top.
        """
        latency_ns = self._reference_latency_ns or 0
        calls = self.calls_per_measurement
        once_ns = max(calls * latency_ns, self._limits.measurement_least_ns) + self._limits.wake_ns
        runs_ns = 2 * len(self._compared) * latency_ns
        return self.opening_ns + runs_ns + BLOCKS_OF_A_TURN * RUNS_OF_A_BLOCK * once_ns

    def variant_path(self, plan: Plan) -> Path | None:
        """Return the model file of the plan's graph variant.

        None when it has none or it is not built yet. Files that the rig built are gone when it is
        closed.
        """
        return self._sides.variants.get(plan.variant) if plan.variant else None

    def process_ids(self) -> dict[str, int]:
        """Return the process identities of the children, by plan name."""
        return {side.plan.name: side.child.pid for side in self._sides.all_open()}

    def close(self) -> None:
        """End the children and remove the scratch folder. May be called again."""
        self._finalizer()

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise UsageError("rig", "a closed one", "one that is open")

    def _warmed(self, plan: Plan, deadline_ns: int) -> int:
        timing = self._timed(plan, Purpose.WARMUP, deadline_ns)
        side = self._sides.opened(plan)
        if side is None or plan.name in self._first_told:
            return timing.timed.latency_ns
        self._first_told.add(plan.name)
        return side.first_call_ns

    def _timed(self, plan: Plan, purpose: Purpose, deadline_ns: int) -> Timing:
        limits = self._limits
        warming = purpose is Purpose.WARMUP
        calls = limits.warmup_calls if warming else self.calls_per_measurement
        most_ns = limits.overrun_factor * limits.measurement_most_ns
        gap_ns = 0 if warming else self._load.gap_ns
        wake_ns = 0 if warming or gap_ns else limits.wake_ns
        command = MeasureCalls(calls, self._sent, wake_ns, most_ns, gap_ns)
        self._sides.side(plan, deadline_ns)
        began_ns = time.monotonic_ns()
        park_limit_ns = self._limits.call_ns + limits.park_most_ns
        alone = self._sides.quiet_beside(plan, park_limit_ns, deadline_ns)
        waited_ns = time.monotonic_ns() - began_ns
        limit_ns = 2 * self._call_limit_ns() + most_ns + calls * gap_ns
        idle_ns = self._idle_cpu_ns(plan)
        timed = self._sides.ask(plan, Timed, command, limit_ns, deadline_ns)
        idle_ns = max(0, self._idle_cpu_ns(plan) - idle_ns)
        timing = Timing(plan.name, purpose, timed, waited_ns, alone, idle_ns)
        if not warming:
            timing = evolve(timing, disturbed=self._disturbance(timing))
        self._timings.append(timing)
        if plan == self._reference:
            self._size_measurements(purpose, timed.latency_ns)
        return timing

    def _idle_cpu_ns(self, plan: Plan) -> int:
        """Return the processor time so far of the sides that wait while this one is measured."""
        waiting = [side.child for side in self._sides.all_open() if side.plan != plan]
        return sum(child.cpu_time_ns() for child in waiting if child.alive)

    def _disturbance(self, timing: Timing) -> str:
        timed = timing.timed
        effort = Effort(
            timed.span_ns,
            timed.cpu_ns,
            timed.switches_involuntary,
            timing.idle_cpu_ns,
            timing.alone,
        )
        known = self._efforts.setdefault(timing.plan, deque(maxlen=REMEMBERED))
        found = disturbance(effort, tuple(known))
        known.append(effort)
        if found:
            self._disturbed[timing.plan] += 1
            _logger.debug("%s: measurement disturbed: %s", timing.plan, found)
        return found

    def _size_measurements(self, purpose: Purpose, latency_ns: int) -> None:
        known = self._reference_latency_ns
        if known is None:
            self._reference_latency_ns = latency_ns
        elif purpose is not Purpose.PAIRED:  # disturbances only ever add
            self._reference_latency_ns = min(known, latency_ns)

    def _call_limit_ns(self) -> int:
        known = self._reference_latency_ns
        if known is None:
            return self._limits.first_call_ns
        return max(self._limits.call_ns, self._limits.call_factor * known)

    def _reference_against_itself(self, deadline_ns: int) -> Verdict | Failure:
        plan = self._reference
        self._reference_outputs = {0: self._sides.side(plan, deadline_ns).first_outputs}
        for feed in self._reference_order():
            try:
                outputs = self._ran(plan, feed, deadline_ns)
            except TrialFailedError as error:
                kind = error.failure.kind
                if not self._is_changed(feed) or kind is FailureKind.TRANSIENT:
                    raise
                # What nobody sent need not be a valid input. What crashes once may do so again.
                self._forget(feed, others=kind is not FailureKind.UNSUPPORTED)
                continue
            if feed not in self._reference_outputs and self._is_changed(feed):
                if not self._shows_more(outputs):
                    outputs.unlink()
                    self._forget(feed)
                    continue
                self._compared = [one for one in self._compared if one <= feed]
            known = self._reference_outputs.setdefault(feed, outputs)
            verdict = self._compared_files(known, outputs)
            if known != outputs:
                outputs.unlink()
            if isinstance(verdict, Different):
                detail = f"run again on the same feed: {verdict}"
                return Failure(FailureKind.REJECTED, "reference_nondeterministic", detail)
            if isinstance(verdict, Incomparable):
                if not self._is_changed(feed):
                    return CannotVerify(verdict.reason)
                self._forget(feed)
        return self._verified()

    def _shows_more(self, outputs: Path) -> bool:
        """Say whether outputs can be compared and are not those of the first feed as well."""
        if isinstance(self._compared_files(outputs, outputs), Incomparable):
            return False
        # A metric may accept two different answers; that they differ is what matters here.
        tolerance = BY_TYPE if self._tolerance.is_lossy else self._tolerance
        first = self._reference_outputs[0]
        return isinstance(self._compared_files(first, outputs, tolerance), Different)

    def _reference_order(self) -> Iterator[int]:
        """A again and again, every other feed between two of A, and those once more."""
        others = self._compared[1:]
        yield 0
        for feed in others:
            if feed in self._compared:
                yield feed
                yield 0
        for feed in others:
            if feed in self._compared:
                yield feed
        for _ in range(self._limits.reference_looks - 1 - len(self._compared)):
            yield 0

    def _candidate_against_reference(self, plan: Plan, deadline_ns: int) -> Verdict:
        first = self._sides.side(plan, deadline_ns).first_outputs
        finding = self._finding(plan, 0, first, "first call", deadline_ns)
        if finding is not None:
            return finding
        others = self._compared[1:]
        order = [0, *(feed for other in others for feed in (other, 0)), *others]
        for number, feed in enumerate(order):
            outputs = self._ran(plan, feed, deadline_ns)
            words = "a feed whose values were changed" if self._is_changed(feed) else f"feed {feed}"
            when = f"later call {number + 1}, on {words}"
            finding = self._finding(plan, feed, outputs, when, deadline_ns)
            if finding is None and feed and self._tolerance.is_lossy:
                self._check_reads_inputs(plan, first, outputs, when)
            outputs.unlink()
            if finding is not None:
                return finding
        return self._verified()

    def _check_reads_inputs(self, plan: Plan, first: Path, outputs: Path, when: str) -> None:
        """Reject a plan that gives the first feed's answer again, where a metric would let it."""
        if isinstance(self._compared_files(first, outputs, EXACT), Equal):
            detail = f"{when}: the very answer to the first feed, and the reference has another"
            raise TrialFailedError(plan.name, Failure(FailureKind.REJECTED, "wrong-replay", detail))

    def _finding(
        self, plan: Plan, feed: int, outputs: Path, when: str, deadline_ns: int
    ) -> CannotVerify | None:
        verdict = self._compared_files(self._reference_outputs[feed], outputs)
        if isinstance(verdict, Different):
            detail = f"{when}: {verdict}"
            if self._model is not None:
                sides = self._reference_outputs[feed], outputs
                opinion = opinion_of(self._model, self._feed_file(feed), *sides, deadline_ns)
                detail = f"{detail}; third opinion: {opinion}"
            failure = Failure(FailureKind.REJECTED, f"wrong-{verdict.kind.value}", detail)
            raise TrialFailedError(plan.name, failure)
        return (
            CannotVerify(f"{when}: {verdict.reason}") if isinstance(verdict, Incomparable) else None
        )

    def _compared_files(
        self, reference: Path, candidate: Path, tolerance: Tolerance | None = None
    ) -> Comparison:
        names = self._sides.output_names
        ours, theirs = read_values(reference), read_values(candidate)
        return compare(
            [ours[name] for name in names],
            [theirs[name] for name in names],
            names,
            tolerance or self._tolerance,
        )

    def _ran(self, plan: Plan, feed: int, deadline_ns: int) -> Path:
        self._runs += 1
        target = self._folder / f"run-{self._runs}.values"
        command = RunOnce(feed, str(target))
        self._sides.ask(plan, Ran, command, self._call_limit_ns(), deadline_ns)
        return target

    def _verified(self) -> Verdict:
        sent = sum(not self._is_changed(feed) for feed in self._compared)
        if self._needs_another and sent == len(self._compared):
            return CannotVerify(ONE_FEED)
        return Verified(sent, self._synthetic)

    def _is_changed(self, feed: int) -> bool:
        return feed >= self._sent

    def _forget(self, feed: int, *, others: bool = False) -> None:
        """Do without a feed that nobody sent, and without the others of its kind if asked to."""
        self._compared = [
            one for one in self._compared if one != feed and not (others and self._is_changed(one))
        ]
        self._reference_outputs.pop(feed, None)

    def _feed_file(self, index: int) -> Path:
        return self._folder / f"feed-{index}.values"

    def _written(self, index: int, feed: Mapping[str, FeedValue]) -> Path:
        path = self._feed_file(index)
        write_values(path, feed)
        return path


def calls_for(latency_ns: int | None, limits: TrialLimits, gap_ns: int = 0) -> int:
    """Return how many calls of that latency make one measurement; None is not known yet.

    Gaps between calls take of the room that a measurement has.
    """
    if not latency_ns:
        return limits.calls_least
    enough = -(-limits.measurement_least_ns // latency_ns)
    room = max(1, limits.measurement_most_ns // (latency_ns + gap_ns))
    room = min(room, MOST_SPACED_CALLS) if gap_ns else room
    return min(max(enough, limits.calls_least), room)


def _reason(error: OSError) -> str:
    """Say why without the path, which is another one each time."""
    return error.strerror or type(error).__name__
