"""What follows from decisions about attention by itself, for the model that it was cut from."""

from fractions import Fraction

from attrs import evolve

from ortsel.candidates.search_space import LeftOut, SearchSpace
from ortsel.operator_scope.cutting import CutAttention
from ortsel.operator_scope.narrowing import Decided, narrowed_by
from ortsel.operator_scope.resting import NOTHING, RULE, Resting, attention_plans
from ortsel.operator_scope.scope import policy_alone
from ortsel.operator_scope.worth import Side, saved_ns, spent_ns
from ortsel.plan import Plan, SessionSettings
from spec.canonical_json import canonical, digest
from spec.evidence import AnytimeValid, MedianMad
from spec.policy import Policy
from spec.problem import Scope
from spec.record import Record
from spec.report import CandidateReport, Outcome

NAMES = (("variant=a", "a"), ("variant=b", "b"), ("variant=c", "c"))
NEEDED = Fraction(103, 100)
SECOND_NS = 10**9


def attention(instances: int = 4, refused: tuple[tuple[str, str], ...] = ()) -> CutAttention:
    return CutAttention("unfused", instances, ((1, 8, 4),), ("v0",), "m", "f", (), refused)


def record(winner: str, ratio: Fraction = Fraction(1, 2), key: str = "k") -> Record:
    if winner == "reference":
        return Record(
            key,
            Scope.OPERATOR,
            winner,
            "reference",
            0,
            1000,
            1000,
            Fraction(1),
            Fraction(0),
            0,
            verified=True,
        )
    return Record(
        key,
        Scope.OPERATOR,
        winner,
        "reference",
        0,
        1000,
        int(1000 * ratio),
        ratio,
        Fraction(0),
        9,
        verified=True,
    )


def report(name: str, outcome: Outcome, ratio: Fraction | None = None) -> CandidateReport:
    return CandidateReport(name, outcome, 6, ratio, Fraction(0), verified=True)


def lost(resting: Resting) -> list[str]:
    return [one.name for one in resting.left_out]


def test_what_lost_clearly_is_left_out_with_the_rule_and_both_ratios() -> None:
    decided = Decided(
        attention(),
        record("variant=a"),
        (
            report("reference", Outcome.REFERENCE),
            report("variant=a", Outcome.PROMOTED, Fraction(1, 2)),
            report("variant=b", Outcome.NOT_FASTER, Fraction(5, 4)),
            report("variant=c", Outcome.FASTER, Fraction(3, 5)),
        ),
    )
    assert decided.loses("variant=a", "a", Fraction(1)) == ""
    resting = narrowed_by((decided,), NAMES, NEEDED)
    assert lost(resting) == ["variant=b", "variant=c"]
    assert {one.rule for one in resting.left_out} == {RULE}
    reason = resting.left_out[0].reason
    assert reason == "1.25 times the reference's time, variant=a 0.50 times"
    assert resting.first == ("variant=a",)


def test_what_was_nearly_as_fast_or_noisy_or_not_tried_is_kept() -> None:
    decided = Decided(
        attention(),
        record("variant=a"),
        (
            report("variant=a", Outcome.PROMOTED, Fraction(1, 2)),
            report("variant=b", Outcome.FASTER, Fraction(54, 100)),
            report("variant=c", Outcome.NOISY, Fraction(54, 100)),
        ),
    )
    assert lost(narrowed_by((decided,), NAMES, NEEDED)) == []
    only_winner = Decided(attention(), record("variant=a"))
    assert lost(narrowed_by((only_winner,), NAMES, NEEDED)) == [], (
        "a record tells nothing of the others"
    )


def test_what_was_noisy_and_far_slower_than_the_best_is_left_out() -> None:
    reports = (report("variant=b", Outcome.NOISY, Fraction(3, 2)),)
    decided = Decided(attention(), record("reference"), reports)
    assert "variant=b" in lost(narrowed_by((decided,), NAMES, NEEDED))


def test_what_is_kept_and_showed_no_gain_comes_last() -> None:
    reports = (
        report("variant=a", Outcome.NOISY, Fraction(101, 100)),
        report("variant=b", Outcome.NOT_FASTER, Fraction(95, 100)),
    )
    resting = narrowed_by((Decided(attention(), record("reference"), reports),), NAMES, NEEDED)
    plans = tuple(Plan(name, variant=variant) for name, variant in NAMES[:2])
    narrowed = resting.narrowed(SearchSpace((Plan("reference"), *plans, Plan("other"))))
    names = [plan.name for plan in narrowed.plans]
    assert names == ["reference", "variant=b", "other", "variant=a"]


def test_what_gains_enough_for_the_whole_model_is_kept_although_it_did_not_win() -> None:
    reports = (
        report("variant=a", Outcome.NOT_FASTER, Fraction(95, 100)),
        report("variant=b", Outcome.NOT_FASTER, Fraction(99, 100)),
        CandidateReport("variant=c", Outcome.NOT_FASTER, reason="its first call"),
    )
    decided = Decided(attention(), record("reference"), reports)
    assert lost(narrowed_by((decided,), NAMES, NEEDED)) == ["variant=b", "variant=c"]


def test_attention_alone_needs_more_speed_up_and_gets_fewer_blocks() -> None:
    alone = policy_alone(Policy())
    assert alone.min_speedup == Fraction(11, 10)
    assert isinstance(alone.evidence, AnytimeValid)
    assert alone.evidence.max_blocks == 24
    strict = evolve(Policy(), min_speedup=Fraction(2), evidence=MedianMad())
    assert policy_alone(strict) == strict


def test_where_the_reference_won_a_record_alone_leaves_all_out() -> None:
    resting = narrowed_by((Decided(attention(), record("reference")),), NAMES, NEEDED)
    assert lost(resting) == ["variant=a", "variant=b", "variant=c"]
    assert resting.first == ()


def test_one_kind_of_attention_at_which_it_may_win_keeps_a_candidate() -> None:
    first = Decided(attention(), record("reference", key="1"))
    second = Decided(
        attention(refused=(("c", "no kernel"),)),
        record("variant=a", key="2"),
        (report("variant=b", Outcome.NOT_FASTER, Fraction(2)),),
    )
    assert lost(narrowed_by((first, second), NAMES, NEEDED)) == ["variant=b", "variant=c"]


def test_winners_are_ordered_by_the_time_that_they_save() -> None:
    small = Decided(attention(2), record("variant=b", Fraction(1, 2), "1"))
    large = Decided(attention(9), record("variant=c", Fraction(1, 2), "2"))
    assert narrowed_by((small, large), NAMES, NEEDED).first == ("variant=c", "variant=b")


def test_where_something_is_undecided_what_lost_is_last_and_nothing_rests_on_it() -> None:
    undecided = Decided(
        attention(),
        None,
        (
            evolve(report("reference", Outcome.REFERENCE), median_ns=1000),
            report("variant=a", Outcome.NOT_FASTER, Fraction(2)),
            report("variant=b", Outcome.SKIPPED),
            report("variant=c", Outcome.FASTER, Fraction(1, 2)),
        ),
    )
    resting = narrowed_by((undecided,), NAMES, NEEDED)
    assert (resting.decisions, resting.left_out) == ((), ())
    assert resting.fingerprint() == NOTHING.fingerprint()
    plans = tuple(Plan(name, variant=variant) for name, variant in NAMES)
    space = resting.narrowed(SearchSpace((Plan("reference"), Plan("other"), *plans)))
    names = [one.name for one in space.plans]
    assert names == ["reference", "variant=c", "other", "variant=b", "variant=a"]


def test_a_narrowed_space_tells_what_was_left_out_and_begins_with_what_won() -> None:
    plans = tuple(Plan(name, variant=variant) for name, variant in NAMES)
    earlier = LeftOut("x", "no-gain", "")
    space = SearchSpace((Plan("reference"), Plan("other"), *plans), (earlier,))
    gone = tuple(LeftOut(name, RULE, "slow") for name in ("variant=b", "not here"))
    narrowed = Resting((("k", "variant=c"),), gone, ("variant=c",)).narrowed(space)
    names = [plan.name for plan in narrowed.plans]
    assert names == ["reference", "variant=c", "other", "variant=a"]
    assert [one.name for one in narrowed.left_out] == ["x", "variant=b"]
    assert narrowed.generated == space.generated


def test_the_fingerprint_names_keys_and_what_they_decided_in_any_order() -> None:
    one = Resting((("a", "x"), ("b", "y")))
    assert one.fingerprint() == digest(canonical([["a", "x"], ["b", "y"]]))
    assert one.fingerprint() == Resting((("b", "y"), ("a", "x"))).fingerprint()
    assert one.fingerprint() != Resting((("a", "x"), ("b", "z"))).fingerprint()
    assert NOTHING.fingerprint() == digest("[]")
    assert (NOTHING.options(), one.options()) == ({}, {"operators": ["a", "b"]})


def test_only_plans_that_differ_in_attention_alone_are_decided_by_it() -> None:
    reference = Plan("reference")
    alone = Plan("alone", variant="attention-24+prescaled-query")
    others = (
        Plan("more", variant="ort-optimizer"),
        Plan("joint", variant="math+ort-fusions"),
        Plan("own", variant="function:0:m:f"),
        Plan("threads", settings=SessionSettings((("intra_op_num_threads", 1),)), variant="math"),
    )
    assert attention_plans(SearchSpace((reference, alone, *others))) == (alone,)


def test_it_pays_for_a_large_model_and_not_for_a_small_one() -> None:
    small = Side(10**7, 10**8, rewrites=True, weight_bytes=20 * 10**6)
    large = Side(10**8, SECOND_NS, rewrites=True, weight_bytes=440 * 10**6)
    assert saved_ns(6, small) < spent_ns(6, 1, Side(10**6))
    assert saved_ns(6, large) > spent_ns(6, 1, Side(10**7))
    assert saved_ns(6, large) < spent_ns(6, 4, Side(10**7)), "four kinds are four searches"
