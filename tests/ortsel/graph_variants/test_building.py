"""What holds for every variant: the original untouched, the interface kept, the result complete."""

import hashlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.errors import MissingPackageError, UsageError
from ortsel.graph_variants import (
    UnknownVariantError,
    VariantRefusedError,
    build_variant,
    building,
    variant_names,
)
from ortsel.graph_variants.interface import interface_difference, interface_obstacle
from ortsel.graph_variants.variant import GraphVariant, NotApplicableError

CPU = ["CPUExecutionProvider"]


def gelu_model(*, ir_version: int = 8, default: bool = False) -> onnx.ModelProto:
    """x * 0.5 * (1 + erf(x / sqrt 2)) between two products: fused into one operator."""
    generator = np.random.default_rng(0)
    weights = {
        "w": generator.standard_normal((16, 32)).astype(np.float32),
        "v": generator.standard_normal((32, 16)).astype(np.float32),
        "root": np.array(np.sqrt(2), np.float32),
        "one": np.array(1, np.float32),
        "half": np.array(0.5, np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Div", ["a", "root"], ["b"]),
        helper.make_node("Erf", ["b"], ["c"]),
        helper.make_node("Add", ["c", "one"], ["d"]),
        helper.make_node("Mul", ["a", "d"], ["e"]),
        helper.make_node("Mul", ["e", "half"], ["f"]),
        helper.make_node("MatMul", ["f", "v"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])]
    if default:
        inputs.append(helper.make_tensor_value_info("half", TensorProto.FLOAT, []))
    graph = helper.make_graph(
        nodes,
        "gelu",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", None])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=ir_version)


def run(path: Path) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    session = onnxruntime.InferenceSession(path, providers=CPU)
    feed = np.random.default_rng(1).standard_normal((3, 16)).astype(np.float32)
    output = session.run(None, {"x": feed})[0]
    assert isinstance(output, np.ndarray)
    return output


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(gelu_model(), path)
    return path


def test_a_variant_is_equal_and_leaves_the_original_alone(model: Path, tmp_path: Path) -> None:
    before = digest(model)
    target = tmp_path / "fused.onnx"
    build_variant("ort-fusions", model, target)
    assert "com.microsoft" in {node.domain for node in onnx.load(target).graph.node}
    np.testing.assert_allclose(run(target), run(model), rtol=1e-5, atol=1e-5)
    assert digest(model) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fused.onnx", "model.onnx"]


def test_many_weights_go_beside_the_file(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "fused.onnx"
    build_variant("ort-fusions", model, target, max_embedded_bytes=1000)
    assert (tmp_path / "fused.onnx.data").stat().st_size >= 4 * 16 * 32
    assert target.stat().st_size < 4 * 16 * 32
    np.testing.assert_allclose(run(target), run(model), rtol=1e-5, atol=1e-5)
    build_variant("ort-fusions", model, target)
    assert not (tmp_path / "fused.onnx.data").exists(), "data of an earlier build is gone"
    np.testing.assert_allclose(run(target), run(model), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("limit", [0, 10**9])
def test_external_weights_of_the_original_are_taken_along(tmp_path: Path, limit: int) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    model, target = home / "model.onnx", other / "fused.onnx"
    onnx.save(
        gelu_model(), model, save_as_external_data=True, location="weights.bin", size_threshold=64
    )
    expected = run(model)
    build_variant("ort-fusions", model, target, max_embedded_bytes=limit)
    for path in home.iterdir():
        path.unlink()
    np.testing.assert_allclose(run(target), expected, rtol=1e-5, atol=1e-5)


def test_an_unknown_name_lists_the_known_ones(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownVariantError, match=r"got 'fused', need one of ort-fusions"):
        build_variant("fused", model, tmp_path / "fused.onnx")
    assert len(set(variant_names())) == len(variant_names())


@pytest.mark.parametrize(
    "name", ["", "+", "ort-fusions+", "ort-fusions+ort-fusions", "a+ort-fusions"]
)
def test_a_joined_name_is_made_of_different_known_ones(
    name: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(UnknownVariantError, match="or several joined by"):
        build_variant(name, model, tmp_path / "x.onnx")


def test_one_refused_step_refuses_the_whole(model: Path, tmp_path: Path) -> None:
    with pytest.raises(VariantRefusedError, match=r"ort-fusions\+prescaled-query: no attention"):
        build_variant("ort-fusions+prescaled-query", model, tmp_path / "x.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_the_original_is_never_the_target(model: Path) -> None:
    with pytest.raises(UsageError, match="need another file than the model"):
        build_variant("ort-fusions", model, model.parent / "." / model.name)


def test_a_missing_package_is_named_with_its_extra(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = GraphVariant("needs", "", ("no_such_package",), lambda model: model, lambda _a, _b: "")
    monkeypatch.setattr(building, "VARIANTS", (need,))
    with pytest.raises(MissingPackageError, match=r'no-such-package.*"ortsel\[variants\]"'):
        build_variant("needs", model, tmp_path / "x.onnx")


def test_the_ort_format_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.ort"
    model.write_bytes(b"\x18\0\0\0ORTM" + bytes(64))
    with pytest.raises(VariantRefusedError, match="ONNX Runtime's own format"):
        build_variant("ort-fusions", model, tmp_path / "x.onnx")


def test_an_initialiser_that_a_feed_may_override_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(gelu_model(default=True), model)
    onnxruntime.InferenceSession(model, providers=CPU)
    with pytest.raises(VariantRefusedError, match=r"may override the initialisers \['half'\]"):
        build_variant("ort-fusions", model, tmp_path / "x.onnx")


def broken_rewrites() -> dict[str, tuple[GraphVariant, str]]:
    import onnx_ir as ir

    def rename_output(model: ir.Model) -> ir.Model:
        model.graph.outputs[0].name = "z"
        return model

    def raise_opset(model: ir.Model) -> ir.Model:
        model.graph.opset_imports[""] = 21
        return model

    def raise_version(model: ir.Model) -> ir.Model:
        model.ir_version = 10
        return model

    def fix_input(model: ir.Model) -> ir.Model:
        model.graph.inputs[0].shape = ir.Shape([3, 16])
        return model

    def change_rank(model: ir.Model) -> ir.Model:
        model.graph.outputs[0].shape = ir.Shape([3])
        return model

    def foreign_operator(model: ir.Model) -> ir.Model:
        model.graph.node(0).domain = "com.example"
        return model

    def drop_node(model: ir.Model) -> ir.Model:
        del model.graph.inputs[0]
        return model

    def invalid_graph(model: ir.Model) -> ir.Model:
        model.graph.node(0).op_type = "NoSuchOperator"
        return model

    def nothing(model: ir.Model) -> ir.Model:
        raise NotApplicableError("nothing to do here")

    cases = {
        "rename_output": (rename_output, "outputs changed from y: .* to z: "),
        "raise_opset": (raise_opset, "operator set ai.onnx rose from 17 to 21"),
        "raise_version": (raise_version, "IR version rose from 8 to 10"),
        "fix_input": (fix_input, "inputs changed from x: "),
        "change_rank": (change_rank, "outputs changed from y: "),
        "foreign_operator": (foreign_operator, r"operator sets \['com.example'\] are used and not"),
        "drop_node": (drop_node, "inputs changed from x: "),
        "invalid_graph": (invalid_graph, "the result is no valid model: "),
        "nothing": (nothing, "nothing to do here"),
    }
    return {
        name: (GraphVariant(name, "", (), rewrite, lambda _a, _b: ""), message)
        for name, (rewrite, message) in cases.items()
    }


@pytest.mark.parametrize("name", sorted(broken_rewrites()))
def test_a_rewrite_that_breaks_a_condition_is_refused_and_writes_nothing(
    name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant, message = broken_rewrites()[name]
    monkeypatch.setattr(building, "VARIANTS", (variant,))
    with pytest.raises(VariantRefusedError, match=message):
        build_variant(name, model, tmp_path / "x.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_a_rewrite_that_only_claims_success_is_refused(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = GraphVariant(
        "idle", "", (), lambda model: model, lambda a, b: "same operators" if a == b else ""
    )
    monkeypatch.setattr(building, "VARIANTS", (idle,))
    with pytest.raises(VariantRefusedError, match="idle: same operators"):
        build_variant("idle", model, tmp_path / "x.onnx")


def test_an_inferred_output_dimension_is_no_difference() -> None:
    import onnx_ir as ir

    original, refined = ir.from_proto(gelu_model()), ir.from_proto(gelu_model())
    assert isinstance(original, ir.Model)
    assert isinstance(refined, ir.Model)
    assert interface_difference(original, refined) == ""
    refined.graph.outputs[0].shape = ir.Shape(["n", 16])
    assert interface_difference(original, refined) == ""
    assert interface_difference(refined, original) != "", "a fixed dimension may not be lost"


def test_initialisers_of_old_models_are_constants() -> None:
    import onnx_ir as ir

    old = ir.from_proto(gelu_model(ir_version=3, default=True))
    new = ir.from_proto(gelu_model(ir_version=4, default=True))
    assert isinstance(old, ir.Model)
    assert isinstance(new, ir.Model)
    assert interface_obstacle(old) == ""
    assert "half" in interface_obstacle(new)
