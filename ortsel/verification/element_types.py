"""How an output of each ONNX element type is compared: one line per type, with its reasoning.

An element `x` of a candidate agrees with `r` of the reference when

    |x - r|  <=  absolute  +  relative * |r|  +  scale * max|r over the tensor|

The last term is what a sum leaves behind: where large terms cancel, the result is small but its
error has the size of the terms, and the tensor's own largest magnitude is the best estimate of it
that the outputs contain. The absolute term is for functions that saturate, such as a sigmoid: their
error is a few units of 1.0 even where the whole result is small.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from attrs import Attribute, field, frozen

from ortsel.errors import UsageError


def _part(_: object, attribute: "Attribute[float]", value: float) -> None:
    most = float("inf") if attribute.name == "absolute" else 1.0
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.0 <= value < most:
        name, need = f"tolerance, {attribute.name}", f"a number from 0, less than {most:g}"
        raise UsageError(name, repr(value), need)


def _absolute_share(_: object, __: object, value: float | None) -> None:
    if value is not None and not 0.0 < value < float("inf"):
        raise UsageError("tolerance, absolute_share", repr(value), "None or a number above 0")


@frozen
class Bound:
    """Largest distance that counts as equal. All zero is exact equality."""

    relative: float = field(default=0.0, validator=_part)
    """Share of the reference's element."""
    scale: float = field(default=0.0, validator=_part)
    """Share of the largest finite magnitude in the reference's tensor."""
    absolute: float = field(default=0.0, validator=_part)
    """In units of the output."""
    absolute_share: float | None = field(default=None, validator=_absolute_share)
    """The absolute part is at most this share of the largest magnitude, unless that is zero.
    Without it, a distance that suits values near one swallows a tensor of tiny values whole."""

    def allowed_absolute(self, largest: float) -> float:
        """Return the absolute part for a tensor of that largest finite magnitude."""
        if self.absolute_share is None or largest <= 0.0:
            return self.absolute
        return min(self.absolute, self.absolute_share * largest)

    def times(self, multiple: int) -> "Bound":
        """Return the bound that allows a multiple of this one."""
        share = None if self.absolute_share is None else self.absolute_share * multiple
        return Bound(
            self.relative * multiple, self.scale * multiple, self.absolute * multiple, share
        )


EXACT_BOUND: Final = Bound()

SATURATION_SHARE: Final = 2.0**-6
"""Enough for what optimisation levels of ONNX Runtime do to a sigmoid whose largest value is 6e-5:
they move it by 1.8e-7."""


class How(Enum):
    """How outputs of an element type are compared."""

    BOUND = "within a bound"
    EXACT = "exactly"
    PARTS = "both parts within a bound"


@frozen
class ElementType:
    """One line of the table."""

    onnx: str
    """Name in ONNX's `TensorProto.DataType`."""
    numpy: str
    """Name of the numpy type of its elements, where there is an array of it."""
    how: How
    why: str
    bound: Bound = EXACT_BOUND
    close: int = 1
    """What "close" multiplies the bound by."""


_INTEGER: Final = "no step is small enough to be noise: labels, indices, counts and masks"

TABLE: Final = (
    ElementType(
        "FLOAT",
        "float32",
        How.BOUND,
        "Reordered sums of single precision move real models by 1e-7 to 1e-5 of the largest output "
        "(7e-5 seen once); TF32 and bfloat16 products by 3e-4 to 1e-2. The bound sits in that gap, "
        "so that reduced precision which nobody asked for is rejected. Close lets TF32 pass.",
        Bound(1e-4, 5e-5, 1e-6, SATURATION_SHARE),
        16,
    ),
    ElementType(
        "DOUBLE",
        "float64",
        How.BOUND,
        "Unit 2.2e-16: the same room for reordered sums. Anything computed in single precision on "
        "the way is off by 1e-8 or more and is rejected, by close as well.",
        Bound(1e-10, 1e-11, 2e-15, SATURATION_SHARE),
        16,
    ),
    ElementType(
        "FLOAT16",
        "float16",
        How.BOUND,
        "Accumulated in single precision and rounded once or a few times: four spacings of the "
        "element (2**-10), two of the largest element. Sums kept in half precision need close.",
        Bound(4 * 2.0**-10, 2 * 2.0**-10, 1e-6, SATURATION_SHARE),
        4,
    ),
    ElementType(
        "BFLOAT16",
        "bfloat16",
        How.BOUND,
        "As float16, with spacings of 2**-7.",
        Bound(4 * 2.0**-7, 2 * 2.0**-7, 1e-6, SATURATION_SHARE),
        4,
    ),
    # The absolute part of an eight-bit float is the step of its subnormal range.
    ElementType(
        "FLOAT8E4M3FN",
        "float8_e4m3fn",
        How.BOUND,
        "One step to the neighbour, two for close: a sum near the middle of two values may round "
        "either way. Where ONNX Runtime gives bytes of type uint8 instead, they are compared "
        "exactly.",
        Bound(relative=2.0**-3, absolute=2.0**-9),
        2,
    ),
    ElementType(
        "FLOAT8E4M3FNUZ",
        "float8_e4m3fnuz",
        How.BOUND,
        "One step to the neighbour, two for close.",
        Bound(relative=2.0**-3, absolute=2.0**-10),
        2,
    ),
    ElementType(
        "FLOAT8E5M2",
        "float8_e5m2",
        How.BOUND,
        "One step to the neighbour, two for close.",
        Bound(relative=2.0**-2, absolute=2.0**-16),
        2,
    ),
    ElementType(
        "FLOAT8E5M2FNUZ",
        "float8_e5m2fnuz",
        How.BOUND,
        "One step to the neighbour, two for close.",
        Bound(relative=2.0**-2, absolute=2.0**-17),
        2,
    ),
    ElementType(
        "FLOAT8E8M0",
        "float8_e8m0fnu",
        How.EXACT,
        "A power of two, a scale for others: one step is a factor of two.",
    ),
    ElementType(
        "FLOAT6E2M3", "float6_e2m3fn", How.EXACT, "64 values: no step is small enough to be noise."
    ),
    ElementType(
        "FLOAT6E3M2", "float6_e3m2fn", How.EXACT, "64 values: no step is small enough to be noise."
    ),
    ElementType(
        "FLOAT4E2M1", "float4_e2m1fn", How.EXACT, "16 values: no step is small enough to be noise."
    ),
    ElementType("COMPLEX64", "complex64", How.PARTS, "Each part as FLOAT."),
    ElementType("COMPLEX128", "complex128", How.PARTS, "Each part as DOUBLE."),
    *(
        ElementType(f"{sign}INT{bits}", f"{sign.lower()}int{bits}", How.EXACT, _INTEGER + ".")
        for bits in (2, 4, 8, 16, 32, 64)
        for sign in ("", "U")
    ),
    ElementType("BOOL", "bool", How.EXACT, "A decision."),
    ElementType("STRING", "object", How.EXACT, "A label."),
)
"""Every element type that ONNX has. What is none of them, such as a sparse tensor or an object that
is no string, is unverifiable and never passes."""

BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {line.numpy: line.bound for line in TABLE if line.how is How.BOUND}
    | {
        line.numpy: EXACT_BOUND
        for line in TABLE
        if line.how is How.EXACT and line.onnx.startswith("FLOAT")
    }
)
"""By the name of the element's numpy type. Types that are not here are compared exactly."""

CLOSE_BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {
        line.numpy: line.bound.times(line.close) if line.how is How.BOUND else EXACT_BOUND
        for line in TABLE
        if line.numpy in BOUNDS
    }
)


def markdown_table() -> str:
    """Return the table as the documentation shows it."""
    lines = [
        "| ONNX type | compared | relative | of the largest | absolute | `close` | why |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in TABLE:
        bound = line.bound
        parts = [bound.relative, bound.scale, bound.absolute]
        cells = [f"{part:.3g}" if part else "" for part in parts]
        close = f"x {line.close}" if line.how is How.BOUND else ""
        lines.append(f"| {' | '.join([line.onnx, line.how.value, *cells, close, line.why])} |")
    return "\n".join(lines)
