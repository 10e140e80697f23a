"""Machines that disturb timings: each yields, run after run, what a run of either side would take.

A kind is a function from a seeded source to an endless stream of multipliers, one pair per run in
the order of time: for a reference run and for a candidate run at that moment. Where both are the
same number the machine does not know whose run it disturbs; those of `PREMISE_BROKEN` do, which
is what no rule on ratios can tell from a real difference.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from random import Random
from types import MappingProxyType

from spec.evidence import Block, BlockOrder, Side, block_order

Multipliers = Iterator[tuple[float, float]]
Noise = Callable[[Random], Multipliers]

BASE_NS = 10_000_000
"""A run on an undisturbed machine takes 10 ms."""


def _both(stream: Iterator[float]) -> Multipliers:
    return ((multiplier, multiplier) for multiplier in stream)


def gaussian(sigma: float) -> Noise:
    """Independent log-normal runs; the block ratio's log has standard deviation about sigma."""

    def runs(source: Random) -> Iterator[float]:
        while True:
            yield math.exp(source.gauss(0, sigma))

    return lambda source: _both(runs(source))


def cauchy(scale: float) -> Noise:
    """Independent runs, each slowed by the absolute value of a Cauchy variable: no mean exists."""

    def runs(source: Random) -> Iterator[float]:
        while True:
            yield 1 + scale * abs(math.tan(math.pi * (source.random() - 0.5)))

    return lambda source: _both(runs(source))


def drift(source: Random) -> Multipliers:
    """Every run is 1 % slower than the one before, with 1 % of noise on top."""

    def runs() -> Iterator[float]:
        level = 0.0
        while True:
            level += 0.01
            yield math.exp(level + source.gauss(0, 0.01))

    return _both(runs())


def fading_warm_up(source: Random) -> Multipliers:
    """Half as slow again at first, fading over some 20 runs, with 1 % of noise on top."""

    def runs() -> Iterator[float]:
        excess = 0.5
        while True:
            yield (1 + excess) * math.exp(source.gauss(0, 0.01))
            excess *= 0.95

    return _both(runs())


def autocorrelated(source: Random) -> Multipliers:
    """The machine's speed wanders: 0.98 of the last run's log, plus 3 %, with 1 % on top."""

    def runs() -> Iterator[float]:
        level = source.gauss(0, 0.15)
        while True:
            level = 0.98 * level + source.gauss(0, 0.03)
            yield math.exp(level + source.gauss(0, 0.01))

    return _both(runs())


def two_states(source: Random) -> Multipliers:
    """A machine that takes 12 ms or 26 ms, staying for some 20 runs, with 1 % on top (E9)."""

    def runs() -> Iterator[float]:
        slow = source.random() < 0.5
        while True:
            slow ^= source.random() < 0.05
            yield (2.6 if slow else 1.2) * math.exp(source.gauss(0, 0.01))

    return _both(runs())


def periodic(cycle: int, *hits: int) -> Noise:
    """Something slows the same runs of every cycle by half, from a random phase on; 1 % on top."""

    def runs(source: Random) -> Iterator[float]:
        run = source.randrange(cycle)
        while True:
            run = (run + 1) % cycle
            yield (1.5 if run in hits else 1.0) * math.exp(source.gauss(0, 0.01))

    return lambda source: _both(runs(source))


def side_autocorrelated(source: Random) -> Multipliers:
    """The *candidate's* speed wanders: 0.9 of the last run's log plus 1 %, and 1 % on each run."""
    level = source.gauss(0, 0.02)
    while True:
        level = 0.9 * level + source.gauss(0, 0.01)
        own = math.exp(source.gauss(0, 0.01))
        yield own, own * math.exp(level)


def side_placement(source: Random) -> Multipliers:
    """The candidate's process got better or worse memory by 1 % for good, and 1 % on each run."""
    luck = math.exp(source.gauss(0, 0.01))
    while True:
        own = math.exp(source.gauss(0, 0.01))
        yield own, own * luck


EXCHANGEABLE: Mapping[str, Noise] = MappingProxyType(
    {
        "Gaussian 1 %": gaussian(0.01),
        "Gaussian 10 %": gaussian(0.10),
        "log-normal, sigma 1": gaussian(1.0),
        "Cauchy 10 %": cauchy(0.10),
        "drift 1 % a run": drift,
        "warm-up fading": fading_warm_up,
        "autocorrelated 0.98": autocorrelated,
        "two states 12/26": two_states,
        "a hit every 7th run": periodic(7, 0),
        "a hit every 8th run": periodic(8, 0),
        "in step with the blocks": periodic(8, 0, 3),
    }
)
"""Kinds that do not know the sides."""

PREMISE_BROKEN: Mapping[str, Noise] = MappingProxyType(
    {
        "candidate autocorrelated 0.9": side_autocorrelated,
        "candidate placed 1 % off": side_placement,
    }
)
"""Kinds that break the premise: they know the side."""


def alternating_order(seed: int, key: str, candidate: str, block: int) -> BlockOrder:
    """Give each pair of blocks one of either order, for comparison with `block_order`."""
    first = block_order(seed, key, candidate, block - block % 2)
    return first if block % 2 == 0 else (first[1], first[0], first[0], first[1])


def block_ratios(
    noise: Noise,
    seed: int,
    speedup: float,
    count: int,
    order: Callable[[int, str, str, int], BlockOrder] = block_order,
) -> tuple[Fraction, ...]:
    """Time `count` blocks of a candidate `speedup` times as fast as the reference."""
    source = Random(seed)
    stream = noise(source)
    ratios = []
    for number in range(count):
        times: dict[Side, list[int]] = {Side.REFERENCE: [], Side.CANDIDATE: []}
        for side in order(seed, "model", "candidate", number):
            as_reference, as_candidate = next(stream)
            run = as_reference if side is Side.REFERENCE else as_candidate / speedup
            times[side].append(max(1, round(BASE_NS * run)))
        reference, candidate = times[Side.REFERENCE], times[Side.CANDIDATE]
        block = Block((reference[0], reference[1]), (candidate[0], candidate[1]), number)
        ratios.append(block.ratio)
    return tuple(ratios)
