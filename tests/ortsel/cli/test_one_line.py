"""Foreign text on one line."""

from hypothesis import given
from hypothesis import strategies as st

from ortsel.cli.one_line import one_line


@given(st.text(), st.integers(10, 200))
def test_whatever_a_model_is_called_prints_as_one_harmless_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert line.isprintable()
    assert len(line) <= limit


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    assert one_line("a\x1b[31mb\n c") == "a\\x1b[31mb c"


def test_ordinary_text_stays_as_it_is() -> None:
    assert one_line("Größe 3 x 4") == "Größe 3 x 4"
