"""Each plan on a real GPU: which attention kernel really ran, by ONNX Runtime's own words."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from kernels_cuda import CUDA, CudaFacts, cuda_plans
from kernels_cuda.debug_output import VARIABLE, enabled_kernels, kernel_runs
from ortsel.environment.nvidia_device import NoGpu, read_gpu
from ortsel.environment.runtime_build import read_build
from spec.capability import AttentionInput, ElementType, Operator, resolve

HEADS, LENGTH, SIZE = 8, 512, 64
CALL = AttentionInput(
    Operator.MULTI_HEAD_ATTENTION,
    1,
    HEADS,
    HEADS,
    LENGTH,
    LENGTH,
    SIZE,
    SIZE,
    ElementType.FLOAT16,
)
RUN = """
import json, sys
import numpy as np
import onnxruntime
model, options = sys.argv[1], json.loads(sys.argv[2])
session = onnxruntime.InferenceSession(
    model, providers=[("CUDAExecutionProvider", options)], enable_fallback=0
)
assert "CUDAExecutionProvider" in session.get_providers()
rng = np.random.default_rng(0)
shape = [one.shape for one in session.get_inputs()][0]
feed = {one.name: rng.standard_normal(shape).astype(np.float16) for one in session.get_inputs()}
np.save(sys.argv[3], session.run(None, feed)[0])
"""


def write_model(path: Path) -> None:
    shape = [1, LENGTH, HEADS * SIZE]
    node = helper.make_node(
        "MultiHeadAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=HEADS
    )
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape) for name in "qkv"]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT16, shape)
    graph = helper.make_graph([node], "g", inputs, [output])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.gpu
def test_each_plan_runs_the_kernel_that_the_rules_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if CUDA not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no CUDA provider")
    device = read_gpu()
    if isinstance(device, NoGpu):
        pytest.skip(device.reason)
    build = read_build()
    write_model(tmp_path / "model.onnx")
    script = tmp_path / "run.py"
    script.write_text(RUN)
    monkeypatch.setenv(VARIABLE, "1")
    plans = cuda_plans(CudaFacts(device, build, attention=(CALL,), has_convolution=False)).plans
    options = {"default": {"use_tf32": "0"}} | {plan.name: dict(plan.options) for plan in plans}
    results: list[np.ndarray[Any, np.dtype[np.float32]]] = []
    for name, chosen in options.items():
        target = tmp_path / f"{len(results)}.npy"
        done = subprocess.run(
            [
                sys.executable,
                str(script),
                str(tmp_path / "model.onnx"),
                json.dumps(chosen),
                str(target),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (name, done.stderr)
        assert enabled_kernels(done.stdout), f"{name}: ONNX Runtime printed no options"
        [ran] = kernel_runs(done.stdout)
        expected = resolve(CALL, device, build, int(chosen.get("sdpa_kernel", "0")))
        assert ran.may_be(expected), f"{name}: got {ran.kernel}, need {expected.value}"
        results.append(np.load(target).astype(np.float32))
    assert len(results) > 1, "pointless without a plan"
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=2e-2, atol=2e-3)
