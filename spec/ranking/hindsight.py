"""Was a choice good, now that others were measured too? (rule R16)."""

from fractions import Fraction

from attrs import frozen
from immutables import Map

from spec.errors import InvalidValue

PPM = 10**6


@frozen
class Hindsight:
    """A choice against the best measured candidate of the same workload."""

    chosen: str
    best: str
    regret: Fraction
    """chosen / best - 1; 0 means nothing better was measured."""
    accurate: bool
    """The regret is at most the margin."""

    @property
    def regret_ppm(self) -> int:
        """The regret in millionths, rounded up so that a sum of many never flatters."""
        return -(-self.regret.numerator * PPM // self.regret.denominator)


@frozen
class Unjudged:
    """No other candidate was measured, so the choice is neither right nor wrong."""

    chosen: str


def judge(
    chosen: str, measured_ns: Map[str, int], margin: Fraction = Fraction(1, 20)
) -> Hindsight | Unjudged:
    """Compare a choice with the best of the latencies measured for one workload, by candidate.

    Of equally fast candidates the best is the chosen one, then the smallest name. With fewer than
    two candidates measured there is nothing to compare with: `Unjudged`.

    Raises `InvalidValue` (R16) for a latency under 1 ns, a negative margin, or if the chosen one is
    not among two or more measured ones.
    """
    if margin < 0:
        raise InvalidValue("margin", str(margin), "at least 0", "R16")
    for name, latency_ns in sorted(measured_ns.items()):
        if latency_ns < 1:
            raise InvalidValue("measured_ns", f"{latency_ns} ({name})", "at least 1", "R16")
    if not set(measured_ns) - {chosen}:
        return Unjudged(chosen)
    if chosen not in measured_ns:
        raise InvalidValue("chosen", repr(chosen), "a measured candidate", "R16")
    best = min(measured_ns, key=lambda name: (measured_ns[name], name != chosen, name))
    regret = Fraction(measured_ns[chosen], measured_ns[best]) - 1
    return Hindsight(chosen, best, regret, accurate=regret <= margin)
