"""Plans from a package that is really installed: provider options, settings and a graph rewrite."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.errors import UsageError
from ortsel.graph_variants import VariantRefusedError, build_variant
from ortsel.graph_variants.rewrite_function import rewrite_variant

ROOT = Path(__file__).parents[3]
INFORMATION = {
    "METADATA": "Metadata-Version: 2.1\nName: faster-plans\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[ortsel.candidates]\nfaster = faster_plans:make\n",
}
MODULE = """
from attrs import evolve
from ortsel import Provider, rewrite_variant


def make(facts):
    for name in ("wrong", "broken", "nothing"):
        variant = rewrite_variant(f"faster_plans:{name}")
        yield evolve(facts.reference, name=f"faster:{name}", variant=variant)
    providers = (Provider("NoSuchExecutionProvider"), *facts.reference.providers)
    yield evolve(facts.reference, name="faster:elsewhere", providers=providers)


def without_identities(model):
    for node in list(model.graph):
        if node.op_type == "Identity":
            node.outputs[0].replace_all_uses_with(node.inputs[0])
            model.graph.remove(node)
    return model


def wrong(model):
    for node in model.graph:
        if node.op_type == "Relu":
            node.op_type = "Neg"
    return model


def broken(model):
    raise ValueError("not today")


def nothing(model):
    return None
"""


def write_model(path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("MatMul", ["a", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 32])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the package."""
    folder = tmp_path_factory.mktemp("site")
    wheel = tmp_path_factory.mktemp("wheel") / "faster_plans-1.0-py3-none-any.whl"
    files = {f"faster_plans-1.0.dist-info/{name}": text for name, text in INFORMATION.items()}
    files["faster_plans.py"] = MODULE
    record = "faster_plans-1.0.dist-info/RECORD"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(f"{name},,\n" for name in (*files, record)))
    options = ["--no-deps", "--no-index", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", "-q", *options, str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("this environment has no pip")
    assert done.returncode == 0, done.stderr
    return folder


SESSION = """
import sys
import numpy as np
import ortsel

if __name__ == "__main__":
    config = ortsel.SelectionConfig(mode="blocking", store=None, budget_s=60, candidates=())
    session = ortsel.InferenceSession(
        sys.argv[1], providers=["CPUExecutionProvider"], selection=config
    )
    session.run(None, {"x": np.random.default_rng(0).standard_normal((4, 32), np.float32)})
    [explained] = session.explain().workloads
    for one in explained.candidates:
        print(one.name, one.first_ns is not None, one.outcome.value, one.reason, sep="|")
"""


@pytest.mark.slow
def test_its_plans_are_tried_with_the_same_suspicion_as_ours(site: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    script = tmp_path / "serve.py"
    script.write_text(SESSION)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "model.onnx")],
        env={"PYTHONPATH": f"{ROOT}:{site}", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split("|")[0]: line.split("|")[1:] for line in done.stdout.splitlines()}
    assert list(rows) == [
        "reference",
        "faster:wrong",
        "faster:broken",
        "faster:nothing",
        "faster:elsewhere",
    ]
    assert "NoSuchExecutionProvider" in rows["faster:elsewhere"][2]
    assert "output 'y': 128 of 128 elements too far" in rows["faster:wrong"][2]
    assert "broken raised ValueError: not today" in rows["faster:broken"][2]
    assert "nothing returned NoneType, need an onnx_ir.Model" in rows["faster:nothing"][2]


def test_a_rewrite_that_is_right_is_built(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(site)
    write_model(tmp_path / "model.onnx")
    variant = rewrite_variant("faster_plans:without_identities")
    build_variant(variant, tmp_path / "model.onnx", tmp_path / "out.onnx")
    operators = [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]
    assert operators == ["MatMul", "Relu"]


def test_a_rewrite_is_known_by_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "my_rewrites.py"
    source.write_text("def same(model):\n    return model\n")
    write_model(tmp_path / "model.onnx")
    before = rewrite_variant("my_rewrites:same")
    build_variant(before, tmp_path / "model.onnx", tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").exists()
    source.write_text("def same(model):\n    return model  # but newer\n")
    assert rewrite_variant("my_rewrites:same") != before
    with pytest.raises(VariantRefusedError, match="the source of my_rewrites changed"):
        build_variant(before, tmp_path / "model.onnx", tmp_path / "again.onnx")
    assert not (tmp_path / "again.onnx").exists()


def same(model: Any) -> Any:
    return model


def test_a_function_object_is_named_by_its_place() -> None:
    assert rewrite_variant(same).endswith(f":{__name__}:same")


@pytest.mark.parametrize(
    "wrong", ["no_colon", "os:", ":name", "no_such_module_at_all:f", "a.b.c:f", "os:a b"]
)
def test_a_place_that_names_no_function_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="rewrite function: got"):
        rewrite_variant(wrong)


def test_a_function_that_no_child_could_import_is_refused() -> None:
    def local(model: Any) -> Any:
        return model

    with pytest.raises(UsageError, match="need a function at the top of a module"):
        rewrite_variant(local)
