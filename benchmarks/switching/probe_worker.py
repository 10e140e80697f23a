"""One side of the probe: products of small matrices for some milliseconds, at each byte asked.

Started with one thread for its products. Answers with nanoseconds a product, one line each.
"""

import sys
import time

import numpy as np

SIDE = 96
"""Fits into the fastest caches, so that arithmetic is all that takes time; some 50 us a product."""


def main() -> None:
    """Answer until the input ends; each byte asks for so many milliseconds of work."""
    matrix = np.full((SIDE, SIDE), 1 / SIDE, np.float32)
    result = np.empty_like(matrix)
    while asked := sys.stdin.buffer.read(1):
        np.matmul(matrix, matrix, out=result)
        started = now = time.perf_counter_ns()
        until, products = started + asked[0] * 1_000_000, 0
        while now < until:
            np.matmul(matrix, matrix, out=result)
            products += 1
            now = time.perf_counter_ns()
        print((now - started) // products, flush=True)


if __name__ == "__main__":
    main()
