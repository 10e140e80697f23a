"""Which declared constraints an input fails, each by name (rule R3)."""

from enum import Enum

from attrs import frozen

from spec.ranking.inputs import KernelInputs
from spec.ranking.kernel import Kernel, ShapePattern


class Constraint(Enum):
    """What can be unmet, in the order in which it is reported."""

    SIZE_AT_LEAST = "size_at_least"
    SIZE_AT_MOST = "size_at_most"
    DTYPE = "dtype"
    ALIGNMENT = "alignment"
    SHAPE = "shape"
    FEATURE = "feature"


@frozen
class Unmet:
    """One constraint that does not hold: what was there and what the kernel needs."""

    constraint: Constraint
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.constraint.value}: got {self.got}, need {self.need}"


def matches(shape: tuple[int, ...], pattern: ShapePattern) -> bool:
    """Tell whether ranks are equal and every fixed dimension of the pattern is met."""
    return len(shape) == len(pattern) and all(
        need is None or got == need for got, need in zip(shape, pattern, strict=True)
    )


def unmet(kernel: Kernel, inputs: KernelInputs) -> tuple[Unmet, ...]:
    """Name every constraint of `kernel` that `inputs` fail; empty means the kernel can run.

    All are named, not only the first, in the order of `Constraint`; within one constraint by input
    position, features by name. Operation and backend are the registry's business.
    """
    needs = kernel.constraints
    size = inputs.size_bytes
    found: list[Unmet] = []
    if size < needs.size.at_least_bytes:
        found.append(Unmet(Constraint.SIZE_AT_LEAST, f"{size}", f"{needs.size.at_least_bytes}"))
    if needs.size.at_most_bytes is not None and size > needs.size.at_most_bytes:
        found.append(Unmet(Constraint.SIZE_AT_MOST, f"{size}", f"{needs.size.at_most_bytes}"))
    if not needs.dtypes.issuperset(inputs.dtypes):
        allowed = " or ".join(sorted(needs.dtypes))
        found.extend(
            Unmet(Constraint.DTYPE, f"{tensor.dtype} at input {position}", allowed)
            for position, tensor in enumerate(inputs.tensors)
            if tensor.dtype not in needs.dtypes
        )
    if inputs.alignment_bytes % needs.alignment_bytes:
        found.append(
            Unmet(Constraint.ALIGNMENT, f"{inputs.alignment_bytes}", f"{needs.alignment_bytes}")
        )
    if needs.shapes is not None:
        patterns = " or ".join(_pattern_text(pattern) for pattern in needs.shapes)
        found.extend(
            Unmet(Constraint.SHAPE, f"{_pattern_text(tensor.shape)} at input {position}", patterns)
            for position, tensor in enumerate(inputs.tensors)
            if not any(matches(tensor.shape, pattern) for pattern in needs.shapes)
        )
    if missing := needs.features - inputs.features:
        found.extend(Unmet(Constraint.FEATURE, "absent", feature) for feature in sorted(missing))
    return tuple(found)


def _pattern_text(pattern: ShapePattern) -> str:
    return "[" + ",".join("*" if length is None else str(length) for length in pattern) + "]"
