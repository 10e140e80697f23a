"""Where each shape of a model stands on the map of winners."""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from ortsel.report.contents import Model, Shape
from ortsel.report.question import Place, axis_words, distinguishing_axes
from ortsel.report.shown_text import plain

MOST_COLUMNS: Final = 6
"""Columns that a phone can show; longer rows are turned."""
_GRID: Final = 2


@frozen
class MapLayout:
    """Cells in rows and columns."""

    caption: str
    row_axis: str
    column_axis: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: Mapping[tuple[int, int], Shape]


def map_layouts(model: Model, axis_names: Mapping[Place, str]) -> tuple[MapLayout, ...]:
    """Return the maps of a model: one for all shapes that were asked for in the same way.

    Where two sizes differ they span a grid; otherwise shapes stand in a list.
    """
    facets: dict[tuple[str, ...], list[Shape]] = {}
    for shape in model.shapes:
        question = shape.question
        names = tuple(one.name for one in question.inputs)
        facet = (question.calling, question.load, question.machine_words)
        key = (*facet, question.machine, question.settings, *names)
        facets.setdefault(key, []).append(shape)
    several = len(facets) > 1
    return tuple(
        _layout(shapes, axis_names, ", ".join(filter(None, key[:3])) if several else "")
        for key, shapes in facets.items()
    )


def _layout(shapes: Sequence[Shape], axis_names: Mapping[Place, str], caption: str) -> MapLayout:
    axes = distinguishing_axes(shape.question for shape in shapes)
    if len(axes) == _GRID:
        grid = _grid(shapes, axes, axis_names, caption)
        if grid is not None:
            return grid
    if len(axes) == 1:
        name, axis = axis_words(axes[0], axis_names), axes[0][0]
        labels = [str(shape.question.sizes()[axis]) for shape in shapes]
        if len(labels) <= MOST_COLUMNS:
            cells = {(0, column): shape for column, shape in enumerate(shapes)}
            return MapLayout(caption, "", name, ("",), tuple(labels), cells)
        cells = {(row, 0): shape for row, shape in enumerate(shapes)}
        return MapLayout(caption, name, "", tuple(labels), ("",), cells)
    labels = [plain(shape.label, 22) for shape in shapes] if len(shapes) > 1 else [""]
    cells = {(row, 0): shape for row, shape in enumerate(shapes)}
    return MapLayout(caption, "", "", tuple(labels), ("",), cells)


def _grid(
    shapes: Sequence[Shape],
    axes: Sequence[tuple[Place, ...]],
    axis_names: Mapping[Place, str],
    caption: str,
) -> MapLayout | None:
    """Return the grid over two sizes; None where two shapes would share a cell."""
    places = [axis[0] for axis in axes]
    values = [sorted({shape.question.sizes()[place] for shape in shapes}) for place in places]
    rows, columns = (0, 1) if len(values[1]) <= MOST_COLUMNS else (1, 0)
    cells: dict[tuple[int, int], Shape] = {}
    for shape in shapes:
        sizes = shape.question.sizes()
        cell = (
            values[rows].index(sizes[places[rows]]),
            values[columns].index(sizes[places[columns]]),
        )
        if cell in cells:
            return None
        cells[cell] = shape
    if len(values[columns]) > MOST_COLUMNS or len(cells) * 3 < len(values[0]) * len(values[1]):
        return None
    return MapLayout(
        caption,
        axis_words(axes[rows], axis_names),
        axis_words(axes[columns], axis_names),
        tuple(map(str, values[rows])),
        tuple(map(str, values[columns])),
        cells,
    )
