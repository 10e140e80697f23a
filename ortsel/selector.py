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
from typing import Final, Protocol, assert_never

from attrs import evolve, frozen

from ortsel import telemetry
from ortsel.confirming import Restarting, denial
from ortsel.fork import starts_over
from ortsel.store import Store, StoreError
from ortsel.store.search_log import Considered, Entry, Searched, SearchLog, Withdrawn
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.rig import CannotVerify, Verified
from spec.candidate import Candidate
from spec.decision import Decision
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
from spec.report import Outcome, TrialReport

CONFIRMING_SHARE: Final = 4
"""What part of a search's budget is kept for measuring its winner once more."""


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


class Standing(Enum):
    """What a pair of timings leaves of a served decision (S10)."""

    HOLDS = "holds"
    GONE = "gone"
    """It is no decision any more: it was taken back or replaced meanwhile."""
    DEMOTED = "demoted"
    """Slower than the reference: taken back, and may be chosen again."""
    BANNED = "banned"
    """The same, and not for the first time: out for the policy's time."""


def searching_ns(budget_ns: int) -> int:
    """Return what of a budget a search has whose winner is to be confirmed."""
    return max(1, budget_ns - budget_ns // CONFIRMING_SHARE)


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
    considered: Considered | None = None
    unconfirmed: deque[SaveRecord] | None = None
    """What is written once the winner is confirmed; None where nobody confirms it."""

    def holds_back(self, effect: Effect) -> bool:
        """Whether an effect waits until the winner is confirmed."""
        if self.unconfirmed is None or not isinstance(effect, SaveRecord):
            return False
        if effect.record.winner == effect.record.reference:
            return False
        self.unconfirmed.append(effect)
        return True

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
        self._denied: dict[str, tuple[str, str]] = {}
        """Winners that were not confirmed, by key, each with the reason."""
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
                return self._as_confirmed(report)
        return None

    def _as_confirmed(self, report: TrialReport) -> TrialReport:
        """Return a report that names no winner which was not confirmed."""
        denied, reason = self._denied.get(report.key, ("", ""))
        if not denied or report.winner != denied:
            return report
        return evolve(
            report,
            winner=next(one.name for one in report.candidates if one.outcome is Outcome.REFERENCE),
            candidates=tuple(
                evolve(one, outcome=Outcome.NOT_FASTER, reason=reason)
                if one.name == denied
                else one
                for one in report.candidates
            ),
        )

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
        confirms: bool = True,
    ) -> Decision | Failure:
        """Return the one answer to a request. Never waits for another request's trial.

        With a `clock` of its own, whose time stands still at times and never runs ahead, a search
        has its budget of that clock's time; deadlines are its times. `budget_ns` gives it less than
        the policy does. `considered` is what to note beside the evidence of a search;
        `most_turns` lets it try fewer candidates than the policy does, and so longer each.

        Where the runner can restart, and `confirms`, a part of the budget is kept for measuring a
        winner once more in new processes; if it does not win there, the reference is the decision,
        for which nothing is stored.

        Whatever the runner raises besides `TrialFailedError` (an interrupt, a defect) abandons the
        search, so that nothing stays pending, and is raised on.
        """
        with self._lock:
            self._next_request += 1
            request = self._next_request
        clock = clock or self._clock
        event = Requested(request, clock(), problem, candidates, reference, nested)
        confirms = confirms and isinstance(runner, Restarting)
        context = _Context(
            event,
            runner,
            self._policy_of_search(budget_ns, most_turns, confirms=confirms),
            clock,
            considered,
            deque() if confirms else None,
        )
        try:
            answer, searched = self._drive(request, context)
        except BaseException as error:
            self._abandon(request, repr(error))
            raise
        if context.unconfirmed and isinstance(answer, Decision):
            budget_ns = self.policy.budget_ns if budget_ns is None else budget_ns
            answer = self._confirmed(answer, context, event.now.monotonic_ns + budget_ns)
        if searched:
            self._log_search(context)
        telemetry.answered(answer)
        return answer

    def _policy_of_search(
        self, budget_ns: int | None, most_turns: int | None, *, confirms: bool
    ) -> Policy:
        policy = self.policy
        if budget_ns is not None and budget_ns < policy.budget_ns:
            policy = evolve(policy, budget_ns=max(1, budget_ns))
        if confirms:
            policy = evolve(policy, budget_ns=searching_ns(policy.budget_ns))
        if most_turns is not None and most_turns + 1 < policy.max_candidates:
            policy = evolve(policy, max_candidates=most_turns + 1)  # the reference counts
        return policy

    def _confirmed(self, decision: Decision, context: "_Context", ends_ns: int) -> Decision:
        """Return a search's decision, or the reference where its winner wins no second time."""
        runner, reference = context.runner, decision.reference_index
        assert isinstance(runner, Restarting), "asked before the search began"
        ban = True
        try:
            denied = denial(runner, reference, decision.index, self.policy.min_speedup, ends_ns)
        except TrialFailedError as error:
            ban = error.failure.kind is not FailureKind.TRANSIENT
            denied = f"in new processes: {error.failure.code}: {error.failure.detail}"
        except BaseException as error:
            self._take_back(decision, context, repr(error), ban=False)
            raise
        if denied:
            reason = f"{decision.name} won and was not confirmed: {denied}"
            self._take_back(decision, context, reason, ban=ban)
            return evolve(
                decision,
                index=reference,
                name=context.event.candidates[reference].name,
                verified=True,
                ratio=Fraction(1),
                reason=reason,
            )
        with self._lock:
            self._denied.pop(decision.key, None)
        for effect in context.unconfirmed or ():
            failed = self._execute(effect, context)
            if failed is not None and not isinstance(failed, Answer):
                self._feed(failed)
        return decision

    def _take_back(
        self, decision: Decision, context: "_Context", reason: str, *, ban: bool
    ) -> None:
        """Forget a winner that was not confirmed; it was neither stored nor told to anybody."""
        name = context.event.candidates[decision.reference_index].name
        with self._lock:
            while len(self._denied) >= max(1, self.policy.reports):
                self._denied.pop(next(iter(self._denied)))
            self._denied[decision.key] = decision.name, reason
        self._feed(Invalidated(self._clock(), decision.key, decision.name, name, ban, reason))

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
        self._denied = {}

    def _drive(self, request: int, context: _Context) -> tuple[Decision | Failure, bool]:
        """Return the answer, and whether anything was measured for it."""
        answer: Decision | Failure | None = None
        waiting: deque[Event] = deque([context.event])
        searched = False
        while waiting:
            for effect in self._step(waiting.popleft(), context.policy):
                searched = searched or isinstance(effect, Measure)
                if context.holds_back(effect):
                    continue
                outcome = self._execute(effect, context)
                if isinstance(outcome, Answer):
                    answer = outcome.result
                elif outcome is not None:
                    waiting.append(outcome)
        if answer is None:  # the engine answers every request exactly once
            message = f"request {request} ended without an answer"
            raise AssertionError(message)
        return answer, searched

    def _log_search(self, context: "_Context") -> None:
        """Keep what a search found for reports, now that its decision is kept."""
        key = context.key()
        report = self.report(key.digest)
        if report is not None:
            event = context.event
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
