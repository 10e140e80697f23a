"""A click group whose errors are one line on stderr and whose exit codes are ours."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.one_line import one_line
from ortsel.errors import OrtselError


class CommandGroup(click.Group):
    """A group of commands that return their exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; end the process with its exit code unless `standalone_mode` is off."""
        parent = super().main
        code = self._code(
            lambda: parent(args, prog_name, complete_var, standalone_mode=False, **extra)
        )
        if standalone_mode:
            sys.exit(code)
        return code

    def _code(self, run: Callable[[], object]) -> int:
        try:
            return _as_code(run())
        except click.UsageError as error:
            hint = "" if error.ctx is None else f" (see {error.ctx.command_path} --help)"
            _say(error.format_message().rstrip(".") + hint)
        except click.ClickException as error:
            _say(error.format_message())
        except OrtselError as error:
            _say(str(error))
        except (click.Abort, KeyboardInterrupt):
            _say("interrupted")
            return ExitCode.INTERRUPTED
        except BrokenPipeError:
            _forget_output()
            return ExitCode.OUTPUT_LOST
        return ExitCode.USAGE


def _as_code(result: object) -> int:
    return int(result) if isinstance(result, int) else int(ExitCode.DECIDED)


def _say(text: str) -> None:
    click.echo(f"ortsel: {one_line(text, 4000)}", err=True)


def _forget_output() -> None:
    """Keep the interpreter from failing once more when it flushes what nobody reads."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
