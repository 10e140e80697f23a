"""TensorRT plans, without a device."""

import pytest
from attrs import evolve

from kernels_cuda import (
    TENSORRT_OPTIONS,
    Numerics,
    ShapeRange,
    TensorrtFacts,
    tensorrt_plans,
)
from spec.capability import PRESETS, Hardware
from spec.errors import InvalidValue

SHAPES = (
    ShapeRange("ids", (1, 1), (1, 128), (8, 512)),
    ShapeRange("mask", (1, 1), (1, 128), (8, 512)),
)
FACTS = TensorrtFacts(PRESETS["a100"], "/cache", "f" * 64, SHAPES)


def options_of(facts: TensorrtFacts) -> dict[str, dict[str, str]]:
    return {plan.name: dict(plan.options) for plan in tensorrt_plans(facts).plans}


@pytest.mark.parametrize("device", PRESETS.values(), ids=list(PRESETS))
@pytest.mark.parametrize("lossy", [False, True])
@pytest.mark.parametrize("bound", [False, True])
def test_every_plan_on_every_device_is_made_of_known_options(
    device: Hardware, lossy: bool, bound: bool
) -> None:
    facts = evolve(FACTS, hardware=device, lossy=lossy, has_fixed_addresses=bound)
    found = tensorrt_plans(facts)
    names = [plan.name for plan in found.plans]
    assert len(set(names)) == len(names)
    assert bool(names) is (device.compute_capability >= (7, 5))
    for plan in found.plans:
        assert all(TENSORRT_OPTIONS.accepts(*option) for option in plan.options)
        changed = [
            name
            for name, value in plan.options
            if TENSORRT_OPTIONS.find(name).numerics is Numerics.CHANGED and value != "0"
        ]
        assert lossy or not changed, "reduced precision is asked for, never slipped in"
    assert all(one.reason for one in found.left_out)


def test_the_names_are_stable() -> None:
    assert list(options_of(FACTS)) == ["tensorrt:engine", "tensorrt:engine,effort=5"]
    everything = evolve(FACTS, lossy=True, has_fixed_addresses=True)
    assert list(options_of(everything)) == [
        "tensorrt:engine",
        "tensorrt:engine,graph",
        "tensorrt:engine,effort=5",
        "tensorrt:fp16",
        "tensorrt:bf16",
    ]
    assert "tensorrt:bf16" not in options_of(evolve(everything, hardware=PRESETS["t4"]))


def test_profiles_come_three_together_or_not_at_all() -> None:
    options = options_of(FACTS)["tensorrt:engine"]
    assert options["trt_profile_min_shapes"] == "ids:1x1,mask:1x1"
    assert options["trt_profile_opt_shapes"] == "ids:1x128,mask:1x128"
    assert options["trt_profile_max_shapes"] == "ids:8x512,mask:8x512"
    fixed = options_of(evolve(FACTS, shapes=()))["tensorrt:engine"]
    assert not [name for name in fixed if "profile" in name]


def test_engines_of_different_options_shapes_or_keys_never_share_a_folder() -> None:
    everything = evolve(FACTS, lossy=True, has_fixed_addresses=True)
    variations = [
        everything,
        evolve(everything, key_fingerprint="e" * 64),
        evolve(everything, shapes=SHAPES[:1]),
        evolve(everything, user_options=(("trt_min_subgraph_size", "5"),)),
    ]
    folders = [
        options["trt_engine_cache_path"]
        for facts in variations
        for options in options_of(facts).values()
    ]
    assert len(folders) == 20
    assert len(set(folders)) == len(folders)
    assert all(folder.startswith("/cache/") for folder in folders)
    assert options_of(everything) == options_of(everything), "and the same plan finds its own"


def test_what_the_user_set_stays_and_is_not_varied() -> None:
    user = (("trt_engine_cache_path", "/mine"), ("trt_builder_optimization_level", "2"))
    found = tensorrt_plans(evolve(FACTS, user_options=user))
    (plan,) = found.plans
    assert dict(user).items() <= dict(plan.options).items()
    reasons = {one.name: one.reason for one in found.left_out}
    assert reasons["engine,effort=5"] == "the user set trt_builder_optimization_level"


@pytest.mark.parametrize(
    ("least", "usual", "greatest"),
    [((1,), (1, 2), (1, 2)), ((2,), (1,), (3,)), ((1,), (3,), (2,)), ((0,), (1,), (2,))],
)
def test_a_range_is_ordered_and_of_one_rank(
    least: tuple[int, ...], usual: tuple[int, ...], greatest: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidValue, match="least <= usual <= greatest on every axis"):
        ShapeRange("x", least, usual, greatest)


@pytest.mark.parametrize("name", ["", "a:b", "a,b"])
def test_a_name_that_the_text_form_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="no ':' and no ','"):
        ShapeRange(name, (1,), (1,), (1,))
