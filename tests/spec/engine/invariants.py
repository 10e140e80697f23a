"""The names of what must hold after every step, and the error that says which does not."""

from enum import Enum


class Invariant(Enum):
    """What must hold after every step, whatever happened."""

    ONE_TUNING_PER_KEY = "never two tunings of a key"
    ONE_TUNING_PER_ENVIRONMENT = "never two tunings of an environment"
    PARALLEL_LIMIT = "never more searches than the limit"
    ANSWERED_ONCE = "every request is answered exactly once"
    ORDER_OF_ANSWERS = "the first rule of S2 that applies answers"
    FALLBACK_IS_REFERENCE = "a fallback is the reference and claims nothing"
    NO_BANNED_WINNER = "never a banned winner"
    NO_INELIGIBLE_WINNER = "never an ineligible winner"
    NO_UNVERIFIED_WINNER = "never an unverified winner where verification is required"
    NO_STALE_WINNER = "never a stale winner"
    NO_SLOWER_WINNER = "a slower candidate never wins"
    BEST_WINS = "the best qualified candidate wins, the first where two are equal"
    REFERENCE_NEVER_BANNED = "the reference is never banned"
    BANNED_NOT_TRIED = "a banned, ineligible or quarantined plan is not tried"
    TRIAL_ORDER = "warm-ups, then the check, then balanced blocks, within the limits"
    STORED_IS_CONFIRMED = "a stored record serves only after it was found usable and validated"
    STORE_TRAFFIC = "only measured decisions are saved, only refuted ones removed"
    BOUNDED_MEMORY = "every map is bounded, and keys leave first in, first out"
    COUNTERS_ADD_UP = "every counter adds up"
    REPLAY = "the event log replays to the same state"


class ViolationError(AssertionError):
    """An invariant does not hold."""

    def __init__(self, invariant: Invariant, detail: str) -> None:
        super().__init__(f"{invariant.value}: {detail}")
        self.invariant = invariant


def require(condition: bool, invariant: Invariant, detail: object) -> None:
    """Raise `ViolationError` unless the condition holds."""
    if not condition:
        raise ViolationError(invariant, str(detail))
