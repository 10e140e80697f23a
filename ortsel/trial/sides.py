"""The children of a rig: the reference's for the whole search, a candidate's one at a time."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from attrs import define, evolve, field, frozen

from ortsel.errors import UsageError
from ortsel.plan import Plan
from ortsel.trial.calling import WayOfCalling
from ortsel.trial.child import (
    Child,
    ChildConfusedError,
    ChildDiedError,
    ChildError,
    CommandFailedError,
)
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.failures import failure_of_end, failure_of_error
from ortsel.trial.interpreter import WORKER_MODULE
from ortsel.trial.limits import TrialLimits
from ortsel.trial.messages import Command, Load, Loaded, Park, Parked, Ran, RunOnce, Timed
from spec.failure import Failure, FailureKind

R = TypeVar("R", Loaded, Ran, Parked, Timed)
T = TypeVar("T")


@define
class Resources:
    """What must not outlive a rig. Apart from it, so that a finalizer can hold it."""

    folder: Path
    owner: int
    """The process that made them; in a fork of it, releasing does nothing."""
    outer: Path | None = None
    """A folder around it that is somebody else's to remove, unless the owner is killed."""
    children: list[Child] = field(factory=list)

    def release(self) -> None:
        """End every child and remove the folder."""
        if os.getpid() != self.owner:
            return
        while self.children:
            self.children.pop().kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@frozen
class Workload:
    """What every side is given."""

    model: Path
    calling: WayOfCalling
    feeds: tuple[Path, ...]
    """Value files."""
    output_names: tuple[str, ...] | None
    """None until the reference has said which there are."""


@define
class Side:
    """A child with a session in it that has run once, on the first feed."""

    plan: Plan
    child: Child
    loaded: Loaded
    first_call_ns: int
    first_outputs: Path
    peak_resident_bytes: int
    awake: bool = True
    """Whether threads may still be spinning after its last calls."""


class Sides:
    """Opens, asks and drops sides. A candidate's end never touches the reference's."""

    def __init__(
        self,
        reference: Plan,
        workload: Workload,
        resources: Resources,
        limits: TrialLimits,
        variants: Mapping[str, Path],
        worker: str = WORKER_MODULE,
    ) -> None:
        self._reference = reference
        self._workload = workload
        self._resources = resources
        self._limits = limits
        self._worker = worker
        self.variants = dict(variants)
        """Model files of graph variants by name, those given and those built."""
        self._open: dict[str, Side] = {}
        self._serial = 0
        self._restarts_left = 1
        self.opening_ns = 0
        """The longest that starting a child, its session and its first call took so far."""
        self._share_child = False
        self._spare: Child | None = None
        """The candidates' child while they share one and none has a session in it."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """The outputs asked for. Known once the reference was opened."""
        assert self._workload.output_names is not None
        return self._workload.output_names

    def opened(self, plan: Plan) -> Side | None:
        """Return the side of a plan if it is open."""
        side = self._open.get(plan.name)
        return side if side is not None and side.plan == plan else None

    def all_open(self) -> Sequence[Side]:
        """Return the open sides."""
        return tuple(self._open.values())

    def side(self, plan: Plan, deadline_ns: int) -> Side:
        """Return the side of a plan; open it, closing another candidate's, if need be.

        Raises `TrialFailedError` when it cannot be opened.
        """
        stopped = self._limits.stop_asked()
        if stopped or time.monotonic_ns() >= deadline_ns:  # nothing needs to be killed for that
            failure = Failure(FailureKind.TRANSIENT, "timeout", "no time was left to begin")
            raise TrialFailedError(plan.name, failure)
        if plan != self._reference:
            if plan.name == self._reference.name:
                raise UsageError("plan", f"another plan named {plan.name!r}", "a name of its own")
            self.side(self._reference, deadline_ns)
        return self._tried(plan, lambda: self._current(plan, deadline_ns))

    def ask(
        self, plan: Plan, kind: type[R], command: Command, limit_ns: int, deadline_ns: int
    ) -> R:
        """Return the answer of a plan's side. Raises `TrialFailedError`."""
        self.side(plan, deadline_ns)

        def asked() -> R:
            side = self._current(plan, deadline_ns)
            answer = _answer(side.child, kind, command, limit_ns, deadline_ns)
            side.peak_resident_bytes = answer.peak_resident_bytes
            side.awake = not (isinstance(answer, Parked) and answer.parked)
            return answer

        return self._tried(plan, asked)

    def quiet_beside(self, plan: Plan, limit_ns: int, deadline_ns: int) -> bool:
        """Bring the other side's threads to rest; return whether they are.

        Its process is stopped until it is asked again. Where that cannot be, the side waits until
        its threads sleep, which takes a pool some tens of milliseconds: so this is done when the
        sides change and not after each measurement.
        """
        quiet = True
        for other in self.all_open():
            if other.plan == plan or not other.awake:
                continue
            if other.child.freeze():
                other.awake = False
                continue
            try:
                quiet &= self.ask(other.plan, Parked, Park(), limit_ns, deadline_ns).parked
            except TrialFailedError:
                if other.plan == self._reference:
                    raise
                # A candidate that died while it waited is gone, which is as quiet as can be.
        return quiet

    def drop(self, plan: Plan) -> None:
        """End a plan's side, if it is open."""
        side = self._open.pop(plan.name, None)
        if side is None:
            return
        self._end(side.child)
        if plan != self._reference:  # its first outputs stay what others are compared with
            side.first_outputs.unlink(missing_ok=True)

    @contextmanager
    def sharing_child(self) -> Iterator[None]:
        """Let candidates follow each other in one child, for a short look at each.

        No candidate's side is open afterwards: what is tried gets a child of its own.
        """
        self._share_child = True
        try:
            yield
        finally:
            self._share_child = False
            for side in self.all_open():
                if side.plan != self._reference:
                    self.drop(side.plan)
            if self._spare is not None:
                self._end(self._spare)
                self._spare = None

    def _vacate(self, side: Side) -> None:
        """Make room for the next candidate."""
        if not self._share_child or not side.child.alive:
            self.drop(side.plan)
            return
        self._open.pop(side.plan.name)
        side.first_outputs.unlink(missing_ok=True)
        self._spare = side.child

    def _leave(self, plan: Plan, child: Child) -> None:
        """Keep a child for the next candidate that could not load one; end it where none shares."""
        if self._share_child and plan != self._reference and child.alive:
            self._spare = child
        else:
            self._end(child)

    def _tried(self, plan: Plan, work: Callable[[], T]) -> T:
        """Do it; turn an error into what it means. A reference that died is restarted once."""
        try:
            return work()
        except CommandFailedError as error:
            failure = failure_of_error(error.failed)
            if plan != self._reference or failure.kind is not FailureKind.UNSUPPORTED:
                self.drop(plan)
            raise TrialFailedError(plan.name, failure) from error
        except ChildError as error:
            self.drop(plan)
            died = isinstance(error, ChildDiedError)
            if plan != self._reference or not died or not self._restarts_left:
                raise TrialFailedError(plan.name, failure_of_end(error)) from error
        self._restarts_left -= 1
        return self._tried(plan, work)

    def _current(self, plan: Plan, deadline_ns: int) -> Side:
        side = self.opened(plan)
        if side is not None:
            return side
        for other in self.all_open():
            if other.plan != self._reference:
                self._vacate(other)
        child = None if plan == self._reference else self._spare
        serial = self._serial = self._serial + 1
        folder = self._resources.folder
        began_ns = None if child is not None else time.monotonic_ns()
        if child is None:
            outer = self._resources.outer
            child = Child(folder, f"child-{serial}", self._limits, deadline_ns, outer, self._worker)
            self._resources.children.append(child)
        elif child is self._spare:
            self._spare = None
        try:
            side = self._loaded(plan, child, folder / f"first-{serial}.values", deadline_ns)
        except CommandFailedError:
            self._leave(plan, child)
            raise
        except BaseException:
            self._end(child)
            raise
        self._open[plan.name] = side
        if began_ns is not None:
            opening_ns = time.monotonic_ns() - began_ns - side.loaded.variant_ns
            self.opening_ns = max(self.opening_ns, opening_ns)
        return side

    def _loaded(self, plan: Plan, child: Child, first_outputs: Path, deadline_ns: int) -> Side:
        model, target = self.variants.get(plan.variant, self._workload.model), ""
        if plan.variant and plan.variant not in self.variants:
            folder = first_outputs.with_suffix(".variant")
            folder.mkdir()
            target = str(folder / "model.onnx")
        load = Load(
            plan,
            str(model),
            plan != self._reference,
            target,
            self._workload.calling,
            self._workload.output_names,
            tuple(str(path) for path in self._workload.feeds),
        )
        loaded = _answer(child, Loaded, load, self._limits.creation_ns, deadline_ns)
        if target:
            self.variants[plan.variant] = Path(target)
        if self._workload.output_names is None:
            self._workload = evolve(self._workload, output_names=loaded.output_names)
        first = RunOnce(0, str(first_outputs))
        ran = _answer(child, Ran, first, self._limits.first_call_ns, deadline_ns)
        return Side(plan, child, loaded, ran.latency_ns, first_outputs, ran.peak_resident_bytes)

    def _end(self, child: Child) -> None:
        child.close()
        if child in self._resources.children:
            self._resources.children.remove(child)


def _answer(child: Child, kind: type[R], command: Command, limit_ns: int, deadline_ns: int) -> R:
    answer = child.ask(command, limit_ns, deadline_ns)
    if not isinstance(answer, kind):
        child.kill()
        raise ChildConfusedError(child.log_tail(), f"{type(answer).__name__} for {command!r:.200}")
    return answer
