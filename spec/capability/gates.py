"""Conditions that several backends share, as rule makers."""

from collections.abc import Callable, Iterable

from spec.capability.attention_input import CacheForm, MaskKind, ScoresOutput
from spec.capability.attention_operator import EVERY_OPERATOR, Operator
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.element_type import ElementType
from spec.capability.memory import memory_estimate
from spec.capability.precedence import dispatches
from spec.capability.rule import Case, Rule, rule

REVISION = "onnxruntime 89b01b406c (2026-08-22)"
"""The revision that kernel conditions were read at."""

OPTIONS = f"contrib_ops/cuda/bert/attention_kernel_options.cc, {REVISION}"
POLICY = "rule C4: the configuration"
_DISPATCH = f"the operator's dispatch, {REVISION}"


def names(values: Iterable[ElementType | MaskKind | Operator | Provider]) -> str:
    """Values in a fixed order, for messages."""
    return ", ".join(sorted(value.value for value in values))


def compiled(backend: Backend, source: str = "the kernels found in the build's binaries") -> Rule:
    """The kernel is in the binary."""
    return rule(
        backend,
        "compiled",
        "its kernels in this ORT build",
        source,
        holds=lambda case: backend in case.build.compiled,
        got=lambda case: f"not in this ORT build ({'.'.join(map(str, case.build.version))})",
    )


def placed(backend: Backend, providers: frozenset[Provider]) -> Rule:
    """The node is on a provider that has the kernel."""
    return rule(
        backend,
        "placed",
        f"the node on provider {names(providers)}",
        "kernel registrations and placement, rule C6",
        holds=lambda case: case.provider in providers,
        got=lambda case: f"{case.attention.dtype.value} node placed {case.provider.value}",
    )


def dispatched(backend: Backend) -> Rule:
    """The operator has the backend among its tries on that provider."""
    return rule(
        backend,
        "dispatched",
        "an operator that tries this backend",
        _DISPATCH,
        holds=lambda case: dispatches(case.attention.operator, case.provider, backend),
        got=lambda case: f"{case.attention.operator.value} on {case.provider.value}",
    )


def switched_on(
    backend: Backend, bits: str, operators: Iterable[Operator] = EVERY_OPERATOR
) -> Rule:
    """The backend's bit or variable leaves it on (CUDA only; the CPU provider reads no bits)."""
    return rule(
        backend,
        "switched_on",
        f"{bits} in sdpa_kernel, or with sdpa_kernel 0 no variable against it",
        OPTIONS,
        holds=lambda case: case.provider is not Provider.CUDA or case.options.allows(backend),
        got=lambda case: f"sdpa_kernel {case.options.sdpa_kernel}, switched off",
        operators=operators,
    )


def sm_at_least(backend: Backend, sm: int, source: str) -> Rule:
    """A CUDA device of this compute capability or newer."""
    return rule(
        backend,
        "compute_capability",
        f"compute capability {sm // 10}.{sm % 10} or newer",
        source,
        holds=lambda case: case.provider is not Provider.CUDA or case.hardware.sm >= sm,
        got=sm_of,
    )


def sm_of(case: Case) -> str:
    """The device's compute capability, for messages."""
    return "compute capability {}.{}".format(*case.hardware.compute_capability)


def types(
    backend: Backend,
    allowed: frozenset[ElementType],
    source: str,
    operators: Iterable[Operator] = EVERY_OPERATOR,
    condition: str = "type",
) -> Rule:
    """The kernel is written for the type it sees."""
    return rule(
        backend,
        condition,
        names(allowed),
        source,
        holds=lambda case: case.kernel_type in allowed,
        got=lambda case: case.kernel_type.value,
        operators=operators,
    )


def head_sizes(
    backend: Backend,
    need: str,
    source: str,
    fits: Callable[[int], bool],
    operators: Iterable[Operator] = EVERY_OPERATOR,
) -> Rule:
    """Both head sizes are ones that the kernel was compiled for."""
    return rule(
        backend,
        "head_size",
        need,
        source,
        holds=lambda case: fits(case.attention.head_size) and fits(case.attention.value_head_size),
        got=heads_of,
        operators=operators,
    )


def equal_heads(
    backend: Backend, source: str, operators: Iterable[Operator] = EVERY_OPERATOR
) -> Rule:
    """Keys and values have the same head size."""
    return rule(
        backend,
        "equal_head_sizes",
        "head size of K equal to that of V",
        source,
        holds=lambda case: case.attention.head_size == case.attention.value_head_size,
        got=heads_of,
        operators=operators,
    )


def heads_of(case: Case) -> str:
    """Both head sizes, for messages."""
    return f"head sizes {case.attention.head_size} (K) and {case.attention.value_head_size} (V)"


def masks(
    backend: Backend,
    allowed: frozenset[MaskKind],
    source: str,
    operators: Iterable[Operator],
) -> Rule:
    """The kernel understands the mask."""
    return rule(
        backend,
        "mask",
        f"mask {names(allowed)}",
        source,
        holds=lambda case: case.attention.mask in allowed,
        got=lambda case: f"mask {case.attention.mask.value}",
        operators=operators,
    )


def no_bias(backend: Backend, source: str, operators: Iterable[Operator]) -> Rule:
    """No bias on the scores."""
    return rule(
        backend,
        "attention_bias",
        "no bias on the scores",
        source,
        holds=lambda case: not case.attention.attention_bias,
        got=lambda _case: "a bias on the scores",
        operators=operators,
    )


def no_cache(backend: Backend, source: str, operators: Iterable[Operator]) -> Rule:
    """No past, no present."""
    return rule(
        backend,
        "cache",
        "no past and no present",
        source,
        holds=lambda case: case.attention.cache is CacheForm.NONE,
        got=lambda case: f"cache {case.attention.cache.value}",
        operators=operators,
    )


def no_scores_output(backend: Backend, source: str, operators: Iterable[Operator]) -> Rule:
    """The caller doesn't ask for the score matrix."""
    return rule(
        backend,
        "scores_output",
        "no score matrix among the outputs",
        source,
        holds=lambda case: case.attention.scores_output is ScoresOutput.NONE,
        got=lambda case: f"scores output {case.attention.scores_output.value}",
        operators=operators,
    )


def no_decoder_inputs(backend: Backend, source: str, operators: Iterable[Operator]) -> Rule:
    """Neither past_sequence_length nor cache_indirection."""
    return rule(
        backend,
        "decoder_inputs",
        "neither past_sequence_length nor cache_indirection",
        source,
        holds=lambda case: (
            not (case.attention.past_length_input or case.attention.cache_indirection)
        ),
        got=lambda _case: "past_sequence_length or cache_indirection given",
        operators=operators,
    )


def native_cache(backend: Backend, source: str, operators: Iterable[Operator]) -> Rule:
    """The cache holds the query's type."""
    return rule(
        backend,
        "quantized_cache",
        "a cache of the query's type",
        source,
        holds=lambda case: case.provider is not Provider.CUDA or not case.attention.quantized_cache,
        got=lambda case: f"a {case.attention.cache_dtype.value} cache",
        operators=operators,
    )


def not_causal(backend: Backend, source: str, operators: Iterable[Operator]) -> Rule:
    """Every query sees every key."""
    return rule(
        backend,
        "causal",
        "not causal",
        source,
        holds=lambda case: not case.attention.causal,
        got=lambda _case: "causal",
        operators=operators,
    )


def one_query(
    backend: Backend, source: str, operators: Iterable[Operator] = EVERY_OPERATOR
) -> Rule:
    """A decode step."""
    return rule(
        backend,
        "one_query",
        "one query token",
        source,
        holds=lambda case: case.attention.query_length == 1,
        got=lambda case: f"{case.attention.query_length} query tokens",
        operators=operators,
    )


def no_dropout(backend: Backend) -> Rule:
    """No attention operator has a dropout input, so only three separate steps can hold one."""
    return rule(
        backend,
        "dropout",
        "dropout 0",
        "operator schemas: none has a dropout input; Dropout fits between steps only",
        holds=lambda case: case.attention.dropout == 0,
        got=lambda case: f"dropout {case.attention.dropout}",
    )


def long_enough(backend: Backend) -> Rule:
    """The configuration's minimum length for flash kernels; a decode step is exempt."""
    return rule(
        backend,
        "minimum_flash_length",
        "one query token, or at least the configured minimum",
        POLICY,
        holds=lambda case: (
            case.attention.query_length == 1
            or case.attention.query_length >= case.configuration.minimum_flash_length
        ),
        got=lambda case: (
            f"{case.attention.query_length} query tokens, minimum "
            f"{case.configuration.minimum_flash_length}"
        ),
    )


def fixed_summation(backend: Backend) -> Rule:
    """Deterministic mode refuses kernels that split the keys by the number of processors."""
    return rule(
        backend,
        "deterministic",
        "a summation order that the shapes alone decide",
        f"{POLICY}; with 1 and 2 CPU threads a one-head decode differed by 9.5e-8",
        holds=lambda case: not case.configuration.deterministic,
        got=lambda _case: "deterministic asked for, keys split by the number of processors",
    )


def limits(backend: Backend) -> tuple[Rule, ...]:
    """What the configuration may say about any backend; MATH can't be disabled."""
    budget = rule(
        backend,
        "memory_budget",
        "operands and workspace within the budget",
        POLICY,
        holds=lambda case: (
            case.configuration.memory_budget_bytes == 0
            or _total_bytes(backend, case) <= case.configuration.memory_budget_bytes
        ),
        got=lambda case: (
            f"{_total_bytes(backend, case)} bytes, budget {case.configuration.memory_budget_bytes}"
        ),
    )
    if backend is Backend.MATH:
        return (budget,)
    enabled = rule(
        backend,
        "disabled",
        "not disabled by the configuration",
        POLICY,
        holds=lambda case: backend not in case.configuration.disabled,
        got=lambda _case: "disabled by the configuration",
    )
    return (enabled, budget)


def _total_bytes(backend: Backend, case: Case) -> int:
    return memory_estimate(backend, case.attention, case.hardware, case.provider).total_bytes
