"""Drives the reference model: turns effects into actions and their outcomes into events.

The engine's state is replaced under a lock that is held for one step only. Every effect runs
outside of it, in the thread that made the request, so that no caller waits for another's trial.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Final, Protocol, assert_never, runtime_checkable

from attrs import evolve, frozen

from ortsel import telemetry
from ortsel.fork import starts_over
from ortsel.store import Store, StoreError
from ortsel.store.search_log import Considered, Entry, Searched, SearchLog, Withdrawn
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.rig import CannotVerify, Verified
from spec.candidate import Candidate
from spec.decision import Decision, Source
from spec.engine.effect import (
    Answer,
    Effect,
    LoadRecord,
    Measure,
    Purpose,
    RemoveRecord,
    SaveRecord,
    Validate,
)
from spec.engine.event import (
    Abandoned,
    Compared,
    Event,
    Invalidated,
    Measured,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    Requested,
    StoreFailed,
    TrialFailed,
    Unverifiable,
    Validated,
)
from spec.engine.state import Cause, Held, State, initial_state
from spec.engine.step import step
from spec.evidence.order_statistics import median
from spec.failure import Failure, FailureKind
from spec.keys import CacheKey, cache_key
from spec.moment import Moment
from spec.policy import Policy
from spec.problem import Problem
from spec.record import Record
from spec.report import TrialReport

CONFIRMING_NS: Final = 30 * 10**9
"""For measuring a winner once more, on top of a search's budget: as a rule it takes seconds."""


class TrialRunner(Protocol):
    """What the selector needs from whoever can run candidates.

    Indices are positions in the request. A measurement includes all work whose cost belongs to the
    candidate; deadlines are monotonic nanoseconds. Both raise `TrialFailedError`.
    """

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        """Return the mean time of one call, in nanoseconds."""
        ...

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        """Compare outputs; raise with kind rejected when they differ."""
        ...

    def record_loaded(self, record: Record) -> None:
        """Hear that the next validation is for a stored record, which is then served unmeasured."""
        ...


@runtime_checkable
class Confirming(Protocol):
    """What a runner can do besides: measure a winner once more, in new processes."""

    def confirm(
        self,
        candidate: int,
        min_speedup: Fraction,
        deadline_ns: Callable[[], int],
        undisturbed: Callable[[Callable[[], int]], int],
    ) -> str:
        """Return why a candidate that won has not won again; empty where it has."""
        ...


class Standing(Enum):
    """What a pair of timings leaves of a served decision (S10)."""

    HOLDS = "holds"
    GONE = "gone"
    """It is no decision any more: it was taken back or replaced meanwhile."""
    DEMOTED = "demoted"
    """Slower than the reference: taken back, and may be chosen again."""
    BANNED = "banned"
    """The same, and not for the first time: out for the policy's time."""


def read_moment() -> Moment:
    """Return the time now, by both clocks."""
    return Moment(time.monotonic_ns(), int(time.time()))


@frozen
class _Context:
    """What belongs to the request whose effects are being executed."""

    event: Requested
    runner: TrialRunner
    policy: Policy
    clock: Callable[[], Moment]
    early_ns: int = 0
    """By how much the request's own moment is before it was made."""
    considered: Considered | None = None

    def key_text(self, digest: str) -> str:
        """Return the named parts behind a digest, for the store to explain later.

        Empty when the digest is not this request's.
        """
        key = self.key()
        return key.text if key.digest == digest else ""

    def key(self) -> CacheKey:
        """Return the key of this request."""
        event = self.event
        return cache_key(event.problem, event.candidates, event.reference, self.policy)


class Selector:
    """One engine state with its store, shared by all sessions of one policy and store."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        clock: Callable[[], Moment] = read_moment,
        searches: SearchLog | None = None,
    ) -> None:
        self.policy = policy
        self.store = store
        self._searches = searches
        self._clock = clock
        self._state = initial_state(policy)
        self._lock = threading.RLock()
        self._next_request = 0
        starts_over(self)

    @property
    def searches(self) -> SearchLog | None:
        """The log of what searches found; None where there is no place for one."""
        return self._searches

    def with_policy(self, policy: Policy) -> "Selector":
        """Return another selector over the same store, with a memory of its own."""
        return Selector(policy, self.store, self._clock, self._searches)

    @property
    def state(self) -> State:
        """The engine's state, an immutable value."""
        return self._state

    def report(self, key: str) -> TrialReport | None:
        """Return the newest search report for a key held in memory."""
        for report in reversed(tuple(self._state.reports)):
            if report.key == key:
                return report
        return None

    def knows_nothing(self) -> bool:
        """Whether neither memory nor the store holds any decision, so that asking is useless."""
        if self._state.entries:
            return False
        try:
            return not self.store.has_records()
        except StoreError:
            return False

    def knows(self, problem: Problem, candidates: tuple[Candidate, ...], reference: int) -> bool:
        """Whether an answer to this question is held or stored; it need not hold any more."""
        key = cache_key(problem, candidates, reference, self.policy).digest
        if self._state.entry(key).settled is not None:
            return True
        try:
            return problem.persistent and self.store.load(key) is not None
        except StoreError:
            return False

    def decides(self, problem: Problem, candidates: tuple[Candidate, ...], reference: int) -> bool:
        """Whether this question has an answer whose time is not up, held or stored."""
        key = cache_key(problem, candidates, reference, self.policy).digest
        until_ns = self.valid_until_ns(key)
        if self._state.entry(key).settled is not None:
            return until_ns is None or self._clock().monotonic_ns < until_ns
        record = self.stored_record(key) if problem.persistent else None
        return record is not None

    def stored_record(self, key: str, store: Store | None = None) -> Record | None:
        """Return the record of a key if its time is not up. None where the store fails.

        `store` is another place to look in than this selector's own.
        """
        policy = self.policy
        try:
            record = (self.store if store is None else store).load(key)
        except StoreError:
            return None
        now = self._clock()
        if record is None or not record.is_fresh(now, policy.ttl_s, policy.retry_after_s):
            return None
        return record

    def select(
        self,
        problem: Problem,
        candidates: tuple[Candidate, ...],
        reference: int,
        runner: TrialRunner,
        *,
        nested: bool = False,
        clock: Callable[[], Moment] | None = None,
        budget_ns: int | None = None,
        considered: Considered | None = None,
        most_turns: int | None = None,
    ) -> Decision | Failure:
        """Return the one answer to a request. Never waits for another request's trial.

        With a `clock` of its own, whose time stands still at times and never runs ahead, a search
        has its budget of that clock's time; deadlines are its times. `budget_ns` gives it less than
        the policy does. `considered` is what to note beside the evidence of a search;
        `most_turns` lets it try fewer candidates than the policy does, and so longer each.

        Whatever the runner raises besides `TrialFailedError` (an interrupt, a defect) abandons the
        search, so that nothing stays pending, and is raised on.
        """
        with self._lock:
            self._next_request += 1
            request = self._next_request
        clock = clock or self._clock
        now = clock()
        spent_ns = 0 if budget_ns is None else max(0, self.policy.budget_ns - budget_ns)
        # A budget runs from the moment of its request.
        asked = Moment(max(0, now.monotonic_ns - spent_ns), now.wall_s)
        event = Requested(request, asked, problem, candidates, reference, nested)
        early_ns = now.monotonic_ns - asked.monotonic_ns
        try:
            policy = self.policy
            if most_turns is not None and most_turns + 1 < policy.max_candidates:
                policy = evolve(policy, max_candidates=most_turns + 1)  # the reference counts
            context = _Context(event, runner, policy, clock, early_ns, considered)
            answer = self._drive(request, context)
        except BaseException as error:
            self._abandon(request, repr(error))
            raise
        if isinstance(answer, Decision) and answer.source is Source.TUNED:
            answer = self._confirmed(answer, context)
        telemetry.answered(answer)
        return answer

    def _confirmed(self, decision: Decision, context: "_Context") -> Decision:
        """Return a search's decision, or the reference where its winner wins no second time."""
        runner, reference = context.runner, decision.reference_index
        if decision.index == reference or not isinstance(runner, Confirming):
            return decision

        def deadline_ns() -> int:
            return ends_ns

        ends_ns = context.clock().monotonic_ns + CONFIRMING_NS
        name = context.event.candidates[reference].name

        def take_back(reason: str, *, ban: bool) -> None:
            self.invalidate(decision.key, decision.name, name, ban=ban, reason=reason)

        ban = True
        try:
            denial = runner.confirm(
                decision.index, self.policy.min_speedup, deadline_ns, lambda measure: measure()
            )
        except TrialFailedError as error:
            ban = error.failure.kind is not FailureKind.TRANSIENT
            denial = f"in new processes: {error.failure.code}: {error.failure.detail}"
        except BaseException as error:
            take_back(f"not measured in new processes: {error!r}", ban=False)
            raise
        if not denial:
            return decision
        reason = f"{decision.name} won and was not confirmed: {denial}"
        take_back(reason, ban=ban)
        return evolve(
            decision,
            index=reference,
            name=name,
            verified=True,
            ratio=Fraction(1),
            reason=reason,
        )

    def valid_until_ns(self, key: str) -> int | None:
        """Return the monotonic time until which the answer for a key holds; None without one."""
        settled = self._state.entry(key).settled
        if isinstance(settled, Held):
            return settled.fresh_until_ns
        return None if settled is None else settled.until_ns

    def invalidate(
        self, key: str, candidate: str, reference: str, *, ban: bool, reason: str
    ) -> None:
        """Forget a decision that proved wrong while it was served (S9)."""
        moment = self._clock()
        self._feed(Invalidated(moment, key, candidate, reference, ban, reason))
        self._log(Withdrawn(moment.wall_s, key, candidate, reason), "")

    def holds(self, key: str, candidate: str) -> bool:
        """Whether this candidate is the decision for a key that is held in memory."""
        held = self._state.entry(key).settled
        return isinstance(held, Held) and held.record.winner == candidate

    def compare(
        self, key: str, candidate: str, reference: str, reference_ns: int, selected_ns: int
    ) -> Standing:
        """Judge a served decision by one more pair of timings whose outputs were checked (S10)."""
        if not self.holds(key, candidate):
            return Standing.GONE
        before = self._state.entry(key).history
        moment = self._clock()
        event = Compared(moment, key, candidate, reference, reference_ns, selected_ns, True)
        self._feed(event)
        if self.holds(key, candidate):
            return Standing.HOLDS
        ratios = (*(() if before is None else before.ratios), Fraction(selected_ns, reference_ns))
        exclusion = self._state.entry(key).exclusion(candidate, moment.monotonic_ns)
        banned = exclusion is not None and exclusion.cause is Cause.REGRESSED
        reason = (
            f"{'banned, ' if banned else ''}slower than the reference: "
            f"median ratio {float(median(ratios)):.3f} over the last {len(ratios)} pairs"
        )
        self._log(Withdrawn(moment.wall_s, key, candidate, reason), "")
        telemetry.regressed("banned" if banned else "demoted")
        if banned:
            telemetry.banned("regressed")
        return Standing.BANNED if banned else Standing.DEMOTED

    def after_fork_in_child(self) -> None:
        """Start over: the parent's lock, searches and checks are not this process's."""
        self._lock = threading.RLock()
        self._state = initial_state(self.policy)

    def _drive(self, request: int, context: _Context) -> Decision | Failure:
        answer: Decision | Failure | None = None
        waiting: deque[Event] = deque([context.event])
        searched = False
        while waiting:
            for effect in self._step(waiting.popleft(), context.policy):
                searched = searched or isinstance(effect, Measure)
                outcome = self._execute(effect, context)
                if isinstance(outcome, Answer):
                    answer = outcome.result
                elif outcome is not None:
                    waiting.append(outcome)
        if answer is None:  # the engine answers every request exactly once
            message = f"request {request} ended without an answer"
            raise AssertionError(message)
        if searched:
            self._log_search(context)
        return answer

    def _log_search(self, context: "_Context") -> None:
        """Keep what a search found for reports, now that its decision is kept."""
        key = context.key()
        report = self.report(key.digest)
        if report is not None:
            event = context.event
            report = evolve(report, elapsed_ns=max(0, report.elapsed_ns - context.early_ns))
            telemetry.searched(report, event.candidates[event.reference].name)
            self._log(Searched(self._clock().wall_s, report, context.considered), key.text)

    def _log(self, entry: Entry, key_text: str) -> None:
        if self._searches is None:
            return
        try:
            self._searches.save(entry, key_text)
        except StoreError as error:
            telemetry.tell(
                logging.INFO,
                "search-log-failed",
                f"not kept for reports: {error}",
                error=str(error),
            )

    def _feed(self, event: Event) -> None:
        for effect in self._step(event):
            outcome = self._execute(effect, None)
            if outcome is not None and not isinstance(outcome, Answer):
                self._feed(outcome)

    def _abandon(self, request: int, reason: str) -> None:
        with self._lock:
            under_way = request in self._state.searches
        if under_way:
            self._feed(Abandoned(request, self._clock(), reason))

    def _step(self, event: Event, policy: Policy | None = None) -> tuple[Effect, ...]:
        """Take a step; a search's own policy holds for its own steps alone."""
        with self._lock:
            if policy is None or policy is self.policy:
                transition = step(self._state, event)
                self._state = transition.state
            else:
                transition = step(evolve(self._state, policy=policy), event)
                self._state = evolve(transition.state, policy=self.policy)
        return transition.effects

    def _execute(self, effect: Effect, context: "_Context | None") -> Event | Answer | None:
        match effect:
            case Answer():
                return effect
            case LoadRecord(request, key):
                return self._load(request, key, context)
            case SaveRecord(record):
                text = "" if context is None else context.key_text(record.key)
                return self._write(record.key, lambda: self.store.save(record, text))
            case RemoveRecord(key):
                return self._write(key, lambda: self.store.remove(key))
            case Measure() | Validate():
                if context is None:
                    message = f"{effect} outside a request"
                    raise AssertionError(message)
                return self._trial(effect, context)
            case _:
                assert_never(effect)

    def _load(self, request: int, key: str, context: "_Context | None") -> Event:
        try:
            record = self.store.load(key)
        except StoreError as error:
            telemetry.warn_once(
                str(error),
                "store-unreadable",
                f"stored decision not used: {error}",
                key=key,
                error=str(error),
            )
            return RecordUnreadable(request, self._clock(), str(error))
        clock = self._clock if context is None else context.clock
        if record is None:
            return RecordAbsent(request, clock())
        if context is not None:
            context.runner.record_loaded(record)
        return RecordLoaded(request, clock(), record)

    def _write(self, key: str, action: Callable[[], None]) -> Event | None:
        try:
            action()
        except StoreError as error:
            telemetry.warn_once(
                str(error),
                "store-unwritable",
                f"decision not written to the store: {error}",
                key=key,
                error=str(error),
            )
            return StoreFailed(self._clock(), key, str(error))
        return None

    def _trial(self, effect: Measure | Validate, context: _Context) -> Event:
        request = effect.request
        try:
            if isinstance(effect, Measure):
                latency_ns = context.runner.measure(
                    effect.candidate, effect.purpose, effect.deadline_ns
                )
                return Measured(request, context.clock(), latency_ns)
            verdict = context.runner.validate(
                effect.reference, effect.candidate, effect.deadline_ns
            )
        except TrialFailedError as error:
            return TrialFailed(request, context.clock(), error.failure)
        if isinstance(verdict, CannotVerify):
            return Unverifiable(request, context.clock(), verdict.reason)
        return Validated(request, context.clock(), verdict.feeds, verdict.provisional)
