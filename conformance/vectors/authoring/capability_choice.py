"""Questions about the runtime's own choice, and how to change it (C4 to C8)."""

from typing import Final

from attrs import evolve

from conformance.codec import codec_of
from conformance.vectors.authoring.capability_calls import (
    A100,
    BERT,
    BF16,
    CPU,
    CPU_STEP,
    FP32,
    GPU,
    GQA,
    H100,
    M1,
    MHA,
    ONNX,
    PACKED,
    PACKED_MHA,
    PAGED,
    QUANTIZED,
    STEP,
    T4,
    V100,
    WISHLESS,
    X86,
    call,
)
from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions.capability import (
    OPTIONS,
    RESOLVE,
    SETTINGS,
    SURVEY,
    Asked,
    OptionsAsked,
    ResolveAsked,
    SettingsAsked,
)
from conformance.vectors.vector import Vector
from spec.capability import (
    AttentionInput,
    Backend,
    Configuration,
    ElementType,
    Hardware,
    Operator,
    OrtBuild,
    Switches,
    Toggle,
)

B: Final = Backend
LONG: Final = evolve(MHA, query_length=4096, key_length=4096, causal=True)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about choice."""
    return (
        *_options(),
        *_resolutions(),
        *_settings(),
        *_surveys(),
    )


def _options() -> tuple[Vector, ...]:
    def options(
        name: str, comment: str, option: int, attention: AttentionInput = MHA,
        build: OrtBuild = GPU, *, holds: str = "C5",
    ) -> Vector:  # fmt: skip
        asked = OptionsAsked(option, build, attention)
        return question(f"capability/options/{name}", OPTIONS, asked, comment, holds=holds,
                        flags="usual")  # fmt: skip

    def switched(switches: Switches) -> OrtBuild:
        return evolve(GPU, switches=switches)

    return (
        options("unset", "By default everything but cuDNN and lean has its bit.", 0),
        *(options(f"bit-{bit}", f"Bit {bit} alone; MATH stays on.", bit)
          for bit in (1, 2, 4, 8, 16, 32, 36, 64, 128, 256, 512)),
        options("all-bits", "All bits.", 1023),
        options("tensorrt-flash-alone", "Bit 32 without bit 4 switches nothing on.", 32),
        options("paged", "The paged kernel over split keys needs no bit.", 16, PAGED),
        options("no-flash", "A variable instead of a bit.", 0,
                build=switched(Switches(disable_flash_attention=True))),
        options("no-flash-but-bit", "A bit overrules the variable.", 1,
                build=switched(Switches(disable_flash_attention=True))),
        options("cudnn-on", "Asked for by its variable.", 0,
                build=switched(Switches(cudnn_flash_attention=Toggle.ON))),
        options("cudnn-off", "Off ends the automatic preference too.", 0,
                build=switched(Switches(cudnn_flash_attention=Toggle.OFF))),
        options("lengths", "The length variables are read with bits as well.", 1,
                build=switched(Switches(minimum_flash_packed_length=7,
                                        minimum_efficient_fp32_length=9))),
        raw_question("capability/options/negative", OPTIONS.name, {
            "sdpa_kernel": -1, "build": codec_of(OrtBuild).encode(GPU),
            "attention": codec_of(AttentionInput).encode(MHA)}, "A value under 0.",
            breaks="C5", flags="boundary"),
    )  # fmt: skip


def _resolutions() -> tuple[Vector, ...]:
    def resolved(
        name: str, comment: str, attention: AttentionInput, hardware: Hardware,
        build: OrtBuild = GPU, option: int = 0, *, runs: bool = True,
    ) -> Vector:  # fmt: skip
        asked = ResolveAsked(attention, hardware, build, option)
        return question(f"capability/resolve/{name}", RESOLVE, asked, comment,
                        holds="C6 C8" if runs else "", breaks="" if runs else "C6 C8",
                        flags="usual")  # fmt: skip

    step_bf16 = evolve(CPU_STEP, dtype=BF16, cache_dtype=BF16)
    newer = call(Operator.ONNX_ATTENTION_25, 512, 512)
    return (
        resolved("ampere", "MultiHeadAttention on compute capability 8.0.", MHA, A100),
        resolved("hopper", "On 9.0 cuDNN is tried first.", MHA, H100),
        resolved("turing", "On 7.5.", MHA, T4),
        resolved("volta-dropped", "A GPU that the toolkit dropped: the node goes to the CPU.",
                 MHA, V100),
        resolved("bert", "com.microsoft.Attention.", BERT, A100),
        resolved("onnx", "ONNX Attention of opset 24.", ONNX, A100),
        resolved("onnx-25", "Opset 25 has no kernel: the function body.", newer, A100),
        resolved("onnx-25-cpu", "On the CPU as well.", newer, X86, CPU),
        resolved("onnx-25-bfloat16-cpu", "A body that the CPU has no bfloat16 kernels for.",
                 evolve(newer, dtype=BF16, cache_dtype=BF16), X86, CPU, runs=False),
        resolved("decode", "A decode step of grouped queries: XQA.", GQA, A100),
        resolved("decode-turing", "On 7.5 XQA has no kernel.", GQA, T4),
        resolved("decode-float32", "Float32 has no CUDA kernel: the CPU.",
                 CPU_STEP, A100),
        resolved("decode-cpu", "Grouped queries on the CPU.", CPU_STEP, X86, CPU),
        resolved("decode-bfloat16-cpu", "bfloat16 has no CPU kernel.", step_bf16, X86, CPU,
                 runs=False),
        resolved("packed", "Packed attention.", PACKED, A100),
        resolved("packed-multi-head", "Ragged kernel.", PACKED_MHA, A100),
        resolved("packed-on-cpu", "Nobody takes it on the CPU.", PACKED, X86, CPU, runs=False),
        resolved("paged", "Paged attention.", PAGED, A100),
        resolved("quantized", "An int8 cache on CUDA.", QUANTIZED, A100),
        resolved("quantized-not-compiled", "A build without the cache's type.", QUANTIZED, A100,
                 evolve(GPU, cache_types=frozenset())),
        resolved("quantized-int4", "An int4 cache.",
                 evolve(QUANTIZED, cache_dtype=ElementType.INT4), A100),
        resolved("beam-step", "One token with beams.", STEP, A100),
        resolved("cpu", "Float32 on the CPU.", evolve(MHA, dtype=FP32, cache_dtype=FP32), X86,
                 CPU),
        resolved("cpu-float16", "Float16 through casts.", MHA, X86, CPU),
        resolved("metal", "An Apple GPU is none of CUDA's: the CPU.", MHA, M1, CPU),
        resolved("option-math", "Bit 16 leaves MATH.", MHA, A100, GPU, 16),
        resolved("option-efficient", "Bit 2.", MHA, A100, GPU, 2),
        resolved("option-cudnn", "Bit 8 on Ampere.", MHA, A100, GPU, 8),
        resolved("option-of-nobody", "Bit 128 was removed: MATH is left.", MHA, A100, GPU, 128),
        resolved("long-causal", "4096 causal tokens.", LONG, A100),
        resolved("no-cuda-in-the-build", "A CPU wheel on a machine with a GPU.", MHA, A100, CPU),
    )  # fmt: skip


def _settings() -> tuple[Vector, ...]:
    def settings(
        name: str, comment: str, backend: Backend, attention: AttentionInput,
        hardware: Hardware = A100, build: OrtBuild = GPU, *, reached: bool = True,
    ) -> Vector:  # fmt: skip
        asked = SettingsAsked(backend, attention, hardware, build)
        return question(f"capability/settings/{name}", SETTINGS, asked, comment,
                        holds="C8" if reached else "", breaks="" if reached else "C8",
                        flags="usual")  # fmt: skip

    return (
        settings("nothing-to-do", "What runs by itself needs nothing.", B.FLASH_ATTENTION_2, MHA),
        settings("by-bit", "Its own bit.", B.MEMORY_EFFICIENT, MHA),
        settings("math", "Bit 16.", B.MATH, MHA),
        settings("cudnn", "Bit 8.", B.CUDNN, MHA),
        settings("tensorrt-flash", "Two bits.", B.TENSORRT_FLASH, MHA),
        settings("flash-decode-behind-xqa", "XQA answers to its variable only.", B.FLASH_DECODE,
                 GQA),
        settings("math-behind-xqa", "As long as XQA holds nothing else runs.", B.MATH, GQA),
        settings("cpu-math", "The tiled CPU kernel is switched off by its variable.", B.MATH,
                 evolve(MHA, dtype=FP32, cache_dtype=FP32), X86, CPU),
        settings("not-compiled", "What the build lacks no setting brings.", B.FLASH_ATTENTION_3,
                 MHA, H100, reached=False),
        settings("wrong-device", "What the device lacks no setting brings.", B.FLASH_ATTENTION_2,
                 MHA, T4, reached=False),
        settings("wrong-operator", "What the operator never tries no setting brings.", B.XQA,
                 MHA, reached=False),
    )  # fmt: skip


def _surveys() -> tuple[Vector, ...]:
    def surveyed(
        name: str, comment: str, attention: AttentionInput, hardware: Hardware,
        build: OrtBuild = GPU, wishes: Configuration = WISHLESS, *, runs: bool = True,
    ) -> Vector:  # fmt: skip
        asked = Asked(attention, hardware, wishes, build)
        return question(f"capability/survey/{name}", SURVEY, asked, comment,
                        holds="C7 C4" if runs else "", breaks="" if runs else "C7 C4",
                        flags="usual")  # fmt: skip

    budget = Configuration(memory_budget_bytes=4_194_304 + 16_777_216)
    return (
        surveyed("ampere", "Every backend once.", MHA, A100),
        surveyed("hopper", "On 9.0.", MHA, H100),
        surveyed("turing", "On 7.5.", MHA, T4),
        surveyed("decode", "A decode step.", GQA, A100),
        surveyed("cpu", "On the CPU.", evolve(MHA, dtype=FP32, cache_dtype=FP32), X86, CPU),
        surveyed("nothing", "PackedAttention on the CPU: nobody.", PACKED, X86, CPU, runs=False),
        surveyed("budget", "A budget of 20 MiB leaves out who needs more.", MHA, A100, GPU,
                 budget),
        surveyed("deterministic", "Kernels that split by processors are left out.", GQA, A100,
                 GPU, Configuration(deterministic=True)),
        surveyed("minimum-length-exempts-decode", "A decode step is exempt from the minimum "
                 "length.", GQA, A100, GPU, Configuration(minimum_flash_length=512)),
        surveyed("all-disabled", "With all others disabled MATH remains.", MHA, A100, GPU,
                 Configuration(disabled=frozenset(set(Backend) - {B.MATH}))),
        surveyed("only-kernel-disabled", "An operator with one kernel, and that one disabled.",
                 evolve(call(Operator.DECODER_MASKED_SELF_ATTENTION, 1, 512, past=511)), A100,
                 GPU, Configuration(disabled=frozenset({B.DECODER_MASKED})), runs=False),
    )  # fmt: skip
