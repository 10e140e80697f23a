"""Small problems, policies and outcomes that meet each other often."""

from fractions import Fraction

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from spec import (
    AnytimeValid,
    Candidate,
    Failure,
    FailureKind,
    IncidentPolicy,
    MedianMad,
    Mode,
    Policy,
    Problem,
    Scope,
    WindowMedian,
)

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
NAMES = ("a", "b", "c", "d")
LANES = ("cpu", "gpu")
OPERATIONS = ("softmax", "attention")

TRIAL_FAILURES = (
    FailureKind.UNSUPPORTED,
    FailureKind.TRANSIENT,
    FailureKind.REJECTED,
    FailureKind.CRASHED,
    FailureKind.DEVICE,
)


@frozen
class Asked:
    """What a request asks, without its number and its time."""

    problem: Problem
    candidates: tuple[Candidate, ...]
    reference: int


def policies() -> SearchStrategy[Policy]:
    """Policies so tight that limits, expiries and evictions are met within a few requests."""
    return st.builds(
        Policy,
        mode=st.sampled_from((Mode.EXPLORE,) * 10 + (Mode.CACHE_ONLY, Mode.DISABLED)),
        require_validation=st.sampled_from((True, True, True, False)),
        min_speedup=st.sampled_from(
            (Fraction(1), Fraction(103, 100), Fraction(103, 100), Fraction(3, 2))
        ),
        evidence=st.sampled_from(
            (
                MedianMad(samples=3, max_relative_mad=Fraction(1, 10)),
                MedianMad(samples=3, max_relative_mad=Fraction(1, 10)),
                AnytimeValid(
                    false_promotion_rate=Fraction(1, 4),
                    false_rejection_rate=Fraction(1, 4),
                    min_blocks=1,
                    max_blocks=6,
                ),
            )
        ),
        regression=st.builds(WindowMedian, pairs=st.integers(1, 3)),
        incidents=st.just(IncidentPolicy(recurrence_ns=20 * SECOND_NS, ban_ns=5 * SECOND_NS)),
        reuse=st.sampled_from((1, 3, 10_000)),
        warmups=st.integers(1, 2),
        budget_ns=st.sampled_from((5 * MILLISECOND_NS, *(60 * SECOND_NS,) * 4)),
        max_candidates=st.sampled_from((1, 2, *(64,) * 6)),
        max_parallel=st.integers(1, 2),
        capacity=st.integers(1, 5),
        reports=st.integers(0, 3),
        ttl_s=st.sampled_from((5, 60)),
        retry_after_s=st.sampled_from((2, 5)),
        max_workspace_bytes=st.sampled_from((None, 100)),
    )


def candidate_sets() -> SearchStrategy[tuple[Candidate, ...]]:
    """One to four candidates: most may be tried, some are out by a rule or by their memory."""
    fate = st.sampled_from(
        (
            *({"workspace_bytes": 0},) * 10,
            {"workspace_bytes": 100},
            {"workspace_bytes": 101},
            {"workspace_bytes": None},
            {"ineligible": "needs a newer device"},
        )
    )

    def build(names: list[str], fates: list[dict[str, object]]) -> tuple[Candidate, ...]:
        made = []
        for name, chosen in zip(names, fates, strict=True):
            workspace = chosen.get("workspace_bytes", 0)
            assert workspace is None or isinstance(workspace, int)
            made.append(Candidate(name, workspace, str(chosen.get("ineligible", ""))))
        return tuple(made)

    sizes = st.sampled_from((1, 2, 3, 3, 4, 4))
    names_lists = st.builds(lambda order, size: order[:size], st.permutations(NAMES), sizes)
    return names_lists.flatmap(
        lambda names: st.builds(
            build, st.just(names), st.lists(fate, min_size=len(names), max_size=len(names))
        )
    )


def problems() -> SearchStrategy[Problem]:
    """Few enough that requests collide on keys and on environments."""
    return st.builds(
        Problem,
        scope=st.sampled_from((Scope.OPERATOR, Scope.OPERATOR, Scope.PIPELINE)),
        operation=st.sampled_from(OPERATIONS),
        workload=st.just({"rows": 1}),
        environment=st.sampled_from(LANES).map(lambda lane: {"device": lane}),
        persistent=st.sampled_from((True, True, False)),
    )


def questions() -> SearchStrategy[Asked]:
    """A problem with its candidates; the reference is mostly one that the policy admits."""

    def build(problem: Problem, candidates: tuple[Candidate, ...], place: int) -> Asked:
        able = [i for i, one in enumerate(candidates) if one.fits(100)] or [0]
        return Asked(problem, candidates, able[place % len(able)])

    return st.builds(build, problems(), candidate_sets(), st.integers(0, 3))


def broken_questions() -> SearchStrategy[Asked]:
    """Questions that break S1, each in one way."""
    good = Problem(Scope.OPERATOR, "softmax", {"rows": 1}, {"device": "cpu"})
    one = (Candidate("a"),)
    return st.sampled_from(
        (
            Asked(good, (), 0),
            Asked(good, one, 1),
            Asked(good, one, -1),
            Asked(Problem(Scope.OPERATOR, "", {"rows": 1}, {"device": "cpu"}), one, 0),
            Asked(Problem(Scope.OPERATOR, "softmax", {}, {"device": "cpu"}), one, 0),
            Asked(Problem(Scope.OPERATOR, "softmax", {"rows": 1}, ""), one, 0),
            Asked(good, (Candidate(""),), 0),
            Asked(good, (Candidate("a"), Candidate("a")), 0),
            Asked(good, (Candidate("x" * 4097),), 0),
            Asked(good, (Candidate("a", ineligible="no"),), 0),
        )
    )


def trial_failures() -> SearchStrategy[Failure]:
    """Failures that a trial may have, the loss of the device among them as often as it needs."""
    kinds = st.sampled_from((*TRIAL_FAILURES, FailureKind.DEVICE))
    return st.builds(Failure, kinds, st.sampled_from(("timeout", "signal", "differs")))


def base_latencies_ns() -> SearchStrategy[dict[str, int]]:
    """How fast each candidate really is: clearly different, so that noise does not decide."""
    return st.permutations((100_000, 200_000, 300_000, 400_000)).map(
        lambda times: dict(zip(NAMES, times, strict=True))
    )
