"""How far an output may be from the reference's and still count as the same, per element type.

An element `x` of a candidate agrees with `r` of the reference when

    |x - r|  <=  absolute  +  relative * |r|  +  scale * max|r over the tensor|

The last term is what a sum leaves behind: where large terms cancel, the result is small but its
error has the size of the terms, and the tensor's own largest magnitude is the best estimate of it
that the outputs contain. The absolute term is for functions that saturate, such as a sigmoid: their
error is a few units of 1.0 even where the whole result is small.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen, validators

from ortsel.errors import UsageError
from spec.canonical_json import Json


@frozen
class Bound:
    """Largest distance that counts as equal. All zero is exact equality."""

    relative: float = field(default=0.0, validator=[validators.ge(0.0), validators.lt(1.0)])
    """Share of the reference's element."""
    scale: float = field(default=0.0, validator=[validators.ge(0.0), validators.lt(1.0)])
    """Share of the largest finite magnitude in the reference's tensor."""
    absolute: float = field(
        default=0.0, validator=[validators.ge(0.0), validators.lt(float("inf"))]
    )
    """In units of the output."""
    absolute_share: float | None = field(
        default=None, validator=validators.optional(validators.gt(0.0))
    )
    """The absolute part is at most this share of the largest magnitude, unless that is zero.
    Without it, a distance that suits values near one swallows a tensor of tiny values whole."""

    def allowed_absolute(self, largest: float) -> float:
        """Return the absolute part for a tensor of that largest finite magnitude."""
        if self.absolute_share is None or largest <= 0.0:
            return self.absolute
        return min(self.absolute, self.absolute_share * largest)


EXACT_BOUND: Final = Bound()

SATURATION_SHARE: Final = 2.0**-6
"""Enough for what optimisation levels of ONNX Runtime do to a sigmoid whose largest value is 6e-5:
they move it by 1.8e-7."""

BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {
        # Reordered sums of single precision move real models by 1e-7 to 1e-5 of the largest output
        # (7e-5 seen once); TF32 and bfloat16 products by 3e-4 to 1e-2. The bound sits in that gap,
        # so that reduced precision which nobody asked for is rejected.
        "float32": Bound(1e-4, 5e-5, 1e-6, SATURATION_SHARE),
        # Unit 2.2e-16: the same room for reordered sums. Anything computed in single precision on
        # the way is off by 1e-8 or more and is rejected.
        "float64": Bound(1e-10, 1e-11, 2e-15, SATURATION_SHARE),
        # Half types are accumulated in single precision and rounded once or a few times: four
        # spacings of the element (2**-10), two of the largest element.
        "float16": Bound(4 * 2.0**-10, 2 * 2.0**-10, 1e-6, SATURATION_SHARE),
        "bfloat16": Bound(4 * 2.0**-7, 2 * 2.0**-7, 1e-6, SATURATION_SHARE),
        # Eight-bit floats: one step to the neighbour, since a sum that lands near the middle of
        # two values may round either way. The absolute part is the step of the subnormal range.
        "float8_e4m3fn": Bound(relative=2.0**-3, absolute=2.0**-9),
        "float8_e4m3fnuz": Bound(relative=2.0**-3, absolute=2.0**-10),
        "float8_e5m2": Bound(relative=2.0**-2, absolute=2.0**-16),
        "float8_e5m2fnuz": Bound(relative=2.0**-2, absolute=2.0**-17),
        # A power-of-two exponent and a four-bit float have no step small enough to be noise.
        "float8_e8m0fnu": EXACT_BOUND,
        "float4_e2m1fn": EXACT_BOUND,
    }
)
"""By the name of the element's numpy type. Types that are not here are compared exactly."""

PROFILES: Final = ("by-type", "exact")


def _known_profile(_: object, __: object, value: str) -> None:
    if value not in PROFILES:
        raise UsageError("tolerance", repr(value), f"one of {', '.join(PROFILES)}")


def _sorted_overrides(
    pairs: "Mapping[str, Bound] | tuple[tuple[str, Bound], ...]",
) -> tuple[tuple[str, Bound], ...]:
    return tuple(sorted(dict(pairs).items()))


@frozen
class Tolerance:
    """Which bound holds for which output."""

    profile: str = field(default="by-type", validator=_known_profile)
    """"by-type" is `BOUNDS`; "exact" is equality of values for every type."""
    overrides: tuple[tuple[str, Bound], ...] = field(default=(), converter=_sorted_overrides)
    """Bounds by output name that the user chose. They hold for floating-point outputs only:
    integers, booleans and strings are compared exactly whatever they say."""

    def bound(self, output: str, element: str) -> Bound:
        """Return the bound for a floating-point output of that element type."""
        for name, bound in self.overrides:
            if name == output:
                return bound
        return EXACT_BOUND if self.profile == "exact" else BOUNDS.get(element, EXACT_BOUND)

    def parts(self) -> Json:
        """The tolerance as named parts of a key; bounds in hexadecimal: keys hold no floats."""
        return {
            "overrides": {
                name: [
                    None if part is None else part.hex()
                    for part in (bound.relative, bound.scale, bound.absolute, bound.absolute_share)
                ]
                for name, bound in self.overrides
            },
            "profile": self.profile,
        }


BY_TYPE: Final = Tolerance()
EXACT: Final = Tolerance("exact")
