"""Lengths of time on the command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ortsel.cli.durations import parse_duration, parse_gap, words_for_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30.0),
        ("1.5", 1.5),
        ("30s", 30.0),
        ("2m", 120.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("500ms", 0.5),
        (" 2M ", 120.0),
        ("24h", 86_400.0),
        ("0.001", 0.001),
    ],
)
def test_what_people_write_for_a_time_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "0",
            "0s",
            "-1",
            "-1s",
            "s",
            "1d",
            "1s2s",
            "nan",
            "inf",
            "1e3",
            "25h",
            "1.5.2",
            "1 m",
        ),
        *("0.4ms", "\N{ARABIC-INDIC DIGIT THREE}s", "9" * 400),
    ],
)
def test_anything_else_is_refused_and_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|twice"):
        parse_duration(text)


@given(st.integers(1, 86_400_000))
def test_every_whole_millisecond_up_to_a_day_comes_back(milliseconds: int) -> None:
    assert parse_duration(f"{milliseconds}ms") == milliseconds / 1000


@given(st.text())
def test_no_text_raises_anything_but_a_value_error(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        message = str(error)
        seconds = 1.0
    else:
        message = repr(text)
    assert repr(text) in message
    assert 0.001 <= seconds <= 86_400


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (3.14, "3.1 s"), (59.6, "60 s"), (125, "2 min 5 s"), (180, "3 min")],
)
def test_times_are_said_the_way_people_read_them(seconds: float, words: str) -> None:
    assert words_for_seconds(seconds) == words


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0.0), ("50ms", 0.05), ("1ms", 0.001), ("10", 10.0)]
)
def test_a_gap_is_a_time_or_none(text: str, seconds: float) -> None:
    assert parse_gap(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "0.5ms", "10.1s", "1h", "soon"])
def test_a_gap_that_nobody_would_wait_for_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        parse_gap(text)
