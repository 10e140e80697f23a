"""The command `ortsel` and its subcommands."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import click

from ortsel.cli.build import build_command
from ortsel.cli.cache import cache
from ortsel.cli.command_group import CommandGroup
from ortsel.cli.completion import completion
from ortsel.cli.console import survive_any_text
from ortsel.cli.demo import demo
from ortsel.cli.doctor import doctor
from ortsel.cli.exec import exec_
from ortsel.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from ortsel.cli.explain import explain
from ortsel.cli.html_report import html_report
from ortsel.cli.tune import tune

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
    cls=CommandGroup,
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


app.add_command(tune)
app.add_command(build_command)
app.add_command(demo)
app.add_command(cache)
app.add_command(completion)
app.add_command(doctor)
app.add_command(explain)
app.add_command(html_report)
app.add_command(exec_)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    survive_any_text()
    return int(app.main(arguments, prog_name="ortsel", standalone_mode=False))
