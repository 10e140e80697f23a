"""What a build ended with: a value, and a JSON document with a closed schema."""

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from ortsel.builder.layout import STORE_NAME
from ortsel.builder.task import Outcome, Status, Task, outcome_document
from ortsel.cli.json_output import environment_versions

SCHEMA: Final = 1


@frozen
class WorkloadReport:
    """One workload and how it ended."""

    task: Task
    outcome: Outcome
    resumed: bool
    """Whether it had ended in an earlier build, and nothing was done now."""

    @property
    def decided(self) -> bool:
        """Whether there is a decision, be it for the reference."""
        return self.outcome.status is Status.DECIDED

    def label(self) -> str:
        """Return the model and what it is fed, in a few words."""
        task = self.task
        return task_label(task)


def task_label(task: Task) -> str:
    """Return a model and what it is fed, in a few words."""
    shapes = ", ".join(
        f"{name}[{','.join(map(str, shape))}]" for name, shape in task.shapes.items()
    )
    source = "" if task.samples is None else f" from {Path(task.samples.source).name}"
    return f"{task.name} {shapes}{source}"


@frozen
class BuildReport:
    """How every workload of a spec ended, in the order of the spec."""

    source: str
    """The spec's file, or "spec" where it was a value."""
    output: Path
    executor: str
    workloads: tuple[WorkloadReport, ...]
    elapsed_s: float

    @property
    def decided(self) -> bool:
        """Whether every workload has a decision."""
        return all(workload.decided for workload in self.workloads)

    @property
    def store(self) -> Path:
        """The store's file, as `SelectionConfig.store` takes it."""
        return self.output / STORE_NAME

    def count(self, status: Status) -> int:
        """Return how many workloads ended like this."""
        return sum(workload.outcome.status is status for workload in self.workloads)

    def document(self) -> dict[str, Any]:
        """Return everything as plain values, as `schema()` describes them."""
        return {
            "schema": SCHEMA,
            "spec": self.source,
            "output": str(self.output),
            "store": STORE_NAME,
            "executor": self.executor,
            "decided": self.decided,
            "counts": {status.value: self.count(status) for status in Status},
            "elapsed_s": self.elapsed_s,
            "environment": environment_versions(),
            "workloads": [_row(workload) for workload in self.workloads],
        }


def _row(workload: WorkloadReport) -> dict[str, Any]:
    task = workload.task
    outcome = outcome_document(workload.outcome)
    outcome["candidates"] = list(outcome["candidates"])
    outcome["warmed"] = list(outcome["warmed"])
    return {
        "model": {"name": task.name, "path": task.model},
        "inputs": {
            "shapes": {name: list(shape) for name, shape in task.shapes.items()},
            "samples": None if task.samples is None else task.samples.source,
        },
        "families": list(task.families),
        "budget_s": task.budget_s,
        "resumed": workload.resumed,
        **outcome,
    }


def schema() -> dict[str, Any]:
    """Return the JSON schema of the report's document."""
    text = files("ortsel.builder").joinpath("report.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def write_document(path: Path, document: dict[str, Any]) -> None:
    """Write a document so that a reader finds the old one or the new one, and never half."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
    with unfinished.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
