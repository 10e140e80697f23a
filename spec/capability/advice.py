"""The advice: which backend to use for one attention call, how sure, and why not the others."""

from collections.abc import Iterable
from enum import Enum
from fractions import Fraction
from typing import assert_never

from attrs import evolve, frozen

from spec.capability.advice_key import workload_key
from spec.capability.attention_input import AttentionInput
from spec.capability.backend import ORDER, Backend, sdpa_bits
from spec.capability.build import OrtBuild
from spec.capability.configuration import Configuration, Objective
from spec.capability.hardware import Hardware
from spec.capability.history import (
    Latencies,
    Observation,
    chance_of_being_faster,
    latencies_of,
    median_ns,
)
from spec.capability.memory import MemoryEstimate, memory_estimate
from spec.capability.placement import place
from spec.capability.resolve import NothingRunsError
from spec.capability.rule import Case, Exclusion, case_of, first_unmet
from spec.capability.rule_of_thumb import thumb
from spec.capability.rule_table import RULES_FOR
from spec.capability.work import needed_flops


class Basis(Enum):
    """What the figures of a recommendation rest on."""

    RULE_OF_THUMB = "rule of thumb"
    MEASURED = "measured"
    WISH = "configuration"
    """Debugging or preference: an order, not an estimate."""


@frozen
class Ranked:
    """One backend that can run the call."""

    backend: Backend
    basis: Basis
    score_permille: int
    """Rule-of-thumb score, kept beside a measurement for comparison."""
    expected_speedup: Fraction
    """Against MATH on the same device."""
    confidence: Fraction
    """0 to 1. A rule of thumb states its score, which is no probability; a measurement states how
    sure its samples make it that this backend beats the best other measured one (the score, as
    long as there is no other); a wish is 1."""
    samples: int
    """Measured latencies behind the figures; 0 for a rule of thumb."""
    memory: MemoryEstimate
    reason: str


@frozen
class Survey:
    """Every backend exactly once: it can run the call, or a rule says why not."""

    runnable: tuple[Backend, ...]
    excluded: tuple[Exclusion, ...]


@frozen
class Advice:
    """A recommendation, what else could run (best first), what could not, and remarks."""

    recommended: Ranked
    alternatives: tuple[Ranked, ...]
    excluded: tuple[Exclusion, ...]
    notes: tuple[str, ...]
    needed_flops: int

    @property
    def backend(self) -> Backend:
        """The recommended backend."""
        return self.recommended.backend

    @property
    def confidence(self) -> Fraction:
        """How sure the recommendation is; see `Ranked.confidence`."""
        return self.recommended.confidence

    @property
    def expected_speedup(self) -> Fraction:
        """Expected speed-up of the recommendation over MATH."""
        return self.recommended.expected_speedup

    @property
    def memory_bytes(self) -> int:
        """Operands and workspace of the recommendation."""
        return self.recommended.memory.total_bytes

    @property
    def reason(self) -> str:
        """Why this one."""
        return self.recommended.reason


def survey(
    attention: AttentionInput,
    hardware: Hardware,
    configuration: Configuration,
    build: OrtBuild,
) -> Survey:
    """Ask every backend's rules, as if `sdpa_kernel` were set to the backend's own bits.

    Advice is about what can be had, so a backend that is off by default is not excluded for that;
    `settings_for` says what to set. Environment variables that no option overrides count.
    """
    runnable: list[Backend] = []
    excluded: list[Exclusion] = []
    rules = RULES_FOR[attention.operator]
    cases: dict[int, Case] = {}
    for backend in ORDER:
        bits = sdpa_bits(backend, attention.operator)
        if bits not in cases:
            cases[bits] = case_of(attention, hardware, build, configuration, bits)
        broken = first_unmet(rules[backend], cases[bits])
        excluded.extend(broken)
        if not broken:
            runnable.append(backend)
    return Survey(tuple(runnable), tuple(excluded))


def advise(
    attention: AttentionInput,
    hardware: Hardware,
    configuration: Configuration,
    build: OrtBuild,
    history: Iterable[Observation] = (),
) -> Advice:
    """Recommend a backend for the call.

    Debug mode takes MATH, else a preferred backend is taken, where they can run; where they can't,
    a note says which rule was in the way and the ranking decides. Raises NothingRunsError, with the
    rule that excludes each backend, where none can run the call within the configuration.
    """
    surveyed = survey(attention, hardware, configuration, build)
    if not surveyed.runnable:
        raise NothingRunsError(attention.operator.value, surveyed.excluded)
    seen = tuple(history)
    latencies = latencies_of(seen, workload_key(attention, hardware, build)) if seen else {}
    ranked, notes = _ranking(
        attention,
        hardware,
        build,
        objective=configuration.objective,
        runnable=surveyed.runnable,
        latencies=latencies,
    )
    wished = _wish(configuration)
    for backend, reason in wished:
        for exclusion in surveyed.excluded:
            if exclusion.backend is backend:
                notes = (*notes, f"{reason}, but {exclusion}")
    chosen = next(
        (
            evolve(one, basis=Basis.WISH, confidence=Fraction(1), reason=reason)
            for backend, reason in wished
            for one in ranked
            if one.backend is backend
        ),
        ranked[0],
    )
    return Advice(
        recommended=chosen,
        alternatives=tuple(one for one in ranked if one.backend is not chosen.backend),
        excluded=surveyed.excluded,
        notes=notes,
        needed_flops=needed_flops(attention),
    )


def _wish(configuration: Configuration) -> tuple[tuple[Backend, str], ...]:
    """Backends to take out of turn, first first."""
    debug = ((Backend.MATH, "debug mode asks for math"),) if configuration.debug else ()
    preferred = tuple(
        (backend, f"{backend.value} preferred") for backend in configuration.preferred
    )
    return (*debug, *preferred)


def _ranking(
    attention: AttentionInput,
    hardware: Hardware,
    build: OrtBuild,
    *,
    objective: Objective,
    runnable: tuple[Backend, ...],
    latencies: Latencies,
) -> tuple[tuple[Ranked, ...], tuple[str, ...]]:
    """Best first. Measurements overrule the rules of thumb once they include their favourite."""
    provider = place(attention, hardware, build)
    guessed = []
    for backend in runnable:
        guess = thumb(backend, attention, hardware)
        guessed.append(
            Ranked(
                backend=backend,
                basis=Basis.RULE_OF_THUMB,
                score_permille=guess.score_permille,
                expected_speedup=guess.speedup,
                confidence=Fraction(guess.score_permille, 1000),
                samples=0,
                memory=memory_estimate(backend, attention, hardware, provider),
                reason=guess.reason,
            )
        )
    by_thumb = tuple(sorted(guessed, key=lambda one: _preference(one, objective)))
    known = {backend: latencies[backend] for backend in latencies if backend in runnable}
    if not known:
        return by_thumb, ()
    favourite = by_thumb[0]
    measured = tuple(
        _measured(one, favourite, known) if one.backend in known else one for one in by_thumb
    )
    if favourite.backend not in known:
        note = f"{favourite.backend.value} is a rule of thumb's favourite and was never measured"
        return measured, (note,)
    first = sorted(
        (one for one in measured if one.backend in known),
        key=lambda one: median_ns(known[one.backend]),
    )
    rest = (one for one in measured if one.backend not in known)
    return (*first, *rest), ()


def _preference(one: Ranked, objective: Objective) -> tuple[Fraction | int, ...]:
    """Smaller is better; the fixed order of backends breaks what is left."""
    place_in_order = ORDER.index(one.backend)
    match objective:
        case Objective.LATENCY:
            return (-one.expected_speedup, -one.score_permille, place_in_order)
        case Objective.THROUGHPUT:
            return (
                -one.score_permille,
                one.memory.total_bytes,
                -one.expected_speedup,
                place_in_order,
            )
        case Objective.BALANCED:
            return (-one.score_permille, -one.expected_speedup, place_in_order)
        case _:
            assert_never(objective)


def _measured(one: Ranked, favourite: Ranked, known: dict[Backend, tuple[int, ...]]) -> Ranked:
    """The backend with the measurement's figures in place of the guess.

    The speed-up is the ratio of medians to MATH if MATH was measured; else the favourite's guess
    times the ratio of medians to the favourite; else, with nothing to compare to, the guess stays.
    """
    own = known[one.backend]
    speedup = one.expected_speedup
    for anchor, anchor_speedup in (
        (Backend.MATH, Fraction(1)),
        (favourite.backend, favourite.expected_speedup),
    ):
        if anchor in known:
            speedup = anchor_speedup * median_ns(known[anchor]) / median_ns(own)
            break
    others = [samples for backend, samples in known.items() if backend is not one.backend]
    best = min(others, key=median_ns, default=())
    return evolve(
        one,
        basis=Basis.MEASURED,
        expected_speedup=speedup,
        confidence=chance_of_being_faster(own, best) if best else one.confidence,
        samples=len(own),
        reason=f"median of {len(own)} measured calls: {median_ns(own)} ns",
    )
