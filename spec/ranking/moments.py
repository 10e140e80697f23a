"""Running mean and variance of latencies, exact (rule R14)."""

from fractions import Fraction
from math import isqrt

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.ranking.bounds import at_least


@frozen
class Moments:
    """Count, sum and sum of squares, as whole numbers.

    Whole sums give Welford's mean and variance without its rounding and without keeping samples,
    and two halves of a history can be added.
    """

    count: int = field(default=0, validator=at_least(0, "R14"))
    total_ns: int = field(default=0, validator=at_least(0, "R14"))
    total_ns_squared: int = field(default=0, validator=at_least(0, "R14"))

    def add(self, latency_ns: int) -> "Moments":
        """Return the moments with one more latency of at least 1 ns, else raise `InvalidValue`."""
        if latency_ns < 1:
            raise InvalidValue("latency_ns", str(latency_ns), "at least 1", "R14")
        return Moments(
            self.count + 1,
            self.total_ns + latency_ns,
            self.total_ns_squared + latency_ns * latency_ns,
        )

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of latencies together."""
        return Moments(
            self.count + other.count,
            self.total_ns + other.total_ns,
            self.total_ns_squared + other.total_ns_squared,
        )

    @property
    def mean_ns(self) -> Fraction:
        """The exact mean; raises `InvalidValue` (R14) where nothing was measured."""
        return Fraction(self.total_ns, self._measured())

    @property
    def variance_ns2(self) -> Fraction:
        """The exact population variance in square nanoseconds; 0 for one latency."""
        count = self._measured()
        return Fraction(self._spread(), count * count)

    @property
    def rounded_mean_ns(self) -> int:
        """The mean in whole nanoseconds, halves up."""
        count = self._measured()
        return (2 * self.total_ns + count) // (2 * count)

    @property
    def rounded_deviation_ns(self) -> int:
        """The population standard deviation in whole nanoseconds, halves up."""
        count = self._measured()
        spread = self._spread()
        below = isqrt(spread) // count
        return below + ((2 * below + 1) ** 2 * count * count <= 4 * spread)

    def _spread(self) -> int:
        return self.count * self.total_ns_squared - self.total_ns * self.total_ns

    def _measured(self) -> int:
        if not self.count:
            raise InvalidValue("count", "0", "at least one latency", "R14")
        return self.count
