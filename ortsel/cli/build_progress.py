"""Showing a build while it runs: a bar with the remaining time on a terminal, lines elsewhere.

As with a search, nothing is drawn between two reports: a bar that redraws itself would take time
from the measurements.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from ortsel.builder import BuildProgress, Outcome, Status
from ortsel.builder.report import task_label
from ortsel.cli.durations import words_for_seconds
from ortsel.cli.one_line import one_line
from ortsel.cli.progress_bar import Narrator

Listener = Callable[[BuildProgress], None]


def outcome_words(outcome: Outcome) -> str:
    """Return how a workload ended, in a few words."""
    match outcome.status:
        case Status.DECIDED if outcome.serves_reference:
            return "keeps the reference"
        case Status.DECIDED if outcome.ratio:
            return f"{one_line(outcome.plan)}, {1 / outcome.ratio:.2f}x faster"
        case Status.DECIDED:
            return one_line(outcome.plan)
        case _:
            return f"{outcome.status.value}: {one_line(outcome.reason, 200)}"


def left_words(progress: BuildProgress) -> str:
    """Return the guess at the remaining time."""
    if progress.finished == progress.total:
        return "nothing left"
    guessed = words_for_seconds(progress.remaining_s)
    return f"about {guessed} left"


def progress_line(progress: BuildProgress) -> str:
    """Return a start or an end as a line."""
    label = one_line(task_label(progress.task), 200)
    if progress.outcome is None:
        where = f"[{progress.finished + 1} of {progress.total}]"
        return f"{where} {label}: searching, {left_words(progress)}"
    words = outcome_words(progress.outcome)
    where = f"[{progress.finished} of {progress.total}]"
    if progress.resumed:
        return f"{where} {label}: {words} (done earlier)"
    took = words_for_seconds(progress.outcome.elapsed_s)
    return f"{where} {label}: {words} ({took}), {left_words(progress)}"


@contextmanager
def shown_build(console: Console) -> Iterator[Listener]:
    """Give a listener for one build; what its bar drew is gone afterwards, its lines stay."""
    if console.is_terminal:
        with _bar(console) as listener:
            yield listener
    else:
        yield lambda progress: _line(console, progress)


def _line(console: Console, progress: BuildProgress) -> None:
    if progress.search is None:
        console.print(progress_line(progress), soft_wrap=True)


@contextmanager
def _bar(console: Console) -> Iterator[Listener]:
    bar = Bar(
        BarColumn(bar_width=24),
        TextColumn("{task.completed} of {task.total}"),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
    )
    narrators: dict[str, Narrator] = {}
    shown: TaskID | None = None

    def listen(progress: BuildProgress) -> None:
        nonlocal shown
        if progress.outcome is not None:
            console.print(progress_line(progress), soft_wrap=True)
        words = task_label(progress.task)
        if progress.search is not None:
            narrator = narrators.setdefault(progress.task.id, Narrator())
            words = f"{words}: {narrator.words(progress.search)}"
        if shown is None:
            shown = bar.add_task("", total=progress.total, left="")
        bar.update(
            shown,
            completed=progress.finished,
            left=left_words(progress),
            description=one_line(words, 120),
        )
        bar.refresh()

    with bar:
        yield listen
