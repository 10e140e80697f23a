"""Questions about advice and its keys (C9, C11 to C14)."""

from typing import Final

from attrs import evolve

from conformance.codec import codec_of
from conformance.vectors.authoring.capability_calls import (
    A100,
    CPU,
    FP32,
    GPU,
    GQA,
    H100,
    MHA,
    WISHLESS,
    X86,
    call,
)
from conformance.vectors.authoring.question import question
from conformance.vectors.questions.capability import (
    ADVISE,
    SAME,
    AdviceAsked,
    Asked,
    Measured,
    TwoCases,
)
from conformance.vectors.vector import Vector
from spec.capability import (
    AttentionInput,
    Backend,
    Configuration,
    Hardware,
    Objective,
    Operator,
    OrtBuild,
)

B: Final = Backend
LONG: Final = evolve(MHA, query_length=4096, key_length=4096, causal=True)
SHORT: Final = evolve(MHA, query_length=100, key_length=100)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about advice."""
    return (
        *_advice(),
        *_measured(),
        *_keys(),
    )


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
