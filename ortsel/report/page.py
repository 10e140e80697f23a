"""From contents to one HTML file that needs nothing else."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import TYPE_CHECKING, Final

from attrs import frozen

from ortsel.cli.decision_words import VERDICTS
from ortsel.report.contents import REJECTED, Contents, Model, Search, Shape, Slowdown, Withdrawal
from ortsel.report.drawing import PLAN_COLOURS, plan_colour
from ortsel.report.figures import (
    MOST_ROWS,
    CandidateChart,
    Timeline,
    WinnerMap,
    both,
    moment,
    time_beside_reference,
)
from ortsel.report.map_layout import map_layouts
from ortsel.report.question import Place
from ortsel.report.shown_text import (
    DASH,
    TimeUnit,
    as_float,
    count_words,
    duration_words,
    percent_words,
    plain,
    speedup_words,
    unit_for,
)
from spec.report import CandidateReport, Outcome

if TYPE_CHECKING:
    from jinja2 import Template

MARKER: Final = '<meta name="generator" content="ortsel report">'
"""What tells a report from any other file, so that only reports are written over."""
_OPEN_SHAPES: Final = 3
"""Shapes of a model up to which all are unfolded."""
_FEW: Final = 3


@frozen
class Heading:
    """What the page says about itself."""

    title: str
    source: str
    """The store, as shown."""
    now_s: int
    axis_names: Mapping[str, Mapping[Place, str]] = {}
    """By model digest: what the model itself calls the axes of its inputs."""


def render(contents: Contents, heading: Heading) -> str:
    """Return the page. Every name in it is text, whatever it contains."""
    models = [
        _model(number, model, heading.axis_names.get(model.digest, {}))
        for number, model in enumerate(contents.models, start=1)
    ]
    text: str = _template().render(
        title=heading.title,
        source=heading.source,
        now_s=heading.now_s,
        css=files("ortsel.report").joinpath("page.css").read_text("utf-8"),
        models=models,
        summary=summary(contents),
        problems=contents.problems,
        left_out=contents.left_out,
    )
    return text


def summary(contents: Contents) -> dict[str, object]:
    """Return the figures at the head of the page."""
    decided = [shape for shape in contents.shapes if shape.record is not None]
    logs = [-log(as_float(shape.ratio)) for shape in decided]
    mean = exp(sum(logs) / len(logs)) if logs else None
    return {
        "shapes": len(contents.shapes),
        "decided": len(decided),
        "faster": sum(not shape.serves_reference for shape in decided),
        "mean": DASH if mean is None else speedup_words(1 / Fraction(mean)),
        "regressions": sum(
            len(shape.slowdowns) + len(shape.withdrawals) for shape in contents.shapes
        ),
    }


@frozen
class _Change:
    created_s: int
    label: str
    slowdown: Slowdown | None = None
    withdrawal: Withdrawal | None = None


@frozen
class _Row:
    report: CandidateReport
    outcome: str
    tone: str
    time_ns: int | None
    spread: Fraction | None
    chosen: bool


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ortsel.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        plain=plain,
        speedup=speedup_words,
        percent=percent_words,
        count=count_words,
        duration=duration_words,
        iso=lambda created_s: f"{moment(created_s):%Y-%m-%dT%H:%M:%SZ}",
        day=lambda created_s: f"{moment(created_s):%Y-%m-%d}",
        clock=lambda created_s: f"{moment(created_s):%H:%M}",
    )
    return environment.get_template("page.html.jinja")


def _model(number: int, model: Model, axis_names: Mapping[Place, str]) -> dict[str, object]:
    numbers = {name: index for index, name in enumerate(model.plans)}
    colours = {name: plan_colour(index) for name, index in numbers.items()}
    shapes = model.shapes
    maps = [
        {
            "caption": layout.caption,
            "svg": both(
                WinnerMap(layout, numbers),
                f"m{number}-{index}",
                f"Map of winners of {plain(model.title)}: one cell per shape; the table below says "
                "the same in words",
            ),
        }
        for index, layout in enumerate(map_layouts(model, axis_names))
    ]
    open_all = len(shapes) <= _OPEN_SHAPES
    inputs = dict.fromkeys(
        f"{one.name} {one.element}" for shape in shapes for one in shape.question.inputs
    )
    machines = dict.fromkeys(shape.question.machine_words for shape in shapes)
    return {
        "digest": model.digest,
        "title": model.title,
        "machine": "; ".join(filter(None, machines)),
        "inputs": ", ".join(inputs),
        "maps": maps,
        "plans": [
            {
                "name": name,
                "number": index + 1,
                "colour": min(index, PLAN_COLOURS - 1),
                "shapes": sum(shape.winner == name for shape in shapes),
            }
            for name, index in numbers.items()
        ],
        "shapes": [
            _shape(f"shape-{number}-{index}", shape, colours, is_open=open_all or index == 1)
            for index, shape in enumerate(shapes, start=1)
        ],
        "rejections": _rejections(shapes),
        "changes": _changes(shapes),
        "searches": sum(len(shape.searches) for shape in shapes),
        "timelines": [
            {
                "label": shape.label,
                "svg": both(
                    Timeline(shape, colours),
                    f"t{number}-{index}",
                    f"Speed-up over time for {plain(shape.label)}; the table below has the numbers",
                ),
                "searches": shape.searches,
                "unit": _unit(shape),
            }
            for index, shape in enumerate(shapes)
            if shape.searches and len(shape.searches) + len(shape.withdrawals) > 1
        ],
    }


def _shape(
    anchor: str, shape: Shape, colours: Mapping[str, str], *, is_open: bool
) -> dict[str, object]:
    search = shape.newest
    chart = None if search is None else CandidateChart(search, colours)
    drawn = chart is not None and len(chart.rows) > 1
    measured = 0 if search is None else sum(bool(one.ratio) for one in search.report.candidates)
    return {
        "anchor": anchor,
        "label": shape.label,
        "record": shape.record,
        "decided": shape.record is not None,
        "serves_reference": shape.serves_reference,
        "winner": shape.winner,
        "ratio": shape.ratio,
        "regret": shape.regret,
        "reference_ns": None if search is None else search.reference_ns,
        "checked": _checked(shape),
        "unit": _unit(shape),
        "open": is_open,
        "search": search,
        "rows": () if search is None else _rows(search),
        "not_drawn": max(0, measured - MOST_ROWS),
        "chart": None
        if chart is None or not drawn
        else both(
            chart,
            anchor,
            f"Candidates for {plain(shape.label)}: time over the reference's, with spread; the "
            "table below has the numbers",
        ),
    }


def _rows(search: Search) -> tuple[_Row, ...]:
    rows = []
    for report in search.report.candidates:
        is_reference = report.outcome is Outcome.REFERENCE
        tone = "bad" if report.outcome in REJECTED else ""
        tone = "good" if report.outcome in (Outcome.PROMOTED, Outcome.FASTER) else tone
        measured = bool(report.ratio) and report.blocks > 0
        time_ns = report.median_ns if is_reference else time_beside_reference(report, search)
        rows.append(
            _Row(
                report,
                VERDICTS[report.outcome],
                tone,
                time_ns,
                report.dispersion if measured and not is_reference else None,
                report.name == search.report.winner,
            )
        )
    return tuple(rows)


def _rejections(shapes: tuple[Shape, ...]) -> list[dict[str, str]]:
    """Return what was rejected, each candidate and reason once, with the shapes it holds for."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for shape in shapes:
        if shape.newest is None:
            continue
        for one in shape.newest.report.candidates:
            if one.outcome in REJECTED:
                key = one.name, VERDICTS[one.outcome], one.reason
                found.setdefault(key, []).append(shape.label)
    return [
        {"name": name, "outcome": outcome, "reason": reason, "shapes": _some(labels, len(shapes))}
        for (name, outcome, reason), labels in found.items()
    ]


def _some(labels: list[str], of: int) -> str:
    if len(labels) == of and of > 1:
        return f"all {of}"
    if len(labels) <= _FEW:
        return "; ".join(labels)
    return f"{len(labels)} of {of}"


def _changes(shapes: tuple[Shape, ...]) -> list[_Change]:
    """Return what got worse, newest first."""
    changes = [
        _Change(one.created_s, shape.label, slowdown=one)
        for shape in shapes
        for one in shape.slowdowns
    ] + [
        _Change(one.created_s, shape.label, withdrawal=one)
        for shape in shapes
        for one in shape.withdrawals
    ]
    return sorted(changes, key=lambda change: -change.created_s)


def _unit(shape: Shape) -> TimeUnit:
    times = [] if shape.record is None else [shape.record.reference_ns]
    if shape.newest is not None and shape.newest.reference_ns is not None:
        times.append(shape.newest.reference_ns)
    return unit_for(max(times, default=10**6))


def _checked(shape: Shape) -> str:
    record = shape.record
    if record is None:
        return DASH
    if shape.serves_reference:
        return "the reference"
    if not record.verified:
        return "not verified"
    words = f"equal on {count_words(record.feeds, 'feed')}" if record.feeds else "verified"
    return f"{words}, made up" if record.provisional else words
