"""Questions about kernels: descriptions, registry, constraints, scaling (R1 to R3, R10)."""

from collections.abc import Sequence

from attrs import evolve

from conformance.codec import codec_of
from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.authoring.sample_kernels import (
    ANYTHING,
    INPUTS,
    A,
    B,
    C,
    kernel,
)
from conformance.vectors.questions.ranking import (
    EXTRAPOLATED,
    REGISTER,
    UNMET,
    Extrapolation,
    Fit,
    Registration,
)
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.ranking import (
    Constraints,
    Kernel,
    KernelInputs,
    ScalingLaw,
    SizeRange,
    TensorInput,
)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about kernels."""
    return (
        *_kernels(),
        *_registrations(),
        *_unmet(),
        *_extrapolations(),
    )


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
