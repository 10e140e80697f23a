"""How often identical plans are promoted, how soon faster ones are, and what an answer costs."""

import statistics
import time
from collections.abc import Iterator
from fractions import Fraction

from attrs import frozen

from benchmarks.evidence.noise import (
    EXCHANGEABLE,
    PREMISE_BROKEN,
    Noise,
    alternating_order,
    block_ratios,
    gaussian,
)
from benchmarks.evidence.rivals import (
    blocks_to_clipped_bet,
    peeking_median_mad,
    peeking_sign_test,
)
from spec.evidence import AnytimeValid, EvidenceRule, Faster, MedianMad, NotFaster, assess
from spec.evidence.block import block_order

BLOCKS = 64
RATE = Fraction(1, 100)
NO_MINIMUM = Fraction(1)
DEFAULT_MINIMUM = Fraction(103, 100)
UNSTOPPED = AnytimeValid(RATE, false_rejection_rate=Fraction(1, 10**9), max_blocks=BLOCKS)
"""Looks on to the last block: no early rejection takes an identical plan out of the running."""


@frozen
class NullRow:
    """Shares of identical candidates promoted, by rule; the sequential ones look at every block."""

    noise: str
    premise_holds: bool
    order: str
    experiments: int
    anytime_valid: float
    anytime_valid_as_shipped: float
    median_mad: float
    peeking_median_mad: float
    peeking_sign_test: float


@frozen
class PowerRow:
    """What becomes of a candidate that is truly faster. Blocks are means over all experiments."""

    noise: str
    speedup: float
    min_speedup: str
    experiments: int
    anytime_valid_promoted: float
    anytime_valid_rejected: float
    anytime_valid_blocks: float
    median_mad_promoted: float
    median_mad_blocks: float
    clipped_bet_promoted: float
    clipped_bet_blocks: float


@frozen
class CostRow:
    """Time of one `assess` of a history that takes the whole of it to answer, on this machine."""

    rule: str
    blocks: int
    median_us: float


def cost_rows(repeats: int) -> list[CostRow]:
    """Return the cost of each rule on long undecided histories of nanosecond timings."""
    ratios = next(
        ratios
        for ratios in (block_ratios(gaussian(0.03), seed, 1.02, BLOCKS) for seed in range(1000))
        if assess(AnytimeValid(max_blocks=BLOCKS), ratios, DEFAULT_MINIMUM).blocks == BLOCKS
    )
    return [
        CostRow(type(rule).__name__, BLOCKS, statistics.median(_timings_us(rule, ratios, repeats)))
        for rule in (AnytimeValid(max_blocks=BLOCKS), MedianMad(samples=BLOCKS))
    ]


def _timings_us(rule: EvidenceRule, ratios: tuple[Fraction, ...], repeats: int) -> Iterator[float]:
    for _ in range(repeats):
        started_ns = time.perf_counter_ns()
        assess(rule, ratios, DEFAULT_MINIMUM)
        yield (time.perf_counter_ns() - started_ns) / 1000


def null_rows(experiments: int) -> list[NullRow]:
    """Return one row per kind of noise, and one more where the order of blocks matters."""
    rows = [null_row(name, noise, True, experiments) for name, noise in EXCHANGEABLE.items()]
    rows += [null_row(name, noise, False, experiments) for name, noise in PREMISE_BROKEN.items()]
    in_step = "in step with the blocks"
    rows.append(null_row(in_step, EXCHANGEABLE[in_step], False, experiments, alternating=True))
    return rows


def null_row(
    name: str, noise: Noise, premise_holds: bool, experiments: int, alternating: bool = False
) -> NullRow:
    """Promote, or not, `experiments` candidates that are the reference itself."""
    counts = [0] * 5
    for seed in range(experiments):
        order = alternating_order if alternating else block_order
        ratios = block_ratios(noise, seed, 1.0, BLOCKS, order)
        promoted = (
            isinstance(assess(UNSTOPPED, ratios, NO_MINIMUM), Faster),
            isinstance(assess(AnytimeValid(), ratios, DEFAULT_MINIMUM), Faster),
            isinstance(assess(MedianMad(), ratios, DEFAULT_MINIMUM), Faster),
            # Quadratic in the blocks, so only the first 16 are offered.
            peeking_median_mad(ratios[:16], DEFAULT_MINIMUM),
            peeking_sign_test(ratios, RATE),
        )
        counts = [count + hit for count, hit in zip(counts, promoted, strict=True)]
    shares = [count / experiments for count in counts]
    order_name = "alternating pairs" if alternating else "coin per block"
    return NullRow(name, premise_holds, order_name, experiments, *shares)


def power_rows(experiments: int) -> list[PowerRow]:
    """Return one row per noise level, true speed-up and minimum speed-up."""
    return [
        power_row(f"Gaussian {sigma:.0%}", gaussian(sigma), speedup, minimum, experiments)
        for sigma in (0.01, 0.03, 0.10)
        for speedup, minimum in (
            (1.02, DEFAULT_MINIMUM),
            (1.03, Fraction(101, 100)),
            (1.03, DEFAULT_MINIMUM),
            (1.10, DEFAULT_MINIMUM),
            (1.50, DEFAULT_MINIMUM),
        )
    ]


def power_row(
    name: str, noise: Noise, speedup: float, minimum: Fraction, experiments: int
) -> PowerRow:
    """Measure `experiments` candidates that are `speedup` times as fast."""
    promoted = rejected = blocks = by_median = by_clipped = clipped_blocks = 0
    for seed in range(experiments):
        ratios = block_ratios(noise, seed, speedup, BLOCKS)
        verdict = assess(AnytimeValid(max_blocks=BLOCKS), ratios, minimum)
        promoted += isinstance(verdict, Faster)
        rejected += isinstance(verdict, NotFaster)
        blocks += verdict.blocks
        by_median += isinstance(assess(MedianMad(), ratios, minimum), Faster)
        clipped = blocks_to_clipped_bet(ratios, RATE, minimum)
        by_clipped += clipped is not None
        clipped_blocks += BLOCKS if clipped is None else clipped
    return PowerRow(
        name,
        speedup,
        str(minimum),
        experiments,
        promoted / experiments,
        rejected / experiments,
        blocks / experiments,
        by_median / experiments,
        float(MedianMad().samples),
        by_clipped / experiments,
        clipped_blocks / experiments,
    )
