"""Showing a search while it runs: a bar on a terminal, now and then a line elsewhere.

Nothing is drawn between two reports of the search. A bar that redraws itself from a thread of its
own would take processor time from the very measurements it shows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from attrs import define
from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from ortsel.cli.one_line import one_line
from ortsel.progress import Progress, Stage

SECOND_NS: Final = 1_000_000_000
REDRAW_NS: Final = SECOND_NS // 5
LINE_NS: Final = SECOND_NS
"""Least time between two lines."""
QUIET_NS: Final = 10 * SECOND_NS
"""Time after which a line comes even when nothing new has begun."""


@define
class Narrator:
    """Says what a search does.

    Measurements of the reference alternate with a candidate's; both count as the candidate's.
    """

    _candidate: str = ""
    _position: int = 0

    def words(self, progress: Progress) -> str:
        """Return one phrase: what is done, with which candidate, and how many there are."""
        of_reference = progress.position == 0 and self._position > 0
        if of_reference and progress.stage is Stage.MEASURING:
            return f"measuring {self._candidate} ({self._position + 1} of {progress.total})"
        self._candidate, self._position = one_line(progress.candidate, 60), progress.position
        where = f"({progress.position + 1} of {progress.total})"
        return f"{progress.stage.value} {self._candidate} {where}"


@define
class LineRate:
    """Decides which reports become lines where there is no terminal."""

    _last_ns: int | None = None
    _last_candidate: str = ""

    def due(self, phrase_subject: str, elapsed_ns: int) -> bool:
        """Whether a report is worth a line: the first, a new candidate, or after a long silence."""
        since_ns = QUIET_NS if self._last_ns is None else elapsed_ns - self._last_ns
        new = phrase_subject != self._last_candidate
        if since_ns >= QUIET_NS or (new and since_ns >= LINE_NS):
            self._last_ns, self._last_candidate = elapsed_ns, phrase_subject
            return True
        return False


def progress_line(progress: Progress, phrase: str) -> str:
    """Return one report as a line."""
    elapsed_s = progress.elapsed_ns / SECOND_NS
    budget_s = progress.budget_ns / SECOND_NS
    return f"{elapsed_s:6.1f} s of {budget_s:g} s: {phrase}"


@contextmanager
def shown_progress(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Give a listener for the reports of one search; what it drew is gone afterwards."""
    if console.is_terminal:
        with _bar(console) as listener:
            yield listener
    else:
        yield _lines(console)


def _lines(console: Console) -> Callable[[Progress], None]:
    narrator, rate = Narrator(), LineRate()

    def listen(progress: Progress) -> None:
        phrase = narrator.words(progress)
        subject = phrase.partition(" (")[0].rpartition(" ")[2]
        if rate.due(subject, progress.elapsed_ns):
            console.print(progress_line(progress, phrase), soft_wrap=True)

    return listen


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[Progress], None]]:
    bar = Bar(
        BarColumn(bar_width=24),
        TextColumn("{task.fields[clock]}"),
        TextColumn("{task.description}"),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
    )
    narrator = Narrator()
    task: TaskID | None = None
    drawn_ns = -REDRAW_NS

    def listen(progress: Progress) -> None:
        nonlocal task, drawn_ns
        phrase = narrator.words(progress)
        if progress.elapsed_ns - drawn_ns < REDRAW_NS:
            return
        drawn_ns = progress.elapsed_ns
        clock = f"{progress.elapsed_ns / SECOND_NS:.0f} of {progress.budget_ns / SECOND_NS:g} s"
        done_ns = min(progress.elapsed_ns, progress.budget_ns)
        if task is None:
            task = bar.add_task(phrase, total=progress.budget_ns, clock=clock)
        bar.update(task, completed=done_ns, description=phrase, clock=clock, refresh=True)

    with bar:
        yield listen
