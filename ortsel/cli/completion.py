"""`ortsel completion`: the script that lets a shell complete commands, options and values."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.json_output import SCHEMA, to_text
from ortsel.cli.options import json_option

INSTALL: Final = {
    "bash": 'eval "$(ortsel completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(ortsel completion zsh)"  # in ~/.zshrc',
    "fish": "ortsel completion fish > ~/.config/fish/completions/ortsel.fish",
}
_HELP = f"""Print the script that lets SHELL complete commands, options and file names.

\b
Install it with:
  {INSTALL["bash"]}
  {INSTALL["zsh"]}
  {INSTALL["fish"]}
"""


@click.command(help=_HELP, short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(list(INSTALL)))
@json_option
@click.pass_context
def completion(context: click.Context, /, *, shell: str, as_json: bool) -> ExitCode:
    """Print the script."""
    kind = get_completion_class(shell)
    if kind is None:  # click knows all three
        message = f"no completion for {shell}"
        raise click.UsageError(message)
    script = kind(context.find_root().command, {}, "ortsel", "_ORTSEL_COMPLETE").source()
    if as_json:
        document = {"schema": SCHEMA, "shell": shell, "install": INSTALL[shell], "script": script}
        click.echo(to_text(document))
    else:
        click.echo(script)
    return ExitCode.DECIDED
