"""Advice about one attention call on the hardware at hand, without measuring anything."""

import logging
from collections.abc import Iterable
from functools import cache
from typing import Final

from attrs import frozen

from ortsel.environment.nvidia_device import NoGpu, read_gpu
from ortsel.environment.runtime_build import read_build, read_cpu
from ortsel.errors import MissingPackageError, UsageError
from spec.capability import (
    Advice,
    AttentionInput,
    Configuration,
    ElementType,
    Hardware,
    Observation,
    Operator,
    OrtBuild,
    Provider,
    advise,
)

logger: Final = logging.getLogger("ortsel")


@frozen
class DetectedHardware:
    """What this process would run attention on."""

    hardware: Hardware
    build: OrtBuild
    why_no_gpu: str = ""
    """Empty where the hardware is a GPU."""


@cache
def detected_hardware() -> DetectedHardware:
    """Return the hardware and the ONNX Runtime of this process; read at the first call only.

    The GPU counts where the installed ONNX Runtime has the CUDA provider, the CPU otherwise.
    """
    build = read_build()
    if Provider.CUDA not in build.providers:
        return DetectedHardware(read_cpu(), build, "this ONNX Runtime has no CUDA provider")
    try:
        gpu = read_gpu()
    except MissingPackageError as error:
        gpu = NoGpu(str(error))
    if isinstance(gpu, NoGpu):
        logger.warning("ortsel: advice is for the CPU: %s", gpu.reason)
        return DetectedHardware(read_cpu(), build, gpu.reason)
    return DetectedHardware(gpu, build)


def advise_attention(
    attention: AttentionInput | None = None,
    /,
    *,
    batch: int = 1,
    heads: int | None = None,
    kv_heads: int | None = None,
    query_length: int | None = None,
    key_length: int | None = None,
    head_size: int | None = None,
    dtype: str = "float32",
    causal: bool = False,
    operator: str | Operator = Operator.MULTI_HEAD_ATTENTION,
    configuration: Configuration | None = None,
    hardware: Hardware | None = None,
    build: OrtBuild | None = None,
    history: Iterable[Observation] = (),
) -> Advice:
    """Recommend an attention backend for a call: which, why, how sure, what else, what not and why.

        advice = ortsel.advise_attention(
            heads=32, query_length=1, key_length=8192, head_size=128, causal=True
        )
        print(advice.backend.value, float(advice.expected_speedup), advice.reason)

    The call is given by its sizes, or whole as an `AttentionInput`. `kv_heads` are `heads` unless
    given, `key_length` is `query_length`; `dtype` is named as ONNX does ("float32", "float16",
    "bfloat16"), `operator` as "com.microsoft.MultiHeadAttention" or "Attention.24". Hardware and
    ONNX Runtime are those of this process, detected once, unless given: `spec.capability.PRESETS`
    has well-known devices for planning. `history` are measured calls, which overrule the rules of
    thumb.

    Raises `UsageError` for a size that is missing or a name that is unknown,
    `spec.errors.InvalidValue` for a call that cannot be, and `spec.capability.NothingRunsError`
    where no kernel can run it, with the rule that excludes each.
    """
    call = attention
    if call is None:
        sizes = {"heads": heads, "query_length": query_length, "head_size": head_size}
        missing = [name for name, size in sizes.items() if size is None]
        if heads is None or query_length is None or head_size is None:
            raise UsageError("attention", f"no {', '.join(missing)}", "sizes or an AttentionInput")
        call = AttentionInput(
            operator=_operator(operator),
            batch=batch,
            query_heads=heads,
            kv_heads=heads if kv_heads is None else kv_heads,
            query_length=query_length,
            key_length=query_length if key_length is None else key_length,
            head_size=head_size,
            value_head_size=head_size,
            dtype=_element_type(dtype),
            causal=causal,
        )
    elif not isinstance(call, AttentionInput):
        raise UsageError("attention", repr(call), "a spec.capability.AttentionInput")
    if hardware is None or build is None:
        detected = detected_hardware()
        hardware = detected.hardware if hardware is None else hardware
        build = detected.build if build is None else build
    wishes = Configuration() if configuration is None else configuration
    return advise(call, hardware, wishes, build, history)


def _operator(name: str | Operator) -> Operator:
    try:
        return Operator(name)
    except ValueError as error:
        known = ", ".join(operator.value for operator in Operator)
        raise UsageError("operator", repr(name), f"one of {known}") from error


def _element_type(name: str) -> ElementType:
    try:
        return ElementType(name)
    except ValueError as error:
        known = ", ".join(kind.value for kind in ElementType)
        raise UsageError("dtype", repr(name), f"one of {known}") from error
