"""Decisions made before deployment: a spec in, a folder to ship with the models out.

`ortsel.build` is the way in; the command `ortsel build` is the same for a shell.
"""

from ortsel.builder.build_spec import BuildSpec, ModelSpec, Settings, ShapeChoice
from ortsel.builder.building import OutputError, build
from ortsel.builder.executor import Executor, Finished
from ortsel.builder.families import families
from ortsel.builder.local_executor import LocalExecutor
from ortsel.builder.output_lock import OutputInUseError
from ortsel.builder.progress import BuildProgress
from ortsel.builder.report import BuildReport, WorkloadReport, schema
from ortsel.builder.spec_errors import BuildSpecError, SpecProblem
from ortsel.builder.task import Outcome, Status, Task, Warmed

__all__ = [
    "BuildProgress",
    "BuildReport",
    "BuildSpec",
    "BuildSpecError",
    "Executor",
    "Finished",
    "LocalExecutor",
    "ModelSpec",
    "Outcome",
    "OutputError",
    "OutputInUseError",
    "Settings",
    "ShapeChoice",
    "SpecProblem",
    "Status",
    "Task",
    "Warmed",
    "WorkloadReport",
    "build",
    "families",
    "schema",
]
