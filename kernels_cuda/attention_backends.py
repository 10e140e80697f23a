"""The bits of `sdpa_kernel`, the CUDA option that says which attention kernels may run.

Once per provider instance: a positive option is taken as it is, otherwise environment variables
decide, so variables that are set after the session exists do nothing. A positive option also ends
the automatic preference for cuDNN (compute capability 9.0 and newer), and lets short sequences use
kernels that the default keeps for longer ones. MATH can't be switched off.

XQA, the paged and the latent kernels have no bit: the variable ORT_ENABLE_XQA governs the first.
"""

from enum import Enum
from typing import Final

from attrs import frozen

SOURCE: Final = (
    "onnxruntime contrib_ops/cpu/bert/attention_common.h and "
    "contrib_ops/cuda/bert/attention_kernel_options.cc at 89b01b406c (2026-08-22); "
    "strings of onnxruntime-gpu 1.31.1"
)


class DefaultState(Enum):
    """Whether a kernel may run when neither the option nor a variable says anything."""

    ON = "on"
    OFF = "off"
    ON_NEW_DEVICES = "on from compute capability 9.0"
    ALWAYS = "always, whatever the option says"
    ABSENT = "not in the binaries"


@frozen
class SdpaBit:
    """One bit of the option."""

    bit: int
    name: str
    """As ONNX Runtime's debug output prints it."""
    default: DefaultState
    variable: str = ""
    """The environment variable that changes the default; empty if none does."""
    set_to: str = ""
    """The value that switches the kernel away from its default."""
    until: tuple[int, int] | None = None
    """The first release without it."""


SDPA_BITS: Final = (
    SdpaBit(1, "FLASH_ATTENTION", DefaultState.ON, "ORT_DISABLE_FLASH_ATTENTION", "1"),
    SdpaBit(
        2, "EFFICIENT_ATTENTION", DefaultState.ON, "ORT_DISABLE_MEMORY_EFFICIENT_ATTENTION", "1"
    ),
    SdpaBit(4, "TRT_FUSED_ATTENTION", DefaultState.ON, "ORT_DISABLE_FUSED_ATTENTION", "1"),
    SdpaBit(
        8,
        "CUDNN_FLASH_ATTENTION",
        DefaultState.ON_NEW_DEVICES,
        "ORT_ENABLE_CUDNN_FLASH_ATTENTION",
        "1",
    ),
    SdpaBit(16, "MATH", DefaultState.ALWAYS),
    SdpaBit(32, "TRT_FLASH_ATTENTION", DefaultState.ON, "ORT_DISABLE_TRT_FLASH_ATTENTION", "1"),
    SdpaBit(64, "TRT_CROSS_ATTENTION", DefaultState.ON, "ORT_DISABLE_FUSED_CROSS_ATTENTION", "1"),
    SdpaBit(
        128,
        "TRT_CAUSAL_ATTENTION",
        DefaultState.ABSENT,
        "ORT_ENABLE_FUSED_CAUSAL_ATTENTION",
        "1",
        until=(1, 28),
    ),
    SdpaBit(256, "LEAN_ATTENTION", DefaultState.ABSENT, "ORT_ENABLE_LEAN_ATTENTION", "1"),
    SdpaBit(512, "DECODER_ATTENTION", DefaultState.ON, "ORT_DISABLE_DECODER_ATTENTION", "1"),
)
"""Every bit, lowest first."""


def describe_mask(sdpa_kernel: int) -> tuple[str, ...]:
    """Return the names of the kernels that a positive option lets run, MATH included."""
    return tuple(
        entry.name
        for entry in SDPA_BITS
        if sdpa_kernel & entry.bit or entry.default is DefaultState.ALWAYS
    )
