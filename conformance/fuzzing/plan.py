"""What is drawn: a policy, a small world, and actions that say little, so that they shrink well.

Numbers in an action are taken modulo what there is when its turn comes. An action that has nothing
to act on does nothing, so every plan can be played and every part of one can be left out.
"""

from typing import TypeAlias

from attrs import frozen

from spec.candidate import Candidate
from spec.policy import Policy
from spec.problem import Problem


@frozen
class Asked:
    """What a request asks, without its number and its time."""

    problem: Problem
    candidates: tuple[Candidate, ...]
    reference: int


@frozen
class Trouble:
    """After so many good outcomes, one that isn't."""

    after: int
    how: int


@frozen
class Ask:
    """Requests for one of the plan's questions, each served for a while."""

    question: int
    times: int = 1
    turn: int = 0
    """By how many places the candidates are turned round; the key must not care."""
    nested: bool = False
    patience: int = 1000
    """Outcomes before something else happens."""
    trouble: Trouble | None = None


@frozen
class Serve:
    """Go on with a request that is under way."""

    which: int
    patience: int = 1000
    trouble: Trouble | None = None


@frozen
class Wait:
    """Time passes."""

    duration_ns: int


@frozen
class JumpWall:
    """Somebody sets the wall clock."""

    seconds: int


@frozen
class TakeBack:
    """A decision that was given proves wrong."""

    which: int
    ban: bool


@frozen
class Watch:
    """Paired comparisons of a decision that was given."""

    which: int
    times: int
    selected_ns: int
    checked: bool = True


@frozen
class Misbehave:
    """Tell the engine what it did not ask."""

    which: int
    how: int


@frozen
class LookAround:
    """Ask what is held."""

    sight: int


Action: TypeAlias = Ask | Serve | Wait | JumpWall | TakeBack | Watch | Misbehave | LookAround


@frozen
class Plan:
    """A whole example."""

    policy: Policy
    questions: tuple[Asked, ...]
    latencies_ns: tuple[int, ...]
    """By the place of a name in `NAMES`: how fast a candidate really is."""
    noise_percent: tuple[int, ...]
    """Taken in turns; one each measurement."""
    actions: tuple[Action, ...]


NAMES = ("a", "b", "c", "d")
