"""One name space, one default per place, no order of registration (R2)."""

from itertools import permutations

import pytest
from hypothesis import given

from spec.errors import InvalidValue
from spec.ranking import Kernel, Origin, Registry
from tests.spec.ranking.sample_kernels import kernel, kernels, registry


@given(kernels())
def test_content_and_not_order_of_registration_makes_a_registry(
    some: tuple[Kernel, ...],
) -> None:
    orders = list(permutations(some))[:6]
    assert {registry(*order) for order in orders} == {registry(*some)}
    assert registry(*some).candidates("MatMul", "cpu") == tuple(sorted(some, key=lambda k: k.id))


def test_registering_leaves_the_old_registry_as_it_was() -> None:
    old = registry(kernel("a"))
    new = old.register(kernel("b"))
    assert [one.id for one in old.candidates("MatMul", "cpu")] == ["a"]
    assert [one.id for one in new.candidates("MatMul", "cpu")] == ["a", "b"]


@pytest.mark.parametrize("first", list(Origin))
@pytest.mark.parametrize("second", list(Origin))
def test_an_id_is_never_taken_twice_also_not_by_the_other_origin(
    first: Origin, second: Origin
) -> None:
    taken = Registry().register(kernel("a"), first)
    with pytest.raises(InvalidValue, match=f"'a'.*{first.value}.*R2"):
        taken.register(kernel("a"), second)
    assert taken.register(kernel("b"), second).origins["b"] is second


def test_candidates_are_those_of_the_operation_and_the_backend() -> None:
    both = registry(kernel("a"), kernel("b", backend="cuda"), kernel("c", operation="Conv"))
    assert [one.id for one in both.candidates("MatMul", "cuda")] == ["b"]
    assert both.candidates("Conv", "cuda") == ()


def test_a_custom_kernel_competes_like_a_built_in_one() -> None:
    mixed = registry(kernel("b")).register(kernel("a"), Origin.CUSTOM)
    assert [one.id for one in mixed.candidates("MatMul", "cpu")] == ["a", "b"]


def test_a_default_belongs_to_one_place_and_can_be_replaced() -> None:
    three = registry(kernel("a"), kernel("b"), kernel("c", backend="cuda"), default="a")
    assert three.default("MatMul", "cpu") == "a"
    assert three.default("MatMul", "cuda") is None
    assert three.with_default("b").default("MatMul", "cpu") == "b"


def test_an_unknown_kernel_is_no_default() -> None:
    with pytest.raises(InvalidValue, match="R2"):
        registry(kernel("a")).with_default("b")
