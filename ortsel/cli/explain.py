"""`ortsel explain`: what serves a model and shape and why; on a miss, what differs."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ortsel.cli.cache import decision_lines, print_parts
from ortsel.cli.console import (
    message_console,
    print_text,
    print_whole,
    result_console,
    shown_warnings,
)
from ortsel.cli.errors import OpenDimensionsError
from ortsel.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from ortsel.cli.feeds import read_feeds
from ortsel.cli.json_output import SCHEMA, model_digest, to_text
from ortsel.cli.lookup import Lookup, Verdict, look_up
from ortsel.cli.model_inputs import read_inputs, shape_words
from ortsel.cli.one_line import one_line
from ortsel.cli.options import gap_option, json_option, store_option
from ortsel.cli.partial_explanation import look_up_partly, say_partly
from ortsel.cli.rows import print_rows
from ortsel.cli.search import SearchOptions, check_model_file, check_providers, open_session
from ortsel.cli.speedups import speedup_argument
from ortsel.cli.store_argument import StorePlace
from ortsel.cli.stored_decisions import StoredDecision, names, record_document, this_environment
from ortsel.cli.tolerances import tolerance_option
from ortsel.cli.tune import feeds_for, parse_all
from ortsel.errors import UsageError
from ortsel.selection_config import SelectionMode
from ortsel.verification.tolerance import Tolerance

_HELP = f"""Say what serves MODEL for a shape and why. Nothing is measured, and nothing is changed.

The same options as for `ortsel tune` ask about the same decision. Where there is none, the nearest
one in the store is shown, with every part of the key in which it differs. Where sizes that the
model leaves open are not given, the model's decisions are listed, and the missing sizes named.

\b
Examples:
  ortsel explain model.onnx --shape input_ids=1x128
  ortsel explain model.onnx --shape batch=1 --store decisions.sqlite3 --json
  ortsel explain model.onnx
  ortsel explain model.onnx --attention

--attention lists instead where the model computes attention, with operand names and shapes.

{EXIT_CODES_HELP}"""


@click.command(help=_HELP, short_help="Say what serves a model and shape, and why.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--shape", "shapes", multiple=True, metavar="NAME=DIMS", help="A size, as in tune.")
@click.option(
    "--input",
    "feeds_file",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Inputs whose shapes are asked about.",
)
@store_option
@click.option(
    "--provider", "providers", multiple=True, metavar="NAME", help="Provider of the reference."
)
@click.option("--threads", type=click.IntRange(1, 4096), help="Threads of the reference.")
@gap_option
@click.option("--bound", is_flag=True, help="Called through bound buffers.")
@click.option(
    "--min-speedup",
    type=speedup_argument,
    metavar="FACTOR",
    default="1.03",
    show_default=True,
    help="Least speed-up that was asked for.",
)
@tolerance_option
@click.option("--attention", is_flag=True, help="List the attention in the model instead.")
@json_option
def explain(
    *,
    model: Path,
    shapes: tuple[str, ...],
    feeds_file: Path | None,
    store: StorePlace | None,
    providers: tuple[str, ...],
    threads: int | None,
    gap: float,
    bound: bool,
    min_speedup: Fraction,
    tolerance: Tolerance,
    attention: bool,
    as_json: bool,
) -> ExitCode:
    """Look a decision up and print it."""
    if feeds_file is not None and shapes:
        raise UsageError("--input", "--shape as well", "one or the other")
    parse_all(shapes, ())
    check_model_file(model)
    check_providers(providers)
    if attention:
        return _explain_attention(model, as_json=as_json)
    options = SearchOptions(
        store=store,
        min_speedup=min_speedup,
        providers=providers,
        threads=threads,
        bound=bound,
        gap_s=gap,
        tolerance=tolerance,
    )
    with shown_warnings(message_console()):
        session = open_session(model, options, SelectionMode.DISABLED)
        inputs = read_inputs(session.get_inputs())
        if feeds_file is None:
            try:
                feeds = feeds_for(inputs, shapes, (), 0, model)
            except OpenDimensionsError as error:
                known = look_up_partly(model, inputs, shapes, store, error)
                return say_partly(known, as_json=as_json)
        else:
            feeds = read_feeds(
                feeds_file, inputs, read_inputs(session.get_overridable_initializers())
            )
        found = look_up(session, model, feeds, options)
    code = ExitCode.DECIDED if found.verdict is Verdict.DECIDED else ExitCode.UNDECIDED
    if as_json:
        click.echo(to_text(_document(model, found, code, store)))
    else:
        _print(result_console(), model, found)
    return code


def _document(
    model: Path, found: Lookup, code: ExitCode, store: StorePlace | None
) -> dict[str, object]:
    environment = this_environment()
    nearest = found.nearest_decision
    record = found.record
    return {
        "schema": SCHEMA,
        "model": {"path": str(model.absolute()), "sha256": model_digest(model, store)},
        "store": found.place,
        "workload": found.workload,
        "key": found.key,
        "verdict": found.verdict.value,
        "reason": found.reason,
        "serves": record.winner
        if record is not None and found.verdict is Verdict.DECIDED
        else "reference",
        "decision": None if record is None else record_document(record),
        "nearest": None if nearest is None else nearest.document(environment),
        "differs": [
            {"part": name, "here": here, "there": there} for name, here, there in found.differing
        ],
        "parts": dict(found.parts),
        "exit_code": int(code),
    }


def _print(console: Console, model: Path, found: Lookup) -> None:
    print_whole(console, f"model   {one_line(str(model))}")
    print_text(console, f"call    {one_line(found.workload)}")
    print_whole(console, f"store   {found.place}")
    console.print()
    record = found.record
    if found.verdict is Verdict.DECIDED and record is not None:
        kept = record.winner == record.reference
        serves = "keeps the reference" if kept else f"serves {one_line(record.winner)}"
        print_text(console, f"{serves}: {found.reason}", "bold")
        if not kept:
            print_text(console, "each process verifies it on its own inputs first")
        one = StoredDecision(record, json.dumps(dict(found.parts)))
        lines = decision_lines(one, this_environment())[3:]
        print_rows(console, [(name, one_line(value, 4000)) for name, value in lines], indent=2)
    else:
        print_text(console, f"keeps the reference: {one_line(found.reason)}", "bold")
        _print_nearest(console, found)
    console.print()
    print_text(console, f"key {found.key}")
    print_parts(console, found.parts)


def _print_nearest(console: Console, found: Lookup) -> None:
    nearest = found.nearest_decision
    if nearest is None:
        if found.verdict is Verdict.MISS:
            print_text(console, "the store holds no other either: ortsel tune makes one")
        return
    words = f"{one_line(nearest.workload)}: {one_line(nearest.record.winner)}"
    print_text(console, f"nearest decision {nearest.record.key[:12]}: {words}")
    print_text(console, f"it differs in {names([name for name, _, _ in found.differing], 6)}")
    console.print()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("part", "here", "there"):
        table.add_column(title, overflow="fold")
    for name, here, there in found.differing:
        table.add_row(Text(one_line(name, 80)), _value(here), _value(there))
    console.print(table)


def _value(value: object) -> Text:
    text = "-" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return Text(one_line(text, 300))


def _explain_attention(model: Path, *, as_json: bool) -> ExitCode:
    from ortsel.graph_variants.attention_search import find_attention

    sites = find_attention(model)
    if as_json:
        rows = [
            {
                "operator": site.operator,
                "nodes": list(site.nodes),
                "query": _operand(site.query),
                "key": _operand(site.key),
                "value": _operand(site.value),
                "masked": site.masked,
            }
            for site in sites
        ]
        document = {"schema": SCHEMA, "model": str(model.absolute()), "attention": rows}
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"model  {one_line(str(model))}")
    if sites:
        console.print()
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for title in ("operator", "nodes", "query", "key", "value", "mask"):
            table.add_column(title, overflow="fold")
        for site in sites:
            operands = (_operand_words(one) for one in (site.query, site.key, site.value))
            nodes = one_line(", ".join(site.nodes), 300)
            cells = (site.operator, nodes, *operands, "yes" if site.masked else "no")
            table.add_row(*(Text(cell) for cell in cells))
        console.print(table)
        console.print()
    print_text(console, f"attention in {len(sites) or 'no'} place{'' if len(sites) == 1 else 's'}")
    return ExitCode.DECIDED


def _operand(operand: Any) -> dict[str, object] | None:
    if operand is None:
        return None
    shape = None if operand.shape is None else list(operand.shape)
    return {"name": operand.name, "shape": shape}


def _operand_words(operand: Any) -> str:
    if operand is None:
        return "-"
    shape = "[...]" if operand.shape is None else shape_words(operand.shape)
    return one_line(f"{operand.name}{shape}", 120)
