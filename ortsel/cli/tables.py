"""A search as a table: one row per candidate, in the order in which they were tried.

Latencies are left out: each candidate's were taken at another time, and machines have states. Only
the ratios, measured in pairs, can be compared between rows.
"""

from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from ortsel.cli.decision_words import verdict_words
from ortsel.cli.one_line import one_line
from ortsel.cli.search import SearchResult
from spec.report import CandidateReport, Outcome

LEGEND: Final = (
    "ratio: time over the reference's, below 1 is faster; "
    "noise: relative median absolute deviation of the blocks"
)
_STYLES: Final = {
    Outcome.PROMOTED: "bold green",
    Outcome.FASTER: "green",
    Outcome.FAILED: "red",
    Outcome.BANNED: "red",
    Outcome.SKIPPED: "dim",
    Outcome.INELIGIBLE: "dim",
}
_REASON_LIMIT: Final = 300


def candidate_table(result: SearchResult) -> Table:
    """Return the table of candidates."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("candidate", overflow="fold")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("noise", justify="right", no_wrap=True)
    table.add_column("blocks", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("reason", overflow="fold")
    changes = dict(result.explanation.changes)
    for report in result.explanation.candidates:
        table.add_row(*_row(report, result, changes), style=_style(report, result))
    return table


def _row(
    report: CandidateReport, result: SearchResult, changes: dict[str, str]
) -> tuple[Text, ...]:
    no_noise = report.dispersion is None or report.outcome is Outcome.REFERENCE
    cells = (
        one_line(report.name),
        "-" if report.ratio is None else f"{float(report.ratio):.3f}",
        "-" if no_noise else f"{float(report.dispersion or 0):.3f}",
        str(report.blocks) if report.blocks else "-",
        verdict_words(report, result),
        one_line(report.reason or changes.get(report.name, ""), _REASON_LIMIT),
    )
    return tuple(Text(cell) for cell in cells)


def _style(report: CandidateReport, result: SearchResult) -> str:
    if report.outcome is Outcome.PROMOTED and report.name != result.explanation.plan:
        return "yellow"
    return _STYLES.get(report.outcome, "")
