"""What switching between two plans gains where they trade places with the machine's state.

Two plans, the reference with two threads and the same with one, each alone in a process of its
own, are timed in turn in short blocks while the other sleeps, over one window. Between blocks a
probe computes in two processes. From the series: the better fixed plan, the better plan of every
moment (the oracle, which no program can be), and a switch that knows nothing but the latencies of
the plan that serves and what was recorded in the other half of the window.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

from benchmarks.measuring.alone import LIMITS, Alone
from benchmarks.measuring.cases import Feed, zoo_cases
from benchmarks.measuring.results import Results, Row, arguments, table
from benchmarks.measuring.sample_models import LAYER, layers
from benchmarks.measuring.searching import REFERENCE
from benchmarks.switching.probe import Probe
from benchmarks.switching.series import (
    Slot,
    across,
    agreement,
    correlation,
    durations_s,
    labels,
    means_ns,
    recorded,
    states_of,
)
from ortsel.candidates.cpu_settings import THREADS
from ortsel.plan import Plan
from ortsel.trial.limits import MILLISECOND_NS
from spec.evidence.plan_switch import SwitchRule, trade_places

MINUTES, QUICK_MINUTES = 10.0, 0.2
DETECTOR = "PP-OCRv4_det"
BLOCK_MS = 20


def _plan(threads: int) -> Plan:
    settings = REFERENCE.settings.with_attribute(THREADS, threads)
    return evolve(REFERENCE, name=f"threads={threads}", settings=settings)


PLANS = (_plan(2), _plan(1))
NAMES = (PLANS[0].name, PLANS[1].name)


def series(path: Path, feed: Feed, window_s: float, block_ms: int) -> list[Slot]:
    """Time both plans and the probe in turn, the plan that is first changing with every slot."""
    limits = evolve(LIMITS, measurement_least_ns=block_ms * MILLISECOND_NS)
    found: list[Slot] = []
    with Alone(path, feed, limits=limits) as alone, Probe() as probe:
        for plan in PLANS:
            alone.open(plan)
        probe.take()
        until = time.monotonic() + window_s
        while time.monotonic() < until or len(found) < 2:
            started_ns = time.monotonic_ns()
            times: dict[str, int] = {}
            for plan in PLANS[:: -1 if len(found) % 2 else 1]:
                times[plan.name] = max(1, round(alone.time_ns(plan)))
            single, together = probe.take()
            times_ns = (times[NAMES[0]], times[NAMES[1]])
            found.append(Slot(started_ns, times_ns, round(single), round(together)))
    return found


def row(name: str, slots: Sequence[Slot], rule: SwitchRule) -> Row:
    """Return everything that a series says, and the series itself."""
    fixed = means_ns(slots)
    better = min(fixed)
    oracle = statistics.fmean(min(slot.times_ns) for slot in slots)
    own = across(slots, NAMES, rule)
    found: dict[str, Any] = {
        "case": name,
        "slots": len(slots),
        "window_s": (slots[-1].started_ns - slots[0].started_ns) / 1e9,
        "fixed_ms": {plan: mean / 1e6 for plan, mean in zip(NAMES, fixed, strict=True)},
        "better_fixed": NAMES[fixed.index(better)],
        "oracle_gain": better / oracle,
        "switch_gain": better / own.mean_ns,
        "switches": own.switches,
        **_states(slots),
    }
    if found["probe_states"] == 2:
        by_probe = across(slots, NAMES, rule, by_probe=True)
        found["probe_switch_gain"] = better / by_probe.mean_ns
    start = slots[0].started_ns
    found["columns"] = "started_ms,first_us,second_us,probe_alone_us,probe_together_us"
    found["series"] = [
        f"{(slot.started_ns - start) / 1e6:.1f},{slot.times_ns[0] / 1e3:.1f},"
        f"{slot.times_ns[1] / 1e3:.1f},{slot.probe_alone_ns / 1e3:.2f},"
        f"{slot.probe_together_ns / 1e3:.2f}"
        for slot in slots
    ]
    return found


def _states(slots: Sequence[Slot]) -> dict[str, Any]:
    """Return the states seen, each plan's time in each, and whether the probe tells them."""
    states, teller = states_of(slots)
    probe = [slot.probe for slot in slots]
    probed = labels(probe)
    told = {"probe_states": 1 if probed is None else 2}
    if states is None:
        says = "one state was seen: plans do not trade places in this window"
        return {**told, "states": 1, "trade_places": False, "says": says}
    plans = recorded(slots, states, NAMES)
    stays = durations_s(slots, states)
    trades = trade_places(*plans)
    together = agreement(states, probed or [0] * len(slots))
    return {
        **told,
        "states": 2,
        "told_by": NAMES[teller],
        "slow_share": statistics.fmean(states),
        "stays": [len(one) for one in stays],
        "median_stay_s": [statistics.median(one) if one else 0.0 for one in stays],
        "longest_stay_s": [max(one, default=0.0) for one in stays],
        "in_state_ms": {one.name: [one.first_ns / 1e6, one.second_ns / 1e6] for one in plans},
        "ratio_in_state": [plans[1].in_state(state) / plans[0].in_state(state) for state in (0, 1)],
        "trade_places": trades,
        "probe_agreement": together.share,
        "probe_kappa": together.kappa,
        "probe_correlation": correlation(probe, states),
        "says": "plans trade places"
        if trades
        else "two states, but plans do not trade places in this window",
    }


def words(row: Row) -> str:
    """Return one line about a case."""
    text = f"{row['says']}; switch {row['switch_gain']:.3f}, oracle {row['oracle_gain']:.3f}"
    if "probe_agreement" in row:
        text += f"; probe agrees in {row['probe_agreement']:.1%} of blocks"
        text += " (it sees one state)" if row["probe_states"] == 1 else ""
    return text


def print_rows(rows: Sequence[Row]) -> None:
    """Print one line for each case, then one for each state of it."""
    header = ["case", *(f"{name} ms" for name in NAMES), "switch gain", "oracle gain", "switches"]
    lines = [
        [
            row["case"],
            *(f"{row['fixed_ms'][name]:.3f}" for name in NAMES),
            f"{row['switch_gain']:.3f}",
            f"{row['oracle_gain']:.3f}",
            str(row["switches"]),
        ]
        for row in rows
    ]
    table(header, lines)
    for row in rows:
        print(f"{row['case']}: {words(row)}")
        if row["states"] == 1:
            continue
        for state, kind in enumerate(("faster", "slower")):
            share = row["slow_share"] if state else 1 - row["slow_share"]
            times = ", ".join(
                f"{name} {both[state]:.3f} ms" for name, both in row["in_state_ms"].items()
            )
            print(
                f"  {kind} state: {share:.1%} of blocks, {row['stays'][state]} stays, median "
                f"{row['median_stay_s'][state]:.1f} s, longest {row['longest_stay_s'][state]:.1f} "
                f"s; {times}"
            )
        print(
            f"  probe: {row['probe_states']} states, agrees in {row['probe_agreement']:.1%} of "
            f"blocks, kappa {row['probe_kappa']:.3f}, correlation {row['probe_correlation']:.3f}"
        )
        if "probe_switch_gain" in row:
            print(f"  switch gain where the probe tells: {row['probe_switch_gain']:.3f}")


def main() -> int:
    """Time one series for each case."""
    parser = arguments("switching", __doc__)
    parser.add_argument("--sample", type=int, metavar="LAYERS", help="a made model, not the zoo's")
    parser.add_argument("--block-ms", type=int, default=BLOCK_MS, help="least time of one block")
    parser.set_defaults(only=DETECTOR)
    options = parser.parse_args()
    minutes = QUICK_MINUTES if options.quick else options.minutes or MINUTES
    if minutes <= 0 or options.block_ms <= 0:
        parser.error("--minutes, --block-ms: need more than 0")
    if options.sample is not None and options.sample <= 0:
        parser.error(f"--sample: got {options.sample}, need at least 1 layer")
    options.minutes = None  # the window's, not a limit over all cases
    rule = SwitchRule()
    settings = {"window_s": 60 * minutes, "block_ms": options.block_ms, "plans": list(NAMES)}
    results = Results.begun(
        "switching", options, **settings, agree=rule.agree, period_s=rule.period_ns / 1e9
    )

    def timed(name: str, path: Path, feed: Feed) -> Row:
        return row(name, series(path, feed, 60 * minutes, options.block_ms), rule)

    with tempfile.TemporaryDirectory(prefix="ortsel-switching-") as folder:
        if options.sample is not None:
            path = Path(folder) / "sample.onnx"
            path.write_bytes(layers(options.sample))
            feed: Feed = {"i0": np.ones((8, LAYER), np.float32)}
            name = f"layers={options.sample}"
            tasks = [(name, partial(timed, name, path, feed))]
        else:
            cases = zoo_cases(options.zoo, options.site, options.only, quick=False)
            first = [case for case in cases if case.shape == 0]
            tasks = [
                (one.name, partial(timed, one.name, one.path, one.feed()))
                for one in (first[:1] if options.quick else first)
            ]
        results.carry_out(tasks, len(tasks), words)
    print_rows(results.good)
    print(
        f"switch: after {rule.agree} blocks that tell the other state; at most two switches in any "
        f"{rule.period_ns / 1e9:g} s"
    )
    shown = {
        row["case"]: {"switch_gain": row["switch_gain"], "oracle_gain": row["oracle_gain"]}
        for row in results.good
    }
    return results.finish({"by_case": shown}, len(tasks))


if __name__ == "__main__":
    sys.exit(main())
