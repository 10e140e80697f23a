"""What a trial may cost, and how long one measurement is."""

from collections.abc import Callable
from typing import Final

from attrs import field, frozen, validators

_positive = validators.gt(0)

MILLISECOND_NS: Final = 1_000_000
SECOND_NS: Final = 1_000_000_000


def never() -> bool:
    """Return that nobody asked to stop."""
    return False


@frozen
class TrialLimits:
    """Limits of one rig. Each says what goes wrong without it."""

    start_ns: int = field(default=30 * SECOND_NS, validator=_positive)
    """For a child to import ONNX Runtime and say hello. A slow disk takes seconds; an executable
    that is no interpreter never says it."""
    creation_ns: int = field(default=600 * SECOND_NS, validator=_positive)
    """For building the variant and the session. Compilers of accelerators take minutes; the
    search's own deadline usually ends it earlier."""
    first_call_ns: int = field(default=120 * SECOND_NS, validator=_positive)
    """For a session's first call, which may still compile or search. Longer is a hang."""
    call_ns: int = field(default=10 * SECOND_NS, validator=_positive)
    """For a later call where that is more than `call_factor` times the reference's. Longer is a
    hang: without it, a hanging plan would take the whole budget."""
    call_factor: int = field(default=50, validator=_positive)
    """A later call that takes this many times the reference's latency, and more than `call_ns`."""
    measurement_least_ns: int = field(default=20 * MILLISECOND_NS, validator=_positive)
    """Shortest measurement: below it the cost of waking threads and reading clocks shows."""
    measurement_most_ns: int = field(default=250 * MILLISECOND_NS, validator=_positive)
    """Longest measurement where a call is shorter: machines change state within a second, and both
    sides of a block should see the same one."""
    calls_least: int = field(default=3, validator=_positive)
    """Fewest calls in a measurement that `measurement_most_ns` has room for."""
    overrun_factor: int = field(default=8, validator=validators.ge(1))
    """A measurement ends early after this many times `measurement_most_ns`: a plan that much slower
    than the reference has lost, and need not run all the reference's calls to show it."""
    wake_ns: int = field(default=2 * MILLISECOND_NS, validator=validators.ge(0))
    """Untimed calls before each measurement last at least this long (one call at least), since the
    side may have been parked: its threads sleep and its caches belong to somebody else."""
    disturbed_repeats: int = field(default=2, validator=validators.ge(0))
    """How often a scored measurement is taken again that something else disturbed. The last one
    counts, whatever its time is; without a limit a machine that is always busy would never end."""
    warmup_calls: int = field(default=3, validator=_positive)
    """Calls of a warm-up after the session's very first one."""
    park_most_ns: int = field(default=500 * MILLISECOND_NS, validator=_positive)
    """Longest wait for the threads of a side to stop spinning before the other is measured. ONNX
    Runtime's pools need some tens of milliseconds, more on a busy machine."""
    reference_looks: int = field(default=6, validator=validators.ge(3))
    """Runs of the reference on one feed before it may verify anything; a random operator with few
    outputs needs several looks to show itself."""
    feeds_compared: int = field(default=4, validator=_positive)
    """Most feeds of the caller's that outputs are compared on: each costs a call per side and room
    on disk for its outputs."""
    memory_bytes: int | None = field(default=None, validator=validators.optional(_positive))
    """Most resident memory of a child; None takes `memory_share` of what is available when it
    starts. Above it the child is stopped, before the kernel picks a victim of its own."""
    memory_share: float = field(default=0.75, validator=[validators.gt(0.0), validators.le(1.0)])
    address_space_bytes: int | None = field(default=None, validator=validators.optional(_positive))
    """Limit of a child's address space where the system has one (RLIMIT_AS). Off by default, since
    accelerator runtimes reserve far more than they use."""
    log_bytes: int = field(default=1 << 20, validator=_positive)
    """Most that is kept of what a child prints; a plan may warn at every call."""
    niceness: int = field(default=0, validator=[validators.ge(0), validators.le(19)])
    """Lower priority of the children (nice), for trials beside live traffic. A lower priority than
    the served process has is not measured as served, so 0 unless asked for."""
    stop_asked: Callable[[], bool] = field(default=never, eq=False)
    """Asked while a child starts or works, some ten times a second: whether nobody wants its answer
    any more. Without it, whoever ends waits for the child's command."""
