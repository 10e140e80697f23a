"""How long the machine takes to read keys and values once: no way of attention can be faster."""

import os
import threading
import time
from typing import Final

import numpy as np

from benchmarks.attention.models import HIDDEN

REPEATS: Final = 5
LEAST_S: Final = 0.1
"""For one repeat: what starting threads costs doesn't show then."""


def reading_us(keys: int) -> float:
    """Return the least time for reading keys and values of so many tokens, in microseconds.

    Each processor reads its own part again and again; the best of some repeats counts. A part that
    fits the processor's own cache stays there, as it does between calls of a model.
    """
    threads = os.cpu_count() or 1
    parts = [np.ones(2 * keys * HIDDEN // threads, np.float32) for _ in range(threads)]
    times, least = 1, float("inf")
    for _ in range(REPEATS):
        while (taken := _read(parts, times)) < LEAST_S:
            times *= 2
        least = min(least, taken / times)
    return least * 1e6


def _read(parts: "list[np.ndarray[tuple[int], np.dtype[np.float32]]]", times: int) -> float:
    barrier = threading.Barrier(len(parts) + 1)

    def read(part: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> None:
        barrier.wait()
        for _ in range(times):
            np.max(part)
        barrier.wait()

    workers = [threading.Thread(target=read, args=(part,)) for part in parts]
    for worker in workers:
        worker.start()
    barrier.wait()
    begin = time.perf_counter()
    barrier.wait()
    taken = time.perf_counter() - begin
    for worker in workers:
        worker.join()
    return taken
