"""The figures of a report, each in two widths: one for a desk, one for a phone.

Scaling one drawing to both would make its letters unreadable on a phone or huge on a desk. A page
shows the one that fits. Colour never speaks alone: plans have numbers, outcomes have shapes.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from math import log
from typing import Any, Final

from attrs import frozen

from ortsel.report.contents import REJECTED, Search, Shape
from ortsel.report.drawing import (
    BAD,
    INK,
    LINE,
    REFERENCE,
    SOFT,
    SURFACE,
    Sheet,
    drawing,
    plan_colour,
    to_svg,
)
from ortsel.report.map_layout import MapLayout
from ortsel.report.shown_text import TIMES, as_float, plain, speedup_words, unit_for
from spec.report import CandidateReport, Outcome

MOST_ROWS: Final = 24
"""Candidates that a figure draws; the table beside it has all."""


@frozen
class Format:
    """One of the two widths."""

    kind: str
    width: int


FORMATS: Final = (Format("wide", 720), Format("narrow", 326))
_NARROW: Final = 400
_SMALL_CELL: Final = 64
_MOST_TICKS: Final = 4
_HALF: Final = Fraction(1, 2)


def both(draw: "Drawing", salt: str, title: str) -> str:
    """Return a figure in both widths."""
    drawn = []
    for one in FORMATS:
        with drawing(f"{salt}-{one.kind}"):
            drawn.append(draw.draw(one, title))
    return "".join(drawn)


class Drawing:
    """Something that can be drawn in a width."""

    def draw(self, form: Format, title: str) -> str:
        """Return the SVG."""
        raise NotImplementedError


@frozen
class WinnerMap(Drawing):
    """Which plan serves each shape, and how much faster, over the sizes in which shapes differ."""

    layout: MapLayout
    numbers: Mapping[str, int]

    def draw(self, form: Format, title: str) -> str:
        """Return the SVG: a cell per shape, with its speed-up and its plan's number."""
        layout = self.layout
        longest = max(map(len, layout.row_labels))
        left = 14 + 7.5 * longest if longest else 0
        top = 48 if any(layout.column_labels) else 26
        cell_width = min(116.0, (form.width - left) / len(layout.column_labels) - 4)
        cell_height = 46
        height = top + len(layout.row_labels) * (cell_height + 4) + 4
        sheet = Sheet(form.width, height)
        small = 11 if cell_width < _SMALL_CELL else 13
        names = [f"{layout.row_axis} ↓"] if layout.row_axis else []
        names += [f"{layout.column_axis} →"] if layout.column_axis else []
        sheet.text(0, 10, "    ".join(names), color=SOFT, fontsize=12, va="center")
        for column, label in enumerate(layout.column_labels):
            x = left + column * (cell_width + 4) + cell_width / 2
            sheet.text(x, top - 12, label, color=INK, fontsize=small, ha="center", va="center")
        for row, label in enumerate(layout.row_labels):
            y = top + row * (cell_height + 4)
            sheet.text(
                left - 10, y + cell_height / 2, label, color=INK, fontsize=small, ha="right",
                va="center",
            )  # fmt: skip
            for column in range(len(layout.column_labels)):
                shape = layout.cells.get((row, column))
                x = left + column * (cell_width + 4)
                self._cell(sheet, shape, x, y, cell_width, cell_height)
        return to_svg(sheet, title, form.kind)

    def _cell(
        self, sheet: Sheet, shape: Shape | None, x: float, y: float, width: float, height: float
    ) -> None:
        if shape is None:
            sheet.rectangle(x, y, width, height, fill=False, ec=LINE, lw=1, ls=(0, (2, 3)))
            return
        colour = REFERENCE
        if not shape.serves_reference:
            colour = plan_colour(self.numbers[shape.winner])
        sheet.rectangle(x, y, width, height, fc=colour, ec="none", alpha=0.2)
        sheet.rectangle(x, y, 4, height, fc=colour, ec="none")
        middle = x + 2 + width / 2
        if shape.record is None:
            sheet.text(middle, y + height / 2, "open", color=SOFT, ha="center", va="center")
            return
        size = 12 if width < _SMALL_CELL else 15
        main = f"1{TIMES}" if shape.serves_reference else speedup_words(shape.ratio)
        sub = "ref." if shape.serves_reference else f"plan {self.numbers[shape.winner] + 1}"
        sheet.text(
            middle, y + 16, main, color=INK, fontsize=size, ha="center", va="center", weight="bold"
        )
        sheet.text(middle, y + 34, sub, color=SOFT, fontsize=11, ha="center", va="center")


@frozen
class CandidateChart(Drawing):
    """Every measured candidate of a search beside the reference, with its spread."""

    search: Search
    colours: Mapping[str, str]

    @property
    def rows(self) -> tuple[CandidateReport, ...]:
        """What is drawn: those with a ratio, fastest first."""
        measured = [one for one in self.search.report.candidates if one.ratio]
        measured.sort(key=lambda one: (one.ratio or Fraction(1), one.name))
        return tuple(measured[:MOST_ROWS])

    def draw(self, form: Format, title: str) -> str:
        """Return the SVG: a row per candidate, its time over the reference's and its spread."""
        narrow = form.width < _NARROW
        pitch, top = (42, 8) if narrow else (28, 8)
        height = top + len(self.rows) * pitch + 44
        sheet = Sheet(form.width, height)
        left = 10 if narrow else 240
        right = form.width - (12 if narrow else 96)
        ticks, place = self._scale(left, right, 4 if narrow else 7)
        bottom = height - 40
        # On a phone names stand above their marks, where a line would cross them.
        starts = [top + row * pitch + 24 for row in range(len(self.rows))]
        segments = [(one, one + 14) for one in starts] if narrow else [(top - 4, bottom)]
        for tick in ticks:
            x = place(tick)
            one = tick == 1
            style: dict[str, Any] = {"color": SOFT if one else LINE, "lw": 1.4 if one else 1}
            for upper, lower in segments:
                sheet.plot([x, x], [upper, lower], **style)
            sheet.text(
                x, bottom + 12, f"{float(tick):g}{TIMES}", color=INK if one else SOFT, fontsize=12,
                ha="center", va="center", weight="bold" if one else "normal",
            )  # fmt: skip
        sheet.text(
            (left + right) / 2, bottom + 30, "time over the reference's; left is faster",
            color=SOFT, fontsize=12, ha="center", va="center",
        )  # fmt: skip
        unit = unit_for(self.search.reference_ns or 0)
        for number, candidate in enumerate(self.rows):
            y = top + number * pitch + (30 if narrow else pitch / 2)
            self._row(sheet, candidate, y, place)
            name = plain(candidate.name, 34)
            chosen = candidate.name == self.search.report.winner
            time_ns = time_beside_reference(candidate, self.search)
            time = "" if time_ns is None else f"{unit.words(time_ns)} {unit.name}"
            y_text = y - 16 if narrow else y
            sheet.text(
                left if narrow else left - 14, y_text, name, color=INK, fontsize=13, va="center",
                ha="left" if narrow else "right", weight="bold" if chosen else "normal",
            )  # fmt: skip
            sheet.text(
                form.width - 2, y_text, time, color=INK, fontsize=13, ha="right", va="center",
                weight="bold" if chosen else "normal",
            )  # fmt: skip
        return to_svg(sheet, title, form.kind)

    def _row(self, sheet: Sheet, candidate: CandidateReport, y: float, place: "Scale") -> None:
        ratio = candidate.ratio or Fraction(1)
        spread = candidate.dispersion or Fraction(0)
        colour = self.colours.get(candidate.name, SOFT)
        if candidate.outcome is Outcome.REFERENCE:
            colour = REFERENCE
        low, high = ratio * (1 - min(spread, Fraction(19, 20))), ratio * (1 + spread)
        sheet.plot(
            [place(low), place(high)], [y, y], color=colour, lw=3, solid_capstyle="round",
            alpha=0.55,
        )  # fmt: skip
        if candidate.outcome in REJECTED:
            sheet.plot([place(ratio)], [y], "x", color=BAD, ms=8, mew=2.2)
        elif candidate.outcome in (Outcome.NOISY, Outcome.SKIPPED):
            sheet.plot([place(ratio)], [y], "o", mfc=SURFACE, mec=colour, ms=8, mew=2)
        elif candidate.outcome is Outcome.REFERENCE:
            sheet.plot([place(ratio)], [y], "s", color=colour, ms=8, mec="none")
        else:
            sheet.plot([place(ratio)], [y], "o", color=colour, ms=10, mec="none")

    def _scale(self, left: float, right: float, most: int) -> "tuple[tuple[Fraction, ...], Scale]":
        ends = [Fraction(1)]
        for one in self.rows:
            ratio, spread = one.ratio or Fraction(1), one.dispersion or Fraction(0)
            ends += [ratio * (1 - min(spread, Fraction(19, 20))), ratio * (1 + spread)]
        return scale_for(min(ends), max(ends), left, right, most)


@frozen
class Scale:
    """A logarithmic scale: equal factors are equally far apart."""

    low: float
    high: float
    left: float
    right: float

    def __call__(self, ratio: Fraction) -> float:
        """Return the place of a ratio in pixels, kept within the ends."""
        value = min(max(as_float(ratio), self.low), self.high)
        part = log(value / self.low) / log(self.high / self.low)
        return self.left + part * (self.right - self.left)


_TICKS: Final = tuple(
    Fraction(one)
    for one in (
        "0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9",
        "0.95", "1", "1.05", "1.1", "1.2", "1.4", "1.6", "2", "3", "4", "5", "7", "10", "20",
        "50", "100",
    )
)  # fmt: skip


def scale_for(
    low: Fraction, high: Fraction, left: float, right: float, most: int
) -> tuple[tuple[Fraction, ...], Scale]:
    """Return ticks, at most about `most` and 1 always among them, and the scale that holds them."""
    first = float(min(max(low, Fraction(1, 100)), Fraction(19, 20)))
    last = float(max(min(high, Fraction(100)), Fraction(21, 20)))
    margin = (last / first) ** 0.04
    scale = Scale(first / margin, last * margin, left, right)
    inside = [tick for tick in _TICKS if scale.low <= tick <= scale.high]
    least = (right - left) / most
    kept = [Fraction(1)]
    for tick in sorted(inside, key=lambda one: -abs(log(one))):
        if all(abs(scale(tick) - scale(other)) >= least for other in kept):
            kept.append(tick)
    return tuple(sorted(kept)), scale


def time_beside_reference(candidate: CandidateReport, search: Search) -> int | None:
    """Return a candidate's time on the reference's scale: its paired ratio of the reference's time.

    Medians of two candidates come from different moments, and machines have states; the ratios were
    measured side by side.
    """
    if search.reference_ns is None or not candidate.ratio:
        return None
    return round(search.reference_ns * candidate.ratio)


@frozen
class Timeline(Drawing):
    """What each search of one shape found, in order of time."""

    shape: Shape
    colours: Mapping[str, str]

    def draw(self, form: Format, title: str) -> str:
        """Return the SVG: the served plan's speed-up per search, and what was taken back."""
        narrow = form.width < _NARROW
        height, top, bottom, left, right = 190, 28, 136, 46.0, form.width - 16.0
        sheet = Sheet(form.width, height)
        searches = self.shape.searches
        times = [one.created_s for one in searches] + [
            one.created_s for one in self.shape.withdrawals
        ]
        first, last = min(times), max(times)

        def across(created_s: int) -> float:
            part = (created_s - first) / (last - first) if last > first else 0.5
            return left + 12 + part * (right - left - 24)

        speeds = [Fraction(as_float(1 / one.winner_ratio)) for one in searches]
        spreads = [min(one.winner_dispersion, Fraction(100)) for one in searches]
        highest = max(speed * (1 + spread) for speed, spread in zip(speeds, spreads, strict=True))
        highest = max(highest * Fraction(21, 20), Fraction(6, 5))
        lowest = min([*speeds, Fraction(1)]) * Fraction(19, 20)

        def up(speed: Fraction) -> float:
            part = float((min(max(speed, lowest), highest) - lowest) / (highest - lowest))
            return bottom - part * (bottom - top)

        sheet.text(0, 10, "speed-up of the search's winner", color=SOFT, fontsize=12, va="center")
        for speed in _speed_ticks(highest):
            y, one = up(speed), speed == 1
            sheet.plot([left, right], [y, y], color=SOFT if one else LINE, lw=1.2 if one else 1)
            sheet.text(
                left - 8,
                y,
                f"{float(speed):g}{TIMES}",
                color=SOFT,
                fontsize=12,
                ha="right",
                va="center",
            )
        points = [across(one.created_s) for one in searches]
        sheet.plot(points, [up(one) for one in speeds], color=LINE, lw=2)
        late = {one.created_s for one in self.shape.slowdowns}
        for search, speed, spread, x in zip(searches, speeds, spreads, points, strict=True):
            served = search.report.winner
            colour = self.colours.get(served, SOFT)
            ends = [up(speed * (1 - min(spread, _HALF))), up(speed * (1 + spread))]
            sheet.plot([x, x], ends, color=colour, lw=3, alpha=0.55)
            kind = "s" if speed == 1 else "o"
            sheet.plot([x], [up(speed)], kind, color=colour, ms=9, mec="none")
            if search.created_s in late:
                sheet.plot([x], [up(speed) + 14], "^", color=BAD, ms=8, mec="none")
        for withdrawal in self.shape.withdrawals:
            x = across(withdrawal.created_s)
            sheet.plot([x, x], [top, bottom], color=BAD, lw=1.5, ls=(0, (3, 3)))
            sheet.plot([x], [bottom], "x", color=BAD, ms=8, mew=2.2)
        self._dates(sheet, sorted(set(times)), across, bottom + 16, 100 if narrow else 120)
        sheet.text(
            left, bottom + 40, f"▲ less than before   {TIMES} taken back", color=SOFT, fontsize=12,
            va="center",
        )  # fmt: skip
        return to_svg(sheet, title, form.kind)

    def _dates(
        self, sheet: Sheet, times: Sequence[int], across: "object", y: float, apart: float
    ) -> None:
        if not callable(across):
            return
        taken: list[float] = []
        for created_s in (times[-1], times[0], *times[1:-1]):
            x = across(created_s)
            if any(abs(x - other) < apart for other in taken):
                continue
            taken.append(x)
            words = f"{moment(created_s):%Y-%m-%d}"
            align = "right" if created_s == times[-1] and len(times) > 1 else "left"
            align = "center" if len(times) == 1 else align
            if created_s not in (times[0], times[-1]):
                align = "center"
            sheet.text(x, y, words, color=SOFT, fontsize=12, ha=align, va="center")


def moment(created_s: int) -> datetime:
    """Return a time in UTC; the last that a calendar has for what lies beyond."""
    return datetime.fromtimestamp(min(created_s, 253_402_300_799), UTC)


def _speed_ticks(highest: Fraction) -> list[Fraction]:
    for step in (Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(2)):
        ticks = [1 + step * number for number in range(8) if 1 + step * number <= highest]
        if len(ticks) <= _MOST_TICKS:
            return ticks
    return [Fraction(1), Fraction(int(highest))]
