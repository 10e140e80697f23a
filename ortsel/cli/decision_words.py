"""What was decided, in sentences that hold."""

from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from ortsel.cli.durations import words_for_seconds
from ortsel.cli.one_line import one_line
from ortsel.cli.search import SearchResult
from spec.decision import Source
from spec.record import Record
from spec.report import CandidateReport, Outcome

VERDICTS: Final = {
    Outcome.REFERENCE: "reference",
    Outcome.PROMOTED: "winner",
    Outcome.FASTER: "faster, not best",
    Outcome.NOT_FASTER: "not faster",
    Outcome.NOISY: "too noisy",
    Outcome.INELIGIBLE: "not eligible",
    Outcome.BANNED: "banned",
    Outcome.SKIPPED: "skipped",
    Outcome.FAILED: "failed",
}


def verdict_words(report: CandidateReport, result: SearchResult) -> str:
    """Return how a candidate fared, in a word or two."""
    if report.name == result.explanation.plan and report.outcome is Outcome.PROMOTED:
        return "serves"
    if report.outcome is Outcome.PROMOTED:
        return "not served"
    return VERDICTS[report.outcome]


def decision_lines(result: SearchResult) -> list[str]:
    """Return the decision and where it comes from, a sentence each."""
    explanation = result.explanation
    reason = one_line(explanation.reason)
    if not result.decided:
        return [f"no decision: {reason}"]
    lines = [f"keeps the reference: {reason}"] if result.serves_reference else [_winner(result)]
    if explanation.source == Source.STORED.value:
        lines.append(_origin(result))
    if result.record is not None and not result.record.complete:
        lines.append("not every candidate had its turn: a longer --budget tries the rest")
    return lines


def _winner(result: SearchResult) -> str:
    explanation = result.explanation
    parts = [f"serves {one_line(explanation.plan)}"]
    if explanation.ratio is not None and explanation.ratio < 1:
        parts.append(f": {float(1 / explanation.ratio):.2f}x faster than the reference")
    elif explanation.ratio is not None:
        parts.append(f": ratio {float(explanation.ratio):.3f} to the reference")
    details = _evidence(explanation.ratio, result.record)
    parts.append(f" ({details})" if details else "")
    parts.append(f", {_verified(result)}")
    return "".join(parts)


def _evidence(ratio: Fraction | None, record: Record | None) -> str:
    if ratio is None:
        return ""
    words = [f"ratio {float(ratio):.3f}"]
    if record is not None and record.ratio == ratio:
        words.append(f"noise {float(record.dispersion):.3f}")
        words.append(f"{record.blocks} blocks")
    return ", ".join(words)


def _verified(result: SearchResult) -> str:
    if not result.explanation.verified:
        return "not verified"
    record = result.record
    if record is None or not record.feeds:
        return "verified"
    feeds = "feed" if record.feeds == 1 else "feeds"
    if record.provisional:
        return (
            f"verified on {record.feeds} made-up {feeds}; real ones are verified before it serves"
        )
    return f"verified on {record.feeds} {feeds}"


def _origin(result: SearchResult) -> str:
    again = "" if result.serves_reference else "; its outputs were checked again just now"
    if result.record is None:
        return f"from the store, measured earlier{again}"
    when = datetime.fromtimestamp(result.record.created_s, UTC)
    return (
        f"from the store, measured on {when:%Y-%m-%d at %H:%M} UTC; nothing was measured now{again}"
    )


def storage_line(result: SearchResult) -> str:
    """Return where the decision is kept, as read back from there."""
    if result.record is not None:
        return f"stored in {result.place}"
    where = (
        "there is no cache folder" if result.place is None else f"{result.place} does not hold it"
    )
    return f"not stored: {where}; the decision ends with this process"


def search_words(result: SearchResult) -> str:
    """Return how much work the search was; empty when nothing was measured."""
    explanation = result.explanation
    if not explanation.candidates:
        return ""
    tried = sum(report.blocks > 0 for report in explanation.candidates)
    total = len(explanation.candidates)
    rivals = f"{total - 1} {'candidate' if total == 2 else 'candidates'}"  # noqa: PLR2004
    took = words_for_seconds(explanation.elapsed_ns / 1e9)
    return f"{rivals} against the reference, {tried} measured in blocks, in {took}"
