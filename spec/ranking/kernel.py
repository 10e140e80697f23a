"""A kernel as a value: what it computes, where, what it needs, and how it behaves (rule R1).

Descriptions are facts that somebody states; nothing here is executed or measured.
"""

from enum import Enum
from fractions import Fraction
from typing import assert_never

from attrs import Attribute, field, frozen

from spec.errors import InvalidValue
from spec.ranking.bounds import at_least, not_empty, not_negative, unit_interval
from spec.ranking.power_of_two import doubled

ShapePattern = tuple[int | None, ...]
"""One dimension per entry; `None` stands for any length of that dimension."""


class VariantKind(Enum):
    """How a kernel came to be; the last two carry a label."""

    NAIVE = "naive"
    OPTIMIZED = "optimized"
    TILED = "tiled"
    VECTORIZED = "vectorized"
    PARALLEL = "parallel"
    FUSED = "fused"
    HARDWARE_SPECIFIC = "hardware_specific"
    CUSTOM = "custom"


@frozen
class Variant:
    """A kind, with a label exactly when the kind says nothing by itself."""

    kind: VariantKind
    label: str = ""

    def __attrs_post_init__(self) -> None:
        labelled = self.kind in {VariantKind.HARDWARE_SPECIFIC, VariantKind.CUSTOM}
        if labelled != bool(self.label):
            need = "a label" if labelled else "no label"
            raise InvalidValue(
                "variant.label", repr(self.label), f"{need} ({self.kind.value})", "R1"
            )


class AccessPattern(Enum):
    """In which order a kernel touches memory."""

    SEQUENTIAL = "sequential"
    STRIDED = "strided"
    BLOCKED = "blocked"
    RANDOM = "random"


class ScalingLaw(Enum):
    """How the latency of a kernel grows with what it is given."""

    CONSTANT = "constant"
    LOGARITHMIC = "logarithmic"
    LINEAR = "linear"
    QUADRATIC = "quadratic"
    EXPONENTIAL = "exponential"
    UNKNOWN = "unknown"
    """A law of its own that these words don't cover: nothing can be extrapolated by it."""


@frozen
class Scaling:
    """Laws in the input size, the thread count and the levels of the memory hierarchy.

    Only the size law enters an arithmetic rule (`extrapolated_latency_ns`); the others describe.
    """

    size: ScalingLaw = ScalingLaw.UNKNOWN
    threads: ScalingLaw = ScalingLaw.UNKNOWN
    memory_hierarchy: ScalingLaw = ScalingLaw.UNKNOWN


@frozen
class SizeRange:
    """Sizes in bytes, both ends included. `at_most_bytes=None` is open above."""

    at_least_bytes: int = field(default=0, validator=at_least(0, "R1"))
    at_most_bytes: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.at_most_bytes is not None and self.at_most_bytes < self.at_least_bytes:
            raise InvalidValue(
                "at_most_bytes", str(self.at_most_bytes), f"at least {self.at_least_bytes}", "R1"
            )


def _power_of_two(_: object, attribute: "Attribute[int]", value: int) -> None:
    if type(value) is not int or value < 1 or value & (value - 1):
        raise InvalidValue(attribute.name, repr(value), "a power of two", "R1")


@frozen
class Constraints:
    """What a kernel needs of its inputs and hardware. All are checked (R3)."""

    dtypes: frozenset[str]
    """ONNX element type names, e.g. `float16`. Every input has one of them."""
    size: SizeRange = SizeRange()
    """Of all inputs together, in bytes."""
    alignment_bytes: int = field(default=1, validator=_power_of_two)
    shapes: tuple[ShapePattern, ...] | None = None
    """Every input matches one of these; `None` accepts every shape."""
    features: frozenset[str] = frozenset()
    """Hardware features that must be present, e.g. `sm_90` or `avx512_vnni`."""

    def __attrs_post_init__(self) -> None:
        if not self.dtypes:
            raise InvalidValue("dtypes", "none", "at least one element type", "R1")
        if self.shapes == ():
            raise InvalidValue("shapes", "none", "at least one pattern, or no restriction", "R1")


@frozen
class Characteristics:
    """How a kernel is said to behave. Efficiencies are shares from 0 to 1."""

    optimal_size: SizeRange = SizeRange()
    access_pattern: AccessPattern = AccessPattern.SEQUENTIAL
    intensity: Fraction = field(default=Fraction(1), validator=not_negative("R1"))
    """Arithmetic operations per byte moved."""
    parallel_efficiency: Fraction = field(default=Fraction(1, 2), validator=unit_interval("R1"))
    cache_efficiency: Fraction = field(default=Fraction(1, 2), validator=unit_interval("R1"))
    bandwidth_efficiency: Fraction = field(default=Fraction(1, 2), validator=unit_interval("R1"))
    initialisation_ns: int = field(default=0, validator=at_least(0, "R1"))
    """Paid once, before the first call."""
    scaling: Scaling = Scaling()


@frozen
class Kernel:
    """One implementation of one operation on one backend."""

    id: str = field(validator=not_empty("R1"))
    name: str = field(validator=not_empty("R1"))
    operation: str = field(validator=not_empty("R1"))
    backend: str = field(validator=not_empty("R1"))
    variant: Variant
    constraints: Constraints
    characteristics: Characteristics = Characteristics()


def extrapolated_latency_ns(law: ScalingLaw, measured_ns: int, measured: int, wanted: int) -> int:
    """Carry a latency from one size over to another by a scaling law, rounded up, at least 1.

    `measured` and `wanted` are the two sizes in one unit, both at least 1. The factor is 1; the
    ratio of bit lengths; the ratio; its square; or 2^(wanted/measured - 1). It is an estimate to
    order candidates by and never evidence.

    Raises `InvalidValue` (R1) for a size or latency under 1 and for an unknown law.
    """
    for name, value in (("measured_ns", measured_ns), ("measured", measured), ("wanted", wanted)):
        if value < 1:
            raise InvalidValue(name, str(value), "at least 1", "R1")
    ratio = Fraction(wanted, measured)
    match law:
        case ScalingLaw.CONSTANT:
            factor = Fraction(1)
        case ScalingLaw.LOGARITHMIC:
            factor = Fraction(wanted.bit_length(), measured.bit_length())
        case ScalingLaw.LINEAR:
            factor = ratio
        case ScalingLaw.QUADRATIC:
            factor = ratio * ratio
        case ScalingLaw.EXPONENTIAL:
            factor = doubled(ratio - 1)
        case ScalingLaw.UNKNOWN:
            raise InvalidValue("law", law.value, "a law that can be extrapolated", "R1")
        case _:
            assert_never(law)
    exact = measured_ns * factor
    return max(1, -(-exact.numerator // exact.denominator))
