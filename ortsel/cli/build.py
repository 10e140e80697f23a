"""`ortsel build`: decide for many workloads before deployment, and keep everything in a folder."""

from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ortsel.builder import BuildReport, BuildSpecError, LocalExecutor, Status, WorkloadReport, build
from ortsel.builder.executor import Executor
from ortsel.builder.layout import REPORT_NAME
from ortsel.cli.build_progress import outcome_words, shown_build
from ortsel.cli.console import (
    message_console,
    print_text,
    print_whole,
    result_console,
    shown_warnings,
)
from ortsel.cli.durations import words_for_seconds
from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.json_output import to_text
from ortsel.cli.one_line import one_line
from ortsel.cli.options import json_option
from ortsel.errors import UsageError

_HELP = """Decide for every workload of SPEC, a YAML file, and keep the decisions in one folder.

The folder is shipped with the models: ortsel.InferenceSession finds the decisions in its store.
A build that was interrupted goes on where it stopped. A build that came to its end, run again,
tries again what has no decision, and measures what the spec has that is new.

\b
Examples:
  ortsel build spec.yaml
  ortsel build spec.yaml --output decisions --json > report.json
  ortsel build spec.yaml --executor ray --ray-address 10.0.0.7:6379

\b
A spec:
  output: decisions
  budget: {workload: 30s, total: 2h}
  models:
    - path: encoder.onnx
      shapes: {batch: [1, 8], sequence: [16, 32, 64, ..., 512]}
      fill: {attention_mask: 1}
    - path: detector.onnx
      feeds: samples/

\b
Exit codes:
  0    every workload has a decision (also where the reference stays)
  2    usage: the spec is wrong or the folder cannot be used; a line on
       stderr for each problem, with its line in the spec
  3    some workload has no decision; the table and the report say why
  130  interrupted; the same command goes on
"""


@click.command(name="build", help=_HELP)
@click.argument("spec", type=click.Path(path_type=Path), metavar="SPEC.yaml")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for everything that is made.  [default: the spec's]",
)
@click.option(
    "--executor",
    "executor_name",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where to measure: this machine, or the machines of a Ray cluster.",
)
@click.option(
    "--ray-address",
    metavar="ADDRESS",
    help="The cluster's address.  [default: RAY_ADDRESS, or one on this machine]",
)
@json_option
def build_command(
    *,
    spec: Path,
    output: Path | None,
    executor_name: str,
    ray_address: str | None,
    as_json: bool,
) -> ExitCode:
    """Build, show how far it is, and print what came of it."""
    messages = message_console()
    try:
        with shown_warnings(messages), shown_build(messages) as progress:
            executor = _executor(executor_name, ray_address)
            report = build(spec, output=output, executor=executor, progress=progress)
    except BuildSpecError as error:
        for line in error.lines():
            print_whole(messages, one_line(line, 2000))
        return ExitCode.USAGE
    if as_json:
        click.echo(to_text(report.document()))
    else:
        _print(result_console(), report)
    return ExitCode.DECIDED if report.decided else ExitCode.UNDECIDED


def _executor(name: str, address: str | None) -> Executor:
    if name == "ray":
        from ortsel.builder.ray_executor import RayExecutor

        return RayExecutor(address)
    if address is not None:
        raise UsageError("--ray-address", f"--executor {name}", "--executor ray beside it")
    return LocalExecutor()


def _print(console: Console, report: BuildReport) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("workload", overflow="fold")
    table.add_column("decision", overflow="fold")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("remarks", overflow="fold")
    for workload in report.workloads:
        table.add_row(*(Text(cell) for cell in _cells(workload)), style=_style(workload))
    console.print(table)
    console.print()
    counts = ", ".join(
        f"{report.count(status)} {status.value}" for status in Status if report.count(status)
    )
    print_text(console, f"{counts or 'no workload'}, in {words_for_seconds(report.elapsed_s)}")
    print_whole(console, f"store   {report.store}")
    print_whole(console, f"report  {report.output / REPORT_NAME}")


def _cells(workload: WorkloadReport) -> tuple[str, ...]:
    outcome = workload.outcome
    remarks = []
    if workload.resumed:
        remarks.append("done earlier")
    if outcome.source == "stored" and not workload.resumed:
        remarks.append("found in the store")
    if workload.decided and not outcome.complete:
        remarks.append("not every candidate had its turn: a longer budget tries the rest")
    if outcome.attempts > 1:
        remarks.append(f"started {outcome.attempts} times")
    remarks.extend(f"{one.kind} {one.path}" for one in outcome.warmed if one.path)
    return (
        one_line(workload.label(), 300),
        outcome_words(outcome),
        "-" if outcome.ratio is None else f"{outcome.ratio:.3f}",
        words_for_seconds(outcome.elapsed_s) if outcome.elapsed_s else "-",
        "; ".join(remarks),
    )


def _style(workload: WorkloadReport) -> str:
    if workload.outcome.status is Status.NOT_REACHED:
        return "dim"
    if not workload.decided:
        return "red"
    return "" if workload.outcome.serves_reference else "green"
