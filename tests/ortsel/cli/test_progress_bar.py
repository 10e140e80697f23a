"""What a search shows of itself while it runs."""

import io

from rich.console import Console

from ortsel.cli.progress_bar import SECOND_NS, LineRate, Narrator, shown_progress
from ortsel.progress import Progress, Stage


def report(
    candidate: str, position: int, elapsed_s: float, stage: Stage = Stage.MEASURING
) -> Progress:
    elapsed_ns = round(elapsed_s * SECOND_NS)
    return Progress(stage, candidate, position, 3, 0, elapsed_ns, 30 * SECOND_NS)


def shown(console: Console, *reports: Progress) -> None:
    with shown_progress(console) as listener:
        for one in reports:
            listener(one)


def plain() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=200)


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_reference_counts_for_the_candidate_that_it_is_measured_against() -> None:
    narrator = Narrator()
    assert narrator.words(report("reference", 0, 0)) == "measuring reference (1 of 3)"
    assert narrator.words(report("b", 1, 1)) == "measuring b (2 of 3)"
    assert narrator.words(report("reference", 0, 2)) == "measuring b (2 of 3)"
    validating = report("reference", 0, 3, Stage.VALIDATING)
    assert narrator.words(validating) == "validating reference (1 of 3)"


def test_without_a_terminal_a_new_candidate_is_a_line_and_its_measurements_are_not() -> None:
    console = plain()
    blocks = [report(name, at % 2, 2 + at / 100) for at, name in enumerate(["reference", "b"] * 50)]
    shown(console, report("reference", 0, 0.5), *blocks)
    assert text_of(console).splitlines() == [
        "   0.5 s of 30 s: measuring reference (1 of 3)",
        "   2.0 s of 30 s: measuring b (2 of 3)",
    ]


def test_without_a_terminal_a_long_silence_ends_with_a_line() -> None:
    console = plain()
    shown(console, *(report("b", 1, second) for second in range(25)))
    assert [line.split()[0] for line in text_of(console).splitlines()] == ["0.0", "10.0", "20.0"]


def test_lines_never_come_faster_than_one_a_second() -> None:
    rate = LineRate()
    due = [tick for tick in range(100) if rate.due(f"candidate {tick}", tick * SECOND_NS // 10)]
    assert due == list(range(0, 100, 10))


def test_a_terminal_gets_a_bar_and_is_left_clean() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, legacy_windows=False)
    shown(console, report("a", 1, 0), report("a", 1, 0.1), report("b", 2, 15))
    text = text_of(console)
    assert "measuring b (3 of 3)" in text
    assert "15 of 30 s" in text
    assert "\x1b[2K" in text, "the bar must be wiped"


def test_nothing_is_written_without_a_terminal_but_plain_text() -> None:
    console = plain()
    shown(console, report("evil\x1b[31m\nname", 1, 0))
    assert text_of(console).count("\n") == 1
    assert "\x1b" not in text_of(console)
