"""Subcommands that are imported when they are asked for.

Together they need ONNX Runtime, NumPy, a YAML reader and more; the help, a typing mistake and a
completion at the prompt need none of them.
"""

from collections.abc import Mapping
from importlib import import_module

import click
from attrs import frozen
from click.shell_completion import CompletionItem

from ortsel.cli.command_group import CommandGroup


@frozen
class Place:
    """Where a subcommand lives, and its line in the help."""

    module: str
    attribute: str
    summary: str


class Subcommands(CommandGroup):
    """A group that knows its commands by name and imports one at its first use."""

    places: Mapping[str, Place] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        del ctx
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that is none."""
        del ctx
        place = self.places.get(cmd_name)
        if place is None:
            return None
        command: click.Command = getattr(import_module(place.module), place.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of the help that lists the commands."""
        del ctx
        rows = [(name, place.summary) for name, place in self.places.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so."""
        commands = [
            CompletionItem(name, help=place.summary)
            for name, place in self.places.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]
