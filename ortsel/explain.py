"""Why a session serves what it serves: a value that prints as tables and turns into rows."""

from collections import Counter
from fractions import Fraction
from typing import Final, TypeAlias

from attrs import evolve, field, frozen

from ortsel.candidates.search_space import LeftOut
from ortsel.operator_scope.findings import OperatorFindings
from ortsel.watch.counts import ServedChecks
from spec.evidence.machine_states import InState
from spec.report import CandidateReport, Outcome

Cell: TypeAlias = str | int | float | bool | None

MOST_PLACED: Final = 3
"""Candidates whose place is explained in the text, the first; `candidate_rows()` has all."""


def _float(ratio: Fraction | None) -> float | None:
    return None if ratio is None else float(ratio)


def _in_words(state: InState) -> str:
    return f"{float(state.ratio):.3f} ({state.blocks} blocks)"


def _trade_places(faster: InState, slower: InState) -> bool:
    return (faster.ratio < 1) != (slower.ratio < 1)


@frozen
class WorkloadExplanation:
    """One shape: the decision, its evidence, and how every candidate fared."""

    workload: str
    """Shapes and types of the inputs, as text."""
    plan: str
    """Name of the plan that serves; "reference" is the session as it would be without ortsel."""
    source: str
    """Which rule answered: tuned, memory, stored, cache-miss, bypassed, ..."""
    verified: bool
    ratio: Fraction | None
    """Time of the plan over the reference's as measured; None where nothing was measured."""
    reason: str
    key: str = ""
    """Hexadecimal SHA-256 under which the decision is stored; empty without one."""
    candidates: tuple[CandidateReport, ...] = ()
    """In the order in which they were tried; empty for a decision that was not made here."""
    changes: tuple[tuple[str, str], ...] = ()
    """What each plan does differently, by its name."""
    elapsed_ns: int = 0
    left_out: tuple[LeftOut, ...] = ()
    """Candidates that were not worth a trial, each with the rule that says so."""
    placed: tuple[tuple[str, str], ...] = ()
    """Why each candidate had its place in the order of a search, by its name: what it was expected
    to take, by whose word, and its score. Empty for a decision that was not made here."""
    disturbed: tuple[tuple[str, int], ...] = ()
    """How many scored measurements of each plan something else disturbed. Each was taken again, as
    often as the limits of a trial allow."""
    by_state: tuple[tuple[str, tuple[InState, ...]], ...] = ()
    """What each state of the machine said of the candidates that met two of them, by name, the
    faster state first."""
    operators: OperatorFindings = field(factory=OperatorFindings)
    """What was decided about attention by itself, before the search for the whole model."""

    @classmethod
    def kept(cls, workload: str, reason: str) -> "WorkloadExplanation":
        """Return the explanation of a shape that keeps the reference without a decision."""
        return cls(workload, "reference", "failed", verified=False, ratio=None, reason=reason)

    def withdrawn(self, reference: str, reason: str) -> "WorkloadExplanation":
        """Return the explanation of the same shape after its plan was taken back."""
        return evolve(self, plan=reference, verified=False, ratio=None, reason=reason)

    def counts(self) -> dict[str, int]:
        """Return how many candidates there were: generated, left out, measured and verified.

        Left out by a rule before the search; measured in at least one block of it.
        """
        others = [one for one in self.candidates if one.outcome is not Outcome.REFERENCE]
        return {
            "generated": max(len(self.changes) - 1, 0) + len(self.left_out),
            "left_out": len(self.left_out),
            "measured": sum(one.blocks > 0 for one in others),
            "verified": sum(one.verified for one in others),
        }

    def counts_words(self) -> str:
        """Return the counts as a sentence, with the rules that left candidates out."""
        counts = self.counts()
        rules = sorted(Counter(one.rule for one in self.left_out).items())
        by_rule = ", ".join(f"{count} {rule}" for rule, count in rules)
        return (
            f"{counts['generated']} generated, {counts['left_out']} left out"
            f"{f' ({by_rule})' if by_rule else ''}, {counts['measured']} measured, "
            f"{counts['verified']} verified"
        )

    def looked(self) -> str:
        """Return how long candidates were measured, in how many states of the machine, in words.

        Empty where none was measured.
        """
        measured = [one for one in self.candidates if one.states]
        if not measured:
            return ""
        longest_s = max(one.window_ns for one in measured) / 1e9
        states = max(one.states for one in measured)
        words = "one state" if states == 1 else "two states"
        text = f"machine: {words} seen, a candidate's blocks over up to {longest_s:.1f} s"
        disturbed = sum(count for _, count in self.disturbed)
        return f"{text}; {disturbed} disturbed measurements" if disturbed else text

    def state_lines(self) -> list[str]:
        """Return what the states of the machine said of each candidate, in words."""
        return [
            f"{name}: {_in_words(faster)} in the faster state, {_in_words(slower)} in the slower"
            + ("; it and the reference trade places" if _trade_places(faster, slower) else "")
            for name, (faster, slower) in self.by_state
        ]

    def state_rows(self) -> list[dict[str, Cell]]:
        """Return what each state of the machine said of each candidate as plain values."""
        return [
            {
                "workload": self.workload,
                "plan": name,
                "state": which,
                "ratio": float(state.ratio),
                "blocks": state.blocks,
                "reference_ms": state.reference_ns / 1e6,
            }
            for name, states in self.by_state
            for which, state in zip(("faster", "slower"), states, strict=True)
        ]

    def operator_rows(self) -> list[dict[str, Cell]]:
        """Return every decision about attention by itself as plain values."""
        return [{"workload": self.workload, **one.row()} for one in self.operators.decisions]

    def left_out_rows(self) -> list[dict[str, Cell]]:
        """Return every candidate that was left out as plain values."""
        return [
            {"workload": self.workload, "plan": one.name, "rule": one.rule, "reason": one.reason}
            for one in self.left_out
        ]

    def row(self) -> dict[str, Cell]:
        """Return the decision as plain values."""
        return {
            "workload": self.workload,
            "plan": self.plan,
            "source": self.source,
            "verified": self.verified,
            "ratio": _float(self.ratio),
            "reason": self.reason,
            "key": self.key,
            "elapsed_s": self.elapsed_ns / 1e9,
        }

    def candidate_rows(self) -> list[dict[str, Cell]]:
        """Return every candidate as plain values."""
        changes, disturbed, placed = dict(self.changes), dict(self.disturbed), dict(self.placed)
        return [
            {
                "workload": self.workload,
                "plan": report.name,
                "outcome": report.outcome.value,
                "ratio": _float(report.ratio),
                "noise": _float(report.dispersion),
                "blocks": report.blocks,
                "states": report.states,
                "window_s": report.window_ns / 1e9,
                "disturbed": disturbed.get(report.name, 0),
                "verified": report.verified,
                "first_call_ms": None if report.first_ns is None else report.first_ns / 1e6,
                "median_ms": None if report.median_ns is None else report.median_ns / 1e6,
                "reason": report.reason,
                "changes": changes.get(report.name, ""),
                "placed": placed.get(report.name, ""),
            }
            for report in self.candidates
        ]


@frozen
class Explanation:
    """Everything that one session decided so far."""

    workloads: tuple[WorkloadExplanation, ...]
    not_tuned: str = ""
    """Why this session never tunes; empty when it may."""
    checks: ServedChecks = field(factory=ServedChecks)
    """What looking at served calls found."""

    def as_dict(self) -> dict[str, object]:
        """Return everything as plain values, ready for JSON.

        Names: `not_tuned`, `checks` (counts), and the rows of `workloads`, `candidates`,
        `left_out`, `operators` and `states`.
        """
        return {
            "not_tuned": self.not_tuned,
            "checks": self.checks.as_dict(),
            "workloads": self.rows(),
            "candidates": self.candidate_rows(),
            "left_out": self.left_out_rows(),
            "operators": self.operator_rows(),
            "states": self.state_rows(),
        }

    def rows(self) -> list[dict[str, Cell]]:
        """Return one plain dict per decision, ready for a data frame."""
        return [workload.row() for workload in self.workloads]

    def candidate_rows(self) -> list[dict[str, Cell]]:
        """Return one plain dict per decision and candidate."""
        return [row for workload in self.workloads for row in workload.candidate_rows()]

    def operator_rows(self) -> list[dict[str, Cell]]:
        """Return one plain dict per decision about attention by itself."""
        return [row for workload in self.workloads for row in workload.operator_rows()]

    def state_rows(self) -> list[dict[str, Cell]]:
        """Return one plain dict per decision, candidate and state of the machine, of those two."""
        return [row for workload in self.workloads for row in workload.state_rows()]

    def left_out_rows(self) -> list[dict[str, Cell]]:
        """Return one plain dict per decision and candidate that was left out before the search."""
        return [row for workload in self.workloads for row in workload.left_out_rows()]

    def __str__(self) -> str:
        """Return everything as text of fixed-width tables."""
        lines = [f"not tuned: {self.not_tuned}"] if self.not_tuned else []
        if not self.workloads and not lines:
            lines.append("no shape was seen yet")
        for workload in self.workloads:
            lines.extend(_workload_lines(workload))
        if self.checks != ServedChecks():
            counts = (f"{number} {name}" for name, number in self.checks.as_dict().items())
            lines.append(f"served calls that were looked at: {', '.join(counts)}")
        return "\n".join(lines)


def _workload_lines(workload: WorkloadExplanation) -> list[str]:
    ratio = "not measured" if workload.ratio is None else f"ratio {float(workload.ratio):.3f}"
    verified = "verified" if workload.verified else "not verified"
    lines = [
        f"{workload.workload}",
        f"  serves {workload.plan} ({workload.source}, {ratio}, {verified}): {workload.reason}",
    ]
    lines.extend(f"  {line}" for line in workload.operators.lines())
    if not workload.candidates:
        return lines
    lines.append(f"  candidates: {workload.counts_words()}")
    lines.extend(f"  placed {name}: {words}" for name, words in workload.placed[:MOST_PLACED])
    if looked := workload.looked():
        lines.append(f"  {looked}")
    lines.extend(f"  {line}" for line in workload.state_lines())
    width = max(len(report.name) for report in workload.candidates)
    lines.append(f"  {'candidate':<{width}}  {'ratio':>6}  {'noise':>6}  blocks  outcome")
    for report in workload.candidates:
        measured = "-" if report.ratio is None else f"{float(report.ratio):.3f}"
        noise = "-" if report.dispersion is None else f"{float(report.dispersion):.3f}"
        outcome = f"{report.outcome.value}{': ' + report.reason if report.reason else ''}"
        lines.append(
            f"  {report.name:<{width}}  {measured:>6}  {noise:>6}  {report.blocks:>6}  {outcome}"
        )
    return lines
