"""Sizes for open dimensions."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ortsel.cli.errors import OpenDimensionsError
from ortsel.cli.model_inputs import ModelInput
from ortsel.cli.shapes import parse_shape, resolve_shapes
from ortsel.errors import UsageError

INT64 = "tensor(int64)"
IDS = ModelInput("ids", INT64, ("batch", "sequence"))
MASK = ModelInput("mask", INT64, ("batch", "sequence"))
IMAGE = ModelInput("image", "tensor(float)", (None, 3, None, None))
RATE = ModelInput("rate", INT64, ())


def resolve(inputs: list[ModelInput], *texts: str) -> dict[str, tuple[int, ...]]:
    return resolve_shapes(inputs, [parse_shape(text) for text in texts], "my model.onnx")


@pytest.mark.parametrize(
    ("text", "name", "sizes"),
    [
        ("ids=1x128", "ids", (1, 128)),
        ("ids=1,128", "ids", (1, 128)),
        ("ids=1X128", "ids", (1, 128)),
        ("batch=8", "batch", (8,)),
        ("rate=", "rate", ()),
        ("input:0=2x0", "input:0", (2, 0)),
        ("a=b=3", "a=b", (3,)),
    ],
)
def test_a_name_and_its_sizes_are_read(text: str, name: str, sizes: tuple[int, ...]) -> None:
    argument = parse_shape(text)
    assert (argument.name, argument.sizes) == (name, sizes)


@pytest.mark.parametrize(
    "text",
    ["", "ids", "=1", "ids=1x", "ids=x", "ids=-1", "ids=1.5", "ids=1 2", "ids=9999999999999"],
)
def test_what_is_not_a_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"such as input_ids=1x128|at most"):
        parse_shape(text)


def test_one_inputs_shape_gives_the_sizes_that_others_share() -> None:
    assert resolve([IDS, MASK, RATE], "ids=2x16") == {"ids": (2, 16), "mask": (2, 16), "rate": ()}


def test_an_open_dimension_may_be_named_instead_of_an_input() -> None:
    assert resolve([IDS, MASK], "batch=2", "sequence=16") == {"ids": (2, 16), "mask": (2, 16)}


def test_an_input_is_meant_where_an_input_and_a_dimension_have_one_name() -> None:
    inputs = [ModelInput("n", INT64, ("n", 3)), ModelInput("m", INT64, ("n",))]
    assert resolve(inputs, "n=5x3") == {"n": (5, 3), "m": (5,)}
    with pytest.raises(UsageError, match="fits n int64"):
        resolve(inputs, "n=5")


def test_nothing_needs_to_be_said_where_nothing_is_open() -> None:
    assert resolve([ModelInput("x", "tensor(float)", (1, 3)), RATE]) == {"x": (1, 3), "rate": ()}


def test_two_inputs_may_be_given_different_sizes_for_what_they_name_alike() -> None:
    assert resolve([IDS, MASK], "ids=2x16", "mask=2x8") == {"ids": (2, 16), "mask": (2, 8)}


def test_a_third_input_does_not_choose_between_two_sizes() -> None:
    third = ModelInput("types", INT64, ("batch", "sequence"))
    with pytest.raises(UsageError, match=r"sequence=16 in ids and sequence=8 in mask.*types int64"):
        resolve([IDS, MASK, third], "ids=2x16", "mask=2x8")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("nope=1",), "'nope', need an input (ids, mask) or an open dimension (batch, sequence)"),
        (("ids=1",), "need a shape that fits ids int64[batch,sequence]"),
        (("batch=1x2",), "one size for the dimension 'batch'"),
        (("batch=1", "batch=2"), "'batch' twice"),
        (("ids=1x2", "ids=1x2"), "'ids' twice"),
        (("ids=1x2", "batch=3"), "batch=3 and batch=1 in ids"),
    ],
)
def test_a_shape_that_contradicts_the_model_is_refused(texts: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve([IDS, MASK], *texts)
    assert words in str(caught.value)


def test_a_fixed_size_cannot_be_changed() -> None:
    with pytest.raises(UsageError, match="fits image"):
        resolve([IMAGE], "image=1x4x8x8")
    assert resolve([IMAGE], "image=1x3x8x8") == {"image": (1, 3, 8, 8)}


@pytest.mark.parametrize(
    ("inputs", "texts"),
    [
        ([IDS, MASK, RATE], ()),
        ([IDS, MASK], ("batch=4",)),
        ([IMAGE], ()),
        ([IMAGE, IDS], ("sequence=3",)),
        ([ModelInput("n", INT64, ("n", 3)), ModelInput("m", INT64, ("n",))], ()),
        ([ModelInput("a", INT64, ("p", "q")), ModelInput("b", INT64, ("q", "p", None))], ()),
    ],
)
def test_the_command_that_the_error_shows_gives_every_size(
    inputs: list[ModelInput], texts: tuple[str, ...]
) -> None:
    with pytest.raises(OpenDimensionsError) as caught:
        resolve(inputs, *texts)
    assert all(one.declared() in str(caught.value) for one in inputs)
    words = shlex.split(caught.value.example)
    assert words[:3] == ["ortsel", "tune", "my model.onnx"]
    assert set(words[3::2]) == {"--shape"}
    shown = resolve(inputs, *words[4::2])
    assert [len(shown[one.name]) for one in inputs] == [len(one.shape) for one in inputs]


def test_an_error_for_a_model_with_many_inputs_stays_readable() -> None:
    inputs = [ModelInput(f"past_{index}", "tensor(float)", ("n", 4)) for index in range(60)]
    with pytest.raises(OpenDimensionsError, match="and 54 more") as caught:
        resolve(inputs)
    assert len(str(caught.value)) < 600


SIZES = st.one_of(st.integers(0, 9), st.sampled_from(["p", "q", "r"]), st.none())


@given(st.lists(st.lists(SIZES, max_size=4), min_size=1, max_size=5))
def test_the_example_is_complete_for_every_declaration(
    shapes: list[list[int | str | None]],
) -> None:
    inputs = [ModelInput(f"i{at}", INT64, tuple(shape)) for at, shape in enumerate(shapes)]
    try:
        resolved = resolve(inputs)
    except OpenDimensionsError as error:
        resolved = resolve(inputs, *shlex.split(error.example)[4::2])
    assert [len(resolved[one.name]) for one in inputs] == [len(one.shape) for one in inputs]
