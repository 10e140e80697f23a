"""How many promotions a stated rate allows in so many experiments."""

import math


def tail(experiments: int, rate: float, hits: int) -> float:
    """Return the probability of at least `hits` in `experiments` of probability `rate` each."""
    return math.fsum(
        math.exp(
            math.lgamma(experiments + 1)
            - math.lgamma(count + 1)
            - math.lgamma(experiments - count + 1)
            + count * math.log(rate)
            + (experiments - count) * math.log1p(-rate)
        )
        for count in range(hits, experiments + 1)
    )


def most_hits(experiments: int, rate: float, doubt: float = 1e-6) -> int:
    """Return the most hits that are no evidence, at `doubt`, of a rate over the stated one."""
    hits = round(experiments * rate)
    while tail(experiments, rate, hits + 1) > doubt:
        hits += 1
    return hits
