"""Random plans, both sides, the smallest disagreement."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from attrs import frozen

from conformance.fuzzing.candidate import script_of
from conformance.fuzzing.drawing import hypothesis_module, plans
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.plan import Plan
from conformance.fuzzing.play import Play, played
from conformance.protocol.conversation import Conversation
from conformance.protocol.fault import ConversationError, Stage
from conformance.protocol.message import Style
from conformance.runner.check import Inapplicable, check, styles_for
from conformance.runner.run import Opening
from conformance.vectors.vector import Vector

MAX_BROKEN: Final = 300
"""Conversations that break while a finding is made smaller, before it is small enough."""
MAX_TIME_LIMITS: Final = 4
"""The same for those that cost the time limit."""


@frozen
class Search:
    """How far a search came, and what it found."""

    seed: int
    style: Style
    examples: int
    """Plans played, those of making a finding smaller included."""
    applicable: int
    """Those that the implementation's declaration allows to be asked."""
    selections: int
    elapsed_s: float
    finding: Finding | None

    @property
    def examples_per_s(self) -> float:
        """Plans per second."""
        return self.examples / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def selections_per_s(self) -> float:
        """Requests per second."""
        return self.selections / self.elapsed_s if self.elapsed_s > 0 else 0.0


class _PartedError(Exception):
    """What Hypothesis makes smaller."""


def fuzz(opening: Opening, seed: int, examples: int, style: Style) -> Search:
    """Play up to `examples` plans on both sides and return the smallest disagreement.

    The same seed, number, style and implementation give the same plans. Raises
    `HypothesisMissingError`, and `ConversationError` where not even the handshake works.
    """
    hypothesis_module()
    return _Fuzzer(opening, style).searched(seed, examples)


def spec_alone(seed: int, examples: int, style: Style) -> Search:
    """Draw and play plans with nobody on the other side: what the reference model's part costs."""
    selections = [0]

    def play(plan: Plan) -> None:
        selections[0] += played(plan, style).selections

    started_s = time.perf_counter()
    count = drive(play, seed, examples, style)
    elapsed_s = time.perf_counter() - started_s
    return Search(seed, style, count, 0, selections[0], elapsed_s, None)


def drive(play: Callable[[Plan], None], seed: int, examples: int, style: Style) -> int:
    """Call `play` with plans until it raises or there were enough; return how many there were."""
    hypothesis = hypothesis_module()
    count = 0

    def counted(plan: Plan) -> None:
        nonlocal count
        count += 1
        play(plan)

    limited = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
    )
    given = hypothesis.given(plan=plans(style))
    test = hypothesis.seed(seed)(limited(given(counted)))
    with suppress(_PartedError, hypothesis.errors.Flaky):
        test()
    return count


class _Fuzzer:
    def __init__(self, opening: Opening, style: Style) -> None:
        self._opening = opening
        self._style = style
        self._conversation: Conversation | None = opening()
        self._finding: Finding | None = None
        self._broken = 0
        self._applicable = 0
        self._selections = 0

    def searched(self, seed: int, examples: int) -> Search:
        started_s = time.perf_counter()
        try:
            count = drive(self._play, seed, examples, self._style)
        finally:
            if self._conversation is not None:
                self._conversation.stop()
        elapsed_s = time.perf_counter() - started_s
        return Search(
            seed,
            self._style,
            count,
            self._applicable,
            self._selections,
            elapsed_s,
            self._finding,
        )

    def _play(self, plan: Plan) -> None:
        play = played(plan, self._style)
        self._selections += play.selections
        if not play.steps or self._broken > MAX_BROKEN:
            return
        found = self._compared(play)
        if found is not None:
            if self._finding is None or found.size <= self._finding.size:
                self._finding = found
            raise _PartedError

    def _compared(self, play: Play) -> Finding | None:
        script = script_of(play, (self._style.value,))
        vector = Vector("selection/found/one", "", (), (), (), script)
        try:
            if self._conversation is None:
                self._conversation = self._opening()
            styles = styles_for(self._conversation.welcome, vector, self._style)
            if isinstance(styles, Inapplicable):
                return None
            self._applicable += 1
            disagreement = check(self._conversation, vector, self._style)
            if self._conversation.is_waiting:
                self._conversation.stop()
                self._conversation = None
        except ConversationError as error:
            if self._conversation is not None:
                self._conversation.stop()
            self._conversation = None
            slow = error.stage is Stage.TIME_LIMIT
            self._broken += MAX_BROKEN // MAX_TIME_LIMITS if slow else 1
            return Finding(play, None, error)
        return None if disagreement is None else Finding(play, disagreement, None)
