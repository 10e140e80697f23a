"""`ortsel cache`: what the store holds, and what can be done with it."""

import heapq
import json
import time
from collections.abc import Mapping
from typing import Final

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ortsel.cli.cache_bundles import export, import_, keygen
from ortsel.cli.cache_upkeep import prune, verify
from ortsel.cli.console import print_text, print_whole, result_console
from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.json_output import SCHEMA, to_text
from ortsel.cli.one_line import one_line
from ortsel.cli.options import json_option, store_option
from ortsel.cli.rows import print_rows
from ortsel.cli.store_argument import StorePlace
from ortsel.cli.stored_decisions import (
    SHORT,
    StoredDecision,
    age_words,
    find_key,
    names,
    opened,
    read_all,
    this_environment,
    wanted_model,
)

_HELP = """Look into the store of decisions, carry decisions to other machines, and tidy up.

\b
Examples:
  ortsel cache list
  ortsel cache show 3f9a
  ortsel cache export model.bundle --model model.onnx --sign key.pem
  ortsel cache import model.bundle --trust key.pem.pub
  ortsel cache prune --older-than 90d --dry-run
  ortsel cache verify
"""
_LIST_HELP = """List decisions, the newest first.

\b
Examples:
  ortsel cache list
  ortsel cache list --model model.onnx --json
  ortsel cache list --origin imported --limit 500
"""
_SHOW_HELP = """Show one decision: its evidence, and every part of its key.

KEY is the key's beginning, as many digits as make it unique.

\b
Examples:
  ortsel cache show 3f9a
  ortsel cache show 3f9a --json
"""


@click.group(
    help=_HELP, short_help="Look into, carry and tidy decisions.", invoke_without_command=True
)
@click.pass_context
def cache(context: click.Context) -> ExitCode:
    """Show the help where no command is named."""
    if context.invoked_subcommand is not None:
        return ExitCode.DECIDED
    click.echo(context.get_help(), err=True)
    return ExitCode.USAGE


@click.command("list", help=_LIST_HELP, short_help="List decisions.")
@store_option
@click.option("--model", metavar="FILE", help="Only this model: its file, or digits of its digest.")
@click.option("--origin", type=click.Choice(["local", "imported"]), help="Only these.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Most rows."
)
@json_option
def list_(
    *, store: StorePlace | None, model: str | None, origin: str | None, limit: int, as_json: bool
) -> ExitCode:
    """Print a table of decisions."""
    wanted = wanted_model(model, store)
    unreadable = total = 0
    heap: list[tuple[int, int, StoredDecision]] = []
    with opened(store) as found:
        for one in read_all(found):
            if not isinstance(one, StoredDecision):
                unreadable += 1
                continue
            if origin is not None and one.record.origin.value != origin:
                continue
            if wanted is not None and not one.model.startswith(wanted):
                continue
            total += 1
            row = (one.record.created_s, total, one)
            (heapq.heappush if len(heap) < limit else heapq.heappushpop)(heap, row)
        place = found.address
    rows = [one for _, _, one in sorted(heap, key=lambda row: row[:2], reverse=True)]
    environment = this_environment()
    if as_json:
        document = {
            "schema": SCHEMA,
            "store": str(place),
            "total": total,
            "unreadable": unreadable,
            "decisions": [one.document(environment) for one in rows],
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"store  {place}")
    if rows:
        console.print()
        console.print(_table(rows, environment, narrow=console.width < _WIDE))
        console.print()
    shown = f"{len(rows)} of {total} decisions (--limit)" if total > len(rows) else _count(total)
    print_text(console, shown)
    if unreadable:
        print_text(console, f"{unreadable} more cannot be read: see ortsel cache verify")
    return ExitCode.DECIDED


_WIDE: Final = 100
"""Columns from which the model has one of its own."""


def _count(total: int) -> str:
    return "1 decision" if total == 1 else f"{total or 'no'} decisions"


def _table(rows: list[StoredDecision], environment: Mapping[str, object], *, narrow: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("key", no_wrap=True)
    if not narrow:
        table.add_column("model", no_wrap=True)
    table.add_column("inputs", overflow="fold", ratio=1)
    table.add_column("winner", overflow="fold", min_width=13)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("remarks", overflow="fold")
    now_s = int(time.time())
    for one in rows:
        record = one.record
        cells = (
            record.key[: SHORT - 4 if narrow else SHORT],
            *(() if narrow else (one.model[:8] or "-",)),
            one_line(one.workload, 300) or "-",
            one_line(record.winner, 120),
            f"{float(record.ratio):.3f}" if record.winner != record.reference else "-",
            age_words(now_s - record.created_s),
            ", ".join(_remarks(one, environment)),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _remarks(one: StoredDecision, environment: Mapping[str, object]) -> list[str]:
    record = one.record
    remarks = [
        (record.origin.value == "imported", "imported"),
        (not record.verified, "not verified"),
        (record.provisional, "provisional"),
        (not record.complete, "incomplete"),
        (bool(one.differs_from(environment)), "other environment"),
    ]
    return [word for holds, word in remarks if holds]


@click.command(help=_SHOW_HELP, short_help="Show one decision.")
@click.argument("key")
@store_option
@json_option
def show(*, key: str, store: StorePlace | None, as_json: bool) -> ExitCode:
    """Print one decision."""
    with opened(store) as found:
        one = find_key(found, key)
        place = found.address
    environment = this_environment()
    if as_json:
        document = {
            "schema": SCHEMA,
            "store": str(place),
            **one.document(environment),
            "parts": dict(one.parts),
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_rows(
        console, [(name, one_line(value, 4000)) for name, value in decision_lines(one, environment)]
    )
    console.print()
    print_parts(console, one.parts)
    return ExitCode.DECIDED


def decision_lines(one: StoredDecision, environment: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return a decision and its evidence, a name and words each."""
    record = one.record
    made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(record.created_s))
    differs = one.differs_from(environment)
    lines = [
        ("key", record.key),
        ("model", one.model or "unknown"),
        ("inputs", one.workload or "unknown"),
        ("winner", record.winner),
        ("reference", f"{record.reference}, {record.reference_ns / 1e6:.3f} ms a call"),
        ("made", f"{made}, {'here' if record.origin.value == 'local' else 'elsewhere: imported'}"),
    ]
    if record.winner != record.reference:
        ratio, noise = float(record.ratio), float(record.dispersion)
        measured = (
            f"{ratio:.3f} ({1 / ratio:.2f}x faster), noise {noise:.3f}, {record.blocks} blocks"
        )
        lines.insert(5, ("ratio", measured))
    feeds = f"on {record.feeds} {'feed' if record.feeds == 1 else 'feeds'}"
    verified = feeds if record.verified else "no"
    kind = ", made-up inputs only: verified on real ones before it serves"
    lines.append(("verified", verified + (kind if record.provisional else "")))
    lines.append(("complete", "yes" if record.complete else "no: not every candidate had its turn"))
    here = "as here" if not differs else f"not as here: {names(differs)}"
    lines.append(("environment", here))
    return lines


def print_parts(console: Console, parts: Mapping[str, object]) -> None:
    """Print the named parts of a key, one a line where they are short."""
    if not parts:
        print_text(console, "the parts of the key are not known")
        return
    print_text(console, "parts of the key")
    rows = []
    for name, value in sorted(parts.items()):
        inner = value if isinstance(value, dict) and value else {"": value}
        for member, content in sorted(inner.items()):
            label = f"{name}.{member}" if member else name
            text = json.dumps(content, ensure_ascii=False, sort_keys=True)
            rows.append((one_line(label, 60), one_line(text, 400)))
    print_rows(console, rows, indent=2)


for command in (list_, show, export, import_, keygen, prune, verify):
    cache.add_command(command)
