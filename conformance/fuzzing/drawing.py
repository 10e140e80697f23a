"""Hypothesis strategies for plans. Whoever calls these needs Hypothesis."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeVar

from conformance.fuzzing.finding import HypothesisMissingError
from conformance.fuzzing.plan import (
    NAMES,
    Action,
    Ask,
    Asked,
    JumpWall,
    LookAround,
    Misbehave,
    Plan,
    Serve,
    TakeBack,
    Trouble,
    Wait,
    Watch,
)
from conformance.protocol.message import Style
from spec.candidate import Candidate
from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.median_mad import MedianMad
from spec.evidence.rule import EvidenceRule
from spec.policy import SECOND_NS, Mode, Policy
from spec.problem import Problem, Scope
from spec.regression import AnytimeValidRegression, IncidentPolicy, WindowMedian
from spec.regression.rule import RegressionRule

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
MILLISECOND_NS: Final = 1_000_000
MEDIAN: Final = MedianMad(samples=3, max_relative_mad=Fraction(1, 10))
PEEKING: Final = AnytimeValidRegression(false_alarm_rate=Fraction(1, 2), horizon=1)
BETS: Final = AnytimeValid(Fraction(1, 4), Fraction(1, 4), min_blocks=1, max_blocks=6)


def hypothesis_module() -> ModuleType:
    """Return Hypothesis. Raises `HypothesisMissingError` where it isn't installed."""
    try:
        import hypothesis
    except ImportError as error:
        raise HypothesisMissingError from error
    return hypothesis


def plans(style: Style) -> "SearchStrategy[Plan]":
    """Whole examples, drawn as a few strings of bytes: drawing is most of what a plan costs.

    Every byte picks from one table below. The first entry of each is the plainest, since Hypothesis
    shrinks towards 0.
    """
    from hypothesis import strategies as st

    action = st.binary(min_size=ACTION_BYTES, max_size=ACTION_BYTES)
    some = st.lists(action, max_size=10)
    world = st.binary(min_size=WORLD_BYTES, max_size=WORLD_BYTES)
    return st.builds(lambda *parts: plan_of(style, *parts), world, some, some)


def plan_of(style: Style, world: bytes, first: Sequence[bytes], second: Sequence[bytes]) -> Plan:
    """Return the plan that bytes stand for."""
    policy, rest = world[: len(POLICY_TABLES)], world[len(POLICY_TABLES) :]
    latencies, noise, *questions = rest
    return Plan(
        policy_of(policy),
        tuple(_pick(QUESTIONS, number) for number in questions),
        _pick(LATENCIES_NS, latencies),
        _pick(NOISES, noise),
        tuple(action_of(style, one) for one in (*first, *second)),
    )


LATENCIES_NS: Final = tuple(permutations((100_000, 200_000, 300_000, 400_000)))
NOISES: Final = ((0,), (0, 1), (0, 3, 1), (0, 40), (40, 0, 0), (1, 0, 40, 3, 0))

# Policies so tight that limits, expiries and evictions are met within a few requests.
MODES: Final = (Mode.EXPLORE,) * 13 + (Mode.CACHE_ONLY,) * 2 + (Mode.DISABLED,)
VALIDATIONS: Final = (True, True, True, False)
SPEEDUPS: Final = (Fraction(103, 100), Fraction(1), Fraction(3, 2))
RULES: Final[tuple[EvidenceRule, ...]] = (MEDIAN, BETS)
WATCHES: Final[tuple[RegressionRule, ...]] = (WindowMedian(1), WindowMedian(2), PEEKING)
REUSES: Final = (10_000, 10_000, 3, 1)
BUDGETS_NS: Final = (*(60 * SECOND_NS,) * 4, 5 * MILLISECOND_NS)
LIMITS: Final = (*(64,) * 6, 1, 2)
CAPACITIES: Final = (5, 1, 2, 3)
REPORTS: Final = (3, 0, 1)
POLICY_TABLES: Final[tuple[Sequence[object], ...]] = (
    *(MODES, VALIDATIONS, SPEEDUPS, RULES, WATCHES),
    *(
        REUSES,
        (1, 2),
        BUDGETS_NS,
        LIMITS,
        (1, 2),
        CAPACITIES,
        REPORTS,
        (60, 5),
        (5, 2),
        (None, 100),
    ),
)
QUESTIONS_PER_PLAN: Final = 4
WORLD_BYTES: Final = len(POLICY_TABLES) + 2 + QUESTIONS_PER_PLAN


def policy_of(numbers: Sequence[int]) -> Policy:
    """Return the policy that so many numbers stand for."""
    one = iter(numbers)
    return Policy(
        mode=_pick(MODES, next(one)),
        require_validation=_pick(VALIDATIONS, next(one)),
        min_speedup=_pick(SPEEDUPS, next(one)),
        evidence=_pick(RULES, next(one)),
        regression=_pick(WATCHES, next(one)),
        incidents=IncidentPolicy(recurrence_ns=20 * SECOND_NS, ban_ns=5 * SECOND_NS),
        reuse=_pick(REUSES, next(one)),
        warmups=_pick((1, 2), next(one)),
        budget_ns=_pick(BUDGETS_NS, next(one)),
        max_candidates=_pick(LIMITS, next(one)),
        max_parallel=_pick((1, 2), next(one)),
        capacity=_pick(CAPACITIES, next(one)),
        reports=_pick(REPORTS, next(one)),
        ttl_s=_pick((60, 5), next(one)),
        retry_after_s=_pick((5, 2), next(one)),
        max_workspace_bytes=_pick((None, 100), next(one)),
    )


ACTION_BYTES: Final = 8
KINDS: Final = 16
FIRST_OTHER: Final = 9
"""Kinds below are requests."""
LAST_CALLING: Final = 13
"""Kinds above need two requests under way, or are refused."""
PATIENCES: Final = (*(1000,) * 6, 2, 7)
TIMES: Final = (1, 2, 2, 5)
AFTERS: Final = (None,) * 4 + (0, 1, 2, 3, 4, 5, 5, 6, 9, 13, 20, 5)
WAITS_NS: Final = (SECOND_NS, 1, MILLISECOND_NS, 3 * SECOND_NS, 70 * SECOND_NS)
JUMPS_S: Final = (100, -(10**6), -100, -10, 10, 10**6)
SELECTED_NS: Final = (200, 50, 100)
NESTED: Final = (False,) * 7 + (True,)
CHECKED: Final = (True,) * 15 + (False,)


def action_of(style: Style, numbers: Sequence[int]) -> Action:
    """Return the action that `ACTION_BYTES` numbers stand for."""
    kind, which, turn, flag, times, patience, after, how = numbers
    kind %= KINDS
    trouble = None
    if (place := _pick(AFTERS, after)) is not None:
        trouble = Trouble(place, how + 256 * (turn // 128))
    steps = _pick(PATIENCES, patience) if style is Style.STEPPING else PATIENCES[0]
    if kind < FIRST_OTHER or (style is Style.CALLING and kind > LAST_CALLING):
        nested = _pick(NESTED, flag)
        return Ask(
            which % QUESTIONS_PER_PLAN, _pick(TIMES, times), turn % 4, nested, steps, trouble
        )
    others: dict[int, Action] = {
        9: Wait(_pick(WAITS_NS, which)),
        10: JumpWall(_pick(JUMPS_S, which)),
        11: TakeBack(which, flag % 2 == 0),
        12: Watch(which, _pick(TIMES, times), _pick(SELECTED_NS, turn), _pick(CHECKED, flag)),
        13: LookAround(which),
        14: Serve(which, steps, trouble),
        15: Misbehave(which, how),
    }
    return others[kind]


def _pick(table: Sequence[T], number: int) -> T:
    return table[number % len(table)]


def _problem(operation: str, lane: str, scope: Scope, *, persistent: bool = True) -> Problem:
    return Problem(scope, operation, {"rows": 1}, {"device": lane}, persistent=persistent)


def _some_questions() -> tuple[Asked, ...]:
    plain = tuple(Candidate(name) for name in NAMES)
    odd = (
        Candidate("a"),
        Candidate("b", 101),
        Candidate("c", None),
        Candidate("d", 100),
    )
    sets = (plain[:3], plain[:2], plain, plain[:1], odd, (*plain[:2], Candidate("c", 0, "old")))
    problems = (
        _problem("softmax", "cpu", Scope.OPERATOR),
        _problem("softmax", "gpu", Scope.OPERATOR),
        _problem("attention", "cpu", Scope.PIPELINE),
        _problem("attention", "gpu", Scope.FUSED_GRAPH, persistent=False),
    )
    good = problems[0]
    broken = (
        Asked(good, (), 0),
        Asked(good, plain[:1], 1),
        Asked(good, plain[:1], -1),
        Asked(_problem("", "cpu", Scope.OPERATOR), plain[:1], 0),
        Asked(Problem(Scope.OPERATOR, "softmax", {}, {"device": "cpu"}), plain[:1], 0),
        Asked(Problem(Scope.OPERATOR, "softmax", {"rows": 1}, ""), plain[:1], 0),
        Asked(good, (Candidate(""),), 0),
        Asked(good, (Candidate("a"), Candidate("a")), 0),
        Asked(good, (Candidate("x" * 4097),), 0),
        Asked(good, (Candidate("a", ineligible="no"),), 0),
    )
    fine = tuple(
        Asked(problem, candidates, reference)
        for problem in problems
        for candidates in sets
        for reference in (0, len(candidates) - 1)
        if candidates[reference].fits(100)
    )
    return (*fine, *broken)


QUESTIONS: Final = _some_questions()
