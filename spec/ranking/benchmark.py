"""Results of a benchmark: only what was measured (rule R15)."""

from fractions import Fraction

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.ranking.bounds import at_least, not_empty
from spec.ranking.moments import Moments

NS_PER_S = 10**9


@frozen
class BenchmarkResult:
    """Latencies of one kernel on one workload. There is no result without a success."""

    kernel_id: str = field(validator=not_empty("R15"))
    workload: str = field(validator=not_empty("R15"))
    latencies_ns: tuple[int, ...]
    """Of the successful calls, in order of measurement, each at least 1."""
    failures: int = field(default=0, validator=at_least(0, "R15"))
    bytes_moved: int = field(default=0, validator=at_least(0, "R15"))
    """Read and written per call, as the caller knows it; 0 where unknown."""

    def __attrs_post_init__(self) -> None:
        if not self.latencies_ns:
            raise InvalidValue("latencies_ns", "none", "at least one success", "R15")
        if min(self.latencies_ns) < 1:
            raise InvalidValue("latencies_ns", str(min(self.latencies_ns)), "at least 1", "R15")

    @property
    def moments(self) -> Moments:
        """Exact mean and variance."""
        return Moments(
            len(self.latencies_ns),
            sum(self.latencies_ns),
            sum(latency * latency for latency in self.latencies_ns),
        )

    @property
    def mean_ns(self) -> int:
        """The mean in whole nanoseconds, halves up."""
        return self.moments.rounded_mean_ns

    @property
    def minimum_ns(self) -> int:
        """The smallest latency."""
        return min(self.latencies_ns)

    @property
    def maximum_ns(self) -> int:
        """The largest latency."""
        return max(self.latencies_ns)

    @property
    def deviation_ns(self) -> int:
        """The population standard deviation in whole nanoseconds, halves up."""
        return self.moments.rounded_deviation_ns

    @property
    def throughput_per_s(self) -> Fraction:
        """Calls per second at the exact mean latency."""
        return NS_PER_S / self.moments.mean_ns

    @property
    def bandwidth_bytes_per_s(self) -> Fraction:
        """Bytes per second at the exact mean latency; 0 where the bytes are not known."""
        return self.bytes_moved * NS_PER_S / self.moments.mean_ns


def best(results: tuple[BenchmarkResult, ...], workload: str) -> BenchmarkResult:
    """Return the result of one workload with the smallest exact mean, then the smallest kernel id.

    Raises `InvalidValue` (R15) if no result is of that workload, or two are of one kernel.
    """
    of_workload = [one for one in results if one.workload == workload]
    if not of_workload:
        raise InvalidValue("workload", repr(workload), "one with a result", "R15")
    if len({one.kernel_id for one in of_workload}) < len(of_workload):
        raise InvalidValue("results", "two of one kernel", "one result per kernel", "R15")
    return min(of_workload, key=lambda one: (one.moments.mean_ns, one.kernel_id))
