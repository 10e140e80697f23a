"""One way to run a model, in a process of its own: answers lines of JSON on its input.

Run as `python -m benchmarks.lossy.side WAY MODEL FOLDER LEAST_COSINE BUDGET_S`. The folder holds
feeds, `feed-0.npz` and so on; the first one is what is tuned on and timed.
"""

import json
import sys
import time
import warnings
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime

PLAIN: Final = "plain"
"""A default session."""
INT8: Final = "dynamic-int8"
"""ortsel with one candidate, the products in integers."""
TUNED: Final = "tuned"
"""ortsel with its whole catalogue, the lossy ones included."""
CPU: Final = ["CPUExecutionProvider"]


def main(arguments: list[str]) -> None:
    """Tune where asked, write the outputs for every feed, then time as often as lines say."""
    way, model, place, least_cosine, budget_s = arguments
    folder = Path(place)
    feeds = list(_feeds(folder))
    with warnings.catch_warnings(action="ignore"):
        session, chosen = _built(way, model, feeds[0], float(least_cosine), float(budget_s))
    names = [output.name for output in session.get_outputs()]
    for number, feed in enumerate(feeds):
        outputs = zip(names, session.run(None, feed), strict=True)
        np.savez(folder / f"{way}-{number}.npz", **dict(outputs))
    _say(chosen)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            started = time.perf_counter_ns()
            session.run(None, feeds[0])
            times.append(time.perf_counter_ns() - started)
        _say({"times_ns": times})


def _feeds(folder: Path) -> Sequence[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in count():
        path = folder / f"feed-{number}.npz"
        if not path.exists():
            return found
        with np.load(path) as stored:
            found.append({name: stored[name] for name in stored.files})
    raise AssertionError


def _built(
    way: str, model: str, feed: dict[str, Any], least_cosine: float, budget_s: float
) -> tuple[Any, dict[str, Any]]:
    if way == PLAIN:
        return onnxruntime.InferenceSession(model, providers=CPU), {"plan": PLAIN}
    import ortsel
    from ortsel.candidates import CandidateFacts
    from ortsel.candidates.lossy_variants import lossy_variant_candidates

    def integers_alone(facts: CandidateFacts) -> list[ortsel.Plan]:
        offered = lossy_variant_candidates(facts.reference, facts)
        return [one for one in offered if isinstance(one, ortsel.Plan)]

    config = ortsel.SelectionConfig(
        "blocking",
        None,
        budget_s,
        tolerance=ortsel.Cosine(least_cosine),
        candidates=integers_alone if way == INT8 else None,
    )
    session = ortsel.InferenceSession(model, providers=CPU, selection=config)
    session.run(None, feed)
    told = session.explain().workloads[0]
    chosen = {
        "plan": told.plan,
        "ratio": None if told.ratio is None else float(told.ratio),
        "reason": told.reason,
        "explained": str(session.explain()),
    }
    return session, chosen


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
