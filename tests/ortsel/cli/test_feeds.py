"""Inputs made up, and inputs read from a file."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from ortsel.cli.errors import UnusableFileError
from ortsel.cli.feeds import make_feeds, parse_fill, read_feeds
from ortsel.cli.model_inputs import ModelInput
from ortsel.errors import UsageError

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
}
IDS = ModelInput("ids", "tensor(int64)", ("batch", 4))
IMAGE = ModelInput("image", "tensor(float)", (1, 2))


@pytest.mark.parametrize("word", TYPES)
def test_made_up_inputs_have_the_declared_type_and_shape(word: str) -> None:
    one = ModelInput("x", f"tensor({word})", (3, 5))
    array = make_feeds([one], {"x": (3, 5)}, [], 0).arrays["x"]
    assert (array.dtype, array.shape) == (np.dtype(TYPES[word]), (3, 5))
    if array.dtype.kind in "iub":
        assert set(np.unique(array).tolist()) <= {0, 1}


def test_a_made_up_scalar_is_an_array_without_dimensions() -> None:
    for word in ("float", "int64", "bool"):
        array = make_feeds([ModelInput("x", f"tensor({word})", ())], {"x": ()}, [], 0).arrays["x"]
        assert isinstance(array, np.ndarray)
        assert array.shape == ()


def test_made_up_text_is_text() -> None:
    array = make_feeds([ModelInput("x", "tensor(string)", (2,))], {"x": (2,)}, [], 0).arrays["x"]
    assert array.tolist() == ["a", "a"]


def test_a_seed_stands_for_one_set_of_inputs() -> None:
    def made(seed: int) -> list[float]:
        array = make_feeds([IMAGE], {"image": (1, 2)}, [], seed).arrays["image"]
        return [float(value) for value in array.ravel()]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_a_fill_sets_a_whole_input() -> None:
    feeds = make_feeds([IDS, IMAGE], {"ids": (2, 4), "image": (1, 2)}, [("ids", "7")], 0)
    assert set(feeds.arrays["ids"].ravel().tolist()) == {7}
    assert feeds.arrays["ids"].dtype == np.int64


@pytest.mark.parametrize(
    ("element", "value"),
    [("int64", "1.5"), ("int8", "300"), ("uint8", "-1"), ("float", "x"), ("bool", "2")],
)
def test_a_fill_of_the_wrong_type_is_refused(element: str, value: str) -> None:
    one = ModelInput("x", f"tensor({element})", (2,))
    with pytest.raises(UsageError, match=f"a value of type {element}"):
        make_feeds([one], {"x": (2,)}, [("x", value)], 0)


def test_a_fill_names_an_input_once() -> None:
    with pytest.raises(UsageError, match=r"'nope', need an input \(image\)"):
        make_feeds([IMAGE], {"image": (1, 2)}, [("nope", "1")], 0)
    with pytest.raises(UsageError, match="twice"):
        make_feeds([IMAGE], {"image": (1, 2)}, [("image", "1"), ("image", "2")], 0)
    for text in ("image", "=1", "image="):
        with pytest.raises(UsageError, match="NAME=VALUE"):
            parse_fill(text)


@pytest.mark.parametrize(
    "kind", ["seq(tensor(float))", "tensor(bfloat16)", "map(string,tensor(float))"]
)
def test_what_numpy_cannot_hold_is_refused_before_anything_is_made(kind: str) -> None:
    with pytest.raises(UsageError, match=r"need tensors of a type that numpy has"):
        make_feeds([ModelInput("x", kind, ())], {"x": ()}, [], 0)


def test_inputs_beyond_the_memory_are_refused_instead_of_made() -> None:
    with pytest.raises(UsageError, match="GiB"):
        make_feeds([IMAGE], {"image": (2**20, 2**20)}, [], 0)


def saved(path: Path, **arrays: object) -> Path:
    with zipfile.ZipFile(path / "feeds.npz", "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    return path / "feeds.npz"


def test_a_file_that_fits_is_read(tmp_path: Path) -> None:
    ids = np.arange(8, dtype=np.int64).reshape(2, 4)
    path = saved(tmp_path, ids=ids, image=np.zeros((1, 2), np.float32))
    feeds = read_feeds(path, [IDS, IMAGE])
    assert feeds.source == str(path)
    assert not feeds.synthetic
    assert np.array_equal(feeds.arrays["ids"], ids)


def test_text_in_a_file_becomes_text_for_onnxruntime(tmp_path: Path) -> None:
    one = ModelInput("words", "tensor(string)", (2,))
    array = read_feeds(saved(tmp_path, words=["b", "ü"]), [one]).arrays["words"]
    assert array.dtype == np.object_
    assert array.tolist() == ["b", "ü"]


def test_an_initialiser_may_be_replaced_but_need_not(tmp_path: Path) -> None:
    scale = ModelInput("scale", "tensor(float)", (1,))
    image = np.zeros((1, 2), np.float32)
    assert set(read_feeds(saved(tmp_path, image=image), [IMAGE], [scale]).arrays) == {"image"}
    path = saved(tmp_path, image=image, scale=np.ones(1, np.float32))
    assert set(read_feeds(path, [IMAGE], [scale]).arrays) == {"image", "scale"}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "the input ids int64[batch,4] is missing; the file holds nothing"),
        ({"idz": np.zeros(1)}, "'idz' is not an input of the model (ids)"),
        (
            {"ids": np.zeros((2, 4), np.int32)},
            'int32, the model takes int64; array.astype("int64")',
        ),
        ({"ids": np.zeros((2, 4), ">i8")}, ">i8, the model takes int64"),
        (
            {"ids": np.zeros(4, np.int64)},
            "ids has the shape [4], the model takes ids int64[batch,4]",
        ),
        ({"ids": np.zeros((2, 5), np.int64)}, "ids has the shape [2,5]"),
    ],
)
def test_a_file_that_does_not_fit_says_what_and_why(
    tmp_path: Path, arrays: dict[str, object], words: str
) -> None:
    with pytest.raises(UnusableFileError) as caught:
        read_feeds(saved(tmp_path, **arrays), [IDS])
    assert words in str(caught.value)


def test_a_file_that_is_no_archive_of_plain_arrays_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableFileError, match="no such file"):
        read_feeds(tmp_path / "nothing.npz", [IDS])
    with pytest.raises(UnusableFileError, match="not a file"):
        read_feeds(tmp_path, [IDS])
    text = tmp_path / "text.npz"
    text.write_text("not an archive")
    with pytest.raises(UnusableFileError, match="not an npz file"):
        read_feeds(text, [IDS])
    single = tmp_path / "single.npy"
    np.save(single, np.zeros(3))
    with pytest.raises(UnusableFileError, match="not an npz file"):
        read_feeds(single, [IDS])
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, ids=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UnusableFileError, match="without pickled objects"):
        read_feeds(pickled, [IDS])
    whole = saved(tmp_path, ids=np.zeros((64, 4), np.int64)).read_bytes()
    cut = tmp_path / "cut.npz"
    for length in range(0, len(whole) - 1, 97):
        cut.write_bytes(whole[:length])
        with pytest.raises(UnusableFileError):
            read_feeds(cut, [IDS])
