"""A persistent queue: first in, first out, every operation independent of the length."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from attrs import field, frozen
from immutables import Map

T = TypeVar("T")


@frozen
class Fifo(Generic[T]):
    """Values numbered in order of arrival. A change returns another queue and shares the rest."""

    _items: "Map[int, T]" = field(factory=Map)
    _first: int = 0
    """Number of the oldest value."""

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """Oldest first."""
        for number in range(self._first, self._first + len(self._items)):
            yield self._items[number]

    def push(self, value: T) -> "Fifo[T]":
        """Return the queue with `value` as its newest."""
        return Fifo(self._items.set(self._first + len(self._items), value), self._first)

    def pop(self) -> "tuple[T, Fifo[T]]":
        """Return the oldest value and the queue without it. Raises `IndexError` when empty."""
        if not self._items:
            raise IndexError("pop from an empty queue")
        oldest = self._items[self._first]
        return oldest, Fifo(self._items.delete(self._first), self._first + 1)
