"""One side of a comparison, in a process of its own: answers lines of JSON on its input.

Run as `python -m benchmarks.attention.side WAY KIND MODEL TOKENS KEYS`. WAY is `plain` (a default
session), `in-place` (the cache in one buffer) or `tuned` (ortsel chooses, in its first call).
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.attention.models import CACHE, feed_for

PLAIN, IN_PLACE, TUNED = "plain", "in-place", "tuned"
BUDGET_S = 90.0
CPU = ["CPUExecutionProvider"]


def main(arguments: list[str]) -> None:
    """Load, then run as many times as each line of input says, and write what it took."""
    way, kind, model, tokens, keys = arguments
    call, chosen, before = _caller(way, kind, Path(model), int(tokens), int(keys))
    outputs = call()
    np.save(f"{model}.{way}.npy", outputs)
    _say({"chosen": chosen})
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            started = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - started)
        peak_bytes = 1024 * (_peak_kib() - before)
        _say({"times_ns": times, "peak_bytes": peak_bytes})


def _caller(
    way: str, kind: str, model: Path, tokens: int, keys: int
) -> tuple[Callable[[], Any], str, int]:
    feed = feed_for(kind, tokens, keys)
    if way == IN_PLACE:
        from ortsel.kv_cache import InPlaceCache

        session = onnxruntime.InferenceSession(model, providers=CPU)
        cache = InPlaceCache(session, model, batch=1, max_length=keys)
        for name, buffer in cache.buffers.items():
            buffer.numpy()[:, :, : keys - tokens] = feed.pop(name)
        return lambda: cache.run(["y"], feed, new_tokens=0)[0], "", _peak_kib()
    if way == TUNED:
        import ortsel

        config = ortsel.SelectionConfig(mode="blocking", store=None, budget_s=BUDGET_S)
        tuned = ortsel.InferenceSession(model, providers=CPU, selection=config)
        tuned.run(None, feed)
        text = str(tuned.explain())
        return lambda: tuned.run(None, feed)[0], text, _peak_kib()
    session = onnxruntime.InferenceSession(model, providers=CPU)
    before = _peak_kib()
    names = None if kind == CACHE else ["y"]
    return lambda: session.run(names, feed)[0], "", before


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
