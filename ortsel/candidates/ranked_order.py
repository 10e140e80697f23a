"""The order in which plans are tried: the reference model's ranking over rules of thumb.

A rule of thumb says what share of the reference's time a kind of plan takes where it applies. It
only orders trials, so that a search whose budget ends has seen what is likely to win; it promotes
nothing. Latencies that were measured replace it, and what failed moves back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from immutables import Map

from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan
from spec.ranking import (
    Characteristics,
    Constraints,
    Estimate,
    History,
    Kernel,
    KernelInputs,
    NothingEligible,
    Ranked,
    RankingPolicy,
    RankingRequest,
    Registry,
    Variant,
    VariantKind,
    rank,
)

OPERATION: Final = "onnx-model"
BACKEND: Final = "onnxruntime"
UNIT_NS: Final = 10**6
"""Time of the reference in an estimate, so that a share in permille is 1000 times as many."""
DTYPES: Final = frozenset({"float32"})

PERMILLE: Final = (
    ("cuda:", 300),
    ("tensorrt:", 310),
    ("nv-tensorrt-rtx:", 320),
    ("plugin:", 400),
    ("variant=flash-decode", 1050),
    ("variant=math", 1050),
    ("variant=multi-head-attention-4d", 1050),
    ("variant=dynamic-int8", 550),
    ("variant=", 600),
    ("cpu:without=", 700),
    ("openvino:", 900),
    ("cpu:threads=", 950),
    ("cpu:static", 960),
    ("cpu:spin", 970),
    ("cpu:level=", 1020),
    ("cpu:block-base=", 1025),
    ("cpu:mem-pattern=", 1030),
    ("cpu:arena=", 1040),
)
"""Expected share of the reference's time by how a plan's name begins. A device of its own gains
most; a user who registered a library expects it to gain; a graph variant or a fusion left out gains
half of a decode step, some only where ONNX Runtime's own kernel has a gap; who accepts a metric
wants the lossy one; threads and spinning gain under load alone."""

RECURRENT: Final = ("LSTM", "GRU", "RNN")
OPENVINO_RECURRENT: Final = 350
"""OpenVINO was up to five times as fast on a recurrent model, 1.6 times on models of vision."""
OPENVINO_CONVOLUTION: Final = 500
OTHER: Final = 1000


def expected_permille(plan: Plan, facts: CandidateFacts) -> int:
    """Return the share of the reference's time, in permille, that a plan is expected to take."""
    if plan.name.startswith("openvino:") and facts.model.operator_types is not None:
        if facts.model.may_contain(*RECURRENT):
            return OPENVINO_RECURRENT
        if facts.model.may_contain("Conv"):
            return OPENVINO_CONVOLUTION
    return next((share for prefix, share in PERMILLE if plan.name.startswith(prefix)), OTHER)


def in_ranked_order(
    plans: Sequence[Plan],
    facts: CandidateFacts,
    history: History | None = None,
    workload: str = "any",
    now_ns: int = 0,
) -> tuple[Plan, ...]:
    """Return the reference, which is the first, and the others by the reference model's ranking.

    Plans of one expectation keep their order. `history` has latencies and failures by plan name.
    """
    if len(plans) <= 1:
        return tuple(plans)
    estimates = {
        plan.name: expected_permille(plan, facts) * UNIT_NS // 1000 + place
        for place, plan in enumerate(plans)
    }
    known = History() if history is None else history
    ranking = ranked(plans, estimates, known, workload, now_ns, RankingPolicy())
    by_name = {plan.name: plan for plan in plans}
    return (plans[0], *_without(plans[0], (by_name[one.kernel_id] for one in ranking.order)))


def ranked(
    plans: Sequence[Plan],
    estimates: Mapping[str, int],
    history: History,
    workload: str,
    now_ns: int,
    policy: RankingPolicy,
) -> Ranked:
    """Return the reference model's ranking of plans, of which the first is the default.

    `estimates` are times by name where the reference's is `UNIT_NS`.
    """
    registry = Registry()
    for plan in plans:
        registry = registry.register(_kernel(plan))
    registry = registry.with_default(plans[0].name)
    expected = Map({name: Estimate(time_ns, 0) for name, time_ns in estimates.items()})
    request = RankingRequest(
        OPERATION, BACKEND, workload, KernelInputs(()), now_ns, estimates=expected
    )
    ranking = rank(registry, request, history, policy)
    assert not isinstance(ranking, NothingEligible), "the reference has no constraint"
    return ranking


def _without(reference: Plan, plans: Iterable[Plan]) -> Iterable[Plan]:
    return (plan for plan in plans if plan.name != reference.name)


def _kernel(plan: Plan) -> Kernel:
    return Kernel(
        id=plan.name,
        name=plan.name,
        operation=OPERATION,
        backend=BACKEND,
        variant=Variant(VariantKind.CUSTOM, plan.name.partition(":")[0].partition("=")[0]),
        constraints=Constraints(DTYPES),
        characteristics=Characteristics(),
    )
