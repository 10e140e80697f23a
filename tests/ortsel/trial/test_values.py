"""Values that travel in files."""

from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ortsel.trial.values import ALIGNMENT, Opaque, ValueFileError, read_values, write_values

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

shapes = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
arrays: st.SearchStrategy[Array] = st.one_of(
    st.sampled_from(
        ("bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "f2", "f4", "f8", "c8")
    ).flatmap(lambda dtype: npst.arrays(dtype, shapes)),
    npst.arrays(np.object_, shapes, elements=st.text()),
)
scalars = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=4)
)
values: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), arrays, scalars),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=6,
)


def same(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return one.tolist() == other.tolist() if one.dtype == object else same_bits(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and same(list(one.values()), list(other.values()))
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    return one == other


def same_bits(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()


@same_folder
@given(st.dictionaries(st.text(), values, max_size=4))
def test_what_is_written_is_read_again_bit_by_bit(tmp_path: Path, named: dict[str, object]) -> None:
    path = tmp_path / "values"
    write_values(path, named)
    read = read_values(path)
    assert list(read) == list(named)
    assert all(same(one, other) for one, other in zip(named.values(), read.values(), strict=True))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_types_that_numpy_lacks_keep_their_bits(tmp_path: Path, name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    array = np.arange(64, dtype="u1").view(dtype)
    write_values(tmp_path / "values", {"x": array})
    read = read_values(tmp_path / "values")["x"]
    assert isinstance(read, np.ndarray)
    assert read.dtype == dtype
    assert same_bits(read, array)


def test_layout_is_not_kept_but_values_are(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    views = {
        "transposed": array.T,
        "reversed": array[::-1],
        "strided": array[:, ::2],
        "broadcast": np.broadcast_to(array[0], (3, 6)),
        "other-endian": array.astype(">i4"),
        "text": np.array(["a", "bcd"]),
    }
    write_values(tmp_path / "values", views)
    for name, read in read_values(tmp_path / "values").items():
        assert isinstance(read, np.ndarray)
        assert read.flags.c_contiguous
        assert np.array_equal(read, views[name])


def test_tensors_are_aligned_and_cannot_be_written_to(tmp_path: Path) -> None:
    write_values(tmp_path / "values", {"a": np.ones(3, np.int8), "b": np.ones(5)})
    for read in read_values(tmp_path / "values").values():
        assert isinstance(read, np.ndarray)
        assert read.ctypes.data % ALIGNMENT == 0
        assert not read.flags.writeable


@pytest.mark.parametrize("value", [object(), np.array([object()]), np.zeros(2, "i4,f4")])
def test_what_cannot_be_carried_arrives_as_opaque(tmp_path: Path, value: object) -> None:
    write_values(tmp_path / "values", {"x": value, "y": [value]})
    read = read_values(tmp_path / "values")
    assert isinstance(read["x"], Opaque)
    assert read["y"] == [read["x"]]


@pytest.mark.parametrize("damage", ["short", "magic", "length", "kind"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "values"
    write_values(path, {"x": np.ones(3)})
    whole = path.read_bytes()
    path.write_bytes(
        {
            "short": whole[:10],
            "magic": b"X" + whole[1:],
            "length": whole[:8] + b"\xff" * 8 + whole[16:],
            "kind": whole.replace(b'"tensor"', b'"cursor"'),
        }[damage]
    )
    with pytest.raises(ValueFileError, match="need"):
        read_values(path)
