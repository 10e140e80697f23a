"""What is remembered of tries, for how long, and how it fades (R8, R14)."""

from fractions import Fraction

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.ranking import Failed, History, HistoryPolicy, Moments, Outcome, Succeeded, Usage
from spec.ranking.history import DAY_NS
from spec.ranking.score import history_term

outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.just(Failed.FAILED), st.builds(Succeeded, st.integers(1, 10**9))
)
keys = st.tuples(st.sampled_from(["w1", "w2"]), st.sampled_from(["a", "b", "c"]))


def recorded(*results: Outcome, at_ns: int = 0, history: History | None = None) -> History:
    result = History() if history is None else history
    for one in results:
        result = result.record("w", "k", one, at_ns)
    return result


def term(history: History, now_ns: int) -> Fraction:
    usage = history.usage("w", "k", now_ns)
    recency = Fraction(0) if usage is None else history.recency(usage, now_ns)
    return history_term(usage, recency)


def test_failures_count_as_tries_and_give_no_latency() -> None:
    usage = recorded(Succeeded(10), Failed.FAILED, Succeeded(30)).usage("w", "k", 0)
    assert usage is not None
    assert usage.success_rate == Fraction(2, 3)
    assert usage.latency == Moments().add(10).add(30)


def test_another_workload_of_the_same_kernel_has_a_history_of_its_own() -> None:
    assert recorded(Succeeded(10)).usage("other", "k", 0) is None


def test_a_kernel_never_tried_is_neutral() -> None:
    assert term(History(), 0) == Fraction(1, 2)


@given(st.lists(outcomes, min_size=1, max_size=10), st.integers(0, 60 * DAY_NS))
def test_the_history_term_is_a_share_and_fades_towards_neutral(
    results: list[Outcome], later: int
) -> None:
    history = recorded(*results)
    now, then = term(history, 0), term(history, later)
    assert 0 <= now <= 1
    assert abs(then - Fraction(1, 2)) <= abs(now - Fraction(1, 2))


def test_after_one_half_life_half_of_the_evidence_is_left() -> None:
    history = recorded(Succeeded(10))
    week = history.policy.half_life_ns
    assert term(history, 0) == 1
    assert term(history, week) == Fraction(3, 4)
    assert term(recorded(Failed.FAILED), week) == Fraction(1, 4)


def test_an_old_success_is_never_worth_less_than_no_try_and_an_old_failure_never_more() -> None:
    long_ago = 55 * DAY_NS
    assert term(recorded(Succeeded(10)), long_ago) > Fraction(1, 2)
    assert term(recorded(Failed.FAILED), long_ago) < Fraction(1, 2)


def test_a_usage_is_kept_up_to_the_retention_and_forgotten_after_it() -> None:
    history = recorded(Succeeded(10))
    limit = history.policy.retention_ns
    assert history.usage("w", "k", limit) is not None
    assert history.usage("w", "k", limit + 1) is None
    fresh = recorded(Failed.FAILED, at_ns=limit + 1, history=history).usage("w", "k", limit + 1)
    assert fresh == Usage(1, Moments(), limit + 1)
    assert len(history.pruned(limit).usages) == 1
    assert len(history.pruned(limit + 1).usages) == 0


def test_a_last_use_in_the_future_counts_as_just_now() -> None:
    history = recorded(Succeeded(10), at_ns=100 * DAY_NS)
    assert term(history, 0) == 1


@given(st.lists(st.tuples(keys, outcomes), max_size=40), st.integers(1, 4))
def test_capacity_holds_and_the_first_in_is_the_first_out(
    events: list[tuple[tuple[str, str], Outcome]], capacity: int
) -> None:
    history = History(policy=HistoryPolicy(max_entries=capacity))
    model: list[tuple[str, str]] = []
    for key, outcome in events:
        history = history.record(*key, outcome, 0)
        if key not in model:
            model = [*model, key][-capacity:]
    assert set(history.usages) == set(model)
    assert [history.arrivals[n] for n in sorted(history.arrivals)] == model


@given(st.lists(st.tuples(keys, outcomes), max_size=20))
def test_recording_changes_no_earlier_history(
    events: list[tuple[tuple[str, str], Outcome]],
) -> None:
    before = recorded(Succeeded(5))
    after = before
    for key, outcome in events:
        after = after.record(*key, outcome, 1)
    assert before == recorded(Succeeded(5))
    assert after.pruned(1).usages == after.usages


def test_pruning_keeps_the_order_of_arrival() -> None:
    old = History().record("w", "old", Succeeded(1), 0)
    both = old.record("w", "new", Succeeded(1), 56 * DAY_NS).record(
        "w", "newer", Succeeded(1), 56 * DAY_NS
    )
    pruned = evolve(both.pruned(57 * DAY_NS), policy=HistoryPolicy(max_entries=2))
    grown = pruned.record("w", "newest", Succeeded(1), 57 * DAY_NS)
    assert set(grown.usages) == {("w", "newer"), ("w", "newest")}


def test_more_successes_than_tries_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at most trials"):
        Usage(1, Moments().add(1).add(1), 0)
