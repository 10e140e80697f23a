"""Names with values, a line each: in two columns on a terminal, on whole lines for a pipe."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ortsel.cli.console import print_whole


def print_rows(console: Console, rows: Sequence[tuple[str, str]], indent: int = 0) -> None:
    """Print rows whose texts are on one line each; a row without a name goes on with the last."""
    if not rows:
        return
    width = max(len(name) for name, _ in rows)
    if not console.is_terminal:
        for name, text in rows:
            print_whole(console, f"{'':<{indent}}{name:<{width}}  {text}".rstrip())
        return
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=min(width, console.width // 3) + indent)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(f"{'':<{indent}}{name}"), Text(text))
    console.print(table)
