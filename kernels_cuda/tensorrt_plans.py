"""TensorRT provider options worth trying for a model on a device.

Building an engine takes seconds to minutes, so every plan keeps engines and timings in a folder
that belongs to its own options: the provider's engine cache is not keyed by all of them.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

from kernels_cuda.provider_plan import LeftOut, ProviderPlan, ProviderPlans
from kernels_cuda.shape_range import ShapeRange, shape_profile
from kernels_cuda.tensorrt_options import TENSORRT
from spec.capability import DeviceKind, Hardware

MINIMUM_COMPUTE_CAPABILITY: Final = (7, 5)
"""TensorRT 10 with CUDA 13 serves no older device."""

BFLOAT16_SM: Final = 80


def _sorted(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(options))


@frozen
class TensorrtFacts:
    """What decides which options can matter."""

    hardware: Hardware
    cache_folder: str
    """Where engines may be kept; each plan gets a folder of its own inside."""
    key_fingerprint: str
    """Of everything that an engine depends on: model, device, library versions."""
    shapes: tuple[ShapeRange, ...] = ()
    """Every open input; empty where all shapes are fixed."""
    user_options: tuple[tuple[str, str], ...] = field(default=(), converter=_sorted)
    lossy: bool = False
    """The user accepts reduced precision."""
    has_fixed_addresses: bool = False


def tensorrt_plans(facts: TensorrtFacts) -> ProviderPlans:
    """Return the plans, exact ones first. The user's own options stay, and are never varied."""
    device = facts.hardware
    if device.kind is not DeviceKind.CUDA:
        return ProviderPlans((), (LeftOut("tensorrt", f"{device.name} is no CUDA device"),))
    if device.compute_capability < MINIMUM_COMPUTE_CAPABILITY:
        need = ".".join(map(str, MINIMUM_COMPUTE_CAPABILITY))
        got = ".".join(map(str, device.compute_capability))
        return ProviderPlans((), (LeftOut("tensorrt", f"compute capability {got}, need {need}"),))
    plans: list[ProviderPlan] = []
    left_out: list[LeftOut] = []
    own = dict(facts.user_options)
    for name, options, notes, obstacle in _differences(facts):
        contradicted = sorted(own.keys() & options.keys())
        if contradicted:
            left_out.append(LeftOut(name, f"the user set {', '.join(contradicted)}"))
        elif obstacle:
            left_out.append(LeftOut(name, obstacle))
        else:
            every = shape_profile("trt", facts.shapes) | options
            complete = every | _caches(facts, every | own) | own
            captures = "trt_cuda_graph_enable" in options
            plans.append(
                ProviderPlan(f"tensorrt:{name}", TENSORRT, tuple(complete.items()), notes, captures)
            )
    return ProviderPlans(tuple(plans), tuple(left_out))


def _differences(facts: TensorrtFacts) -> Iterable[tuple[str, dict[str, str], str, str]]:
    exact = "engine in the model's own types"
    yield "engine", {}, exact, ""
    unbound = "" if facts.has_fixed_addresses else "graph capture needs bound buffers"
    yield "engine,graph", {"trt_cuda_graph_enable": "1"}, f"{exact}, captured", unbound
    effort = {"trt_builder_optimization_level": "5"}
    yield "engine,effort=5", effort, f"{exact}, longest search for it", ""
    lossless = "" if facts.lossy else "reduced precision is not accepted"
    half = {"trt_fp16_enable": "1", "trt_layer_norm_fp32_fallback": "1"}
    yield "fp16", half, "half precision, normalisation in float32", lossless
    context = "a context model shortens loading alone, as the engine cache does already"
    yield "engine,context", {"trt_dump_ep_context_model": "1"}, f"{exact}, exported", context
    old = "" if facts.hardware.sm >= BFLOAT16_SM else "the device has no bfloat16"
    yield "bf16", {"trt_bf16_enable": "1"}, "bfloat16", lossless or old


def _caches(facts: TensorrtFacts, options: dict[str, str]) -> dict[str, str]:
    """Return cache options with a folder for exactly this key and these options."""
    text = "\n".join([facts.key_fingerprint, *(f"{k}={v}" for k, v in sorted(options.items()))])
    folder = f"{facts.cache_folder}/{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    return {
        "trt_engine_cache_enable": "1",
        "trt_engine_cache_path": folder,
        "trt_timing_cache_enable": "1",
        "trt_timing_cache_path": folder,
    }
