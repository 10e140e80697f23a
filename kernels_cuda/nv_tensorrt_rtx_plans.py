"""NvTensorRTRTX provider options worth trying for a model on a device.

An engine computes in the model's own types, so every plan is exact. The provider compiles in two
steps, and keeps the second in a runtime cache: each plan has a folder of its own for it.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

from kernels_cuda.nv_tensorrt_rtx_options import NV_TENSORRT_RTX
from kernels_cuda.provider_plan import LeftOut, ProviderPlan, ProviderPlans
from kernels_cuda.shape_range import ShapeRange, shape_profile
from spec.capability import DeviceKind, Hardware

MINIMUM_COMPUTE_CAPABILITY: Final = (7, 5)
"""TensorRT for RTX serves Turing and newer."""


def _sorted(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(options))


@frozen
class NvTensorrtRtxFacts:
    """What decides which options can matter."""

    hardware: Hardware
    cache_folder: str
    key_fingerprint: str
    """Of everything that an engine depends on: model, device, library versions."""
    shapes: tuple[ShapeRange, ...] = ()
    """Every open input; empty where all shapes are fixed."""
    user_options: tuple[tuple[str, str], ...] = field(default=(), converter=_sorted)
    has_fixed_addresses: bool = False


def nv_tensorrt_rtx_plans(facts: NvTensorrtRtxFacts) -> ProviderPlans:
    """Return the plans; the user's own options stay, and are never varied.

    Graph capture is the provider's default, and needs fixed addresses: every plan says whether it
    captures, and one that captures is made for callers that bind their buffers only.
    """
    device = facts.hardware
    if device.kind is not DeviceKind.CUDA:
        return ProviderPlans((), (LeftOut("nv-tensorrt-rtx", f"{device.name} is no CUDA device"),))
    if device.compute_capability < MINIMUM_COMPUTE_CAPABILITY:
        need = ".".join(map(str, MINIMUM_COMPUTE_CAPABILITY))
        got = ".".join(map(str, device.compute_capability))
        reason = f"compute capability {got}, need {need}"
        return ProviderPlans((), (LeftOut("nv-tensorrt-rtx", reason),))
    own = dict(facts.user_options)
    plans: list[ProviderPlan] = []
    left_out: list[LeftOut] = []
    unbound = "" if facts.has_fixed_addresses else "graph capture needs bound buffers"
    exact = "engine in the model's own types"
    switch = "enable_cuda_graph"
    for name, graph, notes, obstacle in (
        ("engine", own.get(switch, "0"), exact, ""),
        ("engine,graph", "1", f"{exact}, captured", unbound),
    ):
        if switch in own and name != "engine":
            left_out.append(LeftOut(name, f"the user set {switch}={own[switch]}"))
        elif obstacle:
            left_out.append(LeftOut(name, obstacle))
        else:
            options = shape_profile("nv", facts.shapes) | {switch: graph} | own
            complete = {"nv_runtime_cache_path": _folder(facts, options)} | options
            full = f"nv-tensorrt-rtx:{name}"
            captures = graph == "1" and switch not in own
            plans.append(
                ProviderPlan(full, NV_TENSORRT_RTX, tuple(complete.items()), notes, captures)
            )
    return ProviderPlans(tuple(plans), tuple(left_out))


def _folder(facts: NvTensorrtRtxFacts, options: dict[str, str]) -> str:
    text = "\n".join([facts.key_fingerprint, *(f"{k}={v}" for k, v in sorted(options.items()))])
    return f"{facts.cache_folder}/{hashlib.sha256(text.encode()).hexdigest()[:32]}"
