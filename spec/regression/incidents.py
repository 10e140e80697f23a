"""What follows a degradation: a demotion, on recurrence a ban, and a way back (S9, S10).

A single finding may be the machine's doing, so it only costs the record: the next search may
choose the same candidate again. Degrading once more within the stated time bans the candidate for
its key. A ban ends after a stated time, and with the environment it was found in.
"""

from typing import TypeAlias

from attrs import field, frozen

from spec.evidence.fields import whole

SECOND_NS = 10**9
DAY_NS = 24 * 3600 * SECOND_NS
YEAR_NS = 366 * DAY_NS
RECURRENCE = "S10: a recurrence bans, and a ban ends"


@frozen
class IncidentPolicy:
    """How close two degradations must be for a ban, and how long a ban lasts."""

    recurrence_ns: int = field(default=DAY_NS, validator=whole(1, YEAR_NS, RECURRENCE))
    """A second degradation at most this long after the first is a recurrence. At 0 nothing recurs
    and a bad choice comes back for ever; over a year two chance findings would make a ban."""

    ban_ns: int = field(default=7 * DAY_NS, validator=whole(1, YEAR_NS, RECURRENCE))
    """Length of a ban. At 0 it does not exist; over a year it has no way back."""


@frozen
class Demote:
    """Remove the record; the candidate may be chosen again."""


@frozen
class Ban:
    """Remove the record and do not try the candidate for this key before `until_ns`."""

    until_ns: int


Consequence: TypeAlias = Demote | Ban


@frozen
class Incidents:
    """What one candidate did under one key, in one environment. Starts clean.

    Times are on the caller's monotonic clock.
    """

    environment: str = ""
    degraded_at_ns: int | None = None
    """The last degradation, if it can still recur."""

    banned_until_ns: int | None = None
    """The end of the ban, if there is one; it began at `degraded_at_ns`."""


def is_banned(incidents: Incidents, now_ns: int) -> bool:
    """Say whether the ban covers this moment: from its beginning up to, not including, its end.

    A moment before the beginning can only come from another clock, as after a restart; a ban that
    can't be placed in time is not kept, so none lasts for ever.
    """
    if incidents.banned_until_ns is None or incidents.degraded_at_ns is None:
        return False
    return incidents.degraded_at_ns <= now_ns < incidents.banned_until_ns


def after_degradation(
    policy: IncidentPolicy, incidents: Incidents, now_ns: int
) -> tuple[Incidents, Consequence]:
    """Return what one more degradation at `now_ns` leads to.

    A recurrence is a degradation during a ban, or one at most `recurrence_ns` after one that led
    to no ban. A ban served is a clean slate: the first degradation after it demotes. So does one
    dated before the last, which comes from another clock.
    """
    if is_banned(incidents, now_ns) or _recurs(policy, incidents, now_ns):
        until_ns = now_ns + policy.ban_ns
        return Incidents(incidents.environment, now_ns, until_ns), Ban(until_ns)
    return Incidents(incidents.environment, now_ns), Demote()


def _recurs(policy: IncidentPolicy, incidents: Incidents, now_ns: int) -> bool:
    if incidents.degraded_at_ns is None or incidents.banned_until_ns is not None:
        return False
    return 0 <= now_ns - incidents.degraded_at_ns <= policy.recurrence_ns


def went_away(incidents: Incidents, environment: str) -> Incidents:
    """Return the incidents as they stand in `environment`: those of another one are gone."""
    return incidents if incidents.environment == environment else Incidents(environment)
