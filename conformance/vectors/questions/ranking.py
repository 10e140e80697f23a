"""Questions about kernels, their order, and how good it was (R1 to R17)."""

from fractions import Fraction
from typing import Final

from attrs import evolve, frozen
from immutables import Map

from conformance.vectors.questions.kind import kind
from spec.ranking import (
    BenchmarkResult,
    Constraint,
    Failed,
    Hindsight,
    History,
    HistoryPolicy,
    Kernel,
    KernelInputs,
    NothingEligible,
    RankingPolicy,
    RankingRequest,
    Registry,
    ScalingLaw,
    SelectionReason,
    SelectionStatistics,
    Standing,
    Succeeded,
    Tally,
    Unjudged,
    best,
    extrapolated_latency_ns,
    halved,
    judge,
    rank,
    unmet,
)


@frozen
class Try:
    """One use of a kernel: a latency, or null for a failure."""

    workload: str
    kernel_id: str
    latency_ns: int | None
    at_ns: int


@frozen
class RankQuestion:
    """Kernels in order of registration, what became of them, and a request."""

    kernels: tuple[Kernel, ...]
    default_id: str | None
    tries: tuple[Try, ...]
    history_policy: HistoryPolicy
    request: RankingRequest
    policy: RankingPolicy


@frozen
class LeftOut:
    """A kernel that can't run, and the constraints it fails, in order."""

    kernel_id: str
    constraints: tuple[Constraint, ...]


@frozen
class RankAnswer:
    """The order; empty, and chosen by nothing, where nothing can run."""

    order: tuple[Standing, ...]
    chosen_by: SelectionReason | None
    confidence: Fraction | None
    default_id: str | None
    excluded: tuple[LeftOut, ...]


@frozen
class Fit:
    """A kernel and what it would be given."""

    kernel: Kernel
    inputs: KernelInputs


@frozen
class Unfit:
    """Every constraint that is not met, in order; a constraint once per input that fails it."""

    constraints: tuple[Constraint, ...]


@frozen
class Registration:
    """Kernels in order of registration, then defaults, then one place to look at."""

    kernels: tuple[Kernel, ...]
    defaults: tuple[str, ...]
    operation: str
    backend: str


@frozen
class Registered:
    """What is found at that place."""

    candidates: tuple[str, ...]
    default_id: str | None


@frozen
class Elapsed:
    """A time and a half-life."""

    elapsed_ns: int
    half_life_ns: int


@frozen
class Share:
    """What is left of 1."""

    share: Fraction


@frozen
class Extrapolation:
    """A latency at one size, wanted at another."""

    law: ScalingLaw
    measured_ns: int
    measured: int
    wanted: int


@frozen
class Latency:
    """Whole nanoseconds."""

    latency_ns: int


@frozen
class UsageQuestion:
    """Tries in order, and a look at one kernel at one moment."""

    policy: HistoryPolicy
    tries: tuple[Try, ...]
    workload: str
    kernel_id: str
    now_ns: int


@frozen
class UsageAnswer:
    """What is known of it; trials 0 and nulls where nothing is."""

    trials: int
    successes: int
    mean_ns: Fraction | None
    variance_ns2: Fraction | None
    rounded_mean_ns: int | None
    rounded_deviation_ns: int | None
    recency: Fraction | None
    entries: int
    """Keys held."""


@frozen
class Benchmark:
    """Results, and the workload whose best is wanted."""

    results: tuple[BenchmarkResult, ...]
    workload: str


@frozen
class Best:
    """The best result's figures."""

    kernel_id: str
    mean_ns: int
    minimum_ns: int
    maximum_ns: int
    deviation_ns: int
    throughput_per_s: Fraction
    bandwidth_bytes_per_s: Fraction


@frozen
class Choice:
    """A choice, and what was measured for its workload."""

    chosen: str
    measured_ns: Map[str, int]
    margin: Fraction


@frozen
class Judgement:
    """How good the choice was; nulls where nothing can be compared."""

    best: str | None
    regret: Fraction | None
    regret_ppm: int | None
    accurate: bool | None


@frozen
class Selections:
    """Choices that were made, and those that were judged."""

    selected: tuple[str, ...]
    judged: tuple[Choice, ...]
    limit: int


@frozen
class Summary:
    """Counts, and the most popular."""

    selections: int
    overall: Tally
    accuracy: Fraction | None
    mean_regret: Fraction | None
    popular: tuple[tuple[str, int], ...]


def _registry(kernels: tuple[Kernel, ...]) -> Registry:
    registry = Registry()
    for kernel in kernels:
        registry = registry.register(kernel)
    return registry


def _history(policy: HistoryPolicy, tries: tuple[Try, ...]) -> History:
    history = History(policy)
    for one in tries:
        outcome = Failed.FAILED if one.latency_ns is None else Succeeded(one.latency_ns)
        history = history.record(one.workload, one.kernel_id, outcome, one.at_ns)
    return history


def _rank(asked: RankQuestion) -> RankAnswer:
    registry = _registry(asked.kernels)
    if asked.default_id is not None:
        registry = registry.with_default(asked.default_id)
    history = _history(asked.history_policy, asked.tries)
    ranking = rank(registry, asked.request, history, asked.policy)
    excluded = tuple(
        LeftOut(one.kernel_id, tuple(reason.constraint for reason in one.reasons))
        for one in ranking.excluded
    )
    if isinstance(ranking, NothingEligible):
        return RankAnswer((), None, None, None, excluded)
    return RankAnswer(
        ranking.order, ranking.reason, ranking.confidence, ranking.default_id, excluded
    )


def _unmet(asked: Fit) -> Unfit:
    return Unfit(tuple(one.constraint for one in unmet(asked.kernel, asked.inputs)))


def _register(asked: Registration) -> Registered:
    registry = _registry(asked.kernels)
    for kernel_id in asked.defaults:
        registry = registry.with_default(kernel_id)
    found = registry.candidates(asked.operation, asked.backend)
    default = registry.default(asked.operation, asked.backend)
    return Registered(tuple(one.id for one in found), default)


def _halved(asked: Elapsed) -> Share:
    return Share(halved(asked.elapsed_ns, asked.half_life_ns))


def _extrapolated(asked: Extrapolation) -> Latency:
    latency_ns = extrapolated_latency_ns(asked.law, asked.measured_ns, asked.measured, asked.wanted)
    return Latency(latency_ns)


def _usage(asked: UsageQuestion) -> UsageAnswer:
    history = _history(asked.policy, asked.tries)
    usage = history.usage(asked.workload, asked.kernel_id, asked.now_ns)
    entries = len(history.usages)
    if usage is None:
        return UsageAnswer(0, 0, None, None, None, None, None, entries)
    moments, recency = usage.latency, history.recency(usage, asked.now_ns)
    answer = UsageAnswer(usage.trials, moments.count, None, None, None, None, recency, entries)
    if not moments.count:
        return answer
    return evolve(
        answer,
        mean_ns=moments.mean_ns,
        variance_ns2=moments.variance_ns2,
        rounded_mean_ns=moments.rounded_mean_ns,
        rounded_deviation_ns=moments.rounded_deviation_ns,
    )


def _best(asked: Benchmark) -> Best:
    found = best(asked.results, asked.workload)
    return Best(
        found.kernel_id,
        found.mean_ns,
        found.minimum_ns,
        found.maximum_ns,
        found.deviation_ns,
        found.throughput_per_s,
        found.bandwidth_bytes_per_s,
    )


def _judge(asked: Choice) -> Judgement:
    found = judge(asked.chosen, asked.measured_ns, asked.margin)
    if isinstance(found, Unjudged):
        return Judgement(None, None, None, None)
    return Judgement(found.best, found.regret, found.regret_ppm, found.accurate)


def _selections(asked: Selections) -> Summary:
    statistics = SelectionStatistics()
    for kernel_id in asked.selected:
        statistics = statistics.selected(kernel_id)
    for choice in asked.judged:
        found = judge(choice.chosen, choice.measured_ns, choice.margin)
        if isinstance(found, Hindsight):
            statistics = statistics.judged("operation", "backend", found)
    known = statistics.overall.judged > 0
    return Summary(
        statistics.selections,
        statistics.overall,
        statistics.overall.accuracy if known else None,
        statistics.overall.mean_regret if known else None,
        statistics.popular(asked.limit),
    )


RANK: Final = kind("rank", RankQuestion, RankAnswer, _rank)
UNMET: Final = kind("unmet", Fit, Unfit, _unmet)
REGISTER: Final = kind("register", Registration, Registered, _register)
HALF_LIFE: Final = kind("half-life", Elapsed, Share, _halved)
EXTRAPOLATED: Final = kind("extrapolated", Extrapolation, Latency, _extrapolated)
USAGE: Final = kind("usage", UsageQuestion, UsageAnswer, _usage)
BEST: Final = kind("best-benchmark", Benchmark, Best, _best)
HINDSIGHT: Final = kind("hindsight", Choice, Judgement, _judge)
SELECTIONS: Final = kind("selections", Selections, Summary, _selections)
KINDS: Final = (
    RANK,
    UNMET,
    REGISTER,
    HALF_LIFE,
    EXTRAPOLATED,
    USAGE,
    BEST,
    HINDSIGHT,
    SELECTIONS,
)
