"""A point in time as the shell read it: two clocks, because each answers another question."""

from attrs import Attribute, field, frozen

from spec.errors import InvalidValue


def _count(_: object, attribute: "Attribute[int]", value: int) -> None:
    if type(value) is not int or value < 0:
        raise InvalidValue(attribute.name, repr(value), "a whole number >= 0", "moment")


@frozen
class Moment:
    """When an event happened, in this process and in the world.

    Durations, budgets and expiries inside a process use `monotonic_ns`, which never jumps. The age
    of a stored record is a matter between processes and can only use `wall_s`.
    """

    monotonic_ns: int = field(validator=_count)
    """Nanoseconds of a clock that never goes backwards; its zero is arbitrary, but not later than
    the first moment that is read."""
    wall_s: int = field(validator=_count)
    """Seconds since 1970-01-01 00:00 UTC, as the machine believes."""
