"""Where text goes: results to stdout, everything else to stderr, plain where nobody looks."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console

from ortsel.cli.one_line import one_line

_WIDE: Final = 160
"""Columns of a pipe or file that does not say how wide it is."""


def result_console() -> Console:
    """Return the console for results: stdout as it is now."""
    return _console(sys.stdout)


def message_console() -> Console:
    """Return the console for progress, warnings and errors: stderr as it is now."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    known = stream.isatty() or "COLUMNS" in os.environ
    return Console(
        file=stream,
        width=None if known else _WIDE,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def print_text(console: Console, text: str, style: str = "") -> None:
    """Print a sentence: wrapped at words on a terminal, on one line for whoever reads lines."""
    console.print(text, style=style, soft_wrap=not console.is_terminal)


def print_whole(console: Console, text: str, style: str = "") -> None:
    """Print a line that is copied as a whole, such as a path. Nothing is put into it."""
    console.print(text, style=style, soft_wrap=True)


def survive_any_text() -> None:
    """Let text that a stream's encoding lacks come out escaped instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def shown_warnings(console: Console) -> Iterator[None]:
    """Print what ortsel warns of meanwhile."""
    handler = ConsoleLog(console)
    logger = logging.getLogger("ortsel")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class ConsoleLog(logging.Handler):
    """Prints ortsel's warnings as single lines that do not tear a progress bar apart."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, with the error behind it but without its traceback."""
        try:
            text = record.getMessage().removeprefix("ortsel: ")
            error = record.exc_info[1] if record.exc_info else None
            cause = f": {type(error).__name__}: {error}" if error is not None else ""
            line = f"ortsel: {record.levelname.lower()}: {one_line(text + cause)}"
            print_text(self._console, line)
        except Exception:  # noqa: BLE001
            self.handleError(record)
