"""Printing what a search ended with."""

from pathlib import Path

from rich.console import Console

from ortsel.cli.console import print_text, print_whole
from ortsel.cli.decision_words import decision_lines, search_words, storage_line
from ortsel.cli.feeds import Feeds
from ortsel.cli.one_line import one_line
from ortsel.cli.search import SearchResult
from ortsel.cli.tables import LEGEND, candidate_table


def print_search(
    console: Console, path: Path, feeds: Feeds, result: SearchResult, origin: str
) -> None:
    """Print model, inputs, candidates and decision. `origin` says where the inputs come from."""
    print_whole(console, f"model   {one_line(str(path))}")
    print_text(console, f"inputs  {one_line(feeds.words())}")
    print_text(console, f"        {origin}")
    if result.explanation.candidates:
        console.print()
        console.print(candidate_table(result))
        console.print()
        print_text(console, LEGEND, "dim")
        print_text(console, search_words(result), "dim")
        print_text(console, one_line(result.explanation.counts_words(), 400), "dim")
        for line in result.explanation.operators.lines():
            print_text(console, one_line(line), "dim")
    console.print()
    first, *others = decision_lines(result)
    print_text(console, first, "bold")
    for line in others:
        print_text(console, line)
    if result.decided:
        print_whole(console, storage_line(result))


def synthetic_origin() -> str:
    """Return what to say about made-up inputs."""
    return "made up from the seed (see --help); for real ones: --input feeds.npz"
