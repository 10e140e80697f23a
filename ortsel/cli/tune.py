"""`ortsel tune`: decide how one model runs for one shape, and keep the decision."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import click

from ortsel.cli.console import message_console, result_console, shown_warnings
from ortsel.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from ortsel.cli.feeds import Feeds, make_feeds, parse_fill, read_feeds
from ortsel.cli.json_output import search_document, to_text
from ortsel.cli.model_inputs import ModelInput, read_inputs
from ortsel.cli.options import budget_option, gap_option, json_option, seed_option, store_option
from ortsel.cli.progress_bar import shown_progress
from ortsel.cli.report import print_search, synthetic_origin
from ortsel.cli.search import SearchOptions, check_model_file, check_providers, open_session, search
from ortsel.cli.shapes import parse_shape, resolve_shapes
from ortsel.cli.speedups import speedup_argument
from ortsel.cli.store_argument import StorePlace
from ortsel.cli.tolerances import tolerance_option
from ortsel.errors import UsageError
from ortsel.selection_config import SelectionMode
from ortsel.verification.tolerance import Tolerance

_HELP = f"""Find the fastest verified way to run MODEL with ONNX Runtime.

Every candidate is measured against the reference (the session that plain ONNX Runtime would build),
in child processes, and must return the same outputs. The decision is kept in the store, where
ortsel.InferenceSession finds it.

\b
Examples:
  ortsel tune model.onnx --shape input_ids=1x128
  ortsel tune model.onnx --shape batch=1 --shape sequence=128 --budget 1m
  ortsel tune model.onnx --input feeds.npz --store decisions.sqlite3 --json
  ortsel tune model.onnx --input feeds.npz --tolerance cosine=0.99

Sizes: --shape NAME=DIMS gives the whole shape of the input NAME (1x128 or 1,128; nothing after the
equals sign is a scalar). Where no input has that name, NAME is an open dimension and DIMS its size.
A dimension that gets its size from one input's shape has it in all inputs.

Inputs are made up unless --input gives real ones: floats from a standard normal distribution,
integers 0 or 1, booleans either, strings 'a'. --fill NAME=VALUE sets an input to one value, such
as attention_mask=1.

--tolerance with a metric (cosine=0.99, top_one=0.999, relative_l2=0.01) lets plans be tried that
are lossy by nature; it is judged on these inputs, so give real ones.

{EXIT_CODES_HELP}"""


@click.command(help=_HELP)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--shape", "shapes", multiple=True, metavar="NAME=DIMS", help="A size; see above.")
@click.option(
    "--fill", "fills", multiple=True, metavar="NAME=VALUE", help="One value for an input."
)
@click.option(
    "--input",
    "feeds_file",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Real inputs by name, as numpy.savez writes them.",
)
@budget_option("30s")
@store_option
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar="NAME",
    help="Execution provider of the reference, in order of precedence.",
)
@click.option("--threads", type=click.IntRange(1, 4096), help="Threads of the reference.")
@gap_option
@click.option("--bound", is_flag=True, help="Call through bound buffers (run_with_iobinding).")
@click.option(
    "--min-speedup",
    type=speedup_argument,
    metavar="FACTOR",
    default="1.03",
    show_default=True,
    help="Least speed-up that is worth another plan.",
)
@tolerance_option
@seed_option
@json_option
def tune(
    *,
    model: Path,
    shapes: tuple[str, ...],
    fills: tuple[str, ...],
    feeds_file: Path | None,
    budget: float,
    store: StorePlace | None,
    providers: tuple[str, ...],
    threads: int | None,
    gap: float,
    bound: bool,
    min_speedup: Fraction,
    tolerance: Tolerance,
    seed: int,
    as_json: bool,
) -> ExitCode:
    """Run one search and print what came of it."""
    if feeds_file is not None and (shapes or fills):
        raise UsageError("--input", "--shape or --fill as well", "one or the other")
    parse_all(shapes, fills)
    check_model_file(model)
    check_providers(providers)
    options = SearchOptions(
        store=store,
        budget_s=budget,
        seed=seed,
        min_speedup=min_speedup,
        providers=providers,
        threads=threads,
        bound=bound,
        gap_s=gap,
        tolerance=tolerance,
        synthetic=feeds_file is None,
    )
    messages = message_console()
    with shown_warnings(messages), shown_progress(messages) as progress:
        session = open_session(model, options, SelectionMode.BLOCKING, progress)
        inputs = read_inputs(session.get_inputs())
        if feeds_file is None:
            feeds = feeds_for(inputs, shapes, fills, seed, model)
        else:
            replaceable = read_inputs(session.get_overridable_initializers())
            feeds = read_feeds(feeds_file, inputs, replaceable)
        result = search(session, model, feeds, options)
    if as_json:
        click.echo(to_text(search_document(model, inputs, feeds, result, store)))
    else:
        origin = synthetic_origin() if feeds.synthetic else f"read from {feeds.source}"
        print_search(result_console(), model, feeds, result, origin)
    return result.exit_code


def parse_all(shapes: Sequence[str], fills: Sequence[str]) -> None:
    """Raise `UsageError` for an argument that no model could take, before any model is loaded."""
    for text in shapes:
        parse_shape(text)
    for text in fills:
        parse_fill(text)


def feeds_for(
    inputs: Sequence[ModelInput],
    shapes: Sequence[str],
    fills: Sequence[str],
    seed: int,
    model: Path,
) -> Feeds:
    """Return made-up inputs of the sizes that were asked for."""
    arguments = [parse_shape(text) for text in shapes]
    resolved = resolve_shapes(inputs, arguments, str(model))
    return make_feeds(inputs, resolved, [parse_fill(text) for text in fills], seed)
