"""A point in time as the shell read it: two clocks, because each answers another question."""

from attrs import frozen


@frozen
class Moment:
    """When an event happened, in this process and in the world.

    Durations, budgets and expiries inside a process use `monotonic_ns`, which never jumps. The age
    of a stored record is a matter between processes and can only use `wall_s`.
    """

    monotonic_ns: int
    """Nanoseconds of a clock that never goes backwards; its zero is arbitrary."""
    wall_s: int
    """Seconds since 1970-01-01 00:00 UTC, as the machine believes."""
