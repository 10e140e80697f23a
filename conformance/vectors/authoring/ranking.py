"""Questions about kernels, their order, and how good it was (R1 to R17)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from attrs import evolve
from immutables import Map

from conformance.codec import codec_of
from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions.ranking import (
    BEST,
    EXTRAPOLATED,
    HALF_LIFE,
    HINDSIGHT,
    RANK,
    REGISTER,
    SELECTIONS,
    UNMET,
    USAGE,
    Benchmark,
    Choice,
    Elapsed,
    Extrapolation,
    Fit,
    RankQuestion,
    Registration,
    Selections,
    Try,
    UsageQuestion,
)
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.ranking import (
    BenchmarkResult,
    Characteristics,
    Constraints,
    Estimate,
    HistoryPolicy,
    Kernel,
    KernelInputs,
    RankingPolicy,
    RankingRequest,
    ScalingLaw,
    SizeRange,
    TensorInput,
    Variant,
    VariantKind,
    Weights,
)

DAY: Final = 24 * 3600 * 10**9
HISTORY: Final = HistoryPolicy(half_life_ns=1000, retention_ns=8000, max_entries=4)
INPUTS: Final = KernelInputs((TensorInput((8, 16), "float32"),), alignment_bytes=64)
"""512 bytes."""
UNSAID: Final = Characteristics()
USUAL: Final = RankingPolicy()
ANYTHING: Final = Constraints(frozenset({"float32", "float16"}))


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the area."""
    return (
        *_kernels(),
        *_registrations(),
        *_unmet(),
        *_half_lives(),
        *_extrapolations(),
        *_usages(),
        *_terms(),
        *_orders(),
        *_doubts(),
        *_benchmarks(),
        *_hindsights(),
        *_selections(),
    )


def kernel(
    name: str,
    constraints: Constraints = ANYTHING,
    characteristics: Characteristics = UNSAID,
    backend: str = "cpu",
) -> Kernel:
    """Return a kernel of the operation "softmax"."""
    variant = Variant(VariantKind.OPTIMIZED)
    return Kernel(name, name, "softmax", backend, variant, constraints, characteristics)


A, B, C = kernel("a"), kernel("b"), kernel("c")


def _kernels() -> tuple[Vector, ...]:
    encoded = codec_of(Kernel).encode(A)
    assert isinstance(encoded, dict), "values with fields are objects"
    base: dict[str, Json] = dict(encoded)
    constraints = base["constraints"]
    characteristics = base["characteristics"]
    assert isinstance(constraints, dict), "values with fields are objects"
    assert isinstance(characteristics, dict), "values with fields are objects"

    def accepts(name: str, comment: str, changes: dict[str, Json], *, accepted: bool) -> Vector:
        value: Json = {**base, **changes}
        return raw_question(f"ranking/kernel/{name}", "accepts",
                            {"type": "kernel", "value": value}, comment,
                            holds="R1" if accepted else "", breaks="" if accepted else "R1",
                            flags="boundary types")  # fmt: skip

    def needs(changes: dict[str, Json]) -> dict[str, Json]:
        return {"constraints": {**constraints, **changes}}

    def behaves(changes: dict[str, Json]) -> dict[str, Json]:
        return {"characteristics": {**characteristics, **changes}}

    def weights(name: str, comment: str, value: Json, *, accepted: bool) -> Vector:
        return raw_question(f"ranking/weights/{name}", "accepts",
                            {"type": "weights", "value": value}, comment,
                            holds="R10" if accepted else "", breaks="" if accepted else "R10",
                            flags="boundary exact")  # fmt: skip

    thirds: dict[str, Json] = {"execution_time": [1, 3], "memory": [1, 3],
                               "cache_efficiency": [1, 3], "history": [0, 1],
                               "switching": [0, 1]}  # fmt: skip
    return (
        accepts("usual", "A plain description.", {}, accepted=True),
        accepts("no-id", "A kernel without an id.", {"id": ""}, accepted=False),
        accepts("no-operation", "That computes nothing.", {"operation": ""}, accepted=False),
        accepts("custom-without-label", "A custom kernel says which.",
                {"variant": {"kind": "custom", "label": ""}}, accepted=False),
        accepts("custom-with-label", "It does.",
                {"variant": {"kind": "custom", "label": "mine"}}, accepted=True),
        accepts("naive-with-label", "A naive one needs no label.",
                {"variant": {"kind": "naive", "label": "mine"}}, accepted=False),
        accepts("no-types", "No element type.", needs({"dtypes": []}), accepted=False),
        accepts("no-shapes", "An empty list of shapes fits nothing.", needs({"shapes": []}),
                accepted=False),
        accepts("any-shape", "null fits all.", needs({"shapes": None}), accepted=True),
        accepts("alignment-of-three", "3 is no power of two.", needs({"alignment_bytes": 3}),
                accepted=False),
        accepts("alignment-of-none", "0 is none.", needs({"alignment_bytes": 0}),
                accepted=False),
        accepts("alignment-of-one", "1 is one.", needs({"alignment_bytes": 1}), accepted=True),
        accepts("size-range-of-one", "Both ends may be equal.",
                needs({"size": {"at_least_bytes": 5, "at_most_bytes": 5}}), accepted=True),
        accepts("size-range-reversed", "The upper end is below the lower.",
                needs({"size": {"at_least_bytes": 5, "at_most_bytes": 4}}), accepted=False),
        accepts("efficiency-one", "All of it.", behaves({"cache_efficiency": [1, 1]}),
                accepted=True),
        accepts("efficiency-over-one", "More than all.",
                behaves({"cache_efficiency": [1001, 1000]}), accepted=False),
        accepts("efficiency-negative", "Less than nothing.",
                behaves({"cache_efficiency": [-1, 1000]}), accepted=False),
        weights("default", "2/5, 1/5, 1/5, 3/20, 1/20.", {}, accepted=True),
        weights("thirds", "1/3 three times is exactly 1; in floating point it may not be.",
                thirds, accepted=True),
        weights("over-one", "Their sum is 21/20.", {"switching": [1, 10]}, accepted=False),
        weights("under-one", "Their sum is 19/20.", {"switching": [0, 1]}, accepted=False),
        weights("negative", "A weight under 0.", {"switching": [-1, 20], "memory": [3, 10]},
                accepted=False),
    )  # fmt: skip


def _registrations() -> tuple[Vector, ...]:
    def register(
        name: str,
        comment: str,
        kernels: Sequence[Kernel],
        defaults: Sequence[str] = (),
        *,
        accepted: bool = True,
    ) -> Vector:
        asked = Registration(tuple(kernels), tuple(defaults), "softmax", "cpu")
        return question(f"ranking/registry/{name}", REGISTER, asked, comment,
                        holds="R2" if accepted else "", breaks="" if accepted else "R2",
                        flags="order")  # fmt: skip

    return (
        register("in-order-of-id", "Found in order of id.", (C, A, B)),
        register("other-order", "Whatever the order of registration.", (B, C, A)),
        register("nothing", "An empty registry has no candidates.", ()),
        register("another-backend", "Other backends are other places.",
                 (A, kernel("x", backend="cuda"))),
        register("same-id-twice", "A taken id is refused.", (A, kernel("a", backend="cuda")),
                 accepted=False),
        register("same-kernel-twice", "Even for an equal kernel.", (A, A), accepted=False),
        register("default", "One default per place.", (A, B), ("b",)),
        register("default-replaced", "The later one counts.", (A, B), ("b", "a")),
        register("default-of-another-place", "A default elsewhere is none here.",
                 (A, kernel("x", backend="cuda")), ("x",)),
        register("unknown-default", "A default must be registered.", (A,), ("b",),
                 accepted=False),
        register("ids-by-code-point", "Z comes before a, and a before e with accent.",
                 (kernel("\u00e9"), kernel("a"), kernel("Z"), kernel("a10"), kernel("a9"))),
    )  # fmt: skip


def _unmet() -> tuple[Vector, ...]:
    demanding = Constraints(
        frozenset({"float16"}),
        SizeRange(513, 1024),
        alignment_bytes=128,
        shapes=((8, None, 4),),
        features=frozenset({"sm_90", "avx512"}),
    )

    def fit(
        name: str,
        comment: str,
        constraints: Constraints,
        inputs: KernelInputs = INPUTS,
        *,
        fits: bool,
        flags: str = "boundary",
    ) -> Vector:
        return question(f"ranking/constraints/{name}", UNMET,
                        Fit(kernel("k", constraints), inputs), comment,
                        holds="R3" if fits else "", breaks="" if fits else "R3",
                        flags=flags)  # fmt: skip

    def sized(low: int, high: int | None) -> Constraints:
        return Constraints(frozenset({"float32"}), SizeRange(low, high))

    def given(*shapes: tuple[int, ...], dtype: str = "float32", aligned: int = 64) -> KernelInputs:
        return KernelInputs(tuple(TensorInput(shape, dtype) for shape in shapes), aligned)

    four_bits = Constraints(frozenset({"int4"}), SizeRange(3, 3))
    return (
        fit("everything-fails", "All are named, in their order.", demanding, fits=False,
            flags="order"),
        fit("nothing-fails", "512 bytes of float32.", ANYTHING, fits=True),
        fit("size-at-the-lower-end", "512 bytes, at least 512.", sized(512, None), fits=True),
        fit("size-below", "512 bytes, at least 513.", sized(513, None), fits=False),
        fit("size-at-the-upper-end", "512 bytes, at most 512.", sized(0, 512), fits=True),
        fit("size-above", "512 bytes, at most 511.", sized(0, 511), fits=False),
        fit("one-type-of-two-fails", "Each input that fails is named.",
            Constraints(frozenset({"float16"})),
            KernelInputs((TensorInput((2,), "float16"), TensorInput((2,), "float32"),
                          TensorInput((2,), "int8"))), fits=False, flags="order"),
        fit("alignment-divides", "Aligned to 64, need 32.",
            Constraints(frozenset({"float32"}), alignment_bytes=32), fits=True),
        fit("alignment-equal", "Aligned to 64, need 64.",
            Constraints(frozenset({"float32"}), alignment_bytes=64), fits=True),
        fit("alignment-too-small", "Aligned to 64, need 128.",
            Constraints(frozenset({"float32"}), alignment_bytes=128), fits=False),
        fit("shape-matches", "[8,16] against [8,*].",
            Constraints(frozenset({"float32"}), shapes=((8, None),)), fits=True),
        fit("shape-of-another-length", "[8,16] against [9,*].",
            Constraints(frozenset({"float32"}), shapes=((9, None),)), fits=False),
        fit("shape-of-another-rank", "[8,16] against [8,*,*].",
            Constraints(frozenset({"float32"}), shapes=((8, None, None),)), fits=False),
        fit("one-pattern-of-two", "One pattern that matches is enough.",
            Constraints(frozenset({"float32"}), shapes=((9, None), (None, 16))), fits=True),
        fit("scalar", "A scalar has no dimensions and 4 bytes.", sized(4, 4), given(()),
            fits=True),
        fit("empty-tensor", "A dimension of 0 leaves 0 bytes.", sized(0, 0), given((0, 9)),
            fits=True, flags="empty"),
        fit("half-bytes-round-up", "5 elements of 4 bits are 20 bits: 3 bytes.", four_bits,
            given((5,), dtype="int4"), fits=True, flags="boundary exact"),
        fit("half-bytes-round-up-each", "Two tensors of 1 element of 4 bits: 1 byte each.",
            Constraints(frozenset({"int4"}), SizeRange(2, 2)), given((1,), (1,), dtype="int4"),
            fits=True, flags="boundary exact"),
        fit("feature-present", "What it needs is there.",
            Constraints(frozenset({"float32"}), features=frozenset({"avx2"})),
            evolve(INPUTS, features=frozenset({"avx2", "fma"})), fits=True),
        fit("features-absent", "Each is named, in order.",
            Constraints(frozenset({"float32"}), features=frozenset({"b", "a", "c"})),
            evolve(INPUTS, features=frozenset({"b"})), fits=False, flags="order"),
    )  # fmt: skip


def _half_lives() -> tuple[Vector, ...]:
    def left(name: str, comment: str, elapsed_ns: int, half_life_ns: int, *, gone: bool = False
             ) -> Vector:  # fmt: skip
        return question(f"ranking/half-life/{name}", HALF_LIFE,
                        Elapsed(elapsed_ns, half_life_ns), comment,
                        holds="" if gone else "R8", breaks="R8" if gone else "",
                        flags="exact boundary")  # fmt: skip

    week = 7 * DAY
    return (
        left("none", "Just used: 1.", 0, 1000),
        left("one", "One half-life: exactly 1/2.", 1000, 1000),
        left("two", "Two: 1/4.", 2000, 1000),
        left("half", "Half a half-life: (6 - 2 + 1/4)/6 = 17/24.", 500, 1000),
        left("one-and-a-half", "Half of that: 17/48.", 1500, 1000),
        left("one-nanosecond", "(6*10^6 - 4000 + 1)/(6*10^6).", 1, 1000),
        left("one-nanosecond-short", "999 of 1000.", 999, 1000),
        left("a-third", "(6 - 4/3 + 1/9)/6 = 43/54.", 1, 3),
        left("week", "Seven days at the default.", week, week),
        left("day-of-a-week", "One day of seven.", DAY, week),
        left("sixty-three", "63 half-lives: 2^-63.", 63_000, 1000),
        left("last-before-nothing", "One nanosecond before 64.", 63_999, 1000),
        left("sixty-four", "64 half-lives leave nothing.", 64_000, 1000, gone=True),
        left("long-gone", "A million.", 10**9, 1000, gone=True),
        left("clock-went-back", "A use in the future counts as now.", -5, 1000),
        raw_question("ranking/half-life/of-nothing", HALF_LIFE.name,
                     {"elapsed_ns": 1, "half_life_ns": 0}, "A half-life of 0 ns.", breaks="R8",
                     flags="boundary"),
    )  # fmt: skip


def _extrapolations() -> tuple[Vector, ...]:
    def carried(name: str, comment: str, law: ScalingLaw, measured_ns: int, measured: int,
                wanted: int, *, refused: bool = False) -> Vector:  # fmt: skip
        return question(f"ranking/scaling/{name}", EXTRAPOLATED,
                        Extrapolation(law, measured_ns, measured, wanted), comment,
                        holds="" if refused else "R1", breaks="R1" if refused else "",
                        flags="exact")  # fmt: skip

    return (
        carried("constant", "The same at any size.", ScalingLaw.CONSTANT, 777, 1, 10**6),
        carried("linear", "100 ns at 3, at 7: 233.3, rounded up to 234.", ScalingLaw.LINEAR, 100,
                3, 7),
        carried("linear-down", "100 ns at 7, at 3: 42.9, rounded up to 43.", ScalingLaw.LINEAR,
                100, 7, 3),
        carried("quadratic", "100 ns at 2, at 3: 225.", ScalingLaw.QUADRATIC, 100, 2, 3),
        carried("logarithmic", "Bit lengths: 100 ns at 8 (4 bits), at 1024 (11 bits): 275.",
                ScalingLaw.LOGARITHMIC, 100, 8, 1024),
        carried("logarithmic-of-one", "1 has one bit.", ScalingLaw.LOGARITHMIC, 100, 1, 2),
        carried("exponential", "Twice the size: 2^1 times.", ScalingLaw.EXPONENTIAL, 100, 5, 10),
        carried("exponential-between", "One and a half: 2^(1/2) := 2 * 17/24 = 17/12; 141.7, "
                "rounded up to 142.", ScalingLaw.EXPONENTIAL, 100, 2, 3),
        carried("exponential-stops", "Beyond 2^64 it grows no more.", ScalingLaw.EXPONENTIAL, 1,
                1, 1000),
        carried("at-least-one", "Never under 1 ns.", ScalingLaw.QUADRATIC, 1, 1000, 1),
        carried("unknown", "An unknown law extrapolates nothing.", ScalingLaw.UNKNOWN, 100, 1, 2,
                refused=True),
        carried("size-zero", "A size of 0.", ScalingLaw.LINEAR, 100, 1, 0, refused=True),
        carried("latency-zero", "A latency of 0.", ScalingLaw.LINEAR, 0, 1, 1, refused=True),
    )  # fmt: skip


def _tried(*latencies: int | None, name: str = "a", at_ns: int = 0) -> tuple[Try, ...]:
    return tuple(Try("w", name, latency, at_ns) for latency in latencies)


def _usages() -> tuple[Vector, ...]:
    def usage(
        name: str,
        comment: str,
        tries: Sequence[Try],
        now_ns: int = 0,
        kernel_id: str = "a",
        *,
        known: bool = True,
    ) -> Vector:
        asked = UsageQuestion(HISTORY, tuple(tries), "w", kernel_id, now_ns)
        return question(f"ranking/usage/{name}", USAGE, asked, comment,
                        holds="R14" if known else "", breaks="" if known else "R14",
                        flags="exact boundary")  # fmt: skip

    five = [Try("w", one, 10, 0) for one in "abcde"]
    return (
        usage("nothing", "Never tried.", (), known=False),
        usage("one", "One latency: variance 0.", _tried(100)),
        usage("two", "1 and 2: mean 3/2, rounded up to 2; variance 1/4, deviation 1/2, rounded "
              "up to 1.", _tried(1, 2)),
        usage("three", "1, 2, 4: mean 7/3 rounds to 2; variance 14/9; deviation 1.247 rounds "
              "to 1.", _tried(1, 2, 4)),
        usage("mean-is-not-the-last", "100, 100, 1: mean 67.", _tried(100, 100, 1)),
        usage("failures-count-as-tries", "Two failures, one success.", _tried(None, 50, None)),
        usage("only-failures", "No latency, no mean.", _tried(None, None)),
        usage("large", "Sums of squares beyond 2**53.", _tried(10**12, 10**12 + 1, 10**12 + 5)),
        usage("at-the-end-of-retention", "8000 ns of 8000: eight half-lives leave 1/256.",
              _tried(100), 8000),
        usage("after-retention", "8001 ns: forgotten.", _tried(100), 8001, known=False),
        usage("afresh-after-retention", "What is forgotten is not added to.",
              (*_tried(100), *_tried(300, at_ns=8001)), 8001),
        usage("kept-by-use", "A use at 8000 ns keeps the first.",
              (*_tried(100), *_tried(300, at_ns=8000)), 8001),
        usage("in-the-future", "A use after now counts as just used.", _tried(100, at_ns=50), 0),
        usage("first-in-first-out", "Five kernels in room for four: the first is gone.", five,
              known=False),
        usage("second-stays", "The second is not.", five, kernel_id="b"),
        usage("using-does-not-keep", "A second use does not make a kernel younger.",
              [*five[:4], Try("w", "a", 20, 0), five[4]], known=False),
        usage("another-workload", "A latency at one workload says nothing about another.",
              [Try("other", "a", 10, 0)], known=False),
    )  # fmt: skip


def _question(
    kernels: Sequence[Kernel],
    tries: Sequence[Try] = (),
    default_id: str | None = None,
    *,
    now_ns: int = 0,
    estimates: dict[str, tuple[int, int]] | None = None,
    served: str | None = None,
    expected_calls: int = 1,
    inputs: KernelInputs = INPUTS,
    policy: RankingPolicy = USUAL,
) -> RankQuestion:
    request = RankingRequest(
        "softmax",
        "cpu",
        "w",
        inputs,
        now_ns,
        Map({name: Estimate(*one) for name, one in (estimates or {}).items()}),
        served,
        expected_calls,
    )
    return RankQuestion(tuple(kernels), default_id, tuple(tries), HISTORY, request, policy)


def _rank(
    name: str,
    comment: str,
    asked: RankQuestion,
    *,
    holds: str = "",
    breaks: str = "",
    flags: str = "exact",
) -> Vector:
    return question(f"ranking/{name}", RANK, asked, comment, holds=holds, breaks=breaks,
                    flags=flags)  # fmt: skip


def _terms() -> tuple[Vector, ...]:
    slow_start = Characteristics(initialisation_ns=900)
    ranged = Characteristics(optimal_size=SizeRange(1024, 2048), cache_efficiency=Fraction(4, 5))
    small = Characteristics(optimal_size=SizeRange(0, 256), cache_efficiency=Fraction(4, 5))
    inside = Characteristics(optimal_size=SizeRange(512, 512), cache_efficiency=Fraction(4, 5))
    estimates = {"a": (10**6, 2**20), "b": (500_000, 2**22)}
    starting = kernel("a", characteristics=slow_start)
    return (
        _rank("terms/nothing-known", "Every term is neutral.", _question((A,)),
              breaks="R4 R5 R7", holds="R10"),
        _rank("terms/estimate-of-one-unit", "1 ms at a unit of 1 ms: 1/2. 1 MiB: 1/2.",
              _question((A, B), estimates=estimates), holds="R4 R5"),
        _rank("terms/relative-to-the-default", "The default's latency is the unit: b takes half "
              "of it, 2/3.", _question((A, B), default_id="a", estimates=estimates),
              holds="R4 R5"),
        _rank("terms/measured-before-estimated", "A measured mean of 200 replaces the estimate.",
              _question((A, B), _tried(100, 300), "b", estimates=estimates), holds="R4 R14"),
        _rank("terms/failure-is-no-latency", "Failures leave the estimate.",
              _question((A, B), _tried(None), "b", estimates=estimates), holds="R4",
              breaks="R7"),
        _rank("terms/initialisation", "900 ns are spread over 9 calls: 100 + 100.",
              _question((starting, B), (*_tried(100), *_tried(100, name="b")), "b",
                        expected_calls=9), holds="R4"),
        _rank("terms/served-is-initialised", "The served kernel has paid already.",
              _question((starting, B), (*_tried(100), *_tried(100, name="b")), "b",
                        served="a", expected_calls=9), holds="R4 R9"),
        _rank("terms/small-memory-is-no-reason", "The least unit is 1 MiB.",
              _question((A, B), default_id="a", estimates={"a": (1, 10), "b": (1, 0)}),
              holds="R5", flags="boundary exact"),
        _rank("terms/default-of-much-memory", "The default's 4 MiB are the unit.",
              _question((A, B), default_id="b", estimates=estimates), holds="R5"),
        _rank("terms/cache-below", "512 of 1024 bytes: 4/5 * 1/2.",
              _question((kernel("a", characteristics=ranged),)), breaks="R6"),
        _rank("terms/cache-above", "256 of 512 bytes: 4/5 * 1/2.",
              _question((kernel("a", characteristics=small),)), breaks="R6"),
        _rank("terms/cache-inside", "Both ends belong to the range.",
              _question((kernel("a", characteristics=inside),)), holds="R6",
              flags="boundary exact"),
        _rank("terms/cache-of-nothing", "An optimal range up to 0 bytes leaves 0.",
              _question((kernel("a", characteristics=Characteristics(
                  optimal_size=SizeRange(0, 0))),)), breaks="R6", flags="boundary exact"),
        _rank("terms/old-success", "A success one half-life old: 1/2 + 1/2 * 1/2.",
              _question((A,), _tried(100), now_ns=1000), holds="R7 R8"),
        _rank("terms/old-failure", "A failure one half-life old: 1/2 - 1/2 * 1/2.",
              _question((A,), _tried(None), now_ns=1000), holds="R7 R8"),
        _rank("terms/mixed-history", "Two of three: 1/2 + 1/6.",
              _question((A,), _tried(100, None, 100)), holds="R7"),
        _rank("terms/switching", "Replacing what is served costs its term.",
              _question((A, B), served="b"), holds="R9", breaks="R9"),
        _rank("terms/nothing-served", "Nothing is replaced.", _question((A, B)), holds="R9"),
        _rank("terms/served-unknown-kernel", "What is served is none of these.",
              _question((A, B), served="z"), breaks="R9"),
        _rank("terms/other-weights", "Only the time counts.",
              _question((A, B), default_id="a", estimates=estimates, policy=RankingPolicy(
                  weights=Weights(Fraction(1), Fraction(0), Fraction(0), Fraction(0),
                                  Fraction(0)))), holds="R10"),
    )  # fmt: skip


def _orders() -> tuple[Vector, ...]:
    no_exploration = RankingPolicy(exploration=Fraction(0))
    only_exploration = RankingPolicy(exploration=Fraction(1))
    faster_b = (*_tried(100, 100), *_tried(50, 50, name="b"))
    wants_half = Constraints(frozenset({"float16"}))
    return (
        _rank("order/ties-by-id", "Equal priorities: by id, whatever the order they came in.",
              _question((C, A, B)), holds="R12", flags="ties order"),
        _rank("order/ties-default-first", "Equal priorities: the default first.",
              _question((C, A, B), default_id="c"), holds="R12", flags="ties order"),
        _rank("order/by-priority", "The faster one first.", _question((A, B), faster_b),
              holds="R12", breaks="R12"),
        _rank("order/exploration", "The one never tried gets 1/10 of a whole, the others of a "
              "third.", _question((A, B, C), faster_b), holds="R11"),
        _rank("order/no-exploration", "At 0 only the score counts.",
              _question((A, B, C), faster_b, policy=no_exploration), breaks="R11",
              flags="boundary exact"),
        _rank("order/only-exploration", "At 1 only the number of tries counts.",
              _question((A, B, C), (*faster_b, *_tried(50, name="b")),
                        policy=only_exploration), holds="R11", flags="boundary exact"),
        _rank("order/excluded", "Who can't run is left out, with reasons.",
              _question((A, kernel("b", wants_half), C)), holds="R12 R3"),
        _rank("order/nobody", "Nobody can run.", _question((kernel("b", wants_half),)),
              breaks="R12 R3", flags="empty"),
        _rank("order/nothing-registered", "Nobody is there.", _question(()), breaks="R12",
              flags="empty"),
        _rank("order/default-cannot-run", "A default that can't run sets no unit and gets no "
              "place.", _question((A, kernel("b", wants_half), C), default_id="b"),
              holds="R12", breaks="R13"),
        _rank("order/unicode", "Ids by code point.",
              _question((kernel("\U0001f600"), kernel("\ufb33"), kernel("a"))), holds="R12",
              flags="unicode ties"),
    )  # fmt: skip


def _doubts() -> tuple[Vector, ...]:
    four = (*_tried(100, 100, 100, 100), *_tried(50, 50, 50, 50, name="b"))
    three = (*_tried(100, 100, 100, 100), *_tried(50, 50, 50, name="b"))
    trusting = RankingPolicy(minimum_confidence=Fraction(0))
    strict = RankingPolicy(minimum_confidence=Fraction(1))
    flawed = (*_tried(100), *_tried(50, 50, 50, 50, 50, None, name="b"))
    return (
        _rank("doubt/four-successes", "4/(4+1) = 4/5, the minimum: the faster one first.",
              _question((A, B), four, "a"), holds="R13", flags="boundary exact"),
        _rank("doubt/three-successes", "3/4 is under it: the default first, for that reason.",
              _question((A, B), three, "a"), breaks="R13", flags="boundary exact"),
        _rank("doubt/without-default", "Without a default there is nothing to fall back on.",
              _question((A, B), three), holds="R13"),
        _rank("doubt/default-is-first-anyway", "The default leads by its score.",
              _question((A, B), three, "b"), holds="R13"),
        _rank("doubt/trusting", "A minimum of 0 trusts everybody.",
              _question((A, B), (), "b", policy=trusting, estimates={"a": (1, 0)}), holds="R13",
              flags="boundary"),
        _rank("doubt/strict", "A minimum of 1 trusts nobody.",
              _question((A, B), four, "a", policy=strict), breaks="R13", flags="boundary"),
        _rank("doubt/old-successes", "Four successes one half-life old: 2/(2+1) = 2/3.",
              _question((A, B), four, "a", now_ns=1000), breaks="R13 R8"),
        _rank("doubt/one-failure", "5 of 6: 5/7.", _question((A, B), flawed, "a"),
              breaks="R13"),
        _rank("doubt/never-tried", "A good estimate is no confidence.",
              _question((A, B), (), "a", estimates={"b": (1, 0), "a": (1000, 0)}),
              breaks="R13"),
        _rank("doubt/others-keep-their-order", "Only the default moves.",
              _question((A, B, C), (), "c", estimates={"b": (1, 0), "a": (2, 0), "c": (9, 0)}),
              breaks="R13", flags="order"),
    )  # fmt: skip


def _benchmarks() -> tuple[Vector, ...]:
    def best(name: str, comment: str, *results: BenchmarkResult, workload: str = "w",
             found: bool = True) -> Vector:  # fmt: skip
        return question(f"ranking/benchmark/{name}", BEST, Benchmark(results, workload), comment,
                        holds="R15" if found else "", breaks="" if found else "R15",
                        flags="exact")  # fmt: skip

    def result(name: str, *latencies: int, workload: str = "w", moved: int = 0
               ) -> BenchmarkResult:  # fmt: skip
        return BenchmarkResult(name, workload, latencies, bytes_moved=moved)

    return (
        best("one", "1, 2, 3: mean 2, deviation sqrt(2/3) rounds to 1.", result("a", 1, 2, 3)),
        best("halves-up", "1 and 2: mean 3/2 rounds up to 2, deviation 1/2 rounds up to 1.",
             result("a", 1, 2)),
        best("throughput", "Exact: 3 * 10^9 / 10.", result("a", 3, 3, 4, moved=7)),
        best("smaller-mean", "By exact mean: 10/3 beats 7/2.", result("a", 3, 4),
             result("b", 3, 3, 4)),
        best("ties-by-id", "Equal means: the smaller id.", result("b", 5), result("a", 4, 6)),
        best("other-workload", "Results of other workloads don't count.",
             result("a", 1, workload="other"), result("b", 9)),
        best("none", "No result of that workload.", result("a", 1), workload="x", found=False),
        best("two-of-one-kernel", "Two results of one kernel.", result("a", 1), result("a", 2),
             found=False),
        raw_question("ranking/benchmark/no-success", BEST.name, {
            "results": [{"kernel_id": "a", "workload": "w", "latencies_ns": []}],
            "workload": "w"}, "There is no result without a success.", breaks="R15",
            flags="empty"),
        raw_question("ranking/benchmark/zero-latency", BEST.name, {
            "results": [{"kernel_id": "a", "workload": "w", "latencies_ns": [0]}],
            "workload": "w"}, "A latency of 0 ns.", breaks="R15", flags="boundary"),
    )  # fmt: skip


def _choice(chosen: str, margin: Fraction = Fraction(1, 20), **measured_ns: int) -> Choice:
    return Choice(chosen, Map(measured_ns), margin)


def _hindsights() -> tuple[Vector, ...]:
    def judged(name: str, comment: str, choice: Choice, *, clear: bool = True, flags: str = "exact"
               ) -> Vector:  # fmt: skip
        return question(f"ranking/hindsight/{name}", HINDSIGHT, choice, comment,
                        holds="R16" if clear else "", breaks="" if clear else "R16",
                        flags=flags)  # fmt: skip

    return (
        judged("best", "Nothing better was measured: regret 0.", _choice("a", a=100, b=200)),
        judged("twice-as-slow", "Regret 1.", _choice("b", a=100, b=200)),
        judged("at-the-margin", "105 against 100: 1/20, accurate.", _choice("b", a=100, b=105),
               flags="boundary exact"),
        judged("over-the-margin", "106 against 100.", _choice("b", a=100, b=106),
               flags="boundary exact"),
        judged("ppm-rounded-up", "4 against 3: 333333.3 ppm, rounded up to 333334.",
               _choice("b", a=3, b=4)),
        judged("equal", "Among equals the chosen one is best.", _choice("b", a=100, b=100),
               flags="ties"),
        judged("equal-others", "Among equal others the smaller name.",
               _choice("c", a=100, b=100, c=101), flags="ties"),
        judged("alone", "Nothing else was measured: neither right nor wrong.",
               _choice("a", a=100), clear=False, flags="empty"),
        judged("nothing-measured", "Nothing at all.", _choice("a"), clear=False, flags="empty"),
        judged("only-another", "Another was measured, the chosen one was not.",
               _choice("a", b=100), clear=False, flags="trust"),
        judged("zero", "0 ns is no latency.", _choice("a", a=100, b=0), clear=False,
               flags="boundary"),
        judged("negative-margin", "A margin under 0.",
               _choice("a", Fraction(-1, 20), a=100, b=200), clear=False, flags="boundary"),
        judged("margin-zero", "No margin: 101 against 100 is inaccurate.",
               _choice("b", Fraction(0), a=100, b=101), flags="boundary exact"),
    )  # fmt: skip


def _selections() -> tuple[Vector, ...]:
    def told(name: str, comment: str, selected: str, judged: Sequence[Choice], limit: int = 10,
             *, counts: bool = True) -> Vector:  # fmt: skip
        asked = Selections(tuple(selected.split()), tuple(judged), limit)
        return question(f"ranking/statistics/{name}", SELECTIONS, asked, comment,
                        holds="R17" if counts else "", breaks="" if counts else "R17",
                        flags="exact")  # fmt: skip

    good, bad = _choice("a", a=100, b=200), _choice("b", a=3, b=4)
    return (
        told("nothing", "Accuracy of nothing is no number.", "", (), counts=False),
        told("popular", "By count, then by id.", "b a c b a d", ()),
        told("popular-limited", "The first two.", "b a c b a d", (), 2),
        told("popular-none", "None.", "b a", (), 0),
        told("judged", "One right, one wrong: accuracy 1/2, mean regret 333334/2 ppm.", "a b",
             (good, bad)),
        told("unjudged-is-neither", "An unjudged choice is neither hit nor miss.", "a b",
             (good, _choice("a", a=1))),
        told("more-judged-than-selected", "Nobody judges what was not selected.", "a",
             (good, bad), counts=False),
        told("ids-by-code-point", "Equal counts: Z before a.", "a Z \u00e9", ()),
    )  # fmt: skip
