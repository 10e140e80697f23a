"""The shapes that an engine is built for."""

import re
from typing import Final

from attrs import frozen

from spec.errors import InvalidValue

_SAFE_NAME: Final = re.compile(r"[^:,]+")


@frozen
class ShapeRange:
    """The shapes of one open input: the least, the usual and the greatest size of each axis."""

    name: str
    least: tuple[int, ...]
    usual: tuple[int, ...]
    greatest: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        ranks = {len(self.least), len(self.usual), len(self.greatest)}
        ordered = len(ranks) == 1 and all(
            1 <= low <= middle <= high
            for low, middle, high in zip(self.least, self.usual, self.greatest, strict=True)
        )
        if not ordered:
            got = f"{self.least}, {self.usual}, {self.greatest}"
            need = "1 <= least <= usual <= greatest on every axis"
            raise InvalidValue("shape_range", f"{self.name}: {got}", need, "catalogue")
        if not _SAFE_NAME.fullmatch(self.name):
            raise InvalidValue(
                "shape range name", repr(self.name), "no ':' and no ','", "catalogue"
            )


def shape_profile(prefix: str, shapes: tuple[ShapeRange, ...]) -> dict[str, str]:
    """Return the three profile options, which an engine takes together or not at all."""
    if not shapes:
        return {}
    return {
        f"{prefix}_profile_min_shapes": ",".join(_shape(one.name, one.least) for one in shapes),
        f"{prefix}_profile_opt_shapes": ",".join(_shape(one.name, one.usual) for one in shapes),
        f"{prefix}_profile_max_shapes": ",".join(_shape(one.name, one.greatest) for one in shapes),
    }


def _shape(name: str, sizes: tuple[int, ...]) -> str:
    return f"{name}:{'x'.join(map(str, sizes))}"
