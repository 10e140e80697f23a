"""What serves each shape of a session: one look-up per call."""

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import define

from ortsel.background.requests import REQUESTS
from ortsel.fork import keep_for_ever, starts_over
from ortsel.watch.sampling import Sampling, WatchSchedule
from spec.policy import SECOND_NS, YEAR_S

if TYPE_CHECKING:
    import onnxruntime

LOOK_EVERY: Final = 64
"""Calls between two looks at the clock: counting a call costs a quarter of such a look."""
SOON_NS: Final = 10 * SECOND_NS
"""A choice that ends within this time is looked at in every call."""
NEVER: Final = 2**62
"""As a count of calls."""


@define(eq=False)
class Choice:
    """What serves a shape from now on."""

    session: "onnxruntime.InferenceSession | None"
    """The session of the winning plan; None is the reference."""
    until_ns: int
    """Monotonic time at which the choice is made anew."""
    run: "Callable[[Sequence[str], Mapping[str, Any], None], Any] | None" = None
    """ONNX Runtime's own entry behind the session that serves, for calls whose inputs were accepted
    once: by then its wrapper has nothing left to check. None where the wrapper must be asked."""
    uses: int = 0
    """Calls served so far. Bumped without a lock: a lost call makes no difference."""
    look_at: int = 1
    """The use at which somebody must look whether the choice still holds."""
    waits_for_use: int = NEVER
    """The use at which the decision in the background wants a copy of the inputs."""
    sampling: Sampling | None = None
    """Which calls are looked at again, where a plan serves and somebody looks."""

    def holds(self) -> bool:
        """Whether a plan serves that only wants to be looked at."""
        if self.session is None or self.uses >= self.waits_for_use:
            return False
        return time.monotonic_ns() < self.until_ns

    def wants_attention(self) -> bool:
        """Whether the call that got here must go the long way; otherwise set when to look next."""
        now_ns = time.monotonic_ns()
        if self.until_ns <= now_ns or self.uses >= self.waits_for_use:
            return True
        soon = self.until_ns - now_ns < SOON_NS
        look_at = min(self.uses + (1 if soon else LOOK_EVERY), self.waits_for_use)
        sampling = self.sampling
        if sampling is not None:
            if sampling.is_due(self.uses, now_ns):
                return True
            if self.uses < (wanted := sampling.at_use):
                look_at = min(look_at, wanted)
        self.look_at = look_at
        return False


class Choices(dict[Hashable, Choice]):
    """What serves each shape, by the signature of its calls."""

    def __init__(self, schedule: WatchSchedule | None = None) -> None:
        """`schedule` says how often the calls that plans serve are looked at; None is never."""
        super().__init__()
        self._schedule = schedule
        self._past_uses = 0
        self._lock = threading.RLock()
        starts_over(self)
        REQUESTS.count_in(self)

    def remember(self, signature: Hashable, choice: Choice, most: int) -> None:
        """Let a choice serve a signature; of more than `most` the first in leaves."""
        with self._lock:
            self._remember(signature, choice, most)

    def remember_meanwhile(
        self, signature: Hashable, known: Choice | None, choice: Choice, most: int
    ) -> None:
        """The same, unless something else than `known` serves by now: that is newer."""
        with self._lock:
            if self.get(signature) is known:
                self._remember(signature, choice, most)

    def _remember(self, signature: Hashable, choice: Choice, most: int) -> None:
        known = self.pop(signature, None)
        choice.uses = max(choice.uses, 0 if known is None else known.uses)
        while len(self) >= most:
            left = self.pop(next(iter(self)), None)
            self._past_uses += 0 if left is None else left.uses
        self._watch(choice)
        self[signature] = choice

    def _watch(self, choice: Choice) -> None:
        if choice.session is not None and choice.sampling is None and self._schedule is not None:
            choice.sampling = self._schedule.sampling()

    def replace(self, signature: Hashable, choice: Choice) -> None:
        """Let a choice serve a signature from the next call on, if the signature is still held."""
        with self._lock:
            known = self.get(signature)
            if known is not None:
                choice.uses = known.uses
                choice.look_at = known.uses + 1
                self._watch(choice)
                self[signature] = choice

    def without(self, session: object) -> list[Hashable]:
        """Take a plan's session back everywhere, and return the signatures that it served."""
        served = [key for key, choice in list(self.items()) if choice.session is session]
        for signature in served:
            self.replace(signature, reference_for_ever())
        return served

    def total_uses(self) -> int:
        """Return how many calls the choices served so far, those that left included."""
        return self._past_uses + sum(choice.uses for choice in list(self.values()))

    def after_fork_in_child(self) -> None:
        """Go back to the reference; the parent's plans cannot run here, nor be destroyed."""
        self._lock = threading.RLock()
        for choice in self.values():
            keep_for_ever(choice.session)
        self.clear()


def later_ns(seconds: int) -> int:
    """Return the monotonic time that many seconds from now."""
    return time.monotonic_ns() + seconds * SECOND_NS


def reference_for_ever() -> Choice:
    """Return the choice of the reference that is not looked at again in this process."""
    return Choice(None, later_ns(YEAR_S))
