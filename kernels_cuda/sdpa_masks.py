"""Values of `sdpa_kernel` that really differ in what runs.

A mask only matters where it makes at least one attention call of the model take another kernel.
Which kernel a call takes follows from device, build, operator, types and shapes, so masks that
resolve alike are one candidate, and a mask under which some call has no kernel is none.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve, field, frozen

from kernels_cuda.provider_plan import LeftOut
from spec.capability import (
    AttentionInput,
    Backend,
    CacheForm,
    ElementType,
    Hardware,
    NothingRunsError,
    Operator,
    OrtBuild,
    resolve,
)


def _set_of(backends: Iterable[Backend]) -> frozenset[Backend]:
    return frozenset(backends)


@frozen
class SdpaMask:
    """A value of the option under the name of what it is for."""

    name: str
    bits: int
    kernels: frozenset[Backend] = field(converter=_set_of)
    """What it is for: where no call takes any of these, the mask is another one in disguise."""


MASKS: Final = (
    SdpaMask(
        "flash", 1, (Backend.FLASH_ATTENTION_2, Backend.FLASH_DECODE, Backend.VARIABLE_LENGTH)
    ),
    SdpaMask("cudnn", 8, (Backend.CUDNN,)),
    SdpaMask("efficient", 2, (Backend.MEMORY_EFFICIENT,)),
    SdpaMask(
        "tensorrt",
        4 | 32 | 64,
        (Backend.TENSORRT_FUSED, Backend.TENSORRT_FLASH, Backend.TENSORRT_CROSS),
    ),
    SdpaMask("math", 16, (Backend.MATH,)),
)
"""In the order they are worth trying. The unfused path, last, wins for very short sequences."""

_PREFILL: Final = AttentionInput(
    operator=Operator.MULTI_HEAD_ATTENTION,
    batch=1,
    query_heads=8,
    kv_heads=8,
    query_length=512,
    key_length=512,
    head_size=64,
    value_head_size=64,
    dtype=ElementType.FLOAT16,
)

TYPICAL_CALLS: Final = (
    _PREFILL,
    evolve(_PREFILL, query_length=64, key_length=64),
    evolve(_PREFILL, query_length=1, key_length=512),
    evolve(_PREFILL, dtype=ElementType.FLOAT32, cache_dtype=ElementType.FLOAT32),
    evolve(
        _PREFILL,
        operator=Operator.GROUP_QUERY_ATTENTION,
        kv_heads=2,
        query_length=1,
        key_length=512,
        past_length=511,
        causal=True,
        cache=CacheForm.APPENDED,
    ),
    evolve(_PREFILL, operator=Operator.ONNX_ATTENTION_23),
    evolve(_PREFILL, operator=Operator.ATTENTION),
)
"""Calls to judge masks by when the model's own are not known."""


def kernels(
    calls: Sequence[AttentionInput], hardware: Hardware, build: OrtBuild, sdpa_kernel: int
) -> tuple[Backend, ...]:
    """Return the kernel that each call takes. Raises `NothingRunsError` where one has none."""
    return tuple(resolve(call, hardware, build, sdpa_kernel) for call in calls)


def distinct_masks(
    calls: Sequence[AttentionInput], hardware: Hardware, build: OrtBuild
) -> tuple[tuple[SdpaMask, ...], tuple[LeftOut, ...]]:
    """Return the masks that differ in effect from the default and from each other, and the rest."""
    try:
        seen = {kernels(calls, hardware, build, 0): "the default"}
    except NothingRunsError as error:
        return (), tuple(LeftOut(f"sdpa={mask.name}", str(error)) for mask in MASKS)
    kept: list[SdpaMask] = []
    left_out: list[LeftOut] = []
    for mask in MASKS:
        try:
            taken = kernels(calls, hardware, build, mask.bits)
        except NothingRunsError as error:
            left_out.append(LeftOut(f"sdpa={mask.name}", str(error)))
            continue
        names = ", ".join(sorted({backend.value for backend in taken}))
        if taken in seen:
            reason = f"takes the kernels of {seen[taken]}: {names}"
            left_out.append(LeftOut(f"sdpa={mask.name}", reason))
            continue
        if mask.kernels.isdisjoint(taken):
            reason = f"no call takes such a kernel: {names}"
            left_out.append(LeftOut(f"sdpa={mask.name}", reason))
            continue
        seen[taken] = f"sdpa={mask.name}"
        kept.append(mask)
    return tuple(kept), tuple(left_out)
