"""A search's trials as data, and the same search again from that data (S13).

What the engine is told of a search besides the question are moments and outcomes of trials. Kept in
order, they give the same decision again, on any machine and without a model: to examine a decision
that somebody else's machine made, and to show that nothing else played a part.
"""

import json
from collections.abc import Callable
from typing import Final, TypeAlias

import cattrs
from attrs import define, field, frozen
from cattrs.strategies import configure_tagged_union

from ortsel.confirming import Restarting
from ortsel.errors import OrtselError
from ortsel.selector import Selector, TrialRunner
from ortsel.store.memory_store import MemoryStore
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.rig import CannotVerify, Verified
from spec.candidate import Candidate
from spec.canonical_json import canonical
from spec.decision import Decision
from spec.engine.effect import Purpose
from spec.failure import Failure
from spec.keys import cache_key
from spec.moment import Moment
from spec.policy import Policy
from spec.problem import Problem, Scope
from spec.record import Record

SCHEMA: Final = 1


@frozen
class Timed:
    """A measurement."""

    latency_ns: int


Outcome: TypeAlias = Timed | Verified | CannotVerify | Failure


@frozen
class Trial:
    """One thing that the engine asked for, and what came of it."""

    candidate: int
    purpose: str
    """A purpose of a measurement, or "validate"."""
    outcome: Outcome


@frozen
class Recording:
    """One search: question, moments at which its events came, and trials, in order."""

    key: str
    """Digest of the question under the policy that it was asked with."""
    scope: str
    operation: str
    parts: tuple[str, ...]
    """Canonical JSON of workload, environment, model and options."""
    lower_level: str
    candidates: tuple[str, ...]
    reference: int
    persistent: bool
    """Whether the store was asked first."""
    moments: tuple[Moment, ...]
    trials: tuple[Trial, ...]


@frozen
class ReplayError(OrtselError):
    """The search took another way than the recorded one."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"replay: got {self.got}, need {self.need}"


@define
class RecordingTrials:
    """Passes everything on to the real trials, and keeps what came of it."""

    runner: TrialRunner
    read: Callable[[], Moment]
    moments: list[Moment] = field(factory=list)
    trials: list[Trial] = field(factory=list)

    def now(self) -> Moment:
        """Return the time now; for the selector to be its clock."""
        self.moments.append(self.read())
        return self.moments[-1]

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        """Time one candidate."""
        try:
            latency_ns = self.runner.measure(candidate, purpose, deadline_ns)
        except TrialFailedError as error:
            self.trials.append(Trial(candidate, purpose.value, error.failure))
            raise
        self.trials.append(Trial(candidate, purpose.value, Timed(latency_ns)))
        return latency_ns

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        """Compare outputs."""
        try:
            verdict = self.runner.validate(reference, candidate, deadline_ns)
        except TrialFailedError as error:
            self.trials.append(Trial(candidate, VALIDATE, error.failure))
            raise
        self.trials.append(Trial(candidate, VALIDATE, verdict))
        return verdict

    def restart(self) -> None:
        """Pass it on, where there is anything to restart; nothing comes of it."""
        if isinstance(self.runner, Restarting):
            self.runner.restart()

    def record_loaded(self, record: Record) -> None:
        """Pass it on."""
        self.runner.record_loaded(record)


VALIDATE: Final = "validate"


def recorded(
    problem: Problem,
    candidates: tuple[Candidate, ...],
    reference: int,
    policy: Policy,
    trials: RecordingTrials,
) -> Recording:
    """Return the recording of a search that has ended, of candidates that all fit."""
    return Recording(
        cache_key(problem, candidates, reference, policy).digest,
        problem.scope.value,
        problem.operation,
        tuple(
            canonical(part)
            for part in (problem.workload, problem.environment, problem.model, problem.options)
        ),
        problem.lower_level,
        tuple(candidate.name for candidate in candidates),
        reference,
        problem.persistent,
        tuple(trials.moments),
        tuple(trials.trials),
    )


def replayed(recording: Recording, policy: Policy) -> tuple[Decision | Failure, Selector]:
    """Return what the search ends with, and the selector with its report.

    Raises `ReplayError` under a policy of another key, and where the search asks for anything else
    than the recorded one was asked for.
    """
    workload, environment, model, options = map(json.loads, recording.parts)
    problem = Problem(
        Scope(recording.scope),
        recording.operation,
        workload,
        environment,
        model,
        options,
        recording.lower_level,
        persistent=recording.persistent,
    )
    candidates = tuple(Candidate(name) for name in recording.candidates)
    key = cache_key(problem, candidates, recording.reference, policy).digest
    if key != recording.key:
        raise ReplayError(
            got=f"a policy under which the key is {key}", need=f"one with {recording.key}"
        )
    player = _Player(list(recording.moments), list(recording.trials))
    selector = Selector(policy, MemoryStore())
    answer = selector.select(problem, candidates, recording.reference, player, clock=player.now)
    if player.trials:
        raise ReplayError(got=f"a search that ends before {player.trials[0]}", need="all trials")
    return answer, selector


@define
class _Player:
    moments: list[Moment]
    trials: list[Trial]

    def now(self) -> Moment:
        if not self.moments:
            raise ReplayError("one event more", "no more than were recorded")
        return self.moments.pop(0)

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        del deadline_ns
        outcome = self._next(candidate, purpose.value)
        if not isinstance(outcome, Timed):
            raise ReplayError(got=f"a measurement for {outcome}", need="a time")
        return outcome.latency_ns

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        del reference, deadline_ns
        outcome = self._next(candidate, VALIDATE)
        if not isinstance(outcome, Verified | CannotVerify):
            raise ReplayError(got=f"a validation for {outcome}", need="a verdict")
        return outcome

    def restart(self) -> None:
        """Start nothing: what was measured in new processes was recorded like the rest."""

    def record_loaded(self, record: Record) -> None:
        del record

    def _next(self, candidate: int, purpose: str) -> Outcome:
        if not self.trials:
            raise ReplayError(got=f"{purpose} of candidate {candidate}", need="no further trial")
        trial = self.trials.pop(0)
        if (trial.candidate, trial.purpose) != (candidate, purpose):
            raise ReplayError(
                got=f"{purpose} of candidate {candidate}",
                need=f"{trial.purpose} of candidate {trial.candidate}",
            )
        if isinstance(trial.outcome, Failure):
            raise TrialFailedError(str(candidate), trial.outcome)
        return trial.outcome


def recording_to_text(recording: Recording) -> str:
    """Return a recording as one line of JSON."""
    document = {"schema": SCHEMA, "search": _converter().unstructure(recording)}
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def recording_from_text(text: str) -> Recording:
    """Return the recording that a text stands for. Raises `ReplayError`."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or set(document) != {"schema", "search"}:
            raise ReplayError("another document", "schema and search")
        if document["schema"] != SCHEMA:
            raise ReplayError(got=f"schema {document['schema']!r}", need=str(SCHEMA))
        return _converter().structure(document["search"], Recording)
    except (ValueError, RecursionError, cattrs.BaseValidationError) as error:
        raise ReplayError(f"{type(error).__name__}: {error}"[:200], "a recording") from error


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    configure_tagged_union(Outcome, converter, tag_name="kind_of")
    return converter
