"""Facts read from real machines and models."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from ortsel.candidates import REFERENCE, CandidateFacts, ModelTraits, generate
from ortsel.candidates.model_traits import read_model_traits
from ortsel.environment import thread_budget
from ortsel.plan import Plan
from ortsel.session_builder import build_session


def branching_model(rows: int | str) -> onnx.ModelProto:
    """A model with a MatMul in one branch of an If, beside an Abs in the other."""
    branch = [
        helper.make_graph(
            [node], f"branch{index}", [], [helper.make_tensor_value_info("y", 1, None)]
        )
        for index, node in enumerate(
            (helper.make_node("MatMul", ["x", "x"], ["y"]), helper.make_node("Abs", ["x"], ["y"]))
        )
    ]
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["z"], then_branch=branch[0], else_branch=branch[1])],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 2]),
        ],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(("rows", "dynamic"), [(2, False), ("n", True)])
def test_traits_see_into_subgraphs(tmp_path: Path, rows: int | str, dynamic: bool) -> None:
    model = branching_model(rows)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    expected = ModelTraits(
        frozenset({"If", "MatMul", "Abs"}),
        dynamic,
        17,
        onnx_format=True,
        inputs=(("c", ()), ("x", (rows, 2))),
        attention_nodes=0,
        float16=False,
    )
    assert read_model_traits(path) == read_model_traits(str(path)) == expected
    assert read_model_traits(model.SerializeToString()) == expected
    assert expected.may_contain("Conv", "MatMul")
    assert not expected.may_contain("Conv")


def test_what_cannot_be_parsed_is_unknown_and_rules_nothing_out(tmp_path: Path) -> None:
    for model in (b"\xff\xffno model\xff", tmp_path / "missing.onnx", tmp_path):
        assert read_model_traits(model) == ModelTraits()
    assert ModelTraits().may_contain("Conv")


def test_the_ort_format_is_recognised() -> None:
    assert read_model_traits(b"\x18\0\0\0ORTM" + bytes(64)) == ModelTraits(onnx_format=False)


def test_the_facts_of_this_process_give_plans_that_onnx_runtime_builds() -> None:
    model = branching_model("n").SerializeToString()
    facts = CandidateFacts.read(model)
    assert "CPUExecutionProvider" in facts.providers
    assert facts.thread_budget == thread_budget()
    assert facts.physical_cores is None or facts.physical_cores >= 1
    plans = [plan for plan in generate(Plan(REFERENCE), facts) if not plan.variant]
    assert len(plans) > 3, "pointless unless there are candidates"
    for plan in plans:
        if "openvino" not in plan.name:
            assert build_session(model, plan).get_providers() == ["CPUExecutionProvider"]
