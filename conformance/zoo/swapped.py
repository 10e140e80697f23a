"""One part of the reference model replaced by another, for as long as a harness runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def swapped(owner: object, name: str, change: Callable[[T], T]) -> Iterator[None]:
    """Replace the attribute `name` of a module or class by what `change` makes of it.

    Raises `AttributeError` where there is none: a fault that changes nothing would be no fault.
    """
    real: T = getattr(owner, name)
    setattr(owner, name, change(real))
    try:
        yield
    finally:
        setattr(owner, name, real)
