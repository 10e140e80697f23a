"""Tasks on the machines of a Ray cluster, each machine measuring one thing at a time.

A task claims a whole machine: one `ortsel_machine` where nodes were started with that resource
(`ray start --resources='{"ortsel_machine": 1}'`), and all CPUs of a node otherwise. It runs there
as it would locally, in a process of its own and a folder of its own; its record and what was made
for the deployment travel back, and the driver alone writes the output folder.

Every node sees models and samples under the same paths, and is of the machine type that will serve:
a decision belongs to the machine that measured it.
"""

import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from attrs import define, evolve, field, frozen

from ortsel.builder import layout
from ortsel.builder.executor import Finished, Listener
from ortsel.builder.local_executor import run_in_child
from ortsel.builder.quiet_stdout import QuietStdout
from ortsel.builder.task import (
    Outcome,
    Status,
    Task,
    Warmed,
    outcome_document,
    outcome_from_document,
    task_from_text,
    task_to_text,
)
from ortsel.cli.one_line import one_line
from ortsel.errors import MissingPackageError, OrtselError, UsageError
from ortsel.store import SqliteStore, StoredRecord
from ortsel.store.codec import decode, encode
from spec.record import Origin

RESOURCE: Final = "ortsel_machine"
MOST_ATTEMPTS: Final = 3
"""How often a task is started whose workers are lost. A model that takes machines down must not
take all of them."""
MOST_FILE_BYTES: Final = 1 << 30
"""Of everything that one task made for the deployment; more stays behind, and is reported."""


WATCH_S: Final = 5.0
"""How often whoever waits for an end asks whether there is still a machine to run on."""


@frozen
class NoMachineLeftError(OrtselError):
    """Every node that could run a task is gone. What has ended is kept."""

    claim: dict[str, Any]

    def __str__(self) -> str:
        return f"Ray cluster: got no node that offers {self.claim}, need one; the build can go on"


@define(eq=False)
class _Connection:
    """The connection of this process to Ray, opened at the first need."""

    cluster: "_Cluster | None" = None
    ours: bool = False
    quiet: QuietStdout | None = None

    def open(self, address: str | None) -> "_Cluster":
        if self.cluster is None:
            if find_spec("ray") is None:
                raise MissingPackageError("the executor ray", "ray", "ray")
            ray: Any = import_module("ray")
            self.ours = not ray.is_initialized()
            if self.ours:
                _connect(ray, address)
            self.cluster = _Cluster(ray, *_placement(ray))
            self.quiet = QuietStdout(sys.stdout)
            self.quiet.install()
        return self.cluster

    def close(self) -> None:
        if self.cluster is not None and self.ours:
            self.cluster.ray.shutdown()
        if self.quiet is not None:
            self.quiet.remove()
            self.quiet = None
        self.cluster = None


def _connect(ray: Any, address: str | None) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(_import_folders())}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            include_dashboard=False if address is None else None,
            runtime_env={"env_vars": paths},
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        need = "a Ray cluster that can be reached (see ray status)"
        raise UsageError("ray address", one_line(f"{address}: {error}"), need) from error


def _import_folders() -> list[str]:
    """Return where a worker on a node finds ortsel, if the node has the same paths."""
    root = str(Path(__file__).resolve().parents[2])
    return [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def _placement(ray: Any) -> tuple[dict[str, Any], int]:
    """Return what a task claims so that it has a machine for itself, and how many can at once."""
    nodes = [dict(node["Resources"]) for node in ray.nodes() if node["Alive"]]
    marked = [int(node[RESOURCE]) for node in nodes if node.get(RESOURCE, 0) >= 1]
    if marked:
        if any(count != 1 for count in marked):
            raise UsageError(RESOURCE, f"{marked} on the nodes", "1 on each")
        return {"num_cpus": 0, "resources": {RESOURCE: 1}}, len(marked)
    cpus = sorted({int(node["CPU"]) for node in nodes if node.get("CPU", 0) >= 1})
    if len(cpus) != 1:
        got = f"nodes with {' and '.join(map(str, cpus)) or 'no'} CPUs"
        need = f"equal nodes, or {RESOURCE}: 1 among the resources of each"
        raise UsageError("Ray cluster", got, need)
    return {"num_cpus": cpus[0]}, sum(node.get("CPU", 0) >= 1 for node in nodes)


@define(eq=False)
class _Cluster:
    """A cluster that tasks can be started on."""

    ray: Any
    claim: dict[str, Any]
    machines: int

    def start(self, task: Task) -> Any:
        options = self.ray.remote(max_retries=0, max_calls=1, **self.claim)
        return options(run_remotely).remote(task_to_text(task))

    def ready(self, references: list[Any]) -> list[Any]:
        """Wait for one that has ended. Raises `NoMachineLeftError` where none ever can."""
        while True:
            done, _ = self.ray.wait(references, num_returns=1, timeout=WATCH_S)
            if done:
                return list(done)
            if not any(node["Alive"] and self._suits(node) for node in self.ray.nodes()):
                raise NoMachineLeftError(self.claim)

    def _suits(self, node: dict[str, Any]) -> bool:
        name = RESOURCE if "resources" in self.claim else "CPU"
        return bool(node["Resources"].get(name, 0) >= 1)

    def end(self, task: Task, reference: Any, attempt: int) -> Finished | str:
        """Return a task's end, or what became of its worker."""
        try:
            answer = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            reason = one_line(f"{type(error.cause).__name__}: {error.cause}")
            outcome = Outcome(task.id, Status.FAILED, reason, attempts=attempt)
            return Finished(task, outcome)
        except self.ray.exceptions.RayError as error:
            return one_line(f"{type(error).__name__}: {error}", 200)
        outcome = evolve(outcome_from_document(json.loads(answer["outcome"])), attempts=attempt)
        records = tuple(_record(text, key, outcome.host) for text, key in answer["records"])
        return Finished(task, outcome, records, tuple(answer["files"]))

    def cancel(self, references: list[Any]) -> None:
        for reference in references:
            self.ray.cancel(reference, force=True)


@frozen
class RayExecutor:
    """Runs tasks on a Ray cluster.

    `address` is the cluster's, as `ray.init` takes it; None is `RAY_ADDRESS`, a cluster that runs
    on this machine, or else a new one of this machine alone.
    """

    address: str | None = None
    attempts: int = field(default=MOST_ATTEMPTS)
    _connection: _Connection = field(factory=_Connection, init=False, eq=False)

    @property
    def machines(self) -> int:
        """How many tasks the cluster runs at once. Connects to it."""
        return self._connection.open(self.address).machines

    def run(self, tasks: Iterator[Task], folder: Path, listen: Listener) -> Iterator[Finished]:
        """Give the ends of tasks as they come."""
        del folder  # each worker has its own; what it makes travels back
        cluster = self._connection.open(self.address)
        under_way: dict[Any, tuple[Task, int]] = {}
        waiting = _Fed(tasks)
        try:
            while True:
                while len(under_way) < cluster.machines and (task := waiting.take()) is not None:
                    listen(task, None)
                    under_way[cluster.start(task)] = (task, 1)
                if not under_way:
                    return
                for reference in cluster.ready(list(under_way)):
                    task, attempt = under_way.pop(reference)
                    end = cluster.end(task, reference, attempt)
                    if isinstance(end, Finished):
                        yield end
                    elif attempt < self.attempts:
                        under_way[cluster.start(task)] = (task, attempt + 1)
                    else:
                        reason = f"lost its worker {attempt} times: {end}"
                        outcome = Outcome(task.id, Status.FAILED, reason, attempts=attempt)
                        yield Finished(task, outcome)
        finally:
            cluster.cancel(list(under_way))
            self._connection.close()


@define
class _Fed:
    """Tasks one by one, None at their end."""

    tasks: Iterator[Task]

    def take(self) -> Task | None:
        return next(self.tasks, None)


def _record(text: str, key_text: str, host: str) -> StoredRecord:
    """Return a record; one of another machine is evidence for ranking until verified here."""
    record = decode(text)
    if host != platform.node():
        record = evolve(record, origin=Origin.IMPORTED)
    return StoredRecord(record, key_text)


def run_remotely(text: str) -> dict[str, Any]:
    """Do one task on the node that runs this, and return what has to travel back."""
    task = task_from_text(text)
    with tempfile.TemporaryDirectory(prefix="ortsel-build-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        layout.prepare(folder)
        outcome = run_in_child(task, folder, lambda _: None)
        with closing(SqliteStore(folder / layout.STORE_NAME)) as store:
            records = [(encode(one.record), one.key_text) for one in store.records()]
        outcome, files = _collected(outcome, folder)
    return {"outcome": json.dumps(outcome_document(outcome)), "records": records, "files": files}


def _collected(outcome: Outcome, folder: Path) -> tuple[Outcome, list[tuple[str, bytes]]]:
    paths = [
        path
        for name in layout.ARTIFACTS
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    ]
    total = sum(path.stat().st_size for path in paths)
    if total > MOST_FILE_BYTES:
        reason = f"{total} bytes stayed on {outcome.host}: at most {MOST_FILE_BYTES} travel"
        left = tuple(Warmed(one.kind, "", reason) for one in outcome.warmed)
        return evolve(outcome, warmed=left), []
    return outcome, [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]
