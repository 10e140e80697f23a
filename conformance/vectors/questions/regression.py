"""Questions about watching a served choice (S9, S10)."""

from typing import Final, TypeAlias

from attrs import frozen

from conformance.vectors.questions.kind import kind
from spec.regression import (
    Consequence,
    IncidentPolicy,
    Incidents,
    RegressionHistory,
    RegressionRule,
    RegressionVerdict,
    after_degradation,
    is_banned,
    observe,
    went_away,
)


@frozen
class Pair:
    """Two times of the same work, outputs checked."""

    reference_ns: int
    selected_ns: int


@frozen
class Watch:
    """A rule and the pairs that it sees, one by one."""

    rule: RegressionRule
    pairs: tuple[Pair, ...]


@frozen
class Verdicts:
    """What it says after each pair."""

    verdicts: tuple[RegressionVerdict, ...]


@frozen
class Degradation:
    """The candidate was found degraded."""

    at_ns: int


@frozen
class Question:
    """Whether it is banned at this moment."""

    at_ns: int


@frozen
class Move:
    """The environment is this one from now on."""

    environment: str


Incident: TypeAlias = Degradation | Question | Move


@frozen
class Banned:
    """Answer to a question."""

    banned: bool


@frozen
class Moved:
    """Answer to a move: what is left of the ban."""

    banned_until_ns: int | None


@frozen
class Life:
    """What happens to one candidate under one key."""

    policy: IncidentPolicy
    incidents: tuple[Incident, ...]


@frozen
class Following:
    """What a degradation leads to."""

    consequence: Consequence


Reply: TypeAlias = Following | Banned | Moved


@frozen
class Replies:
    """One per incident, in order."""

    replies: tuple[Reply, ...]


def _watch(asked: Watch) -> Verdicts:
    history = RegressionHistory()
    verdicts: list[RegressionVerdict] = []
    for pair in asked.pairs:
        history, verdict = observe(asked.rule, history, pair.reference_ns, pair.selected_ns)
        verdicts.append(verdict)
    return Verdicts(tuple(verdicts))


def _live(asked: Life) -> Replies:
    held = Incidents()
    replies: list[Reply] = []
    for one in asked.incidents:
        match one:
            case Degradation():
                held, consequence = after_degradation(asked.policy, held, one.at_ns)
                replies.append(Following(consequence))
            case Question():
                replies.append(Banned(is_banned(held, one.at_ns)))
            case Move():
                held = went_away(held, one.environment)
                replies.append(Moved(held.banned_until_ns))
    return Replies(tuple(replies))


WATCH: Final = kind("watch", Watch, Verdicts, _watch)
INCIDENTS: Final = kind("incidents", Life, Replies, _live)
KINDS: Final = (WATCH, INCIDENTS)
