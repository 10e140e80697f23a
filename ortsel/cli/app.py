"""The command `ortsel` and its subcommands."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import click

from ortsel.cli.console import survive_any_text
from ortsel.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from ortsel.cli.subcommands import Place, Subcommands

_HELP = f"""Measure, verify and remember the fastest way to run an ONNX model with ONNX Runtime.

\b
  ortsel demo                     see it on a small model
  ortsel tune model.onnx          decide for a model of yours
  ortsel build spec.yaml          decide for many, before deployment
  ortsel cache list               see what was decided
  ortsel exec -- python app.py    run a program as it is, with ortsel

{EXIT_CODES_HELP}"""


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    import onnxruntime

    try:
        own = version("ortsel")
    except PackageNotFoundError:
        own = "(not installed)"
    click.echo(f"ortsel {own}, onnxruntime {onnxruntime.__version__}")
    context.exit()


@click.group(
    cls=Subcommands,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the versions of ortsel and ONNX Runtime.",
)
@click.pass_context
def app(context: click.Context) -> ExitCode:
    """Show the help where no command is named."""
    if context.invoked_subcommand is not None:
        return ExitCode.DECIDED
    click.echo(context.get_help(), err=True)
    return ExitCode.USAGE


app.places = {
    "tune": Place(
        "ortsel.cli.tune", "tune", "Find the fastest verified way to run MODEL with ONNX Runtime."
    ),
    "build": Place(
        "ortsel.cli.build",
        "build_command",
        "Decide for every workload of SPEC, a YAML file, and keep the decisions in one folder.",
    ),
    "demo": Place(
        "ortsel.cli.demo",
        "demo",
        "Tune a small sentence-embedding model, then serve it and compare.",
    ),
    "cache": Place("ortsel.cli.cache", "cache", "Look into, carry and tidy decisions."),
    "explain": Place(
        "ortsel.cli.explain", "explain", "Say what serves a model and shape, and why."
    ),
    "doctor": Place("ortsel.cli.doctor", "doctor", "Look whether all is well here."),
    "report": Place(
        "ortsel.cli.html_report",
        "html_report",
        "Write one HTML file about the decisions of a store.",
    ),
    "exec": Place(
        "ortsel.cli.exec", "exec_", "Run a program with ortsel in the place of ONNX Runtime."
    ),
    "completion": Place(
        "ortsel.cli.completion", "completion", "Print a shell's completion script."
    ),
}


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    survive_any_text()
    return int(app.main(arguments, prog_name="ortsel", standalone_mode=False))
