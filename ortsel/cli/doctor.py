"""`ortsel doctor`: whether this machine is fit to measure, remember and serve."""

from collections.abc import Iterator

import click
from attrs import asdict
from rich.console import Console

from ortsel.cli.console import print_text, print_whole, result_console
from ortsel.cli.exit_codes import ATTENTION_HELP, ExitCode
from ortsel.cli.json_output import SCHEMA, to_text
from ortsel.cli.one_line import one_line
from ortsel.cli.options import json_option, store_option
from ortsel.cli.rows import print_rows
from ortsel.cli.store_argument import StorePlace, store_place
from ortsel.doctor import Diagnosis, StoreCheck, diagnose
from ortsel.store.errors import NoPlaceError

_HELP = f"""Look at providers, devices, threads, environment variables and the store.

Every provider that ONNX Runtime lists is tried on a small model in a process of its own; why one
does not load is what ONNX Runtime logged.

\b
Examples:
  ortsel doctor
  ortsel doctor --provider CUDAExecutionProvider
  ortsel doctor --store decisions.sqlite3 --json

{ATTENTION_HELP}"""


@click.command(help=_HELP, short_help="Look whether all is well here.")
@store_option
@click.option(
    "--provider", "providers", multiple=True, metavar="NAME", help="Try this one. Repeat."
)
@json_option
def doctor(*, store: StorePlace | None, providers: tuple[str, ...], as_json: bool) -> ExitCode:
    """Look and say what was found."""
    try:
        place = store_place(store)
    except NoPlaceError:
        place = None
    found = diagnose(place, tuple(dict.fromkeys(providers)))
    code = ExitCode.ATTENTION if found.attention else ExitCode.DECIDED
    if as_json:
        click.echo(to_text(_document(found, code)))
    else:
        _print(result_console(), found)
    return code


def _document(found: Diagnosis, code: ExitCode) -> dict[str, object]:
    store = found.store
    return {
        "schema": SCHEMA,
        "attention": list(found.attention),
        "versions": dict(found.versions),
        "providers": [{**asdict(one), "log": list(one.log)} for one in found.providers],
        "devices": list(found.devices),
        "threads": asdict(found.threads),
        "variables": [asdict(one) for one in found.variables],
        "store": None if store is None else _store_document(store),
        "extras": [{**asdict(one), "install": one.install} for one in found.extras],
        "exit_code": int(code),
    }


def _store_document(store: StoreCheck) -> dict[str, object]:
    document = asdict(store)
    return {"path": document.pop("address"), **document}


def _print(console: Console, found: Diagnosis) -> None:
    rows = []
    for title, lines in _sections(found):
        titles = [title] + [""] * len(lines)
        rows += [(name, one_line(line, 1000)) for name, line in zip(titles, lines, strict=False)]
    print_rows(console, rows)
    console.print()
    if not found.attention:
        print_text(console, "all is well", "bold green")
        return
    print_text(console, "needs attention:", "bold yellow")
    for line in found.attention:
        print_whole(console, f"  {one_line(line, 1000)}")


def _sections(found: Diagnosis) -> Iterator[tuple[str, list[str]]]:
    yield "versions", [f"{name} {value}" for name, value in found.versions]
    lines = []
    for one in found.providers:
        took = "" if one.nodes is None else ", took the node of a test" if one.nodes else ""
        lines.append(f"{one.name}: {'loads' + took if one.loaded else 'does not load'}")
        lines += [
            f"  {line}" for line in ((one.reason, *one.log) if not one.loaded else ()) if line
        ]
    yield "providers", lines or ["none"]
    yield "devices", list(found.devices)
    threads = found.threads
    quota = (
        "none" if threads.quota_millicpus is None else f"{threads.quota_millicpus / 1000:g} CPUs"
    )
    affinity = f"{threads.affinity} of them in the affinity mask ({threads.cores} cores)"
    yield (
        "threads",
        [
            f"{threads.budget} can run at once; a session starts {threads.default_pool} by default",
            f"{threads.logical_cpus} logical CPUs, {affinity}; quota: {quota}",
        ],
    )
    yield (
        "variables",
        [f"{one.name}={one.value}: {one.reason}" for one in found.variables]
        or ["none that changes kernels is set"],
    )
    yield "store", _store_lines(found)
    yield "extras", [_extra_line(*pair) for pair in _extras(found)]


def _store_lines(found: Diagnosis) -> list[str]:
    store = found.store
    if store is None:
        return ["none: there is no cache folder"]
    if not store.exists:
        state = "not there yet" if store.writable else "not there, and cannot be created"
        return [store.address, state]
    other = f", {store.other_environment} of other environments" if store.other_environment else ""
    wrong = f", {len(store.findings)} to look at" if store.findings else ""
    writable = "can be written" if store.writable else "cannot be written"
    size = "" if store.bytes is None else f" {store.bytes} bytes,"
    return [
        store.address,
        f"{store.sound} sound decisions{other}{wrong};{size} {writable}",
    ]


def _extras(found: Diagnosis) -> Iterator[tuple[str, str]]:
    for one in found.extras:
        missing = f"not installed ({one.purpose}): {one.install}"
        yield one.package, one.version or missing


def _extra_line(package: str, words: str) -> str:
    return f"{package} {words}"
