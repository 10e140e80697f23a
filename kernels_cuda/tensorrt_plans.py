"""TensorRT provider options worth trying for a model on a device.

Building an engine takes seconds to minutes, so every plan keeps engines and timings in a folder
that belongs to its own options: the provider's engine cache is not keyed by all of them.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

from kernels_cuda.provider_plan import LeftOut, ProviderPlan, ProviderPlans
from kernels_cuda.tensorrt_options import TENSORRT
from spec.capability import DeviceKind, Hardware
from spec.errors import InvalidValue

MINIMUM_COMPUTE_CAPABILITY: Final = (7, 5)
"""TensorRT 10 with CUDA 13 serves no older device."""

BFLOAT16_SM: Final = 80

_SAFE_NAME: Final = re.compile(r"[^:,]+")


@frozen
class ShapeRange:
    """The shapes of one open input: the least, the usual and the greatest size of each axis."""

    name: str
    least: tuple[int, ...]
    usual: tuple[int, ...]
    greatest: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        ranks = {len(self.least), len(self.usual), len(self.greatest)}
        ordered = len(ranks) == 1 and all(
            1 <= low <= middle <= high
            for low, middle, high in zip(self.least, self.usual, self.greatest, strict=True)
        )
        if not ordered:
            got = f"{self.least}, {self.usual}, {self.greatest}"
            need = "1 <= least <= usual <= greatest on every axis"
            raise InvalidValue("shape_range", f"{self.name}: {got}", need, "catalogue")
        if not _SAFE_NAME.fullmatch(self.name):
            raise InvalidValue(
                "shape range name", repr(self.name), "no ':' and no ','", "catalogue"
            )


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
            every = _profiles(facts.shapes) | options
            complete = every | _caches(facts, every | own) | own
            plans.append(ProviderPlan(f"tensorrt:{name}", TENSORRT, tuple(complete.items()), notes))
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


def _profiles(shapes: tuple[ShapeRange, ...]) -> dict[str, str]:
    """Return the three profile options, which TensorRT takes together or not at all."""
    if not shapes:
        return {}
    return {
        "trt_profile_min_shapes": ",".join(_shape(one.name, one.least) for one in shapes),
        "trt_profile_opt_shapes": ",".join(_shape(one.name, one.usual) for one in shapes),
        "trt_profile_max_shapes": ",".join(_shape(one.name, one.greatest) for one in shapes),
    }


def _shape(name: str, sizes: tuple[int, ...]) -> str:
    return f"{name}:{'x'.join(map(str, sizes))}"
