"""Which backends the `sdpa_kernel` option and the environment leave switched on."""

from typing import Final

from attrs import frozen

from spec.capability.attention_operator import Operator
from spec.capability.backend import MATH_BIT, ORDER, Backend, sdpa_bits
from spec.capability.build import OrtBuild, Toggle
from spec.errors import InvalidValue

DEFAULT_MINIMUM_FLASH_PACKED_LENGTH: Final = 513
"""Packed input shorter than this leaves room for the TensorRT kernels, unless the user picks."""
DEFAULT_MINIMUM_EFFICIENT_FP32_LENGTH: Final = 256

CUDNN_AUTO_SM: Final = 90
"""From this compute capability on, cuDNN is preferred unasked."""


@frozen
class KernelOptions:
    """The state an execution provider keeps from its start to its end."""

    sdpa_kernel: int
    bits: int
    """Bits that are on, whether the option or the environment set them."""
    operator: Operator
    cudnn_auto: bool
    """cuDNN may be preferred on new devices though nobody asked for it."""
    minimum_flash_packed_length: int
    minimum_efficient_fp32_length: int

    def allows(self, backend: Backend) -> bool:
        """Whether all bits that the backend needs are on; true for one that needs none."""
        needed = sdpa_bits(backend, self.operator)
        return self.bits & needed == needed

    @property
    def enabled(self) -> frozenset[Backend]:
        """All backends that the bits allow."""
        return frozenset(backend for backend in ORDER if self.allows(backend))


def kernel_options(sdpa_kernel: int, build: OrtBuild, operator: Operator) -> KernelOptions:
    """Options as the CUDA provider derives them; `sdpa_kernel` 0 means unset.

    A positive `sdpa_kernel` switches on exactly the backends whose bits it has, ends the automatic
    preference for cuDNN, and makes both minimum lengths default to 0. Only the two length
    variables are still read then. MATH stays on whatever the bits say. Raises InvalidValue for
    a negative value.

    Source: onnxruntime contrib_ops/cuda/bert/attention_kernel_options.cc.
    """
    if sdpa_kernel < 0:
        raise InvalidValue("sdpa_kernel", str(sdpa_kernel), ">= 0", "C5")
    explicit = sdpa_kernel > 0
    switches = build.switches
    bits = sdpa_kernel | MATH_BIT if explicit else _default_bits(build)
    flash_length = switches.minimum_flash_packed_length
    efficient_length = switches.minimum_efficient_fp32_length
    if flash_length is None:
        flash_length = 0 if explicit else DEFAULT_MINIMUM_FLASH_PACKED_LENGTH
    if efficient_length is None:
        efficient_length = 0 if explicit else DEFAULT_MINIMUM_EFFICIENT_FP32_LENGTH
    return KernelOptions(
        sdpa_kernel=sdpa_kernel,
        bits=bits,
        operator=operator,
        cudnn_auto=not explicit and switches.cudnn_flash_attention is not Toggle.OFF,
        minimum_flash_packed_length=flash_length,
        minimum_efficient_fp32_length=efficient_length,
    )


def _default_bits(build: OrtBuild) -> int:
    switches = build.switches
    on = {
        1: not switches.disable_flash_attention,
        2: not switches.disable_memory_efficient_attention,
        4: not switches.disable_fused_attention,
        8: switches.cudnn_flash_attention is Toggle.ON,
        MATH_BIT: True,
        32: not switches.disable_trt_flash_attention,
        64: not switches.disable_fused_cross_attention,
        256: switches.enable_lean_attention,
        512: not switches.disable_decoder_attention,
    }
    return sum(bit for bit, is_on in on.items() if is_on)
