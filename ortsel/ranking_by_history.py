"""What was measured before orders what is tried next: the log of searches feeds the ranking.

Three sources, each better than the one before it: rules of thumb, what other models gained on this
machine, and what this model gained for other shapes. Where five searches or more show that a
predictor orders plans better than that, latencies predicted for the shape at hand order them. The
order decides nothing: everything is measured and verified again.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from attrs import evolve, frozen

from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.ranked_order import UNIT_NS, expected_permille, ranked
from ortsel.candidates.search_space import SearchSpace
from ortsel.store import StoreError
from ortsel.store.explanation import parse_key_text, plain_parts
from ortsel.store.search_log import LoggedEntry, Searched, SearchLog
from spec.learning import (
    Algorithm,
    Comparison,
    HybridPolicy,
    Observation,
    Point,
    Prediction,
    Ridge,
    WorkloadFeatures,
    compare,
    reordered,
)
from spec.problem import Problem
from spec.ranking import (
    Failed,
    History,
    HistoryPolicy,
    Ranked,
    RankingPolicy,
    SelectionReason,
    Standing,
    Succeeded,
    Weights,
)
from spec.report import CandidateReport, Outcome

NEWEST: Final = 256
"""Searches that are looked at, the newest: older ones weigh little, and reading takes time."""
MOST_OBSERVED: Final = 96
"""Latencies that a predictor learns from, the newest: a fit takes the cube of that."""
LEAST_WORKLOADS: Final = 5
"""Fewer can't show at a risk of 5 % that one order is better than another."""
LEAST_SEARCHES: Final = 3
"""Searches for other models before their mean replaces a rule of thumb."""
SECOND_NS: Final = 10**9

HERE: Final = "this-model"
"""Workload of the history: all shapes of the model."""
POLICY: Final = RankingPolicy(
    weights=Weights(
        execution_time=Fraction(1, 2),
        memory=Fraction(0),
        cache_efficiency=Fraction(0),
        history=Fraction(1, 2),
        switching=Fraction(0),
    ),
    exploration=Fraction(0),
)
"""Nothing is known about memory and caches, and a search tries all that its budget lets it: no
bonus for what was not tried. What won before comes first, what never did comes last."""

WINNING: Final = frozenset({Outcome.PROMOTED, Outcome.FASTER})
LOSING: Final = frozenset({Outcome.NOT_FASTER, Outcome.NOISY, Outcome.FAILED})


@frozen
class PastSearch:
    """One search on this machine."""

    created_s: int
    is_same_model: bool
    workload: str
    """Canonical text of the workload, so that equal ones are equal."""
    features: WorkloadFeatures
    candidates: tuple[CandidateReport, ...]


def ranked_by_history(
    space: SearchSpace,
    facts: CandidateFacts,
    log: SearchLog | None,
    problem: Problem,
    now_s: int,
) -> SearchSpace:
    """Return the space with its plans in the order in which they are worth trying, and why.

    `problem` is the question that is about to be searched for. Without a log, or where it holds
    nothing about this environment, the order stays; a log that can't be read counts as none.
    """
    return ordered_by(space, facts, past_searches(log, problem), problem, now_s)


def ordered_by(
    space: SearchSpace,
    facts: CandidateFacts,
    past: Sequence[PastSearch],
    problem: Problem,
    now_s: int,
) -> SearchSpace:
    """Return the space in the order that these searches give, which is a function of the values.

    Plans that nothing tells apart keep their order, and what is older than a history remembers
    counts no more.
    """
    if len(space.plans) <= 1:
        return space
    oldest_s = now_s - HistoryPolicy().retention_ns // SECOND_NS
    past = [one for one in past if one.created_s >= oldest_s]
    estimates, sources = _expected(space, facts, past)
    order = _ranking(space, estimates, past, now_s)
    comparison: Comparison | None = None
    predictions: tuple[Prediction, ...] = ()
    if past:
        order, predictions, comparison = _learned(space, facts, past, problem, now_s, order)
    plans = {plan.name: plan for plan in space.plans}
    reference, *_ = space.plans
    names = [one.kernel_id for one in order.order if one.kernel_id != reference.name]
    if not any(_tried(name, past) for name in names):
        names = [plan.name for plan in space.plans[1:]]
    tries = {name: _tries(name, past) for name in names}
    placed = tuple(
        (one.kernel_id, _words(one, order, sources, tries, predictions, comparison))
        for one in order.order
        if one.kernel_id in tries
    )
    return evolve(space, plans=(reference, *(plans[name] for name in names)), placed=placed)


def past_searches(log: SearchLog | None, problem: Problem) -> tuple[PastSearch, ...]:
    """Return the newest searches in this environment at this scope, the oldest of them first."""
    if log is None:
        return ()
    try:
        entries = [one for one in log.newest(NEWEST) if isinstance(one, LoggedEntry)]
    except StoreError:
        return ()
    asked = plain_parts({"environment": problem.environment, "workload": problem.workload})
    found = []
    for logged in entries:
        if not isinstance(logged.entry, Searched):
            continue
        parts = parse_key_text(logged.key_text)
        same = parts.get("environment") == asked["environment"]
        if same and parts.get("scope") == problem.scope.value:
            found.append(
                PastSearch(
                    logged.entry.created_s,
                    parts.get("model") == problem.model,
                    str(parts.get("workload")),
                    features_of(parts.get("workload")),
                    logged.entry.report.candidates,
                )
            )
    return tuple(found)


def features_of(workload: object) -> WorkloadFeatures:
    """Return the sizes of a workload: of each axis of each input, and elements in all."""
    inputs = workload.get("inputs") if isinstance(workload, Mapping) else None
    lengths: dict[str, int] = {}
    elements = 0
    for name, described in inputs.items() if isinstance(inputs, Mapping) else ():
        shape = described.get("shape") if isinstance(described, Mapping) else None
        sizes = [one for one in shape or () if type(one) is int and one >= 0]
        product = 1
        for axis, size in enumerate(sizes):
            lengths[f"{name}.{axis}"] = size
            product *= size
        elements += product
    return WorkloadFeatures(0, elements, tuple(sorted(lengths.items())))


def _expected(
    space: SearchSpace, facts: CandidateFacts, past: Iterable[PastSearch]
) -> tuple[dict[str, int], dict[str, str]]:
    """Return the time of each plan over the reference's, in millionths, and who says so."""
    here: dict[str, list[Fraction]] = {}
    elsewhere: dict[str, list[Fraction]] = {}
    for search in past:
        ratios = here if search.is_same_model else elsewhere
        for one in search.candidates:
            if one.ratio is not None:
                ratios.setdefault(one.name, []).append(one.ratio)
    estimates, sources = {}, {}
    for place, plan in enumerate(space.plans):
        measured, others = here.get(plan.name, []), elsewhere.get(plan.name, [])
        if place and measured:
            share, source = sum(measured) / len(measured), "measured for this model"
        elif place and len(others) >= LEAST_SEARCHES:
            share, source = sum(others) / len(others), "measured for other models"
        else:
            share, source = Fraction(expected_permille(plan, facts), 1000), "rule of thumb"
        # The place tells apart what nothing else does.
        estimates[plan.name] = max(1, round(share * UNIT_NS)) + place
        sources[plan.name] = source
    return estimates, sources


def _ranking(
    space: SearchSpace, estimates: Mapping[str, int], past: Iterable[PastSearch], now_s: int
) -> Ranked:
    history = History()
    for search in past:
        for one in search.candidates if search.is_same_model else ():
            moment_ns = search.created_s * SECOND_NS
            if one.outcome in WINNING:
                outcome = Succeeded(estimates.get(one.name, UNIT_NS))
                history = history.record(HERE, one.name, outcome, moment_ns)
            elif one.outcome in LOSING:
                history = history.record(HERE, one.name, Failed.FAILED, moment_ns)
    return ranked(space.plans, estimates, history, HERE, now_s * SECOND_NS, POLICY)


def _learned(
    space: SearchSpace,
    facts: CandidateFacts,
    past: Sequence[PastSearch],
    problem: Problem,
    now_s: int,
    order: Ranked,
) -> tuple[Ranked, tuple[Prediction, ...], Comparison | None]:
    """Return the order by predicted latency where that proved to be better, or the one given."""
    asked = plain_parts({"workload": problem.workload})["workload"]
    features = features_of(asked)
    names = {plan.name for plan in space.plans}
    observed = _observations(past, names, features)
    if len({one.point.workload for one in observed}) < LEAST_WORKLOADS:
        return order, (), None
    fitted = Ridge().fit(observed)
    # A score that is compared must know no more than the prediction: nothing of its own workload.
    scores: dict[Point, Fraction] = {}
    for workload in {one.point.workload for one in observed}:
        rest = [one for one in past if one.workload != workload]
        estimates, _ = _expected(space, facts, rest)
        blind = _ranking(space, estimates, rest, now_s).order
        priorities = {one.kernel_id: one.priority for one in blind}
        points = (one.point for one in observed if one.point.workload == workload)
        scores.update((point, priorities[point.plan]) for point in points)
    comparison = compare(fitted.held_out, scores, HybridPolicy())
    predictions = tuple(
        fitted.predict(Point(str(asked), plan.name, features)) for plan in space.plans
    )
    return reordered(order, predictions, comparison, Algorithm.HYBRID), predictions, comparison


def _observations(
    past: Iterable[PastSearch], names: Iterable[str], features: WorkloadFeatures
) -> tuple[Observation, ...]:
    """Return the newest latency of each plan and workload of this model, the newest in all."""
    known = frozenset(names)
    newest: dict[tuple[str, str], Observation] = {}
    for search in past:
        if not search.is_same_model or search.features.names != features.names:
            continue
        for one in search.candidates:
            if one.median_ns and one.name in known:
                key = (search.workload, one.name)
                newest.pop(key, None)
                point = Point(search.workload, one.name, search.features)
                newest[key] = Observation(point, one.median_ns)
    return tuple(newest.values())[-MOST_OBSERVED:]


def _tries(name: str, past: Iterable[PastSearch]) -> tuple[int, int]:
    """Return in how many searches for this model a plan was tried, and was faster."""
    outcomes = [
        one.outcome
        for search in past
        if search.is_same_model
        for one in search.candidates
        if one.name == name
    ]
    won = sum(one in WINNING for one in outcomes)
    return won + sum(one in LOSING for one in outcomes), won


def _tried(name: str, past: Iterable[PastSearch]) -> bool:
    return any(
        one.name == name and (one.outcome in LOSING or one.ratio is not None)
        for search in past
        for one in search.candidates
    )


def _words(
    one: Standing,
    order: Ranked,
    sources: Mapping[str, str],
    tries: Mapping[str, tuple[int, int]],
    predictions: Iterable[Prediction],
    comparison: Comparison | None,
) -> str:
    """Return why a plan has its place, in words."""
    share = 1 / one.terms.execution_time - 1
    words = f"{float(share):.2f} of the reference's time expected ({sources[one.kernel_id]})"
    tried, won = tries[one.kernel_id]
    if tried:
        words += f", faster in {won} of {tried} searches for this model"
    words += f"; score {float(one.score):.3f}"
    if order.reason is SelectionReason.HYBRID and comparison is not None:
        known = (each for each in predictions if each.plan == one.kernel_id and each.known_plan)
        if (found := next(known, None)) is not None:
            mistakes = f"{float(comparison.learned.share):.0%}"
            words = f"{found.latency_ns / 1e6:.3g} ms learned ({mistakes} of pairs wrong); {words}"
    return words
