"""A decision worth keeping, with the evidence it rests on."""

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Final

from attrs import Attribute, field, frozen

from spec.errors import InvalidValue
from spec.moment import Moment
from spec.problem import Scope

SCHEMA_VERSION: Final = 1
RULE: Final = "S8: only what was measured is stored"
CLOCK_SKEW_S: Final = 300
"""How far in the future a record may be dated. Machines that share a store disagree by seconds;
without the allowance every fresh record of a faster clock would be a miss."""


class Origin(Enum):
    """Where a record was measured."""

    LOCAL = "local"
    IMPORTED = "imported"


def _ratio(_: object, attribute: "Attribute[Fraction]", value: Fraction) -> None:
    if type(value) is not Fraction or value <= 0:
        raise InvalidValue(attribute.name, repr(value), "a positive Fraction", RULE)


def _dispersion(_: object, attribute: "Attribute[Fraction]", value: Fraction) -> None:
    if type(value) is not Fraction or value < 0:
        raise InvalidValue(attribute.name, repr(value), "a Fraction >= 0", RULE)


def _text(_: object, attribute: "Attribute[str]", value: str) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidValue(attribute.name, repr(value), "text that is not empty", RULE)


def _at_least(low: int) -> Callable[[object, "Attribute[int]", int], None]:
    def check(_: object, attribute: "Attribute[int]", value: int) -> None:
        if type(value) is not int or value < low:
            raise InvalidValue(attribute.name, repr(value), f"a whole number >= {low}", RULE)

    return check


@frozen
class Record:
    """Data only: evidence for ranking anywhere.

    It is evidence for serving only after a validation in the process that serves (S5).
    """

    key: str = field(validator=_text)
    """Hexadecimal SHA-256 of the canonical key."""
    scope: Scope
    winner: str = field(validator=_text)
    reference: str = field(validator=_text)
    created_s: int = field(validator=_at_least(0))
    """Wall-clock seconds since 1970 when the decision was made."""
    reference_ns: int = field(validator=_at_least(1))
    """Median time of the reference in the winner's blocks, per measurement."""
    winner_ns: int = field(validator=_at_least(1))
    ratio: Fraction = field(validator=_ratio)
    """Winner over reference, median of blocks; 1 when the reference won."""
    dispersion: Fraction = field(validator=_dispersion)
    """Relative median absolute deviation of the block ratios; 0 when the reference won."""
    blocks: int = field(validator=_at_least(0))
    verified: bool
    """Whether a validator compared the winner's outputs with the reference's and passed them."""
    feeds: int = field(default=0, validator=_at_least(0))
    """On how many different feeds it was verified."""
    provisional: bool = False
    """Verified on synthetic feeds only: ranks, and must be verified on real ones before serving."""
    complete: bool = True
    """Whether every eligible candidate got its turn. An incomplete search is looked at again after
    the policy's `retry_after_s`, a complete one after `ttl_s`."""
    origin: Origin = Origin.LOCAL

    def lifetime_s(self, ttl_s: int, retry_after_s: int) -> int:
        """Seconds for which the decision holds."""
        return ttl_s if self.complete else min(ttl_s, retry_after_s)

    def age_s(self, now: Moment) -> int:
        """Seconds since it was made, by the wall clock; negative when dated in the future."""
        return now.wall_s - self.created_s

    def is_from_the_future(self, now: Moment) -> bool:
        """Whether it is dated beyond `CLOCK_SKEW_S`: its clock or ours is wrong."""
        return self.age_s(now) < -CLOCK_SKEW_S

    def is_fresh(self, now: Moment, ttl_s: int, retry_after_s: int) -> bool:
        """Whether it may still be used. One from the future may not: its age is unknown."""
        if self.is_from_the_future(now):
            return False
        return self.age_s(now) < self.lifetime_s(ttl_s, retry_after_s)
