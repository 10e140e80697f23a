"""The table has every type, says what the comparison does, and is what the documentation shows."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from ortsel.verification.comparison import Different, Equal, compare
from ortsel.verification.element_types import (
    BOUNDS,
    CLOSE_BOUNDS,
    TABLE,
    ElementType,
    How,
    markdown_table,
)
from ortsel.verification.tolerance import BY_TYPE, CLOSE

DOCUMENT = Path(__file__).parents[3] / "docs" / "verification.md"


def array_of(
    line: ElementType, *values: float
) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]]":
    if line.onnx == "STRING":
        return np.array([str(value) for value in values], object)
    dtype = np.dtype(getattr(ml_dtypes, line.numpy, None) or line.numpy)
    return np.asarray(np.asarray(values).astype(dtype))


def test_every_element_type_of_onnx_has_one_line() -> None:
    names = [line.onnx for line in TABLE]
    assert len(set(names)) == len(names)
    assert set(names) >= set(onnx.TensorProto.DataType.keys()) - {"UNDEFINED"}


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.onnx)
def test_a_line_says_what_the_comparison_does(line: ElementType) -> None:
    reference = array_of(line, 1.0, 1.0)
    assert compare([reference], [reference.copy()], ["y"], BY_TYPE) == Equal()
    other = array_of(line, 1.0, 0.0 if line.numpy != "float8_e8m0fnu" else 0.5)
    assert isinstance(compare([reference], [other], ["y"], BY_TYPE), Different)
    exact = line.how is How.EXACT
    assert exact == (line.bound.relative == 0 and line.how is not How.PARTS)
    assert line.why.endswith(".")
    assert (line.close > 1) == (line.how is How.BOUND)


@pytest.mark.parametrize("element", ["float32", "float64", "float16", "bfloat16"])
def test_close_is_the_stated_multiple_and_no_more(element: str) -> None:
    line = next(line for line in TABLE if line.numpy == element)
    bound = BOUNDS[element]
    allowed = (bound.relative + bound.scale + bound.absolute) * line.close
    for factor, expected in ((0.97, Equal), (1.05, Different)):
        reference = array_of(line, 1.0, 0.0)
        candidate = array_of(line, 1.0 - allowed * factor, 0.0)
        assert isinstance(compare([reference], [candidate], ["y"], BY_TYPE), Different)
        assert isinstance(compare([reference], [candidate], ["y"], CLOSE), expected)


def test_close_lets_no_type_pass_for_a_smaller_one() -> None:
    assert CLOSE_BOUNDS["float64"].relative < float(np.finfo(np.float32).eps)
    assert CLOSE_BOUNDS["float32"].relative < 2.0**-8, "half a step of bfloat16"


def test_the_documentation_shows_this_table() -> None:
    assert markdown_table() in DOCUMENT.read_text(encoding="utf-8")
    assert markdown_table().count("\n") == len(TABLE) + 1
