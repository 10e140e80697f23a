"""Turning a Matplotlib figure into SVG that is part of a page.

The page owns colours and fonts, so that one figure serves light and dark: the figure is drawn in
marker colours, which become the page's variables, and its text stays text in the page's font.
"""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any, Final

PLAN_COLOURS: Final = 7
"""Colours for plans; further plans share the last, and are told apart by their number."""
INK, SOFT, LINE, SURFACE, REFERENCE = "#00f001", "#00f002", "#00f003", "#00f004", "#00f005"
BAD: Final = "#00f006"
_VARIABLES: Final[Mapping[str, str]] = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    SURFACE: "var(--surface)",
    REFERENCE: "var(--reference)",
    BAD: "var(--bad)",
} | {f"#00f01{number}": f"var(--plan-{number})" for number in range(PLAN_COLOURS)}

_DPI: Final = 72
"""SVG's unit is then one CSS pixel."""


def plan_colour(number: int) -> str:
    """Return the marker colour of the plan with this number, from 0."""
    return f"#00f01{min(number, PLAN_COLOURS - 1)}"


class Sheet:
    """A figure of this size in CSS pixels; the origin is at the top left, as in a page.

    Artists stand on the figure itself. Axes would be most of the time that a drawing takes, for
    ticks and scales that no figure of a report uses.
    """

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        self._pixels = Affine2D().scale(1, -1).translate(0, height)

    def plot(
        self, xs: Sequence[float], ys: Sequence[float], marker: str = "", **style: object
    ) -> None:
        """Draw a line through points; with a marker, the marker at each instead."""
        from matplotlib.lines import Line2D

        options: dict[str, Any] = dict(style)
        if marker:
            options |= {"marker": marker, "ls": "none"}
        self.figure.add_artist(Line2D(xs, ys, transform=self._pixels, **options), clip=False)

    def text(self, x: float, y: float, words: str, **style: object) -> None:
        """Write words at a point."""
        options: dict[str, Any] = dict(style)
        self.figure.text(x, y, words, transform=self._pixels, **options)

    def rectangle(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """Draw a rectangle by its upper left corner."""
        from matplotlib.patches import Rectangle

        options: dict[str, Any] = dict(style)
        box = Rectangle((x, y), width, height, transform=self._pixels, **options)
        self.figure.add_artist(box, clip=False)


@contextmanager
def drawing(salt: str) -> Iterator[None]:
    """Set what figures of a page need: text as text, names never taken for formulas.

    `salt` keeps the identifiers of one figure apart from those of every other on the page.
    """
    from matplotlib import rc_context

    settings: dict[Any, object] = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "text.usetex": False,
        "font.size": 13,
        "path.simplify": False,
    }
    with rc_context(settings), warnings.catch_warnings():
        # Letters that the library's own font lacks are drawn by the browser's.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def to_svg(sheet: Sheet, title: str, kind: str) -> str:
    """Return the figure as an SVG element with a title for those who cannot see it."""
    buffer = io.StringIO()
    figure = sheet.figure
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    width, height = figure.get_size_inches() * _DPI
    body = text[text.index("<g ") : text.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda one: one[0] if one[1] in used else "", body)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"font-family: [^;\"]+", "font-family: inherit", body)
    body = re.sub(r"font: (?:(\w*) )?([\d.]+px) [^;\"]+", _font, body)
    for marker, variable in _VARIABLES.items():
        body = body.replace(marker, variable)
    body = re.sub(r"\s*\n\s*", "\n", body)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    label = f'role="img" aria-label="{escape(title)}"'
    return f'<svg class="{kind}" {size} {label}>{body}</svg>'


def _font(found: "re.Match[str]") -> str:
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}; font-family: inherit"
