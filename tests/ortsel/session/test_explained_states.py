"""What an explanation says of the machine during a search (E9) and of disturbed measurements."""

from fractions import Fraction

from attrs import evolve

from ortsel.explain import Explanation, WorkloadExplanation
from spec.evidence.machine_states import InState
from spec.report import CandidateReport, Outcome

REFERENCE = CandidateReport("reference", Outcome.REFERENCE, ratio=Fraction(1))
RIVAL = CandidateReport(
    "rival",
    Outcome.PROMOTED,
    blocks=9,
    ratio=Fraction(1, 2),
    states=1,
    window_ns=1_500_000_000,
)
EXPLAINED = WorkloadExplanation(
    "x float[1] to y (numpy)",
    "rival",
    "tuned",
    verified=True,
    ratio=Fraction(1, 2),
    reason="faster",
    candidates=(REFERENCE, RIVAL),
)


def test_one_state_and_the_window_are_told() -> None:
    text = str(Explanation((EXPLAINED,)))
    assert "machine: one state seen, a candidate's blocks over up to 1.5 s\n" in text


def test_two_states_and_disturbances_are_told() -> None:
    both = evolve(
        EXPLAINED,
        candidates=(REFERENCE, RIVAL, evolve(RIVAL, name="other", states=2)),
        disturbed=(("other", 1), ("reference", 2)),
    )
    text = str(Explanation((both,)))
    assert "machine: two states seen" in text
    assert "1.5 s; 3 disturbed measurements\n" in text
    rows = {row["plan"]: row for row in both.candidate_rows()}
    assert [rows[name]["disturbed"] for name in ("reference", "rival", "other")] == [2, 0, 1]
    assert [rows[name]["states"] for name in ("reference", "rival", "other")] == [0, 1, 2]
    assert rows["rival"]["window_s"] == 1.5


def test_nothing_is_said_of_a_machine_on_which_nothing_was_measured() -> None:
    assert "machine:" not in str(Explanation((evolve(EXPLAINED, candidates=(REFERENCE,)),)))


def test_what_each_state_said_is_told_and_who_trades_places() -> None:
    fast, slow = InState(7, Fraction(8, 5), 12_000_000), InState(3, Fraction(3, 4), 26_000_000)
    both = evolve(
        EXPLAINED,
        by_state=(("rival", (fast, slow)), ("other", (slow, evolve(slow, ratio=Fraction(4, 5))))),
    )
    text = str(Explanation((both,)))
    assert (
        "rival: 1.600 (7 blocks) in the faster state, 0.750 (3 blocks) in the slower; "
        "it and the reference trade places\n"
    ) in text
    other = next(line for line in text.splitlines() if line.startswith("  other: "))
    assert "trade places" not in other
    rows = Explanation((both,)).as_dict()["states"]
    assert isinstance(rows, list)
    assert rows[1] == {
        "workload": both.workload,
        "plan": "rival",
        "state": "slower",
        "ratio": 0.75,
        "blocks": 3,
        "reference_ms": 26.0,
    }
