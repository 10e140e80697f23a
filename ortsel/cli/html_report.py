"""`ortsel report`: one HTML file about what a store holds."""

import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from attrs import frozen

from ortsel.cli.console import message_console, print_whole, result_console
from ortsel.cli.errors import UnusableFileError
from ortsel.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from ortsel.cli.json_output import to_text
from ortsel.cli.one_line import one_line
from ortsel.cli.options import json_option, store_option
from ortsel.cli.store_argument import StorePlace, shown_place, store_place
from ortsel.content_memory import ContentMemory, content_memory
from ortsel.errors import OrtselError, UsageError
from ortsel.model_content import UnknownContentError
from ortsel.store.search_log import SUFFIX

if TYPE_CHECKING:
    from ortsel.report.model_names import NamedModel

DEFAULT_OUTPUT: Final = Path("ortsel-report.html")
_NEEDED: Final = ("jinja2", "matplotlib")
_HELP: Final = f"""Write one HTML file about the decisions of a store.

Per model: which plan wins for which shape, the time of every candidate with its spread, speed-up
and regret, what was rejected and why, and what got worse over time. The file needs no network and
no script, and can be mailed or archived.

\b
Examples:
  ortsel report
  ortsel report --store decisions.sqlite3 --output decisions.html
  ortsel report --model bert.onnx --model ocr.onnx

Stores hold no names of models. --model shows a file, so that the report can call the model by its
file's name and its open sizes by theirs.

{EXIT_CODES_HELP}"""


_WITHOUT_LOG: Final = (
    "a store on a server holds decisions alone: how searches went (candidates that lost, what was "
    "rejected, changes over time) is logged beside a store in a file only"
)


@frozen
class MissingExtraError(OrtselError):
    """Packages that only reports need are not installed."""

    packages: str

    def __str__(self) -> str:
        return f"a report needs {self.packages}: pip install 'ortsel[report]'"


@click.command("report", help=_HELP)
@store_option
@click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="A model file whose decisions get its name.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=DEFAULT_OUTPUT,
    show_default=True,
    metavar="FILE",
    help="Where to write; an earlier report there is replaced, any other file is not.",
)
@click.option("--title", default="Decisions of ortsel", show_default=True, help="Heading.")
@json_option
def html_report(
    *,
    store: StorePlace | None,
    models: tuple[Path, ...],
    output: Path,
    title: str,
    as_json: bool,
) -> ExitCode:
    """Read the store and write the page, or print the same as JSON."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(" and ".join(missing))
    from ortsel.report import compile_contents, read_evidence
    from ortsel.report.document import report_document
    from ortsel.report.model_names import axis_names, model_names
    from ortsel.report.page import Heading, render

    place = store_place(store)
    if isinstance(place, Path):
        if not place.is_file() and not place.with_name(place.name + SUFFIX).is_file():
            raise UnusableFileError("--store", str(place), "there is no store yet")
    elif not as_json:
        print_whole(message_console(), _WITHOUT_LOG)
    if not as_json:
        _check_output(output)
    memory = content_memory(str(place))
    shown = [_named(path, memory) for path in models]
    contents = compile_contents(read_evidence(place), model_names(shown), axis_names(shown))
    messages = message_console()
    for problem in contents.problems[:20]:
        print_whole(messages, f"not read: {one_line(problem)}")
    if as_json:
        click.echo(to_text(report_document(contents)))
        return ExitCode.DECIDED
    heading = Heading(title, _store_name(place), int(time.time()), axis_names(shown))
    _write(output, render(contents, heading))
    print_whole(result_console(), f"wrote {output.absolute()}")
    return ExitCode.DECIDED


def _store_name(place: StorePlace) -> str:
    return place.name if isinstance(place, Path) else shown_place(place)


def _named(path: Path, memory: ContentMemory) -> "NamedModel":
    from ortsel.report.model_names import read_model

    try:
        return read_model(path, memory)
    except UnknownContentError as error:
        raise UnusableFileError("--model", str(path), one_line(str(error))) from error
    except OSError as error:
        raise UnusableFileError("--model", str(path), error.strerror or str(error)) from error


def _check_output(path: Path) -> None:
    """Raise unless the path is free or holds an earlier report."""
    from ortsel.report.page import MARKER

    if path.is_dir():
        raise UnusableFileError("--output", str(path), "it is a directory")
    if not path.parent.is_dir():
        raise UnusableFileError("--output", str(path), f"there is no directory {path.parent}")
    if not path.exists():
        return
    with path.open("rb") as file:
        if MARKER.encode() not in file.read(1024):
            raise UsageError("--output", f"{path}, which is no report", "a free name")


def _write(path: Path, text: str) -> None:
    """Write whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise UnusableFileError("--output", str(path), reason) from error
