"""Turning a Matplotlib figure into SVG that is part of a page.

The page owns colours and fonts, so that one figure serves light and dark: the figure is drawn in
marker colours, which become the page's variables, and its text stays text in the page's font.
"""

import io
import re
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def new_axes(width: float, height: float) -> "tuple[Figure, Axes]":
    """Return a figure of this size in CSS pixels and axes that fill it, in pixel coordinates.

    The origin is at the top left, as in a page.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return figure, axes


@contextmanager
def drawing(salt: str) -> "Iterator[None]":
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


def to_svg(figure: "Figure", title: str, kind: str) -> str:
    """Return the figure as an SVG element with a title for those who cannot see it."""
    buffer = io.StringIO()
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
