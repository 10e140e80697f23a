"""One block of timings: both sides twice, in an order that cancels a steady drift (rule E3)."""

import hashlib
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from attrs import Attribute, field, frozen

from spec.errors import InvalidValue

RUNS_PER_SIDE = 2
E3 = "E3: a block is reference-candidate-candidate-reference or its mirror"


class Side(Enum):
    """Which of the two plans a run belongs to."""

    REFERENCE = "reference"
    CANDIDATE = "candidate"


BlockOrder: TypeAlias = tuple[Side, Side, Side, Side]

REFERENCE_OUTSIDE: BlockOrder = (
    Side.REFERENCE,
    Side.CANDIDATE,
    Side.CANDIDATE,
    Side.REFERENCE,
)
CANDIDATE_OUTSIDE: BlockOrder = (
    Side.CANDIDATE,
    Side.REFERENCE,
    Side.REFERENCE,
    Side.CANDIDATE,
)


def _two_positive_times(
    _block: "Block", attribute: "Attribute[tuple[int, int]]", times_ns: tuple[int, int]
) -> None:
    right = (
        type(times_ns) is tuple
        and len(times_ns) == RUNS_PER_SIDE
        and all(type(time_ns) is int and time_ns > 0 for time_ns in times_ns)
    )
    if not right:
        raise InvalidValue(attribute.name, repr(times_ns), "2 whole nanosecond counts > 0", E3)


def _time(_block: "Block", attribute: "Attribute[int]", time_ns: int) -> None:
    if type(time_ns) is not int or time_ns < 0:
        raise InvalidValue(attribute.name, repr(time_ns), "whole nanoseconds >= 0", E3)


@frozen
class Block:
    """Four timings, two per side, each in the order in which its side ran.

    A zero time is refused: it is a clock too coarse for the work, and would make a ratio of 0 or
    none at all. `started_ns` is on the caller's monotonic clock; it tells which state of the
    machine the block belongs to (E9).
    """

    reference_ns: tuple[int, int] = field(validator=_two_positive_times)
    candidate_ns: tuple[int, int] = field(validator=_two_positive_times)
    started_ns: int = field(validator=_time)

    @property
    def ratio(self) -> Fraction:
        """Candidate time over reference time, summed over the block; below 1 is faster."""
        return Fraction(sum(self.candidate_ns), sum(self.reference_ns))


def block_order(seed: int, key: str, candidate: str, block: int) -> BlockOrder:
    """Return the order of runs of one block, numbered from 0, drawn from values alone.

    A fair bit of its own decides each block: 0 puts the reference outside, 1 the candidate. The bit
    is the lowest of the last byte of SHA-256 over seed, key, candidate and block number, each as
    its decimal or UTF-8 bytes behind its length in bytes, so no two argument lists hash the same
    bytes.

    Both orders cancel a drift that is linear within the block. Whatever else a machine does that
    does not know which side runs, it hits either side with probability 1/2 in every block, whatever
    happened before: that is the premise of E4, and it holds by design. Orders that alternate would
    cancel curved drifts sooner, but a disturbance that recurs with the blocks could then side with
    one plan throughout.
    """
    if type(block) is not int or block < 0:
        raise InvalidValue("block", repr(block), "a whole number >= 0", E3)
    digest = hashlib.sha256()
    for part in (str(seed), key, candidate, str(block)):
        try:
            encoded = part.encode()
        except UnicodeEncodeError as error:
            raise InvalidValue("block_order", ascii(part), "no lone surrogates", E3) from error
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return CANDIDATE_OUTSIDE if digest.digest()[-1] & 1 else REFERENCE_OUTSIDE
