"""Scores, orders and figures of ranking, from the formulas of their rules."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, prod
from statistics import mean, pvariance
from typing import Final

from conformance.vectors.second_route.plain import (
    Odd,
    Plain,
    items,
    member,
    number,
    pair,
    ratio,
    text,
    whole,
)

HALF: Final = Fraction(1, 2)
ENOUGH: Final = 64
"""Half-lives after which nothing is left."""
BITS: Final = {"int4": 4, "int8": 8, "float16": 16, "float32": 32}


def left(elapsed_ns: int, half_life_ns: int) -> Fraction:
    """Return what a time leaves of 1: halved by every half-life, a parabola in between."""
    if half_life_ns < 1:
        raise Odd("half-life")
    periods = Fraction(max(0, elapsed_ns), half_life_ns)
    if periods >= ENOUGH:
        return Fraction(0)
    x = periods - floor(periods)
    return (1 - Fraction(2, 3) * x + x * x / 6) * HALF ** floor(periods)


def half_life(asked: Plain) -> Plain:
    """Half-lives."""
    elapsed_ns, length_ns = whole(member(asked, "elapsed_ns")), whole(member(asked, "half_life_ns"))
    return {"share": pair(left(elapsed_ns, length_ns))}


def extrapolated(asked: Plain) -> Plain:
    """A latency carried to another size."""
    latency, before, after = (
        whole(member(asked, name)) for name in ("measured_ns", "measured", "wanted")
    )
    if min(latency, before, after) < 1:
        raise Odd("less than 1")
    factors = {
        "constant": Fraction(1),
        "logarithmic": Fraction(len(f"{after:b}"), len(f"{before:b}")),
        "linear": Fraction(after, before),
        "quadratic": Fraction(after**2, before**2),
        "exponential": _power(Fraction(after, before) - 1),
    }
    law = text(member(asked, "law"))
    if law not in factors:
        raise Odd(law)
    return {"latency_ns": number(max(1, ceil(latency * factors[law])))}


def _power(exponent: Fraction) -> Fraction:
    bounded = min(Fraction(64), max(Fraction(-64), exponent))
    x = ceil(bounded) - bounded
    return (1 - Fraction(2, 3) * x + x * x / 6) * Fraction(2) ** ceil(bounded)


class Past:
    """What became of every kernel, as a list of tries that is gone through again each time."""

    def __init__(self, policy: Plain, tries: Plain) -> None:
        self.half_life_ns = whole(member(policy, "half_life_ns"))
        self.retention_ns = whole(member(policy, "retention_ns"))
        self.kept: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
        for one in items(tries):
            key = (text(member(one, "workload")), text(member(one, "kernel_id")))
            now, latency = whole(member(one, "at_ns")), member(one, "latency_ns")
            known = self.kept.get(key, [])
            if known and now - known[-1][0] > self.retention_ns:
                known = []
            self.kept[key] = [*known, (now, None if latency is None else whole(latency))]
            while len(self.kept) > whole(member(policy, "max_entries")):
                del self.kept[next(iter(self.kept))]

    def of(self, workload: str, kernel_id: str, now: int) -> tuple[list[int | None], Fraction]:
        """Return what is remembered of a kernel, and the weight that is left of it."""
        known = self.kept.get((workload, kernel_id), [])
        if not known or now - known[-1][0] > self.retention_ns:
            return [], Fraction(0)
        weight = left(now - known[-1][0], self.half_life_ns)
        return [latency for _, latency in known], weight


def usage(asked: Plain) -> Plain:
    """Figures of one kernel's past."""
    past = Past(member(asked, "policy"), member(asked, "tries"))
    known, weight = past.of(
        text(member(asked, "workload")),
        text(member(asked, "kernel_id")),
        whole(member(asked, "now_ns")),
    )
    latencies = [Fraction(one) for one in known if one is not None]
    figures: dict[str, Plain] = dict.fromkeys(
        ("mean_ns", "variance_ns2", "rounded_mean_ns", "rounded_deviation_ns")
    )
    if latencies:
        figures = {
            "mean_ns": pair(mean(latencies)),
            "variance_ns2": pair(Fraction(pvariance(latencies))),
            "rounded_mean_ns": number(_half_up(mean(latencies))),
            "rounded_deviation_ns": number(_root(Fraction(pvariance(latencies)))),
        }
    return {
        "trials": len(known),
        "successes": len(latencies),
        **figures,
        "recency": pair(weight) if known else None,
        "entries": len(past.kept),
    }


def _half_up(value: Fraction) -> int:
    return floor(value + HALF)


def _root(square: Fraction) -> int:
    """Return the square root to the nearest whole number, halves up, by bisection."""
    low, high = 0, ceil(square) + 1
    while low < high:
        middle = (low + high) // 2
        # Too low while the root is at least middle + 1/2.
        if (middle + HALF) ** 2 <= square:
            low = middle + 1
        else:
            high = middle
    return low


def rank(asked: Plain) -> Plain:
    """The whole order with every term."""
    request, policy = member(asked, "request"), member(asked, "policy")
    place = (member(request, "operation"), member(request, "backend"))
    kernels = {
        text(member(one, "id")): one
        for one in items(member(asked, "kernels"))
        if (member(one, "operation"), member(one, "backend")) == place
    }
    failed = {name: _failed(kernels[name], member(request, "inputs")) for name in sorted(kernels)}
    able = [name for name in failed if not failed[name]]
    default = member(asked, "default_id")
    default = default if default in able else None
    past = Past(member(asked, "history_policy"), member(asked, "tries"))
    rows = {name: _row(name, kernels[name], past, request, policy, default) for name in able}
    order = sorted(able, key=lambda name: (-rows[name]["priority"], name != default, name))
    chosen_by = "score"
    enough = ratio(member(policy, "minimum_confidence"))
    leads = order and default is not None and order[0] != default
    if leads and rows[order[0]]["confidence"] < enough:
        order = [str(default), *(name for name in order if name != default)]
        chosen_by = "default"
    return {
        "order": [_shown(name, rows[name]) for name in order],
        "chosen_by": chosen_by if order else None,
        "confidence": pair(rows[order[0]]["confidence"]) if order else None,
        "default_id": default,
        "excluded": [
            {"kernel_id": name, "constraints": list(reasons)}
            for name, reasons in failed.items()
            if reasons
        ],
    }


TERMS: Final = ("execution_time", "memory", "cache_efficiency", "history", "switching")


def _row(
    name: str, kernel: Plain, past: Past, request: Plain, policy: Plain, default: Plain
) -> dict[str, Fraction]:
    workload, now = text(member(request, "workload")), whole(member(request, "now_ns"))
    known, weight = past.of(workload, name, now)
    facts = member(kernel, "characteristics")
    estimates = member(request, "estimates")
    served = member(request, "served")
    time = _time(name, past, workload, now, estimates)
    unit = None if default is None else _time(str(default), past, workload, now, estimates)
    unit = Fraction(whole(member(policy, "time_unit_ns"))) if unit is None else unit
    if time is not None and served != name:
        start = whole(member(facts, "initialisation_ns"))
        time += Fraction(start, whole(member(request, "expected_calls")))
    room = whole(member(policy, "memory_unit_bytes"))
    if isinstance(estimates, dict) and default in estimates:
        room = max(room, whole(member(estimates[str(default)], "memory_bytes")))
    row = {
        "execution_time": HALF if time is None else unit / (unit + time),
        "memory": HALF,
        "cache_efficiency": _cache(facts, _bytes(member(request, "inputs"))),
        "history": HALF,
        "switching": Fraction(int(served is None or served == name)),
        "confidence": Fraction(0),
    }
    if isinstance(estimates, dict) and name in estimates:
        taken = whole(member(estimates[name], "memory_bytes"))
        row["memory"] = Fraction(room, room + taken)
    if known:
        successes = len([one for one in known if one is not None])
        row["history"] = HALF + (Fraction(successes, len(known)) - HALF) * weight
        row["confidence"] = successes * weight / (len(known) * weight + 1)
    weights = member(policy, "weights")
    row["score"] = sum((ratio(member(weights, term)) * row[term] for term in TERMS), Fraction(0))
    share = ratio(member(policy, "exploration"))
    row["priority"] = (1 - share) * row["score"] + share / (1 + len(known))
    return row


def _time(name: str, past: Past, workload: str, now: int, estimates: Plain) -> Fraction | None:
    measured = [one for one in past.of(workload, name, now)[0] if one is not None]
    if measured:
        return Fraction(sum(measured), len(measured))
    if isinstance(estimates, dict) and name in estimates:
        return Fraction(whole(member(estimates[name], "latency_ns")))
    return None


def _cache(facts: Plain, size: int) -> Fraction:
    stated, best = ratio(member(facts, "cache_efficiency")), member(facts, "optimal_size")
    low, high = whole(member(best, "at_least_bytes")), member(best, "at_most_bytes")
    if size < low:
        return stated * size / low
    if high is not None and size > whole(high):
        return stated * whole(high) / size
    return stated


def _bytes(inputs: Plain) -> int:
    return sum(
        ceil(
            Fraction(
                prod(whole(length) for length in items(member(one, "shape")))
                * BITS[text(member(one, "dtype"))],
                8,
            )
        )
        for one in items(member(inputs, "tensors"))
    )


def unmet(asked: Plain) -> Plain:
    """Constraints that fail."""
    return {"constraints": list(_failed(member(asked, "kernel"), member(asked, "inputs")))}


def _failed(kernel: Plain, inputs: Plain) -> Sequence[str]:
    needs = member(kernel, "constraints")
    size, tensors = _bytes(inputs), items(member(inputs, "tensors"))
    low, high = (member(member(needs, "size"), f"at_{end}_bytes") for end in ("least", "most"))
    found = ["size_at_least"] * int(size < whole(low))
    found += ["size_at_most"] * int(high is not None and size > whole(high))
    types = items(member(needs, "dtypes"))
    found += ["dtype" for one in tensors if member(one, "dtype") not in types]
    given, wanted = (whole(member(one, "alignment_bytes")) for one in (inputs, needs))
    found += ["alignment"] * int(given % wanted != 0)
    patterns = member(needs, "shapes")
    if patterns is not None:
        found += ["shape" for one in tensors if not _matches(member(one, "shape"), patterns)]
    present = items(member(inputs, "features"))
    return found + ["feature" for one in items(member(needs, "features")) if one not in present]


def _matches(shape: Plain, patterns: Plain) -> bool:
    for pattern in items(patterns):
        if len(items(pattern)) == len(items(shape)) and all(
            want is None or want == got
            for want, got in zip(items(pattern), items(shape), strict=True)
        ):
            return True
    return False


def _shown(name: str, row: dict[str, Fraction]) -> Plain:
    return {
        "kernel_id": name,
        "terms": {term: pair(row[term]) for term in TERMS},
        "score": pair(row["score"]),
        "priority": pair(row["priority"]),
        "confidence": pair(row["confidence"]),
    }


def best_benchmark(asked: Plain) -> Plain:
    """Figures of the best result."""
    wanted = member(asked, "workload")
    results = [one for one in items(member(asked, "results")) if member(one, "workload") == wanted]
    names = [text(member(one, "kernel_id")) for one in results]
    if not names or len(set(names)) < len(names):
        raise Odd("results")
    rows = []
    for name, one in zip(names, results, strict=True):
        latencies = [Fraction(whole(latency)) for latency in items(member(one, "latencies_ns"))]
        if not latencies or min(latencies) < 1:
            raise Odd("latencies")
        moved = member(one, "bytes_moved")
        rows.append((mean(latencies), name, latencies, whole(moved)))
    average, name, latencies, moved_bytes = min(rows)
    return {
        "kernel_id": name,
        "mean_ns": _half_up(average),
        "minimum_ns": int(min(latencies)),
        "maximum_ns": int(max(latencies)),
        "deviation_ns": _root(Fraction(pvariance(latencies))),
        "throughput_per_s": pair(10**9 / average),
        "bandwidth_bytes_per_s": pair(moved_bytes * 10**9 / average),
    }


def hindsight(asked: Plain) -> Plain:
    """How good a choice was."""
    chosen, measured = text(member(asked, "chosen")), member(asked, "measured_ns")
    margin = ratio(member(asked, "margin"))
    if not isinstance(measured, dict) or margin < 0:
        raise Odd("margin")
    latencies = {name: whole(one) for name, one in measured.items()}
    if any(one < 1 for one in latencies.values()):
        raise Odd("latencies")
    if not [name for name in latencies if name != chosen]:
        return dict.fromkeys(("best", "regret", "regret_ppm", "accurate"))
    if chosen not in latencies:
        raise Odd("chosen")
    fastest = min(latencies.values())
    names = sorted(name for name, one in latencies.items() if one == fastest)
    regret = Fraction(latencies[chosen] - fastest, fastest)
    return {
        "best": chosen if chosen in names else names[0],
        "regret": pair(regret),
        "regret_ppm": number(ceil(regret * 10**6)),
        "accurate": regret <= margin,
    }
