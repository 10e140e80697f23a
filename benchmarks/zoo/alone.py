"""One way to run one model and shape, timed alone in this process; prints one line of JSON.

`python -m benchmarks.zoo.alone MODEL FEED WAY SECONDS BUDGET`. WAY is one of `WAYS`, or "ortsel",
which searches with the whole catalogue for BUDGET seconds first, and is then timed as it serves.
"""

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import onnxruntime

OPENVINO: Final = "OpenVINOExecutionProvider"
CPU: Final = "CPUExecutionProvider"
WAYS: Final = ("default", "one-thread", "no-spinning", "openvino")
BLOCKS: Final = 15
"""The time is the median over blocks of the mean time of a call."""


def build(model: str, way: str, feed: dict[str, Any], budget_s: float) -> tuple[Any, str]:
    """Return a session and the plan that it serves."""
    options, providers = onnxruntime.SessionOptions(), [CPU]
    if way == "ortsel":
        import ortsel

        config = ortsel.SelectionConfig(mode="blocking", store=None, budget_s=budget_s)
        session = ortsel.InferenceSession(model, providers=[CPU], selection=config)
        session.run(None, feed)
        return session, session.explain().workloads[0].plan
    if way == "one-thread":
        options.intra_op_num_threads = 1
    elif way == "no-spinning":
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    elif way == "openvino":
        providers = [OPENVINO, CPU]
    elif way != "default":
        message = f"way: got {way!r}, need one of {', '.join(WAYS)} or ortsel"
        raise SystemExit(message)
    plain = onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)
    if way == "openvino" and OPENVINO not in plain.get_providers():
        raise SystemExit("OpenVINO did not take the model")
    return plain, way


def seconds_per_call(run: Callable[[], object], seconds: float) -> float:
    """Return the median over blocks of the mean time of a call."""
    run()
    started = time.perf_counter()
    run()
    once = max(time.perf_counter() - started, 1e-7)
    calls = max(1, round(seconds / BLOCKS / once))
    times = []
    for _ in range(BLOCKS):
        started = time.perf_counter()
        for _ in range(calls):
            run()
        times.append((time.perf_counter() - started) / calls)
        if sum(times) * calls > 2 * seconds and len(times) > 2:
            break
    return statistics.median(times)


def main(arguments: list[str]) -> None:
    """Build, warm, time and print."""
    model, feed_path, way, seconds, budget_s = arguments
    with np.load(feed_path) as stored:
        feed = {name: stored[name] for name in stored.files}
    with warnings.catch_warnings(action="ignore"):
        session, plan = build(model, way, feed, float(budget_s))
    measured = seconds_per_call(lambda: session.run(None, feed), float(seconds))
    sys.stdout.write(json.dumps({"seconds": measured, "plan": plan}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
