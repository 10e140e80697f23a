"""An independent observer: from events and effects alone it says whether the rules were kept.

It is written from the rules, in another style than the engine (mutable, one request at a time), and
calls none of the engine's code; of the evidence room it uses the sequential rule only, which has
tests of its own.
"""

from collections import Counter
from fractions import Fraction
from statistics import median

from attrs import define, field, fields

from spec import (
    Abandoned,
    Answer,
    AnytimeValid,
    Candidate,
    Compared,
    Decision,
    Effect,
    Event,
    Failure,
    FailureKind,
    Invalidated,
    LoadRecord,
    Measure,
    Measured,
    MedianMad,
    Mode,
    Policy,
    Purpose,
    Record,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    RemoveRecord,
    Requested,
    SaveRecord,
    Scope,
    Source,
    State,
    Statistics,
    StoreFailed,
    Transition,
    TrialFailed,
    Unverifiable,
    Validate,
    Validated,
)
from spec.engine.state import Bypass, Held
from spec.evidence.rule import assess, shared_by
from spec.evidence.verdict import Faster, Undecided
from tests.spec.engine.invariants import Invariant, require
from tests.spec.engine.model_memory import (
    SECOND_NS,
    Bypassed,
    Kept,
    Memory,
    key_digest,
    lane_of,
    thawed,
)

COUNTER_OF_SOURCE = {
    Source.TUNED: "tuned",
    Source.MEMORY: "memory_hits",
    Source.STORED: "stored_hits",
    Source.DISABLED: "disabled",
    Source.BYPASSED: "bypassed",
    Source.NESTED: "nested",
    Source.BUSY: "busy",
    Source.CACHE_MISS: "cache_misses",
}
COUNTER_OF_KIND = {
    FailureKind.INVALID: "invalid",
    FailureKind.QUARANTINED: "quarantined",
    FailureKind.DEVICE: "device_failures",
}
FALLBACKS = frozenset(Source) - {Source.TUNED, Source.MEMORY, Source.STORED}


@define
class Turn:
    """What happened in one candidate's turn."""

    deadline_ns: int
    warmups: int = 0
    passed: bool = False
    provisional: bool = False
    unverifiable: bool = False
    targets: list[int] = field(factory=list)
    """Candidates of the paired measurements that were asked for."""
    times_ns: list[int] = field(factory=list)
    first_ns: int = 0
    extra: Fraction = Fraction(0)
    """What the first call costs over the reference's, per call served, in reference calls."""
    to_beat: Fraction | None = None
    fate: str = ""
    """Why it ended without a verdict: "cut", "failed", "passing" (a failure that passes), or
    "unpaid" (a first call that nothing repays), which is a verdict without blocks."""

    @property
    def checked(self) -> bool:
        return self.passed or self.unverifiable


@define
class Open:
    """A request that has no answer yet."""

    event: Requested
    key: str
    lane: str
    awaits: Effect | None = None
    phase: str = "asked"
    record: Record | None = None
    fresh_until_ns: int = 0
    is_stored: bool = False
    turns: dict[int, Turn] = field(factory=dict)
    current: int | None = None
    passed_over: dict[int, str] = field(factory=dict)

    @property
    def reference(self) -> int:
        return self.event.reference

    def name(self, index: int) -> str:
        return self.event.candidates[index].name


def _two_states(sides: dict[bool, list[int]]) -> bool:
    """Whether the blocks of one side fall apart: two or more on each side of half as much again."""
    for sums in sides.values():
        ordered = sorted(sums)
        low, high = ordered[1:-2], ordered[2:-1]
        if any(2 * slower >= 3 * faster for faster, slower in zip(low, high, strict=True)):
            return True
    return False


class Model:
    """Watches one engine and raises `ViolationError` at the first step that breaks a rule."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.memory = Memory(policy)
        self.open: dict[int, Open] = {}
        self.asked: set[int] = set()
        self.answers: dict[int, Decision | Failure] = {}
        self.quarantine: set[str] = set()
        self.references: dict[str, str] = {}
        self.passed: dict[tuple[str, str], bool] = {}
        """Winners that passed a validation in this process; True if on real feeds."""
        self.counts: Counter[str] = Counter()
        self.expected: str = ""

    def observe(self, event: Event, transition: Transition) -> None:
        """Check one step, then the state that it led to."""
        effects = list(transition.effects)
        match event:
            case Requested():
                self._requested(event, effects)
            case Invalidated():
                self._invalidated(event, effects)
            case Compared():
                self._compared(event, effects)
            case StoreFailed():
                self.counts["store_warnings"] += 1
                require(not effects, Invariant.STORE_TRAFFIC, effects)
            case _:
                self._outcome(event, effects)
        self._check_limits()
        self._check_state(transition.state)

    # Requests

    def _requested(self, event: Requested, effects: list[Effect]) -> None:
        self.asked.add(event.request)
        self.counts["requests"] += 1
        expected = self._immediate(event)
        if expected is not Source.DISABLED:
            for effect in effects:
                if isinstance(effect, Answer) and isinstance(effect.result, Decision):
                    self._check_winner(event, effect.result)
        if expected is None:
            one = Open(event, key_digest(event, self.policy), lane_of(event))
            self.open[event.request] = one
            self._let_in(one, effects)
            return
        if expected is Source.BUSY:
            self._check_busy(event, effects)
        require(
            len(effects) == 1 and isinstance(effects[0], Answer),
            Invariant.ORDER_OF_ANSWERS,
            f"expected {expected} at once, got {effects}",
        )
        answer = effects[0]
        assert isinstance(answer, Answer)
        got = answer.result.source if isinstance(answer.result, Decision) else answer.result.kind
        require(got is expected, Invariant.ORDER_OF_ANSWERS, f"expected {expected}, got {got}")
        self._answered(event, answer)

    def _check_busy(self, event: Requested, effects: list[Effect]) -> None:
        begins = not all(isinstance(effect, Answer) for effect in effects)
        keys = {one.key for one in self.open.values()}
        lanes = {one.lane for one in self.open.values()}
        same_key = key_digest(event, self.policy) in keys
        require(not (begins and same_key), Invariant.ONE_TUNING_PER_KEY, event)
        same_lane = lane_of(event) in lanes
        require(not (begins and same_lane), Invariant.ONE_TUNING_PER_ENVIRONMENT, event)
        require(not begins, Invariant.PARALLEL_LIMIT, event)

    def _immediate(self, event: Requested) -> Source | FailureKind | None:
        """Return what answers at once, in the order of S2; None for a search."""
        if self._is_invalid(event):
            return FailureKind.INVALID
        if lane_of(event) in self.quarantine:
            return FailureKind.QUARANTINED
        if self.policy.mode is Mode.DISABLED:
            return Source.DISABLED
        key = key_digest(event, self.policy)
        self.references[key] = event.candidates[event.reference].name
        now_ns = event.now.monotonic_ns
        held = self.memory.settled.get(key)
        if isinstance(held, Kept) and self._serves(event, key, held, now_ns):
            return Source.MEMORY
        if isinstance(held, Bypassed) and (held.until_ns is None or now_ns < held.until_ns):
            return Source.BYPASSED
        if event.nested:
            return Source.NESTED
        lanes = {one.lane for one in self.open.values()}
        keys = {one.key for one in self.open.values()}
        full = len(self.open) >= self.policy.max_parallel
        if key in keys or lane_of(event) in lanes or full:
            return Source.BUSY
        return None

    def _serves(self, event: Requested, key: str, held: Kept, now_ns: int) -> bool:
        strict = self.policy.require_validation
        if strict and (held.provisional or not held.verified):
            return False
        return now_ns < held.fresh_until_ns and self._may_serve(event, key, held.winner, now_ns)

    def _may_serve(self, event: Requested, key: str, name: str, now_ns: int) -> bool:
        for index, candidate in enumerate(event.candidates):
            if candidate.name == name:
                banned = self.memory.is_banned(key, name, now_ns)
                return self._fits(candidate) and (index == event.reference or not banned)
        return False

    def _fits(self, candidate: Candidate) -> bool:
        limit = self.policy.max_workspace_bytes
        need = candidate.workspace_bytes
        return not candidate.ineligible and (limit is None or (need is not None and need <= limit))

    def _is_invalid(self, event: Requested) -> bool:
        names = [candidate.name for candidate in event.candidates]
        return (
            not 1 <= len(names) <= 4096
            or not 0 <= event.reference < len(names)
            or not event.problem.operation
            or thawed(event.problem.workload) in ("", None, [], {})
            or thawed(event.problem.environment) in ("", None, [], {})
            or any(not 1 <= len(name.encode()) <= 4096 for name in names)
            or len(names) != len(set(names))
            or not self._fits(event.candidates[event.reference])
        )

    def _let_in(self, one: Open, effects: list[Effect]) -> None:
        now_ns = one.event.now.monotonic_ns
        held = self.memory.settled.get(one.key)
        if (
            isinstance(held, Kept)
            and held.provisional
            and now_ns < held.fresh_until_ns
            and (held.verified or not self.policy.require_validation)
            and self._may_serve(one.event, one.key, held.winner, now_ns)
        ):
            one.fresh_until_ns = held.fresh_until_ns
            self._expect_confirmation(one, effects, held.winner)
        elif one.event.problem.persistent:
            effect = self._only(one, effects)
            require(
                effect == LoadRecord(one.event.request, one.key),
                Invariant.STORED_IS_CONFIRMED,
                f"expected the store to be asked, got {effect}",
            )
            one.phase, one.awaits = "loading", effect
        else:
            self._expect_miss(one, effects, now_ns)

    def _expect_confirmation(self, one: Open, effects: list[Effect], winner: str) -> None:
        names = [candidate.name for candidate in one.event.candidates]
        effect = self._only(one, effects)
        require(
            isinstance(effect, Validate)
            and (effect.reference, effect.candidate) == (one.reference, names.index(winner)),
            Invariant.STORED_IS_CONFIRMED,
            f"expected {winner} to be validated, got {effect}",
        )
        one.phase, one.awaits = "confirming", effect

    def _expect_miss(self, one: Open, effects: list[Effect], now_ns: int) -> None:
        effect = self._only(one, effects)
        if self.policy.mode is Mode.CACHE_ONLY:
            self._expect_fallback(one, effect, Source.CACHE_MISS)
            return
        require(
            isinstance(effect, Measure) and effect.purpose is Purpose.WARMUP,
            Invariant.TRIAL_ORDER if isinstance(effect, Measure) else Invariant.STORED_IS_CONFIRMED,
            f"expected a search, got {effect}",
        )
        one.phase = "exploring"
        self.counts["explorations"] += 1
        self._continue(one, effect, now_ns)

    # Outcomes of effects

    def _outcome(
        self,
        event: RecordLoaded
        | RecordAbsent
        | RecordUnreadable
        | Measured
        | Validated
        | Unverifiable
        | TrialFailed
        | Abandoned,
        effects: list[Effect],
    ) -> None:
        one = self.open[event.request]
        now_ns = event.now.monotonic_ns
        match event:
            case Abandoned():
                self.counts["abandoned"] += 1
                self._expect_fallback(one, self._only(one, effects), Source.BYPASSED)
            case RecordAbsent():
                self._expect_miss(one, effects, now_ns)
            case RecordUnreadable():
                self.counts["store_warnings"] += 1
                self._expect_miss(one, effects, now_ns)
            case RecordLoaded():
                self._loaded(one, event, effects)
            case _ if one.phase == "confirming":
                self._confirmed(one, event, effects)
            case _:
                self._explored(one, event, effects)

    def _loaded(self, one: Open, event: RecordLoaded, effects: list[Effect]) -> None:
        record, policy = event.record, self.policy
        names = [candidate.name for candidate in one.event.candidates]
        age_s = event.now.wall_s - record.created_s
        life_s = policy.ttl_s if record.complete else min(policy.ttl_s, policy.retry_after_s)
        ours = (
            record.key == one.key
            and record.scope is one.event.problem.scope
            and record.reference == one.name(one.reference)
            and (
                record.winner == record.reference
                or (
                    record.blocks > 0
                    and record.ratio < 1
                    and record.ratio * policy.min_speedup <= 1
                )
            )
        )
        if not ours or age_s < -300:
            self.counts["store_warnings"] += 1
        usable = (
            ours
            and -300 <= age_s < life_s
            and (record.verified or not policy.require_validation)
            and record.winner in names
            and self._may_serve(one.event, one.key, record.winner, event.now.monotonic_ns)
        )
        if not usable:
            wrong = [effect for effect in effects if isinstance(effect, Validate)]
            banned = self.memory.is_banned(one.key, record.winner, event.now.monotonic_ns)
            stale = not -300 <= age_s < life_s
            require(not (wrong and stale), Invariant.NO_STALE_WINNER, record)
            require(not (wrong and banned), Invariant.BANNED_NOT_TRIED, record)
            named = [it for it in one.event.candidates if it.name == record.winner]
            unfit = bool(named) and not self._fits(named[0])
            require(not (wrong and unfit), Invariant.NO_INELIGIBLE_WINNER, record)
            self._expect_miss(one, effects, event.now.monotonic_ns)
            return
        one.record, one.is_stored = record, True
        one.fresh_until_ns = event.now.monotonic_ns + (life_s - max(0, age_s)) * SECOND_NS
        self._expect_confirmation(one, effects, record.winner)

    def _confirmed(self, one: Open, event: Event, effects: list[Effect]) -> None:
        assert isinstance(one.awaits, Validate)
        assert isinstance(event, (Validated, Unverifiable, TrialFailed))
        index, now_ns = one.awaits.candidate, event.now.monotonic_ns
        winner = one.name(index)
        if isinstance(event, Unverifiable) and self.policy.require_validation:
            failure = Failure(FailureKind.UNSUPPORTED, "unverifiable", event.reason)
            event = TrialFailed(event.request, event.now, failure)
        if isinstance(event, TrialFailed):
            if event.failure.kind is FailureKind.DEVICE:
                self._expect_device_failure(one, effects)
                return
            self._expect_removal(one, effects)
            if not one.is_stored:
                self.memory.forget(one.key)
            self._exclude(one, index, event.failure.kind, now_ns)
            self._expect_miss(one, effects, now_ns)
            return
        fresh = now_ns < one.fresh_until_ns
        if not fresh or not self._may_serve(one.event, one.key, winner, now_ns):
            self._expect_miss(one, effects, now_ns)
            return
        verified = isinstance(event, Validated)
        provisional = isinstance(event, Validated) and event.provisional
        if verified:
            self._note_passed(one.key, winner, not provisional)
        answer = self._only(one, effects)
        require(
            isinstance(answer, Answer)
            and isinstance(answer.result, Decision)
            and answer.result.source is Source.STORED
            and answer.result.name == winner
            and answer.result.verified is verified,
            Invariant.STORED_IS_CONFIRMED,
            f"expected the stored {winner}, got {answer}",
        )
        assert isinstance(answer, Answer)
        assert isinstance(answer.result, Decision)
        assert answer.result.ratio is not None
        self._check_winner(one.event, answer.result, now_ns)
        kept = Kept(
            winner,
            one.name(one.reference),
            answer.result.ratio,
            one.fresh_until_ns,
            verified,
            provisional,
            one.event.problem.scope is not Scope.PIPELINE,
        )
        self.memory.settle(one.key, kept)
        self._answered(one.event, answer)

    def _expect_removal(self, one: Open, effects: list[Effect]) -> None:
        if one.is_stored or one.event.problem.persistent:
            removed = effects.pop(0) if effects else None
            require(
                removed == RemoveRecord(one.key),
                Invariant.STORE_TRAFFIC,
                f"expected a refuted record to be removed, got {removed}",
            )

    def _explored(self, one: Open, event: Event, effects: list[Effect]) -> None:
        assert isinstance(event, (Measured, Validated, Unverifiable, TrialFailed))
        assert one.current is not None
        turn, now_ns = one.turns[one.current], event.now.monotonic_ns
        is_reference = one.current == one.reference
        late = now_ns >= turn.deadline_ns and not is_reference
        if isinstance(event, Unverifiable) and self.policy.require_validation:
            failure = Failure(FailureKind.UNSUPPORTED, "unverifiable", event.reason)
            event = TrialFailed(event.request, event.now, failure)
        match event:
            case TrialFailed():
                if self._trial_failed(one, turn, event, effects):
                    return
            case _ if late:
                turn.fate = "cut"
            case Validated():
                turn.passed, turn.provisional = True, event.provisional
                self._note_passed(one.key, one.name(one.current), not event.provisional)
            case Unverifiable():
                turn.unverifiable = True
            case Measured():
                assert isinstance(one.awaits, Measure)
                if one.awaits.purpose is Purpose.WARMUP:
                    if turn.warmups == 0:
                        turn.first_ns = event.latency_ns
                        self._face(one, turn, now_ns)
                    turn.warmups += 1
                elif event.latency_ns == 0 and is_reference:
                    self._expect_bypass(one, effects, None)
                    return
                elif event.latency_ns == 0:
                    turn.fate = "failed"
                else:
                    turn.times_ns.append(event.latency_ns)
        self._continue(one, effects[-1] if effects else None, now_ns, effects)

    def _face(self, one: Open, turn: Turn, now_ns: int) -> None:
        """Weigh a candidate's first call, and note whom it has to beat."""
        reference = one.turns[one.reference]
        if turn is reference:
            return
        over_ns = max(0, turn.first_ns - reference.first_ns)
        turn.extra = Fraction(over_ns, self.policy.reuse * reference.times_ns[0])
        costs = [
            verdict[1] + other.extra
            for index, other in one.turns.items()
            if other is not reference
            and other is not turn
            and not other.fate
            and (verdict := self._verdict(one, other))
            and verdict[0]
            and not self.memory.is_banned(one.key, one.name(index), now_ns)
        ]
        turn.to_beat = min(costs) - turn.extra if costs else None
        room = min([1 / self.policy.min_speedup, *costs])
        if turn.extra >= room:
            turn.fate = "unpaid"

    def _trial_failed(
        self, one: Open, turn: Turn, event: TrialFailed, effects: list[Effect]
    ) -> bool:
        """Apply a failure; say whether it ended the search."""
        assert one.current is not None
        kind, now_ns = event.failure.kind, event.now.monotonic_ns
        if kind is FailureKind.DEVICE:
            self._expect_device_failure(one, effects)
            return True
        if one.current == one.reference:
            passes = kind is FailureKind.TRANSIENT
            self._expect_bypass(one, effects, self.memory.retry_at(now_ns) if passes else None)
            return True
        if kind is FailureKind.TRANSIENT and now_ns >= turn.deadline_ns:
            turn.fate = "cut"
            return False
        beside = isinstance(one.awaits, Measure) and one.awaits.candidate == one.reference
        kind = FailureKind.TRANSIENT if beside else kind
        turn.fate = "passing" if kind is FailureKind.TRANSIENT else "failed"
        self._exclude(one, one.current, kind, now_ns)
        return False

    # The order of a search

    def _continue(
        self, one: Open, effect: Effect | None, now_ns: int, effects: list[Effect] | None = None
    ) -> None:
        """Check the effect that follows in an exploration."""
        if isinstance(effect, Answer):
            assert effects is not None
            self._finished(one, effects, now_ns)
            return
        require(
            effects is None or len(effects) == 1, Invariant.ANSWERED_ONCE, f"one effect: {effects}"
        )
        require(
            isinstance(effect, (Measure, Validate)) and effect.request == one.event.request,
            Invariant.TRIAL_ORDER,
            effect,
        )
        assert isinstance(effect, (Measure, Validate))
        one.awaits = effect
        begins = (
            isinstance(effect, Measure)
            and effect.purpose is Purpose.WARMUP
            and effect.candidate != one.current
        )
        if begins:
            self._advance(one, now_ns, effect.candidate)
            one.turns[effect.candidate] = Turn(self._turn_ends(one, effect.candidate, now_ns))
            one.current = effect.candidate
        assert one.current is not None
        turn = one.turns[one.current]
        in_time = effect.deadline_ns == turn.deadline_ns
        require(in_time, Invariant.TRIAL_ORDER, f"{effect}, the turn ends at {turn.deadline_ns}")
        if begins:
            return
        paired = isinstance(effect, Measure) and effect.purpose is Purpose.PAIRED
        unchecked = paired and self.policy.require_validation and not turn.passed
        require(not unchecked, Invariant.NO_UNVERIFIED_WINNER, effect)
        in_turn = not turn.fate and (not turn.times_ns or self._verdict(one, turn) is None)
        in_turn = in_turn or one.current == one.reference
        require(in_turn, Invariant.TRIAL_ORDER, f"the turn is over: {effect}")
        self._within_turn(one, turn, effect)

    def _within_turn(self, one: Open, turn: Turn, effect: Measure | Validate) -> None:
        warm = turn.warmups == self.policy.warmups
        if isinstance(effect, Validate):
            right = warm and effect.candidate == one.current and effect.reference == one.reference
            require(right and not turn.checked, Invariant.TRIAL_ORDER, effect)
            return
        if effect.purpose is Purpose.WARMUP:
            require(turn.warmups < self.policy.warmups, Invariant.TRIAL_ORDER, effect)
            return
        require(warm and turn.checked, Invariant.TRIAL_ORDER, f"unchecked: {effect}")
        if effect.purpose is Purpose.BASELINE:
            right = one.current == one.reference == effect.candidate and not turn.times_ns
            require(right, Invariant.TRIAL_ORDER, effect)
            return
        require(one.current != one.reference, Invariant.TRIAL_ORDER, effect)
        require(effect.candidate in (one.reference, one.current), Invariant.TRIAL_ORDER, effect)
        turn.targets.append(effect.candidate)
        if len(turn.targets) % 4 == 0:
            a, b, c, d = turn.targets[-4:]
            balanced = a == d and b == c and a != b
            require(balanced, Invariant.TRIAL_ORDER, f"not a balanced block: {turn.targets[-4:]}")

    def _advance(self, one: Open, now_ns: int, begun: int | None) -> None:
        """Check that each candidate between the last turn and the next was rightly passed over."""
        if one.current is None:
            require(begun == one.reference, Invariant.TRIAL_ORDER, f"{begun} before the reference")
            return
        last = one.turns[one.current]
        if one.current != one.reference:
            over = bool(last.fate) or self._verdict(one, last) is not None
            require(over, Invariant.TRIAL_ORDER, f"candidate {one.current} is not done")
        else:
            require(bool(last.times_ns), Invariant.TRIAL_ORDER, "the reference is not timed")
        start = 0 if one.current == one.reference else one.current + 1
        for index in range(start, len(one.event.candidates)):
            if index == one.reference:
                continue
            why_not = self._why_not(one, index, now_ns)
            if index == begun:
                rule = (
                    Invariant.TRIAL_ORDER
                    if why_not in ("time", "limit")
                    else Invariant.BANNED_NOT_TRIED
                )
                require(not why_not, rule, f"candidate {index} is tried in spite of: {why_not}")
                return
            require(bool(why_not), Invariant.TRIAL_ORDER, f"candidate {index} had no turn")
            one.passed_over[index] = why_not
        require(begun is None, Invariant.TRIAL_ORDER, f"candidate {begun} is out of order")

    def _why_not(self, one: Open, index: int, now_ns: int) -> str:
        candidate = one.event.candidates[index]
        if one.lane in self.quarantine:
            return "quarantine"
        if not self._fits(candidate):
            return "unfit"
        if self.memory.is_banned(one.key, candidate.name, now_ns):
            lasts = self.memory.bans[one.key][candidate.name] is None
            return "banned" if lasts else "banned for a while"
        if now_ns >= self._deadline(one):
            return "time"
        return "limit" if len(one.turns) >= self.policy.max_candidates else ""

    def _finished(self, one: Open, effects: list[Effect], now_ns: int) -> None:
        self._advance(one, now_ns, None)
        others = {index: turn for index, turn in one.turns.items() if index != one.reference}
        verdicts = {
            index: verdict
            for index, turn in others.items()
            if not turn.fate and (verdict := self._verdict(one, turn)) is not None
        }
        unpaid = any(turn.fate == "unpaid" for turn in others.values())
        cut = any(turn.fate == "cut" for turn in others.values())
        if not verdicts and not unpaid and (cut or "time" in one.passed_over.values()):
            self._expect_bypass(one, effects, self.memory.retry_at(now_ns))
            return
        answer = effects[-1]
        assert isinstance(answer, Answer)
        decision = answer.result
        require(
            isinstance(decision, Decision) and decision.source is Source.TUNED,
            Invariant.ORDER_OF_ANSWERS,
            f"expected a tuned decision, got {answer}",
        )
        assert isinstance(decision, Decision)
        self._check_winner(one.event, decision, now_ns)
        reference_turn = one.turns[one.reference]
        ratios = {
            index: ratio
            for index, (faster, ratio) in verdicts.items()
            if faster and not self.memory.is_banned(one.key, one.name(index), now_ns)
        }
        costs = {index: ratio + others[index].extra for index, ratio in ratios.items()}
        best = min(costs, key=lambda index: (costs[index], index), default=one.reference)
        if decision.index not in (one.reference, best):
            raced = [ratio for index, (_, ratio) in verdicts.items() if index == decision.index]
            slow = not raced or raced[0] * self.policy.min_speedup > 1
            require(not slow, Invariant.NO_SLOWER_WINNER, decision)
        require(decision.index == best, Invariant.BEST_WINS, f"expected {best}, got {decision}")
        winner = one.turns[best] if best != one.reference else reference_turn
        require(decision.verified is winner.passed, Invariant.NO_UNVERIFIED_WINNER, f"{decision}")
        if best != one.reference:
            require(decision.ratio == ratios[best], Invariant.BEST_WINS, decision)
        complete = not cut and not any(turn.fate == "passing" for turn in others.values())
        reasons = set(one.passed_over.values())
        complete = complete and not reasons & {"time", "limit", "banned for a while"}
        life_s = self.policy.ttl_s
        if not complete:
            life_s = min(life_s, self.policy.retry_after_s)
        assert decision.ratio is not None
        kept = Kept(
            decision.name,
            one.name(one.reference),
            decision.ratio,
            now_ns + life_s * SECOND_NS,
            winner.passed,
            winner.provisional,
            one.event.problem.scope is not Scope.PIPELINE,
        )
        self.memory.settle(one.key, kept)
        self._check_saved(one, effects[:-1], bool(verdicts) or unpaid, decision, complete)
        self._answered(one.event, answer)

    def _check_saved(
        self, one: Open, before: list[Effect], measured: bool, decision: Decision, complete: bool
    ) -> None:
        if not measured or not one.event.problem.persistent:
            require(not before, Invariant.STORE_TRAFFIC, f"nothing to save: {before}")
            return
        saved = before[0] if before else None
        require(len(before) == 1 and isinstance(saved, SaveRecord), Invariant.STORE_TRAFFIC, before)
        assert isinstance(saved, SaveRecord)
        record = saved.record
        right = (
            record.key == one.key
            and record.winner == decision.name
            and record.ratio == decision.ratio
            and record.verified is decision.verified
            and record.complete is complete
            and record.scope is one.event.problem.scope
        )
        require(right, Invariant.STORE_TRAFFIC, f"{record}, decided {decision}, {complete}")
        self.counts["saved"] += 1

    def _verdict(self, one: Open, turn: Turn) -> tuple[bool, Fraction] | None:
        """Return whether a turn's blocks qualify, and their median ratio; None while undecided."""
        ratios = []
        sides: dict[bool, list[int]] = {True: [], False: []}
        for start in range(0, len(turn.times_ns) - len(turn.times_ns) % 4, 4):
            sums = {True: 0, False: 0}
            for target, time_ns in zip(
                turn.targets[start : start + 4], turn.times_ns[start : start + 4], strict=True
            ):
                sums[target == one.reference] += time_ns
            ratios.append(Fraction(sums[False], sums[True]))
            for is_reference, total in sums.items():
                sides[is_reference].append(total)
        lived = Fraction(sum(sides[False]), sum(sides[True])) if _two_states(sides) else None
        rule, least, extra = self.policy.evidence, self.policy.min_speedup, turn.extra
        match rule:
            case MedianMad():
                if len(ratios) < rule.samples:
                    return None
                middle = median(ratios)
                spread = median([abs(ratio - middle) for ratio in ratios]) / middle
                calm = spread <= rule.max_relative_mad and middle / (1 / least - extra) <= 1
                ratio = lived or middle
                cost = ratio + extra
                return calm and cost < 1 and cost * least <= 1, ratio
            case AnytimeValid():
                others = min(len(one.event.candidates), self.policy.max_candidates) - 1
                needed = 1 / (1 / least - extra)
                shared = shared_by(rule, max(1, others))
                verdict = assess(shared, ratios, needed, turn.to_beat)
                if isinstance(verdict, Undecided):
                    return None
                ratio = lived or verdict.ratio
                cost = ratio + extra
                fast = cost < 1 and cost * least <= 1
                return isinstance(verdict, Faster) and fast, ratio

    # Ends

    def _expect_fallback(self, one: Open, effect: Effect | None, source: Source) -> None:
        require(
            isinstance(effect, Answer)
            and isinstance(effect.result, Decision)
            and effect.result.source is source,
            Invariant.ORDER_OF_ANSWERS,
            f"expected {source}, got {effect}",
        )
        assert isinstance(effect, Answer)
        self._answered(one.event, effect)

    def _expect_bypass(self, one: Open, effects: list[Effect], until_ns: int | None) -> None:
        is_lower = one.event.problem.scope is not Scope.PIPELINE
        self._expect_fallback(one, self._only(one, effects), Source.BYPASSED)
        self.memory.settle(one.key, Bypassed(one.name(one.reference), until_ns, is_lower))

    def _expect_device_failure(self, one: Open, effects: list[Effect]) -> None:
        effect = self._only(one, effects)
        require(
            isinstance(effect, Answer)
            and isinstance(effect.result, Failure)
            and effect.result.kind is FailureKind.DEVICE,
            Invariant.ORDER_OF_ANSWERS,
            f"expected the device failure, got {effect}",
        )
        assert isinstance(effect, Answer)
        self.quarantine.add(one.lane)
        self._answered(one.event, effect)

    def _answered(self, event: Requested, answer: Answer) -> None:
        require(
            answer.request == event.request
            and event.request in self.asked
            and event.request not in self.answers,
            Invariant.ANSWERED_ONCE,
            answer,
        )
        self.open.pop(event.request, None)
        result = answer.result
        self.answers[event.request] = result
        if isinstance(result, Failure):
            self.counts[COUNTER_OF_KIND[result.kind]] += 1
            return
        self.counts[COUNTER_OF_SOURCE[result.source]] += 1
        name = event.candidates[event.reference].name
        require(result.reference_index == event.reference, Invariant.FALLBACK_IS_REFERENCE, result)
        require(
            result.key == key_digest(event, self.policy), Invariant.FALLBACK_IS_REFERENCE, result
        )
        if result.source in FALLBACKS:
            plain = (result.index, result.name) == (event.reference, name)
            claims = result.verified or result.ratio is not None
            require(plain and not claims, Invariant.FALLBACK_IS_REFERENCE, result)

    def _only(self, one: Open, effects: list[Effect]) -> Effect:
        """Return the single effect, which must be this request's."""
        require(
            len(effects) == 1 and not isinstance(effects[0], (SaveRecord, RemoveRecord)),
            Invariant.ANSWERED_ONCE,
            f"expected one effect of request {one.event.request}, got {effects}",
        )
        return effects[0]

    def _exclude(self, one: Open, index: int, kind: FailureKind, now_ns: int) -> None:
        if index == one.reference:
            return
        passes = kind is FailureKind.TRANSIENT
        until_ns = self.memory.retry_at(now_ns) if passes else None
        self.memory.ban(one.key, one.name(index), until_ns)

    def _note_passed(self, key: str, name: str, real: bool) -> None:
        self.passed[key, name] = real

    def _turn_ends(self, one: Open, index: int, now_ns: int) -> int:
        """Twice the fair share of the time left; the reference has all of it."""
        ends_ns = self._deadline(one)
        if index == one.reference:
            return ends_ns
        waiting = sum(
            other >= index and other != one.reference and self._fits(candidate)
            for other, candidate in enumerate(one.event.candidates)
        )
        waiting = min(waiting, self.policy.max_candidates - len(one.turns))
        return min(ends_ns, now_ns + 2 * (ends_ns - now_ns) // waiting)

    def _deadline(self, one: Open) -> int:
        return one.event.now.monotonic_ns + self.policy.budget_ns

    def _check_winner(
        self, event: Requested, decision: Decision, now_ns: int | None = None
    ) -> None:
        """Check a decision for another plan than the reference, rule by rule."""
        now_ns = event.now.monotonic_ns if now_ns is None else now_ns
        candidate, key = event.candidates[decision.index], key_digest(event, self.policy)
        held = self.memory.settled.get(key)
        if decision.source is Source.MEMORY:
            fresh = isinstance(held, Kept) and now_ns < held.fresh_until_ns
            require(fresh, Invariant.NO_STALE_WINNER, f"{decision}, {held}")
        if decision.index == event.reference:
            return
        require(candidate.name == decision.name, Invariant.BEST_WINS, decision)
        require(self._fits(candidate), Invariant.NO_INELIGIBLE_WINNER, decision)
        banned = self.memory.is_banned(key, decision.name, now_ns)
        require(not banned, Invariant.NO_BANNED_WINNER, decision)
        if self.policy.require_validation:
            real = self.passed.get((key, decision.name))
            needed = real is not None and (real or decision.source is not Source.MEMORY)
            require(decision.verified and needed, Invariant.NO_UNVERIFIED_WINNER, decision)
        assert decision.ratio is not None
        fast = decision.ratio < 1 and decision.ratio * self.policy.min_speedup <= 1
        require(fast, Invariant.NO_SLOWER_WINNER, decision)

    # Decisions taken back

    def _invalidated(self, event: Invalidated, effects: list[Effect]) -> None:
        require(effects == [RemoveRecord(event.key)], Invariant.STORE_TRAFFIC, effects)
        self.counts["invalidations"] += 1
        self.memory.forget(event.key)
        if event.ban and event.candidate != event.reference:
            self.memory.ban(event.key, event.candidate, None)

    def _compared(self, event: Compared, effects: list[Effect]) -> None:
        held = self.memory.settled.get(event.key)
        if (
            not isinstance(held, Kept)
            or held.winner != event.candidate
            or held.winner == held.reference
        ):
            self.counts["ignored_comparisons"] += 1
            require(not effects, Invariant.STORE_TRAFFIC, effects)
            return
        self.counts["comparisons"] += 1
        ratio = Fraction(event.selected_ns, event.reference_ns)
        bad = self.memory.observe(event.key, event.candidate, ratio, event.now.monotonic_ns)
        expected = [RemoveRecord(event.key)] if bad else []
        require(effects == expected, Invariant.STORE_TRAFFIC, f"{effects}, expected {expected}")
        self.counts["degradations"] += bad
        self.counts["invalidations"] += bad

    # After every step

    def _check_limits(self) -> None:
        keys = [one.key for one in self.open.values()]
        lanes = [one.lane for one in self.open.values()]
        require(len(set(keys)) == len(keys), Invariant.ONE_TUNING_PER_KEY, keys)
        require(len(set(lanes)) == len(lanes), Invariant.ONE_TUNING_PER_ENVIRONMENT, lanes)
        full = len(keys) <= self.policy.max_parallel
        require(full, Invariant.PARALLEL_LIMIT, f"{len(keys)} > {self.policy.max_parallel}")
        open_or_answered = set(self.open) | set(self.answers)
        require(open_or_answered == self.asked, Invariant.ANSWERED_ONCE, self.asked)

    def _check_state(self, state: State) -> None:
        for key, entry in state.entries.items():
            known = self.references.get(key)
            banned = set(entry.exclusions)
            require(known not in banned, Invariant.REFERENCE_NEVER_BANNED, f"{known} of {key}")
        self._check_bounds(state)
        self._check_counters(state)
        require(set(state.searches) == set(self.open), Invariant.ANSWERED_ONCE, self.open)

    def _check_bounds(self, state: State) -> None:
        bounded = Invariant.BOUNDED_MEMORY
        policy = self.policy
        require(len(state.entries) <= policy.capacity, bounded, len(state.entries))
        require(len(state.reports) <= policy.reports, bounded, len(state.reports))
        require(len(state.busy_keys) <= policy.max_parallel, bounded, state.busy_keys)
        require(len(state.busy_lanes) <= policy.max_parallel, bounded, state.busy_lanes)
        require(list(state.keys) == self.memory.keys, bounded, f"{self.memory.keys}")
        require(set(state.entries) == set(self.memory.keys), bounded, "entries without a place")
        for key, entry in state.entries.items():
            bans = {name: one.until_ns for name, one in entry.exclusions.items()}
            require(bans == self.memory.bans.get(key, {}), Invariant.NO_BANNED_WINNER, bans)
            pairs = entry.history.ratios if entry.history else ()
            require(list(pairs) == self.memory.pairs.get(key, []), bounded, pairs)
            self._check_settled(entry.settled, self.memory.settled.get(key))

    def _check_settled(self, got: Held | Bypass | None, need: Kept | Bypassed | None) -> None:
        right = False
        match got:
            case Held(record=record):
                right = isinstance(need, Kept) and (
                    record.winner,
                    got.fresh_until_ns,
                    record.verified,
                    record.provisional,
                ) == (need.winner, need.fresh_until_ns, need.verified, need.provisional)
            case Bypass():
                right = isinstance(need, Bypassed) and need.until_ns == got.until_ns
            case None:
                right = need is None
        require(right, Invariant.NO_STALE_WINNER, f"held {got}, the rules say {need}")

    def _check_counters(self, state: State) -> None:
        self.counts["evictions"] = self.memory.evictions
        for one in fields(Statistics):
            got, need = getattr(state.statistics, one.name), self.counts[one.name]
            require(got == need, Invariant.COUNTERS_ADD_UP, f"{one.name}: {got}, counted {need}")
        requests = state.statistics.answers + len(state.searches)
        require(state.statistics.requests == requests, Invariant.COUNTERS_ADD_UP, requests)
