"""Every part of a key counts, and what must not matter does not."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from attrs import evolve

from ortsel.environment import CpuBudget, Environment
from ortsel.environment import environment as environment_module
from ortsel.environment.cpu_model import CpuModel
from ortsel.environment.nvidia import NvidiaFacts
from ortsel.model_content import content_hash
from ortsel.workload import workload_part
from spec.candidate import Candidate
from spec.keys import cache_key
from spec.policy import Policy
from spec.problem import Problem, Scope
from tests.ortsel.keys.sample_models import WEIGHTS, model

ENVIRONMENT = Environment(
    onnxruntime=(("build", "b"), ("version", "1.32.0")),
    providers=("CPUExecutionProvider",),
    plugins=(("CPUExecutionProvider", "Microsoft", "CPU", "4130:0", "1.32.0"),),
    packages=(("onnxruntime", "1.32.0"),),
    libraries=(("libcudnn.so.9", "libcudnn.so.9.10.2"),),
    nvidia=NvidiaFacts("580", (("H200", "9.0"),), ""),
    system=("Linux", "x86_64"),
    cpu=CpuModel(("model name: EPYC",), ("avx2",)),
    budget=CpuBudget(2, 2, None),
    variables=(("ORT_X", "1"),),
)
X = np.zeros((1, 3), np.float32)


def _key(
    environment: Environment = ENVIRONMENT,
    content: str = "m",
    feed: dict[str, Any] | None = None,
    **changes: Any,
) -> str:
    problem = Problem(
        scope=Scope.PIPELINE,
        operation="onnx-model",
        workload=workload_part(feed or {"x": X, "z": X}, ("y",), "numpy"),
        environment=environment.parts(),
        model=content,
    )
    candidates = (Candidate("reference"), Candidate("threads=1"))
    return cache_key(evolve(problem, **changes), candidates, 0, Policy()).digest


@pytest.mark.parametrize(
    "change",
    [
        {"onnxruntime": (("build", "b"), ("version", "1.32.1"))},
        {"onnxruntime": (("build", "c"), ("version", "1.32.0"))},
        {"providers": ("OpenVINOExecutionProvider", "CPUExecutionProvider")},
        {"plugins": ()},
        {"packages": (("onnxruntime", "1.32.0"), ("openvino", "2025.4"))},
        {"libraries": (("libcudnn.so.9", "libcudnn.so.9.11.0"),)},
        {"nvidia": None},
        {"nvidia": NvidiaFacts("581", (("H200", "9.0"),), "")},
        {"nvidia": NvidiaFacts("580", (("H100", "9.0"),), "")},
        {"nvidia": NvidiaFacts("580", (("H200", "9.1"),), "")},
        {"nvidia": NvidiaFacts("580", (("H200", "9.0"),), "1")},
        {"system": ("Linux", "aarch64")},
        {"system": ("Darwin", "x86_64")},
        {"cpu": CpuModel(("model name: Xeon",), ("avx2",))},
        {"cpu": CpuModel(("model name: EPYC",), ("avx2", "avx512f"))},
        {"cpu": None},
        {"budget": CpuBudget(1, 1, None)},
        {"budget": CpuBudget(2, 1, None)},
        {"budget": CpuBudget(2, 2, 2000)},
        {"variables": ()},
        {"variables": (("ORT_X", "2"),)},
        {"unknown": ("CPU model",)},
    ],
)
def test_another_environment_has_another_key(change: dict[str, Any]) -> None:
    assert _key(evolve(ENVIRONMENT, **change)) != _key()


def test_another_meaning_of_decisions_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _key()
    monkeypatch.setattr(environment_module, "DECISION_SCHEMA", 2)
    assert _key() != before


def test_another_model_workload_or_options_has_another_key() -> None:
    weights = content_hash(model(WEIGHTS + 1).SerializeToString()).digest
    plain = content_hash(model().SerializeToString()).digest
    keys = {
        _key(content=plain),
        _key(content=weights),
        _key(content=plain, feed={"x": np.zeros((2, 3), np.float32), "z": X}),
        _key(content=plain, feed={"x": X}),
        _key(content=plain, options={"threads": 1}),
        _key(content=plain, scope=Scope.OPERATOR),
        _key(content=plain, operation="other"),
        _key(content=plain, lower_level="x"),
    }
    assert len(keys) == 8


def test_name_place_and_names_of_nodes_of_a_model_do_not_matter(tmp_path: Path) -> None:
    other = model()
    other.graph.node[0].name = "renamed"
    other.doc_string = "words"
    digests = []
    for name, made in (("a.onnx", model()), ("b/c.onnx", other)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        onnx.save(made, tmp_path / name)
        digests.append(content_hash(tmp_path / name).digest)
    assert _key(content=digests[0]) == _key(content=digests[1])


def test_the_order_of_inputs_does_not_matter() -> None:
    assert _key(feed={"z": X, "x": X}) == _key(feed={"x": X, "z": X})


def test_the_process_and_its_directory_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    here = _key(environment_module.read_environment(), content_hash(path).digest)
    monkeypatch.chdir(tmp_path)
    assert _key(environment_module.read_environment(), content_hash("m.onnx").digest) == here
    child = os.fork()
    if child == 0:
        code = 2
        try:
            there = _key(environment_module.read_environment(), content_hash(path).digest)
            code = 0 if there == here else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
