"""The offline builder: decisions for many workloads, made before deployment."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import define, evolve, field

from ortsel.builder import layout
from ortsel.builder.build_spec import BuildSpec
from ortsel.builder.executor import Executor, Finished
from ortsel.builder.journal import Journal
from ortsel.builder.local_executor import LocalExecutor
from ortsel.builder.merging import merge
from ortsel.builder.output_lock import locked
from ortsel.builder.planning import plan_tasks
from ortsel.builder.progress import BuildProgress, Clock
from ortsel.builder.report import BuildReport, WorkloadReport, write_document
from ortsel.builder.task import Outcome, Status, Task
from ortsel.errors import MissingPackageError, OrtselError, UsageError
from ortsel.progress import Progress
from ortsel.store import SqliteStore, StoreError
from spec.moment import Moment
from spec.policy import Policy

if TYPE_CHECKING:
    from ortsel.builder.ray_executor import RayExecutor

EXECUTORS: Final = ("local", "ray")
Listener = Callable[[BuildProgress], None]


class OutputError(OrtselError):
    """The output folder cannot be used; the message says why."""


def build(
    spec: "BuildSpec | Mapping[str, Any] | str | PathLike[str]",
    *,
    output: "str | PathLike[str] | None" = None,
    executor: "str | Executor" = "local",
    progress: Listener | None = None,
) -> BuildReport:
    """Decide for every workload of a spec, and keep everything in one folder.

    `spec` is the path of a YAML file, the same names and values as a mapping, or a `BuildSpec`.
    `output` is the folder, by default the spec's. `executor` is "local", "ray", or an object of
    one's own. `progress` hears of every start, step and end, in this thread.

    Workloads that ended in an earlier build in the same folder are not measured again. After an
    interruption, all ends count; after a build that came to its end, only decisions do.

    Raises `BuildSpecError` before anything is measured, `OutputError` and `OutputInUseError` for
    the folder. A workload that cannot be decided raises nothing: the report says so.
    """
    value = _read(spec)
    if output is not None:
        value = evolve(value, output=Path(fspath(output)).absolute())
    runner = _executor(executor) if isinstance(executor, str) else executor
    name = executor if isinstance(executor, str) else _word(runner)
    tasks = plan_tasks(value)
    folder = value.output
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with locked(folder / layout.LOCK_NAME), Journal(folder / layout.JOURNAL_NAME) as journal:
            run = _Run(value, tasks, journal, runner, progress, time.monotonic())
            run.resume()
            run.execute()
            layout.tidy(folder)
            journal.finish()
            report = run.report(name)
            write_document(folder / layout.REPORT_NAME, report.document())
    except OSError as error:
        message = f"output {folder}: {error.strerror or error}"
        raise OutputError(message) from error
    return report


def _read(spec: "BuildSpec | Mapping[str, Any] | str | PathLike[str]") -> BuildSpec:
    if isinstance(spec, BuildSpec):
        return spec
    if find_spec("yaml") is None:
        raise MissingPackageError("ortsel.build", "pyyaml", "cli")
    from ortsel.builder.spec_reader import read_spec, spec_of_mapping

    if isinstance(spec, Mapping):
        return spec_of_mapping(spec)
    try:
        return read_spec(Path(fspath(spec)))
    except TypeError as error:
        need = "the path of a YAML file, a mapping, or a BuildSpec"
        raise UsageError("spec", repr(spec), need) from error


def _executor(name: str) -> "LocalExecutor | RayExecutor":
    match name:
        case "local":
            return LocalExecutor()
        case "ray":
            from ortsel.builder.ray_executor import RayExecutor

            return RayExecutor()
        case _:
            raise UsageError("executor", repr(name), f"one of {', '.join(EXECUTORS)}")


def _word(executor: Executor) -> str:
    """Return an executor's name for reports: "local" of `LocalExecutor`."""
    return type(executor).__name__.removesuffix("Executor").lower()


@define(eq=False)
class _Run:
    """One run of a build: what has ended, and what is still to do."""

    spec: BuildSpec
    tasks: tuple[Task, ...]
    journal: Journal
    executor: Executor
    listener: Listener | None
    started_s: float
    ended: dict[str, WorkloadReport] = field(factory=dict)
    clock: Clock = field(factory=lambda: Clock(1, {}))

    def resume(self) -> None:
        """Take over what earlier builds in this folder ended with."""
        found: list[WorkloadReport] = []
        with closing(SqliteStore(self.spec.output / layout.STORE_NAME)) as store:
            for task in self.tasks:
                outcome = self.journal.outcome(task.id)
                if outcome is not None and self._holds(outcome, store):
                    found.append(WorkloadReport(task, outcome, resumed=True))
        known = {workload.task.id for workload in found}
        waiting = {task.id: task.budget_s for task in self.tasks if task.id not in known}
        self.clock = Clock(self.executor.machines if waiting else 1, waiting)
        for workload in found:
            self.ended[workload.task.id] = workload
            self._tell(workload.task, None, workload.outcome, resumed=True)

    def _holds(self, outcome: Outcome, store: SqliteStore) -> bool:
        if outcome.status is not Status.DECIDED:
            return self.journal.interrupted
        if not outcome.key:  # nothing but the reference could serve: there is nothing to keep
            return True
        try:
            record = store.load(outcome.key)
        except StoreError:
            return False
        policy = Policy()
        now = Moment(time.monotonic_ns(), int(time.time()))
        return record is not None and record.is_fresh(now, policy.ttl_s, policy.retry_after_s)

    def execute(self) -> None:
        """Do what is left, and write down each end before the next begins."""
        if len(self.ended) == len(self.tasks):
            return
        output = self.spec.output
        ends = self.executor.run(self._startable(), output, self._hear)
        try:
            for end in ends:
                outcome = self._merged(end, output)
                self.journal.write(outcome)
                self.ended[end.task.id] = WorkloadReport(end.task, outcome, resumed=False)
                self.clock.end(end.task, outcome.elapsed_s)
                self._tell(end.task, None, outcome)
        finally:
            close = getattr(ends, "close", None)
            if close is not None:
                close()

    def _startable(self) -> Iterator[Task]:
        """Give the tasks that have not ended, for as long as the total budget allows."""
        total_s = self.spec.total_budget_s
        begun_s: float | None = None
        for task in self.tasks:
            if task.id in self.ended:
                continue
            if begun_s is None:
                begun_s = time.monotonic()
            elif total_s is not None and time.monotonic() - begun_s + task.budget_s > total_s:
                return
            yield task

    def _merged(self, end: Finished, output: Path) -> Outcome:
        try:
            merge(end, output)
        except (StoreError, OrtselError) as error:
            return evolve(
                end.outcome, status=Status.FAILED, reason=f"not kept: {error}", plan="", key=""
            )
        return end.outcome

    def _hear(self, task: Task, search: Progress | None) -> None:
        self._tell(task, search, None)

    def _tell(
        self, task: Task, search: Progress | None, outcome: Outcome | None, *, resumed: bool = False
    ) -> None:
        if self.listener is None:
            return
        self.listener(
            BuildProgress(
                task,
                search,
                outcome,
                len(self.ended),
                len(self.tasks),
                self._elapsed_s(),
                self.clock.remaining_s(),
                resumed,
            )
        )

    def _elapsed_s(self) -> float:
        return time.monotonic() - self.started_s

    def report(self, executor: str) -> BuildReport:
        """Return how everything ended, in the spec's order."""
        reason = "the total budget was spent before its turn"
        return BuildReport(
            self.spec.source,
            self.spec.output,
            executor,
            tuple(
                self.ended.get(task.id)
                or WorkloadReport(task, Outcome(task.id, Status.NOT_REACHED, reason), resumed=False)
                for task in self.tasks
            ),
            self._elapsed_s(),
        )
