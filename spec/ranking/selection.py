"""The order in which kernels are worth trying (rules R11 to R13). Ranking never promotes."""

from enum import Enum
from fractions import Fraction

from attrs import field, frozen
from immutables import Map

from spec.ranking.bounds import at_least, not_empty, unit_interval
from spec.ranking.constraints import Unmet, unmet
from spec.ranking.history import History, Usage
from spec.ranking.inputs import KernelInputs
from spec.ranking.kernel import Kernel
from spec.ranking.registry import Registry
from spec.ranking.score import (
    NEUTRAL,
    ZERO,
    Terms,
    Weights,
    cache_term,
    confidence,
    history_term,
    priority,
    score,
    share_of_unit,
    switching_term,
)


class SelectionReason(Enum):
    """Why the first of an order is first."""

    SCORE = "score"
    LEARNED = "learned"
    HYBRID = "hybrid"
    """The learned order, used because it proved better than the score order on held-out data."""
    DEFAULT = "default"
    """The default kernel: the one in front of it was not certain enough."""


@frozen
class Estimate:
    """What a kernel is expected to cost, by a formula or a model: never evidence."""

    latency_ns: int = field(validator=at_least(1, "R4"))
    memory_bytes: int = field(validator=at_least(0, "R5"))


@frozen
class RankingRequest:
    """One question: in which order to try the kernels of an operation and backend."""

    operation: str = field(validator=not_empty("R12"))
    backend: str = field(validator=not_empty("R12"))
    workload: str = field(validator=not_empty("R12"))
    inputs: KernelInputs
    now_ns: int
    estimates: Map[str, Estimate] = field(factory=Map)
    """By kernel id; a kernel without one has neutral time and memory terms."""
    served: str | None = None
    """Id of the kernel that now serves this workload, if any."""
    expected_calls: int = field(default=1, validator=at_least(1, "R4"))
    """Over how many calls the initialisation is spread."""


@frozen
class RankingPolicy:
    """How kernels are weighed against each other."""

    weights: Weights = field(factory=Weights)
    exploration: Fraction = field(default=Fraction(1, 10), validator=unit_interval("R11"))
    minimum_confidence: Fraction = field(default=Fraction(4, 5), validator=unit_interval("R13"))
    time_unit_ns: int = field(default=10**6, validator=at_least(1, "R4"))
    """Only where the default kernel has no known latency to compare with."""
    memory_unit_bytes: int = field(default=2**20, validator=at_least(1, "R5"))
    """Also the least unit: fewer bytes than this are no reason."""


@frozen
class Standing:
    """One kernel in an order, with everything that put it there."""

    kernel_id: str
    terms: Terms
    score: Fraction
    priority: Fraction
    confidence: Fraction


@frozen
class Excluded:
    """A kernel that cannot run these inputs, and every constraint it fails."""

    kernel_id: str
    reasons: tuple[Unmet, ...]


@frozen
class Ranked:
    """At least one kernel can run. `order` is what to try, best first."""

    order: tuple[Standing, ...]
    reason: SelectionReason
    confidence: Fraction
    default_id: str | None
    """The default kernel, if there is one and it can run."""
    excluded: tuple[Excluded, ...]

    @property
    def first(self) -> Standing:
        """The kernel to try first."""
        return self.order[0]

    @property
    def alternatives(self) -> tuple[Standing, ...]:
        """All others, best first."""
        return self.order[1:]


@frozen
class NothingEligible:
    """No kernel of this place can run these inputs; `excluded` is empty if none is registered."""

    excluded: tuple[Excluded, ...]


Ranking = Ranked | NothingEligible


def rank(
    registry: Registry, request: RankingRequest, history: History, policy: RankingPolicy
) -> Ranking:
    """Order the kernels that can run by priority, the default first where doubt is too great.

    priority = (1 - exploration) * score + exploration / (1 + tries on this workload). Equal
    priorities: the default first, then by id. The result depends on no order of registration.
    """
    kernels = registry.candidates(request.operation, request.backend)
    failed = {kernel.id: unmet(kernel, request.inputs) for kernel in kernels}
    excluded = tuple(Excluded(one, reasons) for one, reasons in failed.items() if reasons)
    eligible = [kernel for kernel in kernels if not failed[kernel.id]]
    if not eligible:
        return NothingEligible(excluded)
    named = registry.default(request.operation, request.backend)
    default_id = named if named is not None and not failed[named] else None
    units = _units(request, history, policy, default_id)
    standings = [_standing(kernel, request, history, policy, units) for kernel in eligible]
    standings.sort(key=lambda one: (one.kernel_id != default_id, one.kernel_id))
    # Sorting is stable, also in reverse: equal priorities keep the order just made.
    order = tuple(sorted(standings, key=lambda one: one.priority, reverse=True))
    ranked = Ranked(order, SelectionReason.SCORE, order[0].confidence, default_id, excluded)
    return default_first_in_doubt(ranked, policy.minimum_confidence)


def default_first_in_doubt(ranked: Ranked, minimum_confidence: Fraction) -> Ranked:
    """Put the default first if the first of the order is another one and under the confidence.

    The others keep their order, so they are still tried. Without a default that can run, nothing
    changes (R13).
    """
    certain = ranked.confidence >= minimum_confidence
    if ranked.default_id is None or ranked.first.kernel_id == ranked.default_id or certain:
        return ranked
    kept = [one for one in ranked.order if one.kernel_id == ranked.default_id]
    others = [one for one in ranked.order if one.kernel_id != ranked.default_id]
    return Ranked(
        (*kept, *others),
        SelectionReason.DEFAULT,
        kept[0].confidence,
        ranked.default_id,
        ranked.excluded,
    )


def _latency_ns(
    kernel_id: str, usage: Usage | None, estimates: Map[str, Estimate]
) -> Fraction | None:
    # A measured mean replaces every estimate.
    if usage is not None and usage.latency.count:
        return usage.latency.mean_ns
    estimate = estimates.get(kernel_id)
    return None if estimate is None else Fraction(estimate.latency_ns)


def _units(
    request: RankingRequest, history: History, policy: RankingPolicy, default_id: str | None
) -> tuple[Fraction, Fraction]:
    time_unit = Fraction(policy.time_unit_ns)
    memory_unit = Fraction(policy.memory_unit_bytes)
    if default_id is None:
        return time_unit, memory_unit
    usage = history.usage(request.workload, default_id, request.now_ns)
    known = _latency_ns(default_id, usage, request.estimates)
    estimate = request.estimates.get(default_id)
    return (
        time_unit if known is None else known,
        memory_unit if estimate is None else max(memory_unit, Fraction(estimate.memory_bytes)),
    )


def _standing(
    kernel: Kernel,
    request: RankingRequest,
    history: History,
    policy: RankingPolicy,
    units: tuple[Fraction, Fraction],
) -> Standing:
    time_unit, memory_unit = units
    facts = kernel.characteristics
    usage = history.usage(request.workload, kernel.id, request.now_ns)
    latency_ns = _latency_ns(kernel.id, usage, request.estimates)
    estimate = request.estimates.get(kernel.id)
    # The served kernel has been initialised already.
    start_ns = 0 if request.served == kernel.id else facts.initialisation_ns
    if latency_ns is not None and start_ns:
        latency_ns += Fraction(start_ns, request.expected_calls)
    recency = ZERO if usage is None else history.recency(usage, request.now_ns)
    terms = Terms(
        execution_time=NEUTRAL if latency_ns is None else share_of_unit(latency_ns, time_unit),
        memory=NEUTRAL if estimate is None else share_of_unit(estimate.memory_bytes, memory_unit),
        cache_efficiency=cache_term(
            facts.cache_efficiency, facts.optimal_size, request.inputs.size_bytes
        ),
        history=history_term(usage, recency),
        switching=switching_term(kernel.id, request.served),
    )
    total = score(terms, policy.weights)
    return Standing(
        kernel_id=kernel.id,
        terms=terms,
        score=total,
        priority=priority(total, 0 if usage is None else usage.trials, policy.exploration),
        confidence=confidence(usage, recency),
    )
