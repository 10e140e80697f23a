"""Questions about placement, options, settings, advice, work, memory and keys (C1 to C14)."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from conformance.codec import codec_of
from conformance.vectors.authoring.capability_calls import (
    A100,
    BERT,
    BF16,
    CPU,
    CPU_STEP,
    EXTERNAL,
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
    ADVISE,
    MEMORY,
    OPTIONS,
    RESOLVE,
    SAME,
    SETTINGS,
    SURVEY,
    WORK,
    AdviceAsked,
    Asked,
    Measured,
    MemoryAsked,
    OptionsAsked,
    ResolveAsked,
    SettingsAsked,
    TwoCases,
    WorkAsked,
)
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.capability import (
    AttentionInput,
    Backend,
    CacheForm,
    Configuration,
    ElementType,
    Hardware,
    MaskKind,
    Objective,
    Operator,
    OrtBuild,
    Provider,
    ScoresOutput,
    Switches,
    Toggle,
)

B: Final = Backend
LONG: Final = evolve(MHA, query_length=4096, key_length=4096, causal=True)
SHORT: Final = evolve(MHA, query_length=100, key_length=100)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of all groups but those of single rules."""
    return (
        *_values(),
        *_more_values(),
        *_options(),
        *_resolutions(),
        *_settings(),
        *_surveys(),
        *_advice(),
        *_measured(),
        *_work(),
        *_memory(),
        *_keys(),
    )


def _accepts(
    group: str, name: str, word: str, value: Json, rule: str, comment: str, *, accepted: bool
) -> Vector:
    return raw_question(f"capability/{group}/{name}", "accepts", {"type": word, "value": value},
                        comment, holds=rule if accepted else "",
                        breaks="" if accepted else rule, flags="boundary types")  # fmt: skip


def _changed(value: object, changes: Mapping[str, Json]) -> Json:
    encoded = codec_of(type(value)).encode(value)
    assert isinstance(encoded, dict), "values with fields are objects"
    return {**encoded, **changes}


def _values() -> tuple[Vector, ...]:
    def device(name: str, comment: str, changes: Mapping[str, Json], *, accepted: bool) -> Vector:
        return _accepts("device", name, "hardware", _changed(A100, changes), "C1", comment,
                        accepted=accepted)  # fmt: skip

    def build(name: str, comment: str, changes: Mapping[str, Json], *, accepted: bool) -> Vector:
        return _accepts("build", name, "ort-build", _changed(GPU, changes), "C3", comment,
                        accepted=accepted)  # fmt: skip

    def wish(name: str, comment: str, value: Json, *, accepted: bool) -> Vector:
        return _accepts("wishes", name, "configuration", value, "C4", comment,
                        accepted=accepted)  # fmt: skip

    return (
        device("usual", "A board as its vendor describes it.", {}, accepted=True),
        device("no-name", "A device without a name.", {"name": ""}, accepted=False),
        device("no-units", "At least one processor.", {"compute_units": 0}, accepted=False),
        device("nothing-free", "No memory free is a fact.", {"available_memory_bytes": 0},
               accepted=True),
        device("more-free-than-there-is", "More memory free than there is.",
               {"available_memory_bytes": 80_000_000_001}, accepted=False),
        device("cuda-without-capability", "A CUDA device has a compute capability.",
               {"compute_capability": [0, 0]}, accepted=False),
        device("cpu-with-capability", "Others have none.", {"kind": "cpu"}, accepted=False),
        device("cpu", "A CPU has 0.0.", {"kind": "cpu", "compute_capability": [0, 0]},
               accepted=True),
        device("minor-of-ten", "Minor 10 would run into the major.",
               {"compute_capability": [8, 10]}, accepted=False),
        device("unknown-cache", "0 is unknown.", {"l2_cache_bytes": 0}, accepted=True),
        device("negative-bandwidth", "Less than none.", {"memory_bandwidth_bytes_per_s": -1},
               accepted=False),
        build("usual", "A wheel as it is.", {}, accepted=True),
        build("no-cpu", "Every build has the CPU provider.", {"providers": ["cuda"]},
              accepted=False),
        build("no-math", "Every build has MATH.", {"compiled": ["cudnn"]}, accepted=False),
        build("math-only", "MATH alone will do.", {"compiled": ["math"]}, accepted=True),
        build("nowhere-as-provider", "Nowhere is a placement, not a provider.",
              {"providers": ["cpu", "nowhere"]}, accepted=False),
        build("negative-version", "A version under 0.", {"version": [1, -1, 0]}, accepted=False),
        wish("none", "No wishes.", {}, accepted=True),
        wish("one-preferred", "One preference.", {"preferred": ["cudnn"]}, accepted=True),
        wish("two-preferred", "Two are one too many.", {"preferred": ["cudnn", "xqa"]},
             accepted=False),
        wish("math-disabled", "MATH can't be disabled.", {"disabled": ["math"]},
             accepted=False),
        wish("budget-negative", "Fewer bytes than none.", {"memory_budget_bytes": -1},
             accepted=False),
        wish("budget-zero", "0 sets no limit.", {"memory_budget_bytes": 0}, accepted=True),
        wish("length-negative", "Shorter than nothing.", {"minimum_flash_length": -1},
             accepted=False),
        wish("same-disabled-twice", "A set has no member twice.",
             {"disabled": ["xqa", "xqa"]}, accepted=False),
    )  # fmt: skip


def _more_values() -> tuple[Vector, ...]:
    def attention(
        name: str,
        comment: str,
        base: AttentionInput,
        changes: Mapping[str, Json],
        *,
        accepted: bool,
    ) -> Vector:
        return _accepts("call", name, "attention-input", _changed(base, changes), "C2", comment,
                        accepted=accepted)  # fmt: skip

    return (
        attention("usual", "A plain call.", MHA, {}, accepted=True),
        attention("no-batch", "At least one sequence.", MHA, {"batch": 0}, accepted=False),
        attention("no-queries", "At least one query.", MHA, {"query_length": 0}, accepted=False),
        attention("heads-not-a-multiple", "8 query heads over 3.", MHA, {"kv_heads": 3},
                  accepted=False),
        attention("one-key-head", "8 query heads over 1.", MHA, {"kv_heads": 1}, accepted=True),
        attention("past-and-queries-make-keys", "511 + 1 = 512.", GQA, {}, accepted=True),
        attention("past-and-queries-miss-keys", "510 + 1 is not 512.", GQA,
                  {"past_length": 510}, accepted=False),
        attention("past-without-cache", "A past needs a cache.", MHA, {"past_length": 1},
                  accepted=False),
        attention("external-of-opset-23", "An external cache came with opset 24.", EXTERNAL,
                  {"operator": "Attention.23"}, accepted=False),
        attention("external", "Opset 24 has it.", EXTERNAL, {}, accepted=True),
        attention("paged-elsewhere", "Only PagedAttention is paged.", GQA,
                  {"cache": "paged", "page_size": 16}, accepted=False),
        attention("paged-without-pages", "A page has a size.", PAGED, {"page_size": 0},
                  accepted=False),
        attention("int8-query", "Only caches are quantized.", MHA,
                  {"dtype": "int8", "cache_dtype": "int8"}, accepted=False),
        attention("quantized-without-scale", "Another type needs a scale.", QUANTIZED,
                  {"cache_scale": "none"}, accepted=False),
        attention("scale-without-cache", "A scale of no cache.", MHA,
                  {"cache_scale": "per_tensor", "cache_dtype": "int8"}, accepted=False),
        attention("dropout-one", "Dropping everything.", MHA, {"dropout": [1, 1]},
                  accepted=False),
        attention("dropout-almost-one", "999/1000.", MHA, {"dropout": [999, 1000]},
                  accepted=True),
        attention("softcap-negative", "A cap under 0.", MHA, {"softcap": [-1, 1]},
                  accepted=False),
        attention("ragged", "Two sequences of their own lengths.", PACKED,
                  {"sequence_lengths": [1, 512]}, accepted=True),
        attention("ragged-too-long", "513 of at most 512.", PACKED,
                  {"sequence_lengths": [1, 513]}, accepted=False),
        attention("ragged-too-few", "One length for two sequences.", PACKED,
                  {"sequence_lengths": [512]}, accepted=False),
        attention("ragged-elsewhere", "Padded operators have none.", MHA,
                  {"sequence_lengths": [512, 512]}, accepted=False),
        attention("window-negative", "A window under 0.", MHA, {"local_window": -1},
                  accepted=False),
    )  # fmt: skip


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


def _advised(
    name: str,
    comment: str,
    attention: AttentionInput,
    hardware: Hardware = A100,
    *measured: Measured,
    wishes: Configuration = WISHLESS,
    build: OrtBuild = GPU,
    holds: str = "",
    breaks: str = "",
    flags: str = "usual",
) -> Vector:
    asked = AdviceAsked(Asked(attention, hardware, wishes, build), measured)
    return question(f"capability/advice/{name}", ADVISE, asked, comment, holds=holds,
                    breaks=breaks, flags=flags)  # fmt: skip


def _advice() -> tuple[Vector, ...]:
    latency = Configuration(objective=Objective.LATENCY)
    throughput = Configuration(objective=Objective.THROUGHPUT)
    debug = Configuration(debug=True)
    prefers = Configuration(preferred=(B.MEMORY_EFFICIENT,))
    cannot = Configuration(preferred=(B.XQA,))
    masked = call(Operator.DECODER_MASKED_SELF_ATTENTION, 1, 512, past=511)
    nothing = Configuration(disabled=frozenset({B.DECODER_MASKED}))
    return (
        _advised("long-prompt", "4096 causal tokens on Ampere.", LONG, holds="C13"),
        _advised("long-prompt-hopper", "The same on Hopper: cuDNN.", LONG, H100, holds="C13"),
        _advised("short-prompt", "100 tokens: no business of flash.", SHORT, breaks="C13"),
        _advised("decode", "A decode step over 512 keys.", GQA, holds="C13"),
        _advised("decode-long", "Over 32768 keys.",
                 evolve(GQA, key_length=32768, past_length=32767), holds="C13",
                 flags="boundary"),
        _advised("latency", "Speed-up before score.", LONG, wishes=latency, holds="C13"),
        _advised("throughput", "Score, then less memory.", LONG, wishes=throughput, holds="C13"),
        _advised("cpu", "On the CPU.", evolve(MHA, dtype=FP32, cache_dtype=FP32), X86,
                 build=CPU, holds="C13"),
        _advised("length-2047", "One token short of the long rating.",
                 evolve(MHA, query_length=2047, key_length=2047), holds="C13", flags="boundary"),
        _advised("length-2048", "The long rating.",
                 evolve(MHA, query_length=2048, key_length=2048), holds="C13", flags="boundary"),
        _advised("debug", "Debug takes MATH where it can run.", LONG, wishes=debug, holds="C14"),
        _advised("debug-without-math", "MATH cannot: a remark, and the ranking.", masked,
                 wishes=debug, breaks="C14"),
        _advised("preferred", "A preference that can run.", LONG, wishes=prefers, holds="C14"),
        _advised("preferred-cannot", "One that cannot: a remark.", LONG, wishes=cannot,
                 breaks="C14"),
        _advised("preferred-before-measured", "A wish goes before measurements.", LONG, A100,
                 Measured(B.FLASH_ATTENTION_2, (100, 100, 100)), wishes=prefers, holds="C14"),
        _advised("nothing-runs", "The only kernel is disabled: nothing can be advised.", masked,
                 wishes=nothing, breaks="C4 C7", flags="empty"),
    )  # fmt: skip


def _measured() -> tuple[Vector, ...]:
    flash, efficient, math = B.FLASH_ATTENTION_2, B.MEMORY_EFFICIENT, B.MATH

    def m(backend: Backend, *latencies_ns: int, elsewhere: bool = False) -> Measured:
        return Measured(backend, latencies_ns, elsewhere)

    return (
        _advised("two-samples", "Two samples are no measurement.", LONG, A100,
                 m(flash, 900, 900), m(efficient, 100, 100), breaks="C11", flags="boundary"),
        _advised("three-samples", "Three are: the measured one that is faster wins.", LONG, A100,
                 m(flash, 900, 900, 900), m(efficient, 100, 100, 100), holds="C11 C12",
                 flags="boundary"),
        _advised("another-workload", "Measurements of another call say nothing.", LONG, A100,
                 m(flash, 900, 900, 900, elsewhere=True),
                 m(efficient, 100, 100, 100, elsewhere=True), breaks="C11", flags="trust"),
        _advised("without-the-favourite", "The favourite was not measured: it stays, with a "
                 "remark.", LONG, A100, m(efficient, 100, 100, 100), m(math, 900, 900, 900),
                 breaks="C12", flags="trust"),
        _advised("against-math", "With MATH measured, speed-ups are ratios of medians: "
                 "1000/250 = 4.", LONG, A100, m(flash, 200, 250, 300), m(math, 900, 1000, 1100),
                 holds="C12", flags="exact"),
        _advised("against-the-favourite", "Without MATH they scale with the favourite's guess.",
                 LONG, A100, m(flash, 200, 300, 400), m(efficient, 100, 200, 300), holds="C12",
                 flags="exact"),
        _advised("even-count", "Four samples: the median is the mean of the middle two.", LONG,
                 A100, m(flash, 1, 4, 2, 3), m(math, 10, 10, 10, 11), holds="C12",
                 flags="even-count exact"),
        _advised("overlapping", "Samples that overlap make no certainty: 7 of 9 pairs are "
                 "faster, one is a tie: (7.5/9*3 + 1) / 5 = 7/10.", LONG, A100,
                 m(flash, 1, 3, 4), m(math, 3, 5, 6), holds="C12", flags="exact ties"),
        _advised("one-measured", "One measured backend has nothing to be compared with.", LONG,
                 A100, m(flash, 5, 5, 5), breaks="C12", flags="boundary"),
        _advised("excluded-stays-out", "A measurement brings nobody back that cannot run.", LONG,
                 A100, m(B.XQA, 1, 1, 1), m(flash, 5, 5, 5), holds="C12", flags="trust"),
        _advised("ties", "Equal medians keep the order of the rules of thumb.", LONG, A100,
                 m(flash, 5, 5, 5), m(math, 5, 5, 5), m(efficient, 5, 5, 5), holds="C12",
                 flags="ties"),
    )  # fmt: skip


def _work() -> tuple[Vector, ...]:
    def work(
        name: str, comment: str, attention: AttentionInput, backend: Backend = B.MATH
    ) -> Vector:
        return question(f"capability/work/{name}", WORK, WorkAsked(backend, attention), comment,
                        holds="C10", flags="exact")  # fmt: skip

    def square(length: int, **changes: object) -> AttentionInput:
        plain = evolve(MHA, batch=1, query_heads=1, kv_heads=1, query_length=length,
                       key_length=length, head_size=8, value_head_size=8)  # fmt: skip
        causal = bool(changes.get("causal"))
        window = changes.get("window", 0)
        assert isinstance(window, int), "a window is a number"
        return evolve(plain, causal=causal, local_window=window)

    causal4 = square(4, causal=True)
    onnx4 = evolve(causal4, operator=Operator.ONNX_ATTENTION_24)
    return (
        work("one-by-one", "1 pair: 2*8 + 2*8 + 5 = 37 operations.", square(1)),
        work("full-square", "16 pairs: 592.", square(4)),
        work("causal-square", "1+2+3+4 = 10 pairs: 370.", causal4),
        work("causal-square-skipped", "FlashAttention skips what is hidden.", causal4,
             B.FLASH_ATTENTION_2),
        work("causal-square-of-tensorrt", "TensorRT computes the full rectangle.", causal4,
             B.TENSORRT_FUSED),
        work("window", "Each query sees itself and the one before: 1+2+2+2 = 7.",
             square(4, causal=True, window=2)),
        work("window-of-one", "Each sees itself: 4.", square(4, causal=True, window=1)),
        work("window-without-causality", "A window hides what lies behind, not what lies ahead: "
             "4+4+3+2 = 13.", square(4, window=2)),
        work("window-wider-than-keys", "Nothing is hidden by it: 10.",
             square(4, causal=True, window=100)),
        work("more-keys-bottom-right", "2 queries, 5 keys, the last aligned: 4+5 = 9.",
             evolve(causal4, query_length=2, key_length=5)),
        work("more-keys-top-left", "ONNX without a past aligns the first: 1+2 = 3.",
             evolve(onnx4, query_length=2, key_length=5)),
        work("more-queries-bottom-right", "5 queries, 2 keys: 0+0+0+1+2 = 3.",
             evolve(causal4, query_length=5, key_length=2)),
        work("more-queries-top-left", "ONNX: 1+2+2+2+2 = 9.",
             evolve(onnx4, query_length=5, key_length=2)),
        work("decode", "One query over 512 keys, 2 sequences, 8 heads.", GQA, B.FLASH_DECODE),
        work("past-of-onnx", "2 queries behind a past of 3: 4+5 = 9.",
             evolve(onnx4, cache=CacheForm.APPENDED, past_length=3, query_length=2,
                    key_length=5)),
        work("ragged", "Sequences of 2 and 3: 4+9 = 13 pairs; MATH computes 2*4*4 = 32.",
             evolve(square(4), operator=Operator.PACKED_ATTENTION, batch=2,
                    sequence_lengths=(2, 3))),
        work("wide-values", "Values of 16: 2*8 + 2*16 + 5 = 53 per pair.",
             evolve(square(3), value_head_size=16)),
        work("grouped-heads", "Key heads don't matter: 8 query heads do.",
             evolve(square(3), query_heads=8, kv_heads=2)),
        raw_question("capability/work/no-heads", WORK.name, {
            "backend": "math", "attention": _changed(MHA, {"query_heads": 0, "kv_heads": 0})},
            "A call without heads is no call, and has no work.", breaks="C10 C2",
            flags="boundary types"),
        work("large", "131072 causal tokens, 64 heads of 128, 8 sequences: more than 2**53.",
             evolve(LONG, batch=8, query_heads=64, kv_heads=8, query_length=131_072,
                    key_length=131_072, head_size=128, value_head_size=128)),
    )  # fmt: skip


def _memory() -> tuple[Vector, ...]:
    def memory(
        name: str, comment: str, backend: Backend, attention: AttentionInput,
        hardware: Hardware = A100, provider: Provider = Provider.CUDA,
    ) -> Vector:  # fmt: skip
        asked = MemoryAsked(backend, attention, hardware, provider)
        return question(f"capability/memory/{name}", MEMORY, asked, comment, holds="C10",
                        flags="exact")  # fmt: skip

    plain32 = evolve(MHA, dtype=FP32, cache_dtype=FP32)
    return (
        memory("math", "Scores and probabilities: 2*8*512*512 halves, twice.", B.MATH, MHA),
        memory("math-onnx", "Scores in float32, probabilities in half.", B.MATH, ONNX),
        memory("math-cpu", "In place, with transposed copies.", B.MATH, plain32, X86,
               Provider.CPU),
        memory("math-cpu-float16", "And float32 copies.", B.MATH, MHA, X86, Provider.CPU),
        memory("flash", "The log-sum-exp only, where the device is full.", B.FLASH_ATTENTION_2,
               evolve(MHA, batch=16)),
        memory("flash-split", "One query over many keys is split.", B.FLASH_DECODE,
               evolve(GQA, key_length=32768, past_length=32767)),
        memory("flash-window", "A window leaves few keys to split.", B.FLASH_DECODE,
               evolve(GQA, key_length=32768, past_length=32767, local_window=256)),
        memory("quantized-cache", "Keys and values by the cache's type.", B.XQA, QUANTIZED),
        memory("int4-cache", "Two to a byte.", B.XQA,
               evolve(QUANTIZED, cache_dtype=ElementType.INT4)),
        memory("appended-past", "The past is copied.", B.FLASH_ATTENTION_2,
               evolve(GQA, cache=CacheForm.APPENDED)),
        memory("efficient-wide", "A float32 accumulator for heads wider than 128.",
               B.MEMORY_EFFICIENT, evolve(MHA, head_size=136, value_head_size=136), T4),
        memory("efficient-at-128", "None at 128.", B.MEMORY_EFFICIENT,
               evolve(MHA, head_size=128, value_head_size=128), T4),
        memory("efficient-grouped", "Keys and values expanded to all heads.",
               B.MEMORY_EFFICIENT, GQA, T4),
        memory("tensorrt", "Repacked operands.", B.TENSORRT_FUSED,
               evolve(MHA, query_length=128, key_length=128)),
        memory("tensorrt-cross", "Keys and values repacked.", B.TENSORRT_CROSS,
               evolve(MHA, key_length=77)),
        memory("ragged", "Ragged tokens, cumulative lengths.", B.VARIABLE_LENGTH,
               evolve(PACKED_MHA, sequence_lengths=(100, 300))),
        memory("cpu-tiled", "Tiles per thread, sized to the cache.", B.CPU, plain32, X86,
               Provider.CPU),
        memory("cpu-decode", "Partial results per split.", B.FLASH_DECODE, CPU_STEP, X86,
               Provider.CPU),
        memory("nothing", "A kernel without buffers.", B.DECODER_MASKED, STEP),
        *(memory(f"mask-{mask.value.replace('_', '-')}", "What the mask takes.", B.CUDNN,
                 evolve(ONNX, mask=mask)) for mask in MaskKind),
        memory("bias-and-scores", "A bias on the scores, and the scores as an output.", B.MATH,
               evolve(ONNX, attention_bias=True, scores_output=ScoresOutput.RAW)),
    )  # fmt: skip


def _keys() -> tuple[Vector, ...]:
    base = Asked(LONG, A100, WISHLESS, GPU)

    def same(name: str, comment: str, other: Asked, *, holds: str = "", breaks: str = "") -> Vector:
        return question(f"capability/keys/{name}", SAME, TwoCases(base, other), comment,
                        holds=holds, breaks=breaks, flags="usual")  # fmt: skip

    def called(**changes: object) -> Asked:
        encoded = codec_of(AttentionInput).encode(LONG)
        assert isinstance(encoded, dict), "values with fields are objects"
        plain = {name: one for name, one in changes.items() if isinstance(one, (int, str, list))}
        return evolve(base, attention=codec_of(AttentionInput).decode({**encoded, **plain}))

    return (
        same("equal", "The same case.", base, holds="C9"),
        same("causality", "Causality.", called(causal=False), breaks="C9"),
        same("type", "The element type.", called(dtype="bfloat16", cache_dtype="bfloat16"),
             breaks="C9"),
        same("mask", "The kind of mask.", called(mask="padding"), breaks="C9"),
        same("dropout", "Dropout.", called(dropout=[1, 10]), breaks="C9"),
        same("softcap", "The cap of the scores.", called(softcap=[30, 1]), breaks="C9"),
        same("window", "The window.", called(local_window=128), breaks="C9"),
        same("batch", "The batch.", called(batch=4), breaks="C9"),
        same("device", "The device.", evolve(base, hardware=H100), breaks="C9"),
        same("free-memory", "What is free on the device.",
             evolve(base, hardware=evolve(A100, available_memory_bytes=1)), breaks="C9"),
        same("build", "The build.", evolve(base, build=evolve(GPU, version=(1, 31, 2))),
             breaks="C9"),
        same("switches", "The environment's switches.",
             evolve(base, build=evolve(GPU, switches=evolve(GPU.switches, enable_xqa=False))),
             breaks="C9"),
        same("wishes", "Wishes change the advice, not what a measurement belongs to.",
             evolve(base, configuration=Configuration(debug=True)), breaks="C9"),
        same("objective", "The objective is a wish.",
             evolve(base, configuration=Configuration(objective=Objective.LATENCY)),
             breaks="C9"),
    )  # fmt: skip
