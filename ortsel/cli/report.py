"""Printing what a search ended with."""

from pathlib import Path

from rich.console import Console

from ortsel.cli.decision_words import decision_lines, search_words
from ortsel.cli.feeds import SYNTHETIC_RULE, Feeds
from ortsel.cli.one_line import one_line
from ortsel.cli.search import SearchResult
from ortsel.cli.tables import LEGEND, candidate_table


def print_search(
    console: Console, path: Path, feeds: Feeds, result: SearchResult, origin: str
) -> None:
    """Print model, inputs, candidates and decision. `origin` says where the inputs come from."""
    _line(console, f"model   {one_line(str(path))}")
    _line(console, f"inputs  {one_line(feeds.words())}")
    _line(console, f"        {origin}")
    if result.explanation.candidates:
        console.print()
        console.print(candidate_table(result))
        console.print()
        _line(console, LEGEND, "dim")
        _line(console, search_words(result), "dim")
    console.print()
    first, *others = decision_lines(result)
    _line(console, first, "bold")
    for line in others:
        _line(console, line)


def synthetic_origin() -> str:
    """Return what to say about made-up inputs."""
    return f"made up ({SYNTHETIC_RULE}); give real ones with --input feeds.npz"


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(text, style=style, soft_wrap=True)
