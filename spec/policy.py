"""What the owner of a selector wants: limits, thresholds, rules. Validated field by field."""

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Final

import attrs
from attrs import field, frozen

from spec.canonical_json import Json, canonical
from spec.errors import InvalidValue
from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.median_mad import MedianMad
from spec.evidence.rule import EvidenceRule
from spec.regression import AnytimeValidRegression, IncidentPolicy, RegressionRule

SECOND_NS: Final = 1_000_000_000
YEAR_S: Final = 366 * 86_400
MAX_SPEEDUP: Final = 1000
MAX_TOLERANCE: Final = 256


class Mode(Enum):
    """What a selector may do."""

    EXPLORE = "explore"
    CACHE_ONLY = "cache-only"
    DISABLED = "disabled"


def _between(
    low: int, high: int, unit: str
) -> Callable[[object, "attrs.Attribute[int]", int], None]:
    def check(_: object, attribute: "attrs.Attribute[int]", value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            need = f"an integer from {low} to {high} {unit}"
            raise InvalidValue(attribute.name, repr(value), need, "policy")

    return check


def _speedup(_: object, attribute: "attrs.Attribute[Fraction]", value: Fraction) -> None:
    if not isinstance(value, Fraction) or not 1 <= value <= MAX_SPEEDUP:
        raise InvalidValue(
            attribute.name, repr(value), f"a Fraction from 1 to {MAX_SPEEDUP}", "policy"
        )


def _tolerance(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_TOLERANCE or not _is_plain(value):
        need = f"1 to {MAX_TOLERANCE} printable ASCII characters"
        raise InvalidValue(attribute.name, repr(value), need, "policy")


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _mode(_: object, attribute: "attrs.Attribute[Mode]", value: Mode) -> None:
    if not isinstance(value, Mode):
        raise InvalidValue(attribute.name, repr(value), "a Mode", "policy")


def _flag(_: object, attribute: "attrs.Attribute[bool]", value: bool) -> None:
    if not isinstance(value, bool):
        raise InvalidValue(attribute.name, repr(value), "True or False", "policy")


def _workspace(_: object, attribute: "attrs.Attribute[int | None]", value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or not 0 <= value <= 2**53 - 1):
        need = "None or an integer from 0 to 2**53 - 1 bytes"
        raise InvalidValue(attribute.name, repr(value), need, "policy")


@frozen
class Policy:
    """One selector's rules. Every field states what breaks outside its range."""

    mode: Mode = field(default=Mode.EXPLORE, validator=_mode)
    require_validation: bool = field(default=True, validator=_flag)
    """Whether a winner must have been verified. Waiving it serves plans whose outputs nobody
    compared."""
    tolerance: str = field(default="by-type", validator=_tolerance)
    """Name of the comparison that the validator applies; part of the key, since what passes under a
    loose one may fail under a tight one. 1 to 256 printable ASCII characters."""
    min_speedup: Fraction = field(default=Fraction(103, 100), validator=_speedup)
    """Reference time over candidate time that a promotion needs. Below 1 a slower plan could win;
    at exactly 1 any advantage that passes the evidence rule counts."""
    reuse: int = field(default=10_000, validator=_between(1, 2**53 - 1, "calls"))
    """Calls that a decision is expected to serve. What a plan's first call costs over the
    reference's is shared among them: at 1 a plan must win by its first call alone, and with many a
    compilation of minutes pays."""
    evidence: EvidenceRule = field(factory=AnytimeValid)
    regression: RegressionRule = field(factory=AnytimeValidRegression)
    incidents: IncidentPolicy = field(factory=IncidentPolicy)
    """How degradations that recur become a ban (S10)."""
    warmups: int = field(default=1, validator=_between(1, 100, "measurements"))
    """Unscored measurements of each candidate before its first block. At 0 the first block would
    pay allocation and lazy compilation, and the candidate would look slow for ever."""
    budget_ns: int = field(default=30 * SECOND_NS, validator=_between(1, 86_400 * SECOND_NS, "ns"))
    """Time for one search, by the monotonic clock, creation of candidates included. At 0 nothing
    could ever be tried."""
    max_candidates: int = field(default=64, validator=_between(1, 4096, "candidates"))
    """How many candidates one search tries, the reference included. At 1 it only measures the
    reference."""
    max_parallel: int = field(default=1, validator=_between(1, 1024, "searches"))
    """Searches at a time over all environments. Searches that share a machine disturb each other;
    more than 1 is for environments on different devices."""
    capacity: int = field(default=1024, validator=_between(1, 2**20, "keys"))
    """Keys held in memory; the first in leaves first, with everything that belongs to it."""
    reports: int = field(default=128, validator=_between(0, 2**16, "reports"))
    """Search reports held in memory."""
    ttl_s: int = field(default=30 * 86_400, validator=_between(1, 10 * YEAR_S, "s"))
    """How long a complete decision holds. Machines change slowly; at 0 nothing would be kept."""
    retry_after_s: int = field(default=3_600, validator=_between(1, YEAR_S, "s"))
    """When a transient failure or an incomplete search is looked at again. Too short repeats a
    failing search at every call; too long keeps a passing shortage alive."""
    max_workspace_bytes: int | None = field(default=None, validator=_workspace)
    """Extra memory that a candidate may need; None is no limit. Under a limit, a candidate whose
    need is unknown is not tried."""
    seed: int = field(default=0, validator=_between(0, 2**53 - 1, ""))
    """Source of the block order (E3)."""

    def key_part(self) -> Json:
        """Return the fields that change what a decision means.

        Budgets and capacities are left out: they change when a decision is made, not whether it
        holds.
        """
        return {
            "evidence": _evidence_part(self.evidence),
            "min_speedup": [self.min_speedup.numerator, self.min_speedup.denominator],
            "require_validation": self.require_validation,
            "reuse": self.reuse,
            "tolerance": self.tolerance,
        }

    @cached_property
    def key_text(self) -> str:
        """Canonical text of `key_part`."""
        return canonical(self.key_part())


def _evidence_part(rule: EvidenceRule) -> Json:
    name = {MedianMad: "median-mad", AnytimeValid: "anytime-valid"}[type(rule)]
    fields: dict[str, Json] = {"rule": name}
    for attribute in attrs.fields(type(rule)):
        value = getattr(rule, attribute.name)
        fields[attribute.name] = (
            [value.numerator, value.denominator] if isinstance(value, Fraction) else value
        )
    return fields
