"""All chosen vectors against one implementation, in one conversation as long as it holds."""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from attrs import frozen

from conformance.protocol.conversation import Conversation
from conformance.protocol.fault import ConversationError
from conformance.protocol.message import Style, Welcome
from conformance.runner.check import Disagreement, Inapplicable, check, styles_for
from conformance.runner.known_failures import NO_KNOWN_FAILURES, KnownFailures
from conformance.runner.result import CaseResult, Outcome, Run
from conformance.vectors.vector import Vector

Opening: TypeAlias = Callable[[], Conversation]
"""Starts the implementation anew and greets it. Raises `ConversationError`."""
Repeat: TypeAlias = Callable[[str], str]
"""The command that runs one vector, by its id."""
MAX_BROKEN_IN_A_ROW: Final = 3
"""Conversations that broke without one vector passed between them. Then the rest is given up: a
silent implementation would cost the time limit once per vector."""


def run(
    opening: Opening,
    vectors: Sequence[Vector],
    known: KnownFailures = NO_KNOWN_FAILURES,
    style: Style | None = None,
    repeat: Repeat = str,
) -> Run:
    """Run vectors in order and return what came of each. Never raises `ConversationError`."""
    started_s = time.monotonic()
    runner = _Runner(opening, known, style, repeat)
    results = tuple(runner.result(vector) for vector in vectors)
    goodbye = runner.closed()
    return Run(runner.welcome, results, goodbye, time.monotonic() - started_s)


class _Runner:
    def __init__(
        self, opening: Opening, known: KnownFailures, style: Style | None, repeat: Repeat
    ) -> None:
        self._opening = opening
        self._known = known
        self._style = style
        self._repeat = repeat
        self._conversation: Conversation | None = None
        self._broken_in_a_row = 0
        self._last_broken: ConversationError | None = None
        self.welcome: Welcome | None = None

    def result(self, vector: Vector) -> CaseResult:
        blank = _Blank(vector, self._repeat(vector.id))
        if self._broken_in_a_row >= MAX_BROKEN_IN_A_ROW:
            return blank.broken(self._last_broken, "given up: it broke too often in a row")
        try:
            return self._asked(vector, blank)
        except ConversationError as error:
            if self._conversation is not None:
                self._conversation.stop()
            self._conversation = None
            self._broken_in_a_row += 1
            self._last_broken = error
            return blank.broken(error)

    def closed(self) -> ConversationError | None:
        """End the conversation and return what was wrong with its end."""
        if self._conversation is None:
            return None
        try:
            with self._conversation as conversation:
                conversation.close()
        except ConversationError as error:
            return error
        return None

    def _checked(self, vector: Vector, style: Style | None) -> Disagreement | None:
        if self._conversation is None:
            self._conversation = self._opening()
        found = check(self._conversation, vector, style)
        if self._conversation.is_waiting:
            self._conversation.stop()
            self._conversation = None
        return found

    def _asked(self, vector: Vector, blank: "_Blank") -> CaseResult:
        if self._conversation is None:
            self._conversation = self._opening()
        self.welcome = self._conversation.welcome
        styles = styles_for(self.welcome, vector, self._style)
        if isinstance(styles, Inapplicable):
            return blank.result(Outcome.NOT_APPLICABLE, styles.reason)
        reason = self._known.get(vector.id)
        for style in styles:
            found = self._checked(vector, style)
            if found is not None:
                self._broken_in_a_row = 0
                outcome = Outcome.FAILED if reason is None else Outcome.FAILED_AS_EXPECTED
                return CaseResult(
                    vector.id, vector.rules, outcome, reason or "", found, None, blank.repeat
                )
        self._broken_in_a_row = 0
        if reason is not None:
            return blank.result(Outcome.UNEXPECTEDLY_PASSED, reason)
        return blank.result(Outcome.PASSED)


@frozen
class _Blank:
    """What a result says in any case."""

    vector: Vector
    repeat: str

    def result(self, outcome: Outcome, reason: str = "") -> CaseResult:
        return CaseResult(self.vector.id, self.vector.rules, outcome, reason, repeat=self.repeat)

    def broken(self, error: ConversationError | None, reason: str = "") -> CaseResult:
        return CaseResult(
            self.vector.id,
            self.vector.rules,
            Outcome.COULD_NOT_RUN,
            reason,
            broken=error,
            repeat=self.repeat,
        )
