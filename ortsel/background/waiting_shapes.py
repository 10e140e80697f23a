"""One session's shapes that wait for the background to decide about them."""

import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ortsel import telemetry
from ortsel.background.errors import DisturbedError, WorkStoppedError
from ortsel.background.idle_work import IDLE_WORK, SECOND_NS, IdleWork, Task
from ortsel.background.snapshots import SNAPSHOTS, Snapshot, feed_bytes
from ortsel.background.turn import Turn
from ortsel.call_trials import Call
from ortsel.choice import NEVER, Choice, Choices, later_ns, reference_for_ever
from ortsel.decision_words import waiting
from ortsel.errors import OrtselError
from ortsel.explain import WorkloadExplanation
from ortsel.fork import starts_over
from ortsel.selection_config import SelectionConfig
from ortsel.session_tuner import Idle, SessionTuner
from ortsel.trial.calling import Calling, WayOfCalling

NO_ROOM_RETRY_S: Final = 60
"""When a shape whose inputs found no room asks again."""

Run: TypeAlias = Callable[[Sequence[str], Mapping[str, Any], None], Any]


class WaitingShapes:
    """What a session leaves to the background. Safe for many threads.

    The background holds it by a weak reference only: it dies with its session.
    """

    def __init__(
        self,
        tuner: SessionTuner,
        choices: Choices,
        config: SelectionConfig,
        run: Run,
        idle_work: IdleWork = IDLE_WORK,
    ) -> None:
        """`run` is ONNX Runtime's own entry behind the reference."""
        self._tuner = tuner
        self._choices = choices
        self._config = config
        self._run = run
        self._idle_work = idle_work
        self._searched: set[Hashable] = set()
        self._active_ns = 0
        self.after_fork_in_child()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """Forget what the parent's background was to do."""
        self._lock = threading.RLock()
        self._queued: set[Hashable] = set()

    def ask(
        self,
        signature: Hashable,
        known: Choice | None,
        feed: Mapping[str, Any],
        names: tuple[str, ...],
        calling: WayOfCalling,
    ) -> Choice:
        """Leave a shape to the background; return what serves it meanwhile. Never raises.

        `known` is what served so far. The feed of a bound call is a copy already.
        """
        with self._lock:
            queued = signature in self._queued
            self._queued.add(signature)
        uses = 1 if known is None else known.uses
        if queued:
            return self._meanwhile(uses)
        try:
            return self._queue(signature, uses, feed, names, calling)
        except Exception as error:  # noqa: BLE001
            if not isinstance(error, OrtselError):
                telemetry.unexpected("a shape keeps the reference", error)
            self._queued.discard(signature)
            self._tuner.note(signature, WorkloadExplanation.kept("a call", str(error)))
            return self._for_ever()
        except BaseException:  # Ctrl-C, say, which ends this call and not the shape's chance
            self._queued.discard(signature)
            raise

    def _queue(
        self,
        signature: Hashable,
        uses: int,
        feed: Mapping[str, Any],
        names: tuple[str, ...],
        calling: WayOfCalling,
    ) -> Choice:
        if len(self._queued) > self._config.max_shapes:
            # More would wait than have a choice, each with a copy of its inputs.
            self._queued.discard(signature)
            return Choice(None, later_ns(NO_ROOM_RETRY_S), self._run, uses=uses)
        workload = self._tuner.workload(feed, names, calling)
        owned = calling is not Calling.NUMPY
        snapshot = SNAPSHOTS.take(feed, self._config.snapshot_bytes, owned=owned)
        words = self._tuner.describe(Call(feed, names, calling, list, workload))
        if snapshot is None:
            self._queued.discard(signature)
            return self._no_room(signature, words, feed)
        task = self._task(signature, snapshot, names, calling, workload)
        reference = weakref.ref(self)
        self._idle_work.schedule(
            self,
            task,
            idle_ns=round(self._config.idle_s * SECOND_NS),
            weight=lambda: _uses(reference, signature),
        )
        self._tuner.note(signature, waiting(words, "decided once the process is idle"))
        return self._meanwhile(uses)

    def _meanwhile(self, uses: int) -> Choice:
        wanted = self._config.min_uses
        return Choice(
            None,
            reference_for_ever().until_ns,
            self._run,
            uses=uses,
            waits_for_use=wanted if uses < wanted else NEVER,
        )

    def _no_room(self, signature: Hashable, words: str, feed: Mapping[str, Any]) -> Choice:
        got, most = feed_bytes(feed), self._config.snapshot_bytes
        reason = f"its inputs take {got} bytes, and all copies together may take {most}"
        if got > most:
            self._tuner.note(signature, WorkloadExplanation.kept(words, reason))
            return self._for_ever()
        self._tuner.note(signature, waiting(words, reason))
        return Choice(None, later_ns(NO_ROOM_RETRY_S), self._run)

    def _for_ever(self) -> Choice:
        choice = reference_for_ever()
        choice.run = self._run
        return choice

    def _task(
        self,
        signature: Hashable,
        snapshot: Snapshot,
        names: tuple[str, ...],
        calling: WayOfCalling,
        workload: Any,
    ) -> Task:
        reference, tuner = weakref.ref(self), self._tuner

        def task(turn: Turn) -> None:
            try:
                decide(turn)
            except DisturbedError:
                raise
            except BaseException:
                snapshot.release()
                raise
            snapshot.release()

        def decide(turn: Turn) -> None:
            call = Call(
                snapshot.feed,
                names,
                calling,
                lambda: _alive(reference)._run(names, snapshot.feed, None),  # noqa: SLF001
                workload,
            )
            for_good: list[bool] = []

            def reason() -> str:
                text, lasts = _alive(reference).against_search(signature)
                for_good.append(lasts)
                return text

            try:
                choice = tuner.decide_when_idle(signature, call, Idle(turn, reason))
            finally:
                if (shapes := reference()) is not None:
                    shapes.spent(turn.active_ns)
                    del shapes
            if choice is None and any(for_good):
                choice = reference_for_ever()
            _alive(reference).settle(signature, choice)

        return task

    def spent(self, active_ns: int) -> None:
        """Count background work done for this session."""
        self._active_ns += active_ns

    def against_search(self, signature: Hashable) -> tuple[str, bool]:
        """Return why a shape must not be searched for now, and whether that lasts.

        Empty, and counted as a search, when it may be.
        """
        config = self._config
        uses = _uses(weakref.ref(self), signature)
        if uses < config.min_uses:
            return f"called {uses} times so far; tuned from {config.min_uses} on (min_uses)", False
        if signature not in self._searched and len(self._searched) >= config.max_tuned_shapes:
            tuned = len(self._searched)
            return f"{tuned} other shapes were tuned, the most allowed (max_tuned_shapes)", True
        if self._active_ns >= config.session_budget_s * SECOND_NS:
            spent = f"{config.session_budget_s:g} s of background work (session_budget_s)"
            return f"the session has used up its {spent}", True
        if self._idle_work.active_ns >= config.process_budget_s * SECOND_NS:
            spent = f"{config.process_budget_s:g} s of background work (process_budget_s)"
            return f"the process has used up its {spent}", True
        self._searched.add(signature)
        return "", False

    def settle(self, signature: Hashable, choice: Choice | None) -> None:
        """Let a decision serve from the next call on; None is to be asked again when used more."""
        with self._lock:
            self._queued.discard(signature)
        if choice is not None:
            session = choice.session
            choice.run = self._run if session is None else session._sess.run  # noqa: SLF001
            self._choices.replace(signature, choice)
        elif (known := self._choices.get(signature)) is not None:
            known.waits_for_use = self._config.min_uses
            known.look_at = 0


def _alive(reference: "weakref.ref[WaitingShapes]") -> WaitingShapes:
    shapes = reference()
    if shapes is None:
        raise WorkStoppedError("the session is gone")
    return shapes


def _uses(reference: "weakref.ref[WaitingShapes]", signature: Hashable) -> int:
    shapes = reference()
    choice = None if shapes is None else shapes._choices.get(signature)  # noqa: SLF001
    return 0 if choice is None else choice.uses
