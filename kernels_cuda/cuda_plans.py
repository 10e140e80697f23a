"""CUDA provider options worth trying for a model on a device.

Facts and the user's options come in, plans go out. An option that the user set is never varied.
"""

from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

from kernels_cuda.cuda_options import CUDA
from kernels_cuda.provider_plan import LeftOut, ProviderPlan, ProviderPlans
from kernels_cuda.sdpa_masks import TYPICAL_CALLS, distinct_masks
from spec.capability import AttentionInput, DeviceKind, Hardware, OrtBuild

TF32_SM: Final = 80
"""Compute capability (10 major + minor) from which float32 products can lose precision."""

TENSOR_CORE_SM: Final = 70


def _sorted(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(options))


@frozen
class CudaFacts:
    """What decides which options can matter. None is unknown and rules nothing out."""

    hardware: Hardware
    build: OrtBuild
    user_options: tuple[tuple[str, str], ...] = field(default=(), converter=_sorted)
    """Options that the user gave the provider."""
    attention: tuple[AttentionInput, ...] | None = None
    """The model's attention calls; empty: it has none."""
    has_convolution: bool | None = None
    has_control_flow: bool | None = None
    has_fixed_addresses: bool = False
    """The caller binds the same device buffers at each call, which graph capture needs."""
    tf32: bool = False
    """The user accepts float32 products of reduced precision."""


def cuda_plans(facts: CudaFacts) -> ProviderPlans:
    """Return the plans, best guess first: attention kernels, graph capture, convolutions, TF32.

    Every plan states whether TF32 is on, since the provider's own default is on: what the user set,
    else what the user accepts. No plan for a device that isn't CUDA or is too old for the build.
    """
    device = facts.hardware
    if device.kind is not DeviceKind.CUDA:
        return ProviderPlans((), (LeftOut("cuda", f"{device.name} is no CUDA device"),))
    if device.compute_capability < facts.build.minimum_compute_capability:
        need = ".".join(map(str, facts.build.minimum_compute_capability))
        got = ".".join(map(str, device.compute_capability))
        return ProviderPlans((), (LeftOut("cuda", f"compute capability {got}, need {need}"),))
    masks, collapsed = _masks(facts)
    own = dict(facts.user_options)
    plans: list[ProviderPlan] = []
    left_out = list(collapsed)
    for one in (*masks, _graph(facts), *_convolution(facts), *_tf32_off(facts)):
        if one.option in own:
            left_out.append(LeftOut(one.name, f"the user set {one.option}={own[one.option]}"))
        elif one.obstacle:
            left_out.append(LeftOut(one.name, one.obstacle))
        else:
            options = _tf32(facts) | own | {one.option: one.value}
            captures = options.get("enable_cuda_graph") == "1" and "enable_cuda_graph" not in own
            plans.append(
                ProviderPlan(f"cuda:{one.name}", CUDA, tuple(options.items()), one.notes, captures)
            )
    return ProviderPlans(tuple(plans), tuple(left_out))


@frozen
class _Difference:
    """One option that differs from what the user has."""

    name: str
    option: str
    value: str
    notes: str
    obstacle: str = ""
    """Why it can't matter or can't work here; empty if it can."""


def _tf32(facts: CudaFacts) -> dict[str, str]:
    if facts.hardware.sm < TF32_SM:
        return {}
    return {"use_tf32": str(int(facts.tf32))}


def _masks(facts: CudaFacts) -> tuple[list[_Difference], tuple[LeftOut, ...]]:
    if facts.attention == ():
        return [], (LeftOut("sdpa", "the model has no attention"),)
    calls = TYPICAL_CALLS if facts.attention is None else facts.attention
    masks, collapsed = distinct_masks(calls, facts.hardware, facts.build)
    return [
        _Difference(
            f"sdpa={mask.name}",
            "sdpa_kernel",
            str(mask.bits),
            f"{mask.name} attention kernels, or the unfused one",
        )
        for mask in masks
    ], collapsed


def _graph(facts: CudaFacts) -> _Difference:
    obstacle = ""
    if not facts.has_fixed_addresses:
        obstacle = "graph capture needs bound buffers at fixed addresses"
    elif facts.has_control_flow:
        obstacle = "graph capture allows no control flow"
    return _Difference("graph", "enable_cuda_graph", "1", "one captured graph per shape", obstacle)


def _convolution(facts: CudaFacts) -> tuple[_Difference, ...]:
    none = "the model has no convolution" if facts.has_convolution is False else ""
    search = "cudnn_conv_algo_search"
    cores = "" if facts.hardware.sm >= TENSOR_CORE_SM else "the device has no tensor cores"
    return (
        _Difference(
            "conv=heuristic", search, "HEURISTIC", "convolution algorithms by rule of thumb", none
        ),
        _Difference(
            "conv=default", search, "DEFAULT", "cuDNN's default convolution algorithms", none
        ),
        _Difference("nhwc", "prefer_nhwc", "1", "convolutions with channels last", none or cores),
        _Difference(
            "fuse-conv-bias", "fuse_conv_bias", "1", "convolution and bias in one kernel", none
        ),
    )


def _tf32_off(facts: CudaFacts) -> tuple[_Difference, ...]:
    """Return the exact alternative for a user who accepts reduced precision."""
    if not facts.tf32:
        return ()
    exact = "float32 products on this device are exact" if facts.hardware.sm < TF32_SM else ""
    return (_Difference("tf32=off", "use_tf32", "0", "exact float32 products", exact),)
