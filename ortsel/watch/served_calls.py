"""One session's served calls that are looked at again once the process is idle (V7, S10).

A call that is due is copied when it returns; the comparison with the reference and the timing come
later, on the background thread. What they show takes the plan back at once: an atomic switch.
"""

import time
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, assert_never

from attrs import evolve

from ortsel import telemetry
from ortsel.background.errors import DisturbedError
from ortsel.background.idle_work import IDLE_WORK, SECOND_NS, IdleWork, Task
from ortsel.background.turn import Turn
from ortsel.choice import Choice, Choices, later_ns
from ortsel.fork import starts_over
from ortsel.selection_config import SelectionConfig, SelectionMode
from ortsel.selector import Standing
from ortsel.trial.calling import WayOfCalling
from ortsel.trial.errors import TrialFailedError, TrialsUnavailableError
from ortsel.verification.comparison import Different, Equal, Incomparable, compare
from ortsel.watch.counts import ServedChecks
from ortsel.watch.replay import Round
from ortsel.watch.sampling import WatchSchedule
from ortsel.watch.served_call import ServedCall
from spec.failure import FailureKind

if TYPE_CHECKING:
    from numpy import dtype, ndarray

    Feed = Mapping[str, "ndarray[Any, dtype[Any]]"]

Run: TypeAlias = Callable[[Sequence[str], Mapping[str, Any], None], Any]
WORKS_ON: Final = "the reference serves, and nothing need be done"


class Watched(Protocol):
    """What is needed from the session's tuner."""

    def replay(self, signature: Hashable, call: ServedCall, turn: Turn, seed: int) -> Round | None:
        """Time a served plan; None where it serves no more."""
        ...

    def withdraw(self, signature: Hashable, reason: str, cause: str) -> None:
        """Ban a served plan, with its evidence."""
        ...

    def demoted(self, signature: Hashable, reason: str, *, drop: bool) -> None:
        """Say that a plan was taken back; `drop` its session where nothing else uses it."""
        ...

    def same_key(self, signature: Hashable) -> list[Hashable]:
        """Return the signatures that share a decision with this one, itself included."""
        ...

    def workload_of(self, signature: Hashable) -> str:
        """Return a line about a shape."""
        ...


def schedule_of(config: SelectionConfig) -> WatchSchedule | None:
    """Return how often served calls are looked at; None is never."""
    measures = config.mode is not SelectionMode.CACHE_ONLY
    replay_every_ns = round(config.watch_every_s * SECOND_NS) if measures else 0
    if not config.keep_feeds or not (config.shadow_share or replay_every_ns):
        return None
    return WatchSchedule(
        config.shadow_share, round(config.shadow_every_s * SECOND_NS), replay_every_ns
    )


class ServedCalls:
    """The looks at one session's served calls. Safe for many threads.

    The background holds it by a weak reference only: it dies with its session.
    """

    def __init__(
        self,
        tuner: Watched,
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
        self._rounds = 0
        self.counts = ServedChecks()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """Forget what the parent found."""
        self.counts = ServedChecks()

    def wants(self, choice: Choice) -> bool:
        """Whether the caller shall copy this call; then `served` or `missed` must follow."""
        sampling = choice.sampling
        return sampling is not None and sampling.claim(choice.uses, time.monotonic_ns())

    def missed(self, choice: Choice) -> None:
        """Hear that a call that was to be copied was not."""
        self._count(skipped=1)
        telemetry.checked("skipped")
        if choice.sampling is not None:
            choice.sampling.later()

    def served(
        self,
        signature: Hashable,
        choice: Choice,
        feed: "Feed",
        outputs: Sequence[object],
        output_names: Sequence[str],
        calling: WayOfCalling,
    ) -> None:
        """Copy a call, and look at it later. Never raises. A bound call's values are copies."""
        try:
            most_bytes = self._config.snapshot_bytes
            call = ServedCall.copied(feed, outputs, output_names, calling, most_bytes)
            if call is None:
                self.missed(choice)
                return
            self._idle_work.schedule(
                self,
                self._task(signature, weakref.ref(choice), call),
                idle_ns=round(self._config.idle_s * SECOND_NS),
                is_search=False,
            )
        except Exception as error:  # noqa: BLE001
            self.missed(choice)
            telemetry.warn_once(
                type(error).__name__, "check-failed", f"a served call was not looked at: {error}"
            )

    def _task(
        self, signature: Hashable, choice_reference: "weakref.ref[Choice]", call: ServedCall
    ) -> Task:
        reference = weakref.ref(self)

        def task(turn: Turn) -> None:
            done = False
            try:
                turn.pause()
                watch, choice = reference(), choice_reference()
                if watch is not None and choice is not None:
                    done = watch.look(signature, choice, call, turn)
            except DisturbedError:
                pass  # the next call that is due is as good as this one
            finally:
                call.release()
                choice = choice_reference()
                if not done and choice is not None and choice.sampling is not None:
                    choice.sampling.later()

        return task

    def look(self, signature: Hashable, choice: Choice, call: ServedCall, turn: Turn) -> bool:
        """Compare, and time where that is due; return whether the plan passed.

        Raises what a turn raises.
        """
        sampling = choice.sampling
        if sampling is None or not self._serves(signature, choice):
            return False
        began_ns = time.monotonic_ns()
        if sampling.checks and not self._is_right(choice, call):
            return False
        cost_ns = time.monotonic_ns() - began_ns
        if sampling.replay_is_due(time.monotonic_ns()):
            found = self._timed(signature, choice, call, turn)
            if found is None:
                return False
            sampling.replayed(holds=found.looks_well)
        sampling.again(cost_ns)
        choice.look_at = 0
        return True

    def _is_right(self, choice: Choice, call: ServedCall) -> bool:
        """Compare a served result with the reference's, in this process."""
        # A plan is promoted only where the reference draws no random numbers, so that this call
        # of it changes no later one.
        expected = self._run(call.output_names, call.inputs.feed, None)
        verdict = compare(expected, call.outputs, call.output_names, self._config.tolerance)
        match verdict:
            case Equal():
                self._count(equal=1)
                telemetry.checked("equal")
            case Incomparable():
                self._count(inconclusive=1)
                telemetry.checked("inconclusive")
            case Different():
                self._count(different=1)
                telemetry.checked("different")
                reason = (
                    f"differed while serving, after {choice.uses} calls of its shape: {verdict}"
                )
                self.ban(choice, reason, "different")
                return False
            case _:
                assert_never(verdict)
        return True

    def _timed(
        self, signature: Hashable, choice: Choice, call: ServedCall, turn: Turn
    ) -> Round | None:
        """Time the plan; return what that showed, or None where it serves no more."""
        self._rounds += 1
        try:
            found = self._tuner.replay(signature, call, turn, self._rounds)
        except TrialFailedError as error:
            turn.check()
            failure = error.failure
            if failure.kind not in (FailureKind.REJECTED, FailureKind.CRASHED):
                return Round(Standing.HOLDS, 0, 0, str(error))
            reason = f"failed while it was timed again: {failure.code}: {failure.detail}"
            self.ban(choice, reason, "different" if "wrong" in failure.code else "failed")
            return None
        except TrialsUnavailableError as error:
            return Round(Standing.HOLDS, 0, 0, str(error))
        if found is None:
            self._back(self._tuner.same_key(signature), choice, 0)
            return None
        self._count(replays=1, pairs=found.pairs)
        match found.standing:
            case Standing.HOLDS:
                return found
            case Standing.GONE:
                self._back(self._tuner.same_key(signature), choice, 0)
            case Standing.DEMOTED:
                self._count(demoted=1)
                self._slower(signature, choice, found, "demoted")
            case Standing.BANNED:
                self._count(banned=1)
                self._slower(signature, choice, found, "banned")
            case _:
                assert_never(found.standing)
        return None

    def ban(self, choice: Choice, reason: str, cause: str) -> None:
        """Take a plan back wherever it serves, and keep it out."""
        served = [key for key, one in list(self._choices.items()) if one.session is choice.session]
        self._back(served, choice, self._config.policy.retry_after_s)
        for signature in served:
            self._tuner.withdraw(signature, reason, cause)

    def _slower(self, signature: Hashable, choice: Choice, found: Round, word: str) -> None:
        """Take a plan back for the shapes that share a decision; it may serve others still."""
        same = self._tuner.same_key(signature)
        self._back(same, choice, self._config.policy.retry_after_s)
        session = choice.session
        drop = all(one.session is not session for one in list(self._choices.values()))
        reason = f"{word}: slower than the reference in {found.slower} of {found.pairs} pairs"
        workload = self._tuner.workload_of(signature)
        telemetry.warn_once(
            workload,
            "plan-slower",
            f"{workload}: a served plan is {reason}; {WORKS_ON}",
            workload=workload,
            consequence=word,
            pairs=found.pairs,
            slower_pairs=found.slower,
        )
        for one in same:
            self._tuner.demoted(one, reason, drop=drop)

    def _back(self, signatures: list[Hashable], choice: Choice, retry_after_s: int) -> None:
        """Let the reference serve from the next call on, and decide anew after a while."""
        for signature in signatures:
            if self._serves(signature, choice):
                self._choices.replace(signature, Choice(None, later_ns(retry_after_s), self._run))

    def _serves(self, signature: Hashable, choice: Choice) -> bool:
        serving = self._choices.get(signature)
        return serving is not None and serving.session is choice.session

    def _count(self, **more: int) -> None:
        counts = self.counts
        self.counts = evolve(
            counts, **{name: getattr(counts, name) + number for name, number in more.items()}
        )
