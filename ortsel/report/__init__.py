"""One HTML file about the decisions of a store, for people.

The page is text, tables and inline SVG: no script, no font, no request, so that it opens from a
mail or an archive in ten years, under a content policy that forbids everything but its own style.
Figures are drawn by Matplotlib. Plotly and Bokeh bring 3 to 5 MB of script per page, whose canvases
a screen reader cannot read and whose colours ignore the reader's dark mode; Altair needs the same
or a JavaScript engine to draw. Matplotlib's SVG costs some 10 KB per figure, keeps text as text,
takes its colours from the page, and still prints.

`read_evidence`, `compile_contents` and `page.render` are the three steps. The last needs the extra
`report`.
"""

from ortsel.report.compilation import compile_contents
from ortsel.report.contents import Contents
from ortsel.report.evidence import Evidence, read_evidence

__all__ = ["Contents", "Evidence", "compile_contents", "read_evidence"]
