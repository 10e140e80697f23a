"""What ortsel warns of, on the console."""

import io
import logging

from rich.console import Console

from ortsel.cli.console import shown_warnings


def test_a_warning_is_one_line_and_an_error_behind_it_is_named_without_a_traceback() -> None:
    console = Console(file=io.StringIO(), width=200, force_terminal=False)
    log = logging.getLogger("ortsel.store")
    with shown_warnings(console):
        log.warning("ortsel: no room on\n%s", "/disk")
        log.info("not for everybody")
        try:
            _ = 1 / 0
        except ZeroDivisionError:
            log.exception("ortsel: x keeps the reference")
    log.warning("after the search")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "ortsel: warning: no room on /disk",
        "ortsel: error: x keeps the reference: ZeroDivisionError: division by zero",
    ]
