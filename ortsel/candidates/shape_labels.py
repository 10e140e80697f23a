"""Sizes in the names of plans for one shape: equal names must mean equal plans."""

import hashlib
from collections.abc import Sequence
from typing import Final

from ortsel.plan import Shapes

LONGEST: Final = 200
"""Characters of sizes in a plan's name; more are a count and a hash."""


def label(sizes: Sequence[str]) -> str:
    """Return sizes in brackets, short enough for a name; nothing for none."""
    text = ",".join(sizes)
    if len(text) > LONGEST:
        text = f"{len(sizes)} sizes,{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return f"[{text}]" if text else ""


def sizes_text(shapes: Shapes) -> tuple[str, ...]:
    """Return each input with its shape, such as "x=1x3"."""
    return tuple(f"{name}={'x'.join(map(str, sizes))}" for name, sizes in shapes)
