"""Many threads, forks, and plans whose outputs come in another order."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import ortsel
from ortsel.selectors import forget_all
from tests.ortsel.session.session_models import (
    files,
    folding,
    unoptimized,
    wasteful,
    wasteful_feed,
)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _new_process() -> None:
    forget_all()


def test_sixteen_threads_that_call_for_the_first_time_at_once_get_right_answers_and_one_search(
    tmp_path: Path,
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=folding)
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    plain = onnxruntime.InferenceSession(model, unoptimized())
    feeds = [wasteful_feed(seed) for seed in range(16)]
    expected = [plain.run(None, feed)[0] for feed in feeds]
    together = threading.Barrier(16)
    wrong: list[str] = []

    def call(index: int) -> None:
        together.wait()
        for _ in range(3):
            served = session.run(None, feeds[index])[0]
            if not np.allclose(served, expected[index], rtol=1e-5, atol=1e-6):
                wrong.append(f"thread {index}")

    threads = [threading.Thread(target=call, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert session.statistics().explorations == 1


FORKING = """
import os, sys, threading
import numpy as np, ortsel
from ortsel.selectors import forget_all, searching
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed
model = sys.argv[1]
config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=folding)
session = ortsel.InferenceSession(model, unoptimized(), selection=config)
expected = session.run(None, wasteful_feed())[0]
assert session.explain().rows()[0]["plan"] == "folding", session.explain()
searching().acquire()  # as if another thread of the parent were searching right now
child = os.fork()
if child == 0:
    assert session.explain().rows() == []
    assert searching().acquire(blocking=False)
    searching().release()
    served = session.run(None, wasteful_feed())[0]
    np.testing.assert_allclose(served, expected, rtol=1e-5)
    row = session.explain().rows()[0]
    again = session.run(None, wasteful_feed())[0]
    np.testing.assert_allclose(again, expected, rtol=1e-5)
    os._exit(0 if (row["plan"], row["source"]) == ("folding", "stored") else 3)
_, status = os.waitpid(child, 0)
again = session.run(None, wasteful_feed())[0]
np.testing.assert_allclose(again, expected, rtol=1e-5)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_inherits_no_lock_and_no_plan_and_checks_the_stored_one_for_itself(
    tmp_path: Path,
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    root = Path(__file__).parents[3]
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, str(model)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]


def two_outputs(path: Path, order: tuple[str, str], slow: bool) -> Path:
    """Outputs "a" = x + 1 and "b" = x + 2, after work that a fast twin leaves out."""
    nodes = [
        helper.make_node("Add", ["x", "one"], ["a"]),
        helper.make_node("Add", ["a", "one"], ["b" if not slow else "b0"]),
    ]
    if slow:
        names = ["b0", *(f"t{step}" for step in range(400)), "b"]
        nodes += [
            helper.make_node("Identity" if step % 2 else "Neg", [names[step]], [names[step + 1]])
            for step in range(400)
        ]
        nodes.append(helper.make_node("Abs", ["t399"], ["b"]))
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [512, 512])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [512, 512]) for name in order],
        [helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def test_outputs_come_in_the_references_order_whatever_the_plans_order_is(tmp_path: Path) -> None:
    slow = two_outputs(tmp_path / "slow.onnx", ("a", "b"), slow=True)
    fast = two_outputs(tmp_path / "fast.onnx", ("b", "a"), slow=False)
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=files({"fast": fast}))
    session = ortsel.InferenceSession(slow, selection=config)
    feed = {"x": np.abs(np.random.default_rng(0).standard_normal((512, 512))).astype(np.float32)}
    for names in (None, [], ["b"], ["b", "a"], ["a", "b", "a"]):
        session.run(names, feed)
        served = session.run(names, feed)
        expected = onnxruntime.InferenceSession(slow).run(names, feed)
        assert len(served) == len(expected)
        for ours, theirs in zip(served, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert {row["plan"] for row in session.explain().rows()} == {"fast"}
