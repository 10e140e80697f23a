"""For every rule of every backend a call that keeps it and a twin that breaks it first (C7)."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeVar

from attrs import evolve, field, fields, frozen

from conformance.vectors.authoring.capability_calls import (
    A100,
    B200,
    BF16,
    FP16,
    FP32,
    H100,
    INT4,
    INT8,
    RTX_5090,
    RUNNABLE,
    T4,
    V100,
    X86,
)
from conformance.vectors.authoring.question import question
from conformance.vectors.questions.capability import BROKEN, Asked, BackendAsked
from conformance.vectors.vector import Vector
from spec.capability import (
    RULES,
    AttentionInput,
    Backend,
    CacheForm,
    CacheScale,
    Configuration,
    Hardware,
    Layout,
    MaskKind,
    Operator,
    OrtBuild,
    Packing,
    Provider,
    ScoresOutput,
    Sink,
    Switches,
    sdpa_bits,
)
from spec.errors import InvalidValue

V = TypeVar("V")

MATH_ALONE: Final = 16
"""The option that leaves only MATH switched on."""


@frozen
class Change:
    """What to change in a call that runs."""

    attention: Mapping[str, object] = field(factory=dict)
    hardware: Hardware | None = None
    build: Mapping[str, object] = field(factory=dict)
    switches: Mapping[str, object] = field(factory=dict)
    configuration: Configuration | None = None
    without: bool = False
    """The backend is not compiled in."""
    disabled: bool = False
    sdpa_kernel: int | None = None


def _with(**attention: object) -> Change:
    return Change(attention)


def _types(dtype: object, **attention: object) -> Change:
    return Change({"dtype": dtype, "cache_dtype": dtype, **attention})


_INT8 = {"cache_dtype": INT8, "cache_scale": CacheScale.PER_TENSOR}
CHANGES: Final[tuple[Change, ...]] = (
    Change(without=True),
    Change(hardware=X86),
    Change(hardware=T4),
    Change(hardware=H100),
    Change(hardware=B200),
    Change(hardware=A100),
    Change(hardware=A100, build={"providers": frozenset(Provider) - {Provider.NOWHERE,
                                                                     Provider.INLINED}}),
    Change(sdpa_kernel=MATH_ALONE),
    Change(sdpa_kernel=32),
    Change(sdpa_kernel=0),
    _with(operator=Operator.MULTI_HEAD_ATTENTION),
    _with(operator=Operator.PACKED_ATTENTION),
    _with(operator=Operator.GROUP_QUERY_ATTENTION),
    _with(operator=Operator.ATTENTION),
    _with(operator=Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION),
    *(
        Change(switches={name: value})
        for name, value in {
            "enable_xqa": False,
            "disable_flash_decode": True,
            "disable_flash_attention": True,
            "gqa_disable_flash_attention": True,
            "disable_decoder_attention": True,
        }.items()
    ),
    Change(build={"version": (1, 27, 0)}),
    Change(build={"cudnn": (9, 10, 1)}),
    Change({"key_length": 100}, build={"cudnn": (9, 5, 0)}),
    _types(FP32),
    _types(FP16),
    _types(BF16),
    Change({"dtype": BF16, "cache_dtype": BF16}, hardware=X86),
    Change({"dtype": BF16, "cache_dtype": BF16}, hardware=A100),
    _types(FP32, kv_heads=2),
    Change({"dtype": FP32, "cache_dtype": FP32, "query_length": 128, "key_length": 128},
           sdpa_kernel=0),
    _with(head_size=60, value_head_size=60),
    _with(head_size=96, value_head_size=96),
    _with(head_size=128, value_head_size=128),
    _with(head_size=264, value_head_size=264),
    _with(value_head_size=128),
    _with(value_head_size=32),
    _with(kv_heads=2, value_head_size=128),
    Change({"head_size": 80, "value_head_size": 80}, hardware=T4),
    Change({"head_size": 32, "value_head_size": 32}, hardware=V100),
    Change({"head_size": 128, "value_head_size": 128}, hardware=V100),
    _with(causal=False),
    _with(causal=True),
    _with(causal=True, query_length=100),
    _with(causal=True, key_length=256),
    _with(query_length=2, past_length=510),
    _with(query_length=1, past_length=511),
    _with(past_length=0, key_length=1),
    _with(cache=CacheForm.APPENDED),
    _with(cache=CacheForm.APPENDED, past_length=0),
    _with(cache=CacheForm.APPENDED, query_length=77),
    _with(key_length=64),
    _with(key_length=129),
    _with(query_length=385, key_length=385),
    _with(query_length=384, key_length=384),
    _with(local_window=128),
    _with(softcap=Fraction(30)),
    _with(attention_bias=True),
    _with(attention_bias=True, query_length=100),
    _with(attention_bias=True, causal=True, query_length=64),
    _with(sink=Sink.HEAD_SINK),
    _with(sink=Sink.SMOOTH),
    _with(**_INT8),
    _with(cache_dtype=INT4),
    _with(cache_dtype=FP16, cache_scale=CacheScale.NONE),
    _with(kv_heads=4),
    _with(qk_norm=True),
    Change(hardware=RTX_5090, build={"xqa_shared_memory_bytes": 140 * 1024}),
    *(_with(mask=mask) for mask in MaskKind if mask is not MaskKind.NONE),
    _with(mask=MaskKind.BOOLEAN, key_length=510),
    *(_with(scores_output=scores) for scores in ScoresOutput if scores is not ScoresOutput.NONE),
    _with(past_length_input=False),
    _with(cache_indirection=True),
    _with(beam_width=4),
    _with(packing=Packing.PACKED_KV),
    _with(packing=Packing.PACKED_KV, input_bias=True),
    Change({"packing": Packing.PACKED_QKV}, sdpa_kernel=0),
    _with(layout=Layout.BSNH),
    _with(layout=Layout.BNSH),
    _with(page_size=16),
    _with(attention_metadata=False),
    Change(hardware=evolve(X86, l2_cache_bytes=0)),
    _with(dropout=Fraction(1, 10)),
    Change(disabled=True),
    Change(configuration=Configuration(memory_budget_bytes=1)),
    Change(configuration=Configuration(deterministic=True)),
    Change(configuration=Configuration(minimum_flash_length=513)),
)  # fmt: skip
"""Changes of one fact, and of two where one alone would break another rule first."""

WISHES: Final = frozenset({"disabled", "memory_budget", "deterministic", "minimum_flash_length"})


def vectors() -> tuple[Vector, ...]:
    """Return one vector per rule that can be broken, and one per call that runs."""
    return tuple(vector for backend in RULES for vector in _of_backend(backend))


def _of_backend(backend: Backend) -> Iterator[Vector]:
    for number, one in enumerate(RUNNABLE[backend]):
        yield _vector(
            backend,
            f"runs-{number}",
            f"It can run {one.attention.operator.value} on {one.hardware.name}.",
            BackendAsked(backend, one, sdpa_bits(backend, one.attention.operator)),
            holds="C7",
        )
    wanted = {one.id: one.need for one in RULES[backend]}
    for asked in _twins(backend):
        answer = BROKEN.function(asked).rule
        if answer in wanted:
            condition = answer.split(":")[1]
            yield _vector(
                backend,
                condition.replace("_", "-"),
                f"The rule {answer} needs: {wanted.pop(answer)}.",
                asked,
                breaks="C4 C7" if condition in WISHES else "C7",
            )


def _vector(
    backend: Backend,
    name: str,
    comment: str,
    asked: BackendAsked,
    *,
    holds: str = "",
    breaks: str = "",
) -> Vector:
    group = "rules-" + backend.value.replace("_", "-")
    return question(f"capability/{group}/{name}", BROKEN, asked, comment, holds=holds,
                    breaks=breaks, flags="usual")  # fmt: skip


def _twins(backend: Backend) -> Iterator[BackendAsked]:
    for change in CHANGES:
        for one in RUNNABLE[backend]:
            try:
                yield _changed(backend, one, change)
            except InvalidValue:
                continue


def _changed(backend: Backend, one: Asked, change: Change) -> BackendAsked:
    build = _rebuilt(one.build, change.build)
    build = evolve(build, switches=_switched(build.switches, change.switches))
    if change.without and backend is not Backend.MATH:
        build = evolve(build, compiled=build.compiled - {backend})
    configuration = change.configuration or one.configuration
    if change.disabled and backend is not Backend.MATH:
        configuration = Configuration(disabled=frozenset({backend}))
    option = change.sdpa_kernel
    if option is None:
        option = sdpa_bits(backend, one.attention.operator)
    case = Asked(
        _called(one.attention, change.attention),
        change.hardware or one.hardware,
        configuration,
        build,
    )
    return BackendAsked(backend, case, option)


def _called(value: AttentionInput, changes: Mapping[str, object]) -> AttentionInput:
    make = _maker(AttentionInput)
    return make(**_values(value, changes))


def _rebuilt(value: OrtBuild, changes: Mapping[str, object]) -> OrtBuild:
    make = _maker(OrtBuild)
    return make(**_values(value, changes))


def _switched(value: Switches, changes: Mapping[str, object]) -> Switches:
    make = _maker(Switches)
    return make(**_values(value, changes))


def _values(
    value: AttentionInput | OrtBuild | Switches, changes: Mapping[str, object]
) -> dict[str, object]:
    kept = {one.name: getattr(value, one.name) for one in fields(type(value))}
    return {**kept, **changes}


def _maker(kind: Callable[..., V]) -> Callable[..., V]:
    return kind
