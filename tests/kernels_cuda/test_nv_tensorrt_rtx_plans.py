"""NvTensorRTRTX plans, without a device."""

import pytest
from attrs import evolve

from kernels_cuda import (
    NV_TENSORRT_RTX_OPTIONS,
    NvTensorrtRtxFacts,
    ShapeRange,
    nv_tensorrt_rtx_plans,
)
from spec.capability import PRESETS, DeviceKind, Hardware

FACTS = NvTensorrtRtxFacts(
    PRESETS["rtx_4090"], "/cache", "f" * 64, (ShapeRange("ids", (1, 1), (1, 128), (8, 512)),)
)


def options_of(facts: NvTensorrtRtxFacts) -> dict[str, dict[str, str]]:
    return {plan.name: dict(plan.options) for plan in nv_tensorrt_rtx_plans(facts).plans}


@pytest.mark.parametrize("device", PRESETS.values(), ids=list(PRESETS))
@pytest.mark.parametrize("bound", [False, True])
def test_every_plan_on_every_device_is_made_of_known_options(device: Hardware, bound: bool) -> None:
    found = nv_tensorrt_rtx_plans(evolve(FACTS, hardware=device, has_fixed_addresses=bound))
    serves = device.kind is DeviceKind.CUDA and device.compute_capability >= (7, 5)
    assert len(found.plans) == (1 + bound if serves else 0)
    assert bool(found.left_out) is not (serves and bound)
    for plan in found.plans:
        assert all(NV_TENSORRT_RTX_OPTIONS.accepts(*option) for option in plan.options)


def test_capture_is_off_unless_buffers_are_bound_since_the_providers_default_is_on() -> None:
    assert NV_TENSORRT_RTX_OPTIONS.find("enable_cuda_graph").default == "1"
    assert options_of(FACTS)["nv-tensorrt-rtx:engine"]["enable_cuda_graph"] == "0"
    bound = options_of(evolve(FACTS, has_fixed_addresses=True))
    assert bound["nv-tensorrt-rtx:engine,graph"]["enable_cuda_graph"] == "1"
    folders = {options["nv_runtime_cache_path"] for options in bound.values()}
    assert len(folders) == 2


def test_what_the_user_set_stays_and_is_not_varied() -> None:
    mine = evolve(
        FACTS,
        user_options=(("enable_cuda_graph", "1"), ("nv_runtime_cache_path", "/mine")),
        has_fixed_addresses=True,
    )
    [(name, options)] = options_of(mine).items()
    assert name == "nv-tensorrt-rtx:engine"
    assert options["enable_cuda_graph"] == "1"
    assert options["nv_runtime_cache_path"] == "/mine"
    [left_out] = nv_tensorrt_rtx_plans(mine).left_out
    assert left_out.reason == "the user set enable_cuda_graph=1"


def test_profiles_come_together_or_not_at_all() -> None:
    profiles = {
        "nv_profile_min_shapes": "ids:1x1",
        "nv_profile_opt_shapes": "ids:1x128",
        "nv_profile_max_shapes": "ids:8x512",
    }
    assert profiles.items() <= options_of(FACTS)["nv-tensorrt-rtx:engine"].items()
    fixed = options_of(evolve(FACTS, shapes=()))["nv-tensorrt-rtx:engine"]
    assert not any(name.startswith("nv_profile") for name in fixed)
