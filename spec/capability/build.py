"""The ONNX Runtime at hand as a value: version, compiled kernels, libraries, switches."""

from enum import Enum
from typing import Final

from attrs import frozen

from spec.capability.backend import CUSTOM_BACKENDS, ORDER, Backend
from spec.capability.element_type import ElementType
from spec.errors import InvalidValue

RULE = "C3"


class Provider(Enum):
    """Which execution provider took the node."""

    CUDA = "cuda"
    CPU = "cpu"
    INLINED = "inlined"
    """No kernel: the operator's function body was put in its place."""
    NOWHERE = "nowhere"
    """No kernel and no function body: the session can't be created."""


class Toggle(Enum):
    """An environment variable with three meanings."""

    UNSET = "unset"
    ON = "on"
    OFF = "off"


@frozen
class Switches:
    """Environment variables that change attention kernels, as values. Defaults mean: not set.

    All of them are read once, when a provider instance starts.
    """

    disable_flash_attention: bool = False
    """ORT_DISABLE_FLASH_ATTENTION"""
    disable_memory_efficient_attention: bool = False
    """ORT_DISABLE_MEMORY_EFFICIENT_ATTENTION"""
    disable_fused_attention: bool = False
    """ORT_DISABLE_FUSED_ATTENTION"""
    disable_trt_flash_attention: bool = False
    """ORT_DISABLE_TRT_FLASH_ATTENTION"""
    disable_fused_cross_attention: bool = False
    """ORT_DISABLE_FUSED_CROSS_ATTENTION"""
    cudnn_flash_attention: Toggle = Toggle.UNSET
    """ORT_ENABLE_CUDNN_FLASH_ATTENTION; off also ends the automatic preference."""
    enable_lean_attention: bool = False
    """ORT_ENABLE_LEAN_ATTENTION"""
    disable_decoder_attention: bool = False
    """ORT_DISABLE_DECODER_ATTENTION, read by the CUDA and the CPU provider."""
    enable_xqa: bool = True
    """ORT_ENABLE_XQA"""
    enable_xqa_native_kv: bool = False
    """ORT_ENABLE_XQA_NATIVE_KV, for paged caches in the query's type."""
    disable_flash_decode: bool = False
    """ORT_DISABLE_FLASH_DECODE"""
    gqa_disable_flash_attention: bool = False
    """ORT_GQA_DISABLE_FLASH_ATTENTION, read by the CPU provider."""
    minimum_flash_packed_length: int | None = None
    """ORT_MIN_SEQ_LEN_FLASH_ATTENTION_PACKED_QKV"""
    minimum_efficient_fp32_length: int | None = None
    """ORT_MIN_SEQ_LEN_EFFICIENT_ATTENTION_FP32"""


@frozen
class OrtBuild:
    """One ONNX Runtime installation.

    `compiled` holds the backends whose kernels are in the binary; MATH is always among them.
    `cudnn` is (0, 0, 0) where the library is absent. `minimum_compute_capability` is the oldest GPU
    the CUDA toolkit of the build still serves (CUDA 13: 7.5).
    """

    version: tuple[int, int, int]
    providers: frozenset[Provider]
    compiled: frozenset[Backend]
    cudnn: tuple[int, int, int] = (0, 0, 0)
    minimum_compute_capability: tuple[int, int] = (7, 5)
    cache_types: frozenset[ElementType] = frozenset()
    """Quantized cache types that the CUDA kernels were compiled for."""
    xqa_shared_memory_bytes: int = 0
    """Shared memory that the build's XQA kernel asks for on this device; 0 when unknown."""
    switches: Switches = Switches()

    def __attrs_post_init__(self) -> None:
        wrong = self.providers - {Provider.CUDA, Provider.CPU}
        if wrong or Provider.CPU not in self.providers:
            got = ", ".join(sorted(provider.value for provider in self.providers))
            raise InvalidValue("build.providers", got, "cpu, or cpu and cuda", RULE)
        if Backend.MATH not in self.compiled:
            raise InvalidValue("build.compiled", "no math", "math, which every build has", RULE)
        if min(self.version) < 0 or min(self.cudnn) < 0 or self.xqa_shared_memory_bytes < 0:
            raise InvalidValue("build", "a negative number", "versions and sizes >= 0", RULE)


_STOCK_CUDA: Final = frozenset(ORDER) - CUSTOM_BACKENDS - {Backend.LEAN}
_STOCK_CPU: Final = frozenset(
    {Backend.MATH, Backend.CPU, Backend.FLASH_DECODE, Backend.DECODER_MASKED}
)

GPU_WHEEL_1_31: Final = OrtBuild(
    version=(1, 31, 1),
    providers=frozenset({Provider.CUDA, Provider.CPU}),
    compiled=_STOCK_CUDA,
    cudnn=(9, 14, 0),
    cache_types=frozenset({ElementType.INT8, ElementType.INT4, ElementType.FLOAT8_E4M3}),
)
"""The stock onnxruntime-gpu 1.31.1 wheel (CUDA 13; int4 and fp8 caches) beside cuDNN 9.14.

Its binaries hold no trace of lean attention, FlashAttention 3 or Metal kernels.
"""

CPU_WHEEL_1_32: Final = OrtBuild(
    version=(1, 32, 0), providers=frozenset({Provider.CPU}), compiled=_STOCK_CPU
)
"""The stock onnxruntime 1.32.0 wheel."""
