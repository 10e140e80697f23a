"""A first degradation demotes, a recurrence bans, and a ban ends (S9, S10)."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.regression import (
    Ban,
    Demote,
    IncidentPolicy,
    Incidents,
    after_degradation,
    is_banned,
    went_away,
)

POLICY = IncidentPolicy(recurrence_ns=100, ban_ns=1000)
CLEAN = Incidents("here")
POLICIES = st.builds(
    IncidentPolicy,
    recurrence_ns=st.integers(min_value=1, max_value=300),
    ban_ns=st.integers(min_value=1, max_value=300),
)
MOMENTS = st.integers(min_value=-1000, max_value=1000)


def test_a_first_degradation_demotes_and_bans_nothing() -> None:
    incidents, consequence = after_degradation(POLICY, CLEAN, 50)
    assert consequence == Demote()
    assert not is_banned(incidents, 50)


@pytest.mark.parametrize("gap_ns", [0, 1, 100])
def test_a_second_degradation_within_the_time_bans(gap_ns: int) -> None:
    first, _ = after_degradation(POLICY, CLEAN, 50)
    second, consequence = after_degradation(POLICY, first, 50 + gap_ns)
    assert consequence == Ban(50 + gap_ns + 1000)
    assert is_banned(second, 50 + gap_ns)


def test_a_second_degradation_after_the_time_demotes_and_can_itself_recur() -> None:
    first, _ = after_degradation(POLICY, CLEAN, 50)
    second, consequence = after_degradation(POLICY, first, 151)
    assert consequence == Demote()
    assert after_degradation(POLICY, second, 251)[1] == Ban(1251)


def banned_at_100() -> Incidents:
    first, _ = after_degradation(POLICY, CLEAN, 0)
    second, consequence = after_degradation(POLICY, first, 100)
    assert consequence == Ban(1100)
    return second


def test_a_ban_covers_its_beginning_and_not_its_end() -> None:
    incidents = banned_at_100()
    assert [is_banned(incidents, now_ns) for now_ns in (99, 100, 1099, 1100)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_degradation_during_a_ban_renews_it() -> None:
    renewed, consequence = after_degradation(POLICY, banned_at_100(), 1099)
    assert consequence == Ban(2099)
    assert is_banned(renewed, 2098)


def test_a_ban_served_leaves_a_clean_slate() -> None:
    incidents, consequence = after_degradation(POLICY, banned_at_100(), 1100)
    assert consequence == Demote()
    assert not is_banned(incidents, 1100)
    assert after_degradation(POLICY, incidents, 1101)[1] == Ban(2101)


def test_a_short_ban_is_a_clean_slate_even_within_the_time_of_recurrence() -> None:
    short = IncidentPolicy(recurrence_ns=100, ban_ns=5)
    first, _ = after_degradation(short, CLEAN, 0)
    second, consequence = after_degradation(short, first, 10)
    assert consequence == Ban(15)
    assert after_degradation(short, second, 15)[1] == Demote()


def test_incidents_of_another_environment_went_away() -> None:
    incidents = banned_at_100()
    assert went_away(incidents, "here") is incidents
    elsewhere = went_away(incidents, "there")
    assert elsewhere == Incidents("there")
    assert not is_banned(elsewhere, 500)
    assert after_degradation(POLICY, elsewhere, 500)[1] == Demote()


def test_a_moment_before_the_last_degradation_is_of_another_clock_and_keeps_nothing() -> None:
    incidents = banned_at_100()
    assert not is_banned(incidents, -5)
    assert after_degradation(POLICY, incidents, -5)[1] == Demote()
    first, _ = after_degradation(POLICY, CLEAN, 50)
    assert after_degradation(POLICY, first, 49)[1] == Demote()


@given(POLICIES, st.lists(MOMENTS, max_size=20), MOMENTS)
def test_no_ban_outlasts_its_time_whatever_the_clock_does(
    policy: IncidentPolicy, moments: list[int], later: int
) -> None:
    incidents = CLEAN
    for now_ns in moments:
        incidents, consequence = after_degradation(policy, incidents, now_ns)
        assert incidents.degraded_at_ns == now_ns
        assert is_banned(incidents, now_ns) == isinstance(consequence, Ban)
        assert not is_banned(incidents, now_ns + policy.ban_ns)
    if is_banned(incidents, later):
        assert moments[-1] <= later < moments[-1] + policy.ban_ns


@given(POLICIES, st.lists(MOMENTS, min_size=1, max_size=20))
def test_there_is_no_ban_without_a_degradation_shortly_before(
    policy: IncidentPolicy, moments: list[int]
) -> None:
    incidents = CLEAN
    last: int | None = None
    for now_ns in moments:
        incidents, consequence = after_degradation(policy, incidents, now_ns)
        if isinstance(consequence, Ban):
            assert last is not None
            assert 0 <= now_ns - last <= max(policy.recurrence_ns, policy.ban_ns)
        last = now_ns


@pytest.mark.parametrize("time_ns", [0, -1, 400 * 24 * 3600 * 10**9, True, 1.5])
def test_a_time_out_of_range_is_refused(time_ns: object) -> None:
    with pytest.raises(InvalidValue, match="recurrence_ns: got"):
        IncidentPolicy(recurrence_ns=cast("int", time_ns))
    with pytest.raises(InvalidValue, match="ban_ns: got"):
        IncidentPolicy(ban_ns=cast("int", time_ns))
