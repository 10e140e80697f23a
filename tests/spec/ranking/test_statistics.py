"""Hindsight, and what is counted of selections (R16, R17)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from spec.errors import InvalidValue
from spec.ranking import Hindsight, SelectionStatistics, Tally, Unjudged, judge
from spec.ranking.statistics import MAX_NAMES
from tests.spec.ranking.sample_kernels import latencies_ns

measured = st.dictionaries(st.sampled_from("abcdef"), latencies_ns, min_size=2).map(Map)


def hindsight(chosen_ns: int, other_ns: int) -> Hindsight:
    result = judge("a", Map({"a": chosen_ns, "b": other_ns}))
    assert isinstance(result, Hindsight)
    return result


@given(measured, st.data())
def test_regret_is_measured_against_the_best_of_all(
    latencies: Map[str, int], data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(sorted(latencies)))
    result = judge(chosen, latencies)
    assert isinstance(result, Hindsight)
    fastest = min(latencies.values())
    assert latencies[result.best] == fastest
    assert (1 + result.regret) * fastest == latencies[chosen]
    assert result.accurate == (result.regret <= Fraction(1, 20))
    assert 0 <= result.regret_ppm - result.regret * 10**6 < 1


def test_the_margin_itself_is_still_accurate() -> None:
    assert hindsight(105, 100).accurate
    assert not hindsight(106, 100).accurate
    assert hindsight(106, 100).regret == Fraction(6, 100)


def test_a_choice_nothing_was_compared_with_is_not_judged() -> None:
    assert judge("a", Map({"a": 1})) == Unjudged("a")
    assert judge("a", Map()) == Unjudged("a")
    with pytest.raises(InvalidValue, match="R16"):
        judge("a", Map({"b": 1, "c": 2}))
    with pytest.raises(InvalidValue, match="R16"):
        judge("a", Map({"a": 1, "b": 0}))


def test_accuracy_is_kept_by_operation_and_by_backend() -> None:
    statistics = SelectionStatistics()
    for kernel in ("a", "b", "a"):
        statistics = statistics.selected(kernel)
    statistics = statistics.judged("MatMul", "cpu", hindsight(100, 200))
    statistics = statistics.judged("Conv", "cpu", hindsight(200, 100))
    assert statistics.selections == 3
    assert statistics.overall == Tally(2, 1, 10**6, 10**6)
    assert statistics.by_operation["MatMul"].accuracy == 1
    assert statistics.by_operation["Conv"].accuracy == 0
    assert statistics.by_operation["Conv"].mean_regret == 1
    assert statistics.by_backend["cpu"].accuracy == Fraction(1, 2)
    assert statistics.by_backend["cpu"].mean_regret == Fraction(1, 2)


def test_a_selection_that_was_never_judged_is_neither_a_hit_nor_a_miss() -> None:
    statistics = SelectionStatistics().selected("a")
    assert statistics.overall.judged == 0
    with pytest.raises(InvalidValue, match="R17"):
        _ = statistics.overall.accuracy
    judged = statistics.judged("o", "b", hindsight(1, 1))
    with pytest.raises(InvalidValue, match="at most selections"):
        judged.judged("o", "b", hindsight(1, 1))


@given(st.permutations(["a", "a", "b", "b", "c"]))
def test_popular_kernels_go_by_count_then_by_name(order: list[str]) -> None:
    statistics = SelectionStatistics()
    for name in order:
        statistics = statistics.selected(name)
    assert statistics.popular() == (("a", 2), ("b", 2), ("c", 1))
    assert statistics.popular(1) == (("a", 2),)


def test_the_names_counted_are_bounded_and_the_total_is_not() -> None:
    full = Map({f"k{number}": 1 for number in range(MAX_NAMES)})
    statistics = SelectionStatistics(selections=MAX_NAMES, by_kernel=full).selected("new")
    assert statistics.selections == MAX_NAMES + 1
    assert statistics.by_kernel == full
    assert statistics.selected("k0").by_kernel["k0"] == 2
