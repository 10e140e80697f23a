"""A run for people: every failure with what is needed to repeat it, then the counts."""

import json
from collections.abc import Iterator
from typing import Final

from conformance.runner.result import RED, CaseResult, Outcome, Run
from spec.canonical_json import Json

SHOWN_CHARACTERS: Final = 1200
BROKEN_SHOWN: Final = 3
"""Vectors that could not run are told in full this often; the rest is in the groups."""


def text_report(run: Run) -> str:
    """Return the report, with its line end."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    broken = 0
    for result in run.results:
        if result.outcome not in RED:
            continue
        broken += result.outcome is Outcome.COULD_NOT_RUN
        if result.outcome is not Outcome.COULD_NOT_RUN or broken <= BROKEN_SHOWN:
            yield from result_lines(result)
            yield ""
    if run.goodbye is not None:
        yield f"GOODBYE {run.goodbye}"
        yield ""
    for stage, groups in run.broken_by_stage().items():
        yield f"could not run, stage {stage.value}:"
        for text, count in groups.most_common():
            yield f"  {count} x {text}"
    if run.welcome is not None:
        one = run.welcome
        levels = ", ".join(level.value for level in one.levels) or "none"
        yield f"{one.name} {one.version} ({one.language}); levels: {levels}"
    yield summary_line(run)


def result_lines(result: CaseResult) -> Iterator[str]:
    """Yield one result: rules, input, expected, got, and how to repeat it."""
    yield f"{result.outcome.value.upper()} {result.id}"
    yield f"  rules:    {', '.join(result.rules)}"
    if result.reason:
        yield f"  reason:   {result.reason}"
    found = result.disagreement
    if found is not None:
        if found.style is not None:
            yield f"  at:       step {found.step}, {found.style.value} style"
        yield f"  input:    {shown(found.sent)}"
        yield f"  expected: {shown(found.expected)}"
        yield f"  got:      {shown(found.got)}"
    if result.broken is not None:
        yield f"  broken:   {result.broken}"
    yield f"  repeat:   {result.repeat}"


def summary_line(run: Run) -> str:
    """Return counts, rate and verdict in one line."""
    counts = ", ".join(
        f"{run.count(outcome)} {outcome.value}" for outcome in Outcome if run.count(outcome)
    )
    rate = len(run.results) / run.elapsed_s if run.elapsed_s > 0 else 0.0
    verdict = "GREEN" if run.is_green else f"RED: {'; '.join(run.red)}"
    size = f"{len(run.results)} vectors in {run.elapsed_s:.2f} s ({rate:.0f} per second)"
    return f"{size}: {counts or 'nothing'}. {verdict}"


def shown(value: Json) -> str:
    """Return JSON for people, cut where it is long."""
    text = json.dumps(value, ensure_ascii=True, separators=(", ", ": "))
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[:SHOWN_CHARACTERS]}... ({len(text)} characters; the JSON report has them all)"
