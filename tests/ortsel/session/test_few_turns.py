"""A search with little time decides about few candidates instead of none."""

from fractions import Fraction

from attrs import define, evolve

from ortsel.candidates.search_space import SearchSpace
from ortsel.decision_words import with_few_turns
from ortsel.operator_scope.findings import OperatorFindings
from ortsel.operator_scope.resting import NOTHING
from ortsel.plan import Plan
from ortsel.question import Question
from ortsel.selector import Selector
from ortsel.store.memory_store import MemoryStore
from ortsel.trial.rig import Verified
from spec.candidate import Candidate
from spec.decision import Decision, Source
from spec.engine.effect import Purpose
from spec.failure import Failure
from spec.moment import Moment
from spec.policy import SECOND_NS, Policy
from spec.problem import Problem, Scope
from spec.record import Record
from spec.report import Outcome, TrialReport

MILLISECOND_NS = SECOND_NS // 1000
POLICY = Policy(budget_ns=5 * SECOND_NS)
PROBLEM = Problem(Scope.PIPELINE, "onnx-model", "a workload", "here", "a model", ["options"])
CANDIDATES = tuple(Candidate(name) for name in ("reference", *(f"plan {one}" for one in range(20))))


@define
class Machine:
    """Trials in simulated time: a child takes a second, every plan half of the reference's."""

    now_ns: int = 0
    opened: int = 0

    def clock(self) -> Moment:
        return Moment(self.now_ns, 1_000_000)

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        if candidate != self.opened:
            self.now_ns += SECOND_NS if candidate > self.opened else 0
            self.opened = max(candidate, self.opened)
        self.now_ns += 20 * MILLISECOND_NS
        return MILLISECOND_NS if candidate else 2 * MILLISECOND_NS

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified:
        return Verified(2)

    def record_loaded(self, record: Record) -> None:
        raise AssertionError(record)


def searched(most: int | None) -> tuple[Selector, Decision | Failure, TrialReport]:
    machine = Machine()
    selector = Selector(POLICY, MemoryStore(), machine.clock)
    answer = selector.select(PROBLEM, CANDIDATES, 0, machine, most_turns=most)
    (report,) = selector.state.reports
    return selector, answer, report


def test_time_for_a_few_candidates_decides_about_these_and_says_why_there_are_no_more() -> None:
    _, answer, report = searched(None)
    assert isinstance(answer, Decision)
    assert answer.source is Source.BYPASSED, "pointless unless all of them are too many"
    _, answer, report = searched(2)
    assert isinstance(answer, Decision)
    assert (answer.name, answer.ratio) == ("plan 0", Fraction(1, 2))
    told = with_few_turns(report, 2)
    assert {one.reason for one in told.candidates[3:]} == {
        "left out: the time budget is enough for 2 of the candidates"
    }
    assert {one.outcome for one in told.candidates[3:]} == {Outcome.SKIPPED}
    assert told.candidates[:3] == report.candidates[:3]
    assert with_few_turns(report, 3) == report


def test_what_was_decided_among_few_is_looked_at_again_soon() -> None:
    selector, answer, _ = searched(2)
    assert isinstance(answer, Decision)
    until_ns = selector.valid_until_ns(answer.key)
    assert until_ns is not None
    assert until_ns <= (POLICY.retry_after_s + 10) * SECOND_NS < POLICY.ttl_s * SECOND_NS


def test_the_limit_of_one_search_is_not_that_of_the_next() -> None:
    selector, answer, _ = searched(2)
    assert selector.state.policy == selector.policy == POLICY
    again = selector.select(PROBLEM, CANDIDATES, 0, Machine())
    assert isinstance(again, Decision)
    assert isinstance(answer, Decision)
    assert (again.source, again.key) == (Source.MEMORY, answer.key)


PLANS = (Plan("reference"), Plan("a", variant="a"), Plan("b"), Plan("c", variant="c"), Plan("d"))


def question() -> Question:
    return Question(PROBLEM, SearchSpace(PLANS, ()), NOTHING, OperatorFindings())


def names(asked: Question) -> str:
    return "".join(plan.name[0] for plan in asked.space.plans)


def test_without_time_for_all_what_builds_nothing_comes_first() -> None:
    asked = question().affordable(3)
    assert (names(asked), asked.turns) == ("rbdac", 3)


def test_an_order_that_looks_gave_is_kept() -> None:
    asked = evolve(question(), looked=True).affordable(3)
    assert (names(asked), asked.turns) == ("rabcd", 3)


def test_with_time_for_all_or_where_nobody_knows_nothing_changes() -> None:
    assert question().affordable(4) == question()
    assert question().affordable(None) == question()
    hopeless = evolve(question(), hopeless={"d": "a short look", "b": "a short look"})
    assert hopeless.affordable(2) == hopeless
    assert hopeless.affordable(1).turns == 1
