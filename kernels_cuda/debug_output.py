"""Which attention kernel really ran, read from ONNX Runtime's debug output.

With ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO=1 the CUDA provider prints to the C library's standard
output: once its options, then a line for each attention node at each run. The variable is read when
a provider instance starts. Names of kernels are those of the option's bits, with XQA and LATENT.

Three of its words need care (onnxruntime contrib_ops/cuda/bert at 89b01b406c, 2026-08-22):
MultiHeadAttention says MATH for its decoder-masked kernel; it goes on saying TRT_FUSED or TRT_FLASH
once such a runner was made, even for a later run by another kernel; and a fused runner is named
before cuDNN. Whoever wants to be sure runs one shape in one session.
"""

import re
from typing import Final

from attrs import frozen

from spec.capability import Backend

VARIABLE: Final = "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO"

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")
_FIELD: Final = re.compile(r"(\w+)=(\S+)")

BACKENDS: Final[dict[str, frozenset[Backend]]] = {
    "XQA": frozenset({Backend.XQA}),
    "FLASH_ATTENTION": frozenset(
        {Backend.FLASH_ATTENTION_2, Backend.FLASH_DECODE, Backend.VARIABLE_LENGTH}
    ),
    "LEAN_ATTENTION": frozenset({Backend.LEAN}),
    "EFFICIENT_ATTENTION": frozenset({Backend.MEMORY_EFFICIENT}),
    "TRT_FUSED_ATTENTION": frozenset({Backend.TENSORRT_FUSED}),
    "CUDNN_FLASH_ATTENTION": frozenset({Backend.CUDNN}),
    "TRT_FLASH_ATTENTION": frozenset({Backend.TENSORRT_FLASH}),
    "TRT_CROSS_ATTENTION": frozenset({Backend.TENSORRT_CROSS}),
    "DECODER_ATTENTION": frozenset({Backend.DECODER_MASKED}),
    "MATH": frozenset({Backend.MATH, Backend.DECODER_MASKED}),
}
"""What a word may stand for. LATENT is no backend of the reference model."""


@frozen
class KernelRun:
    """One attention node at one run."""

    operator: str
    node: str
    dtype: str
    """ "fp16", "bf16" or "fp32"; empty if it was not said."""
    kernel: str
    """The word after SdpaKernel, as printed."""

    def may_be(self, backend: Backend) -> bool:
        """Whether this line can come from a backend."""
        return backend in BACKENDS.get(_full(self.kernel), frozenset())


def kernel_runs(output: str) -> tuple[KernelRun, ...]:
    """Return the runs that a process printed, in order. Other lines are passed over."""
    runs = []
    for line in _ANSI.sub("", output).splitlines():
        fields = dict(_FIELD.findall(line))
        if "SdpaKernel" in fields and "Operator" in fields:
            runs.append(
                KernelRun(
                    fields["Operator"],
                    fields.get("Node", ""),
                    fields.get("DataType", ""),
                    fields["SdpaKernel"],
                )
            )
    return tuple(runs)


def enabled_kernels(output: str) -> dict[str, bool]:
    """Return the provider's options as it printed them at its start, the last print counting."""
    _, found, rest = _ANSI.sub("", output).rpartition("AttentionKernelOptions:")
    if not found:
        return {}
    options = {}
    for name, value in _FIELD.findall(rest.partition("Operator=")[0]):
        if value in {"0", "1"}:
            options[name] = value == "1"
    return options


def _full(word: str) -> str:
    """Return a bit's name for a word, which may lack its ending."""
    return word if word in BACKENDS else f"{word}_ATTENTION"
