"""Models whose best plan is known beforehand, and ways to open them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.plan import Plan

WIDTH = 160
CHAIN = 24


def wasteful(path: Path) -> Path:
    """y = x + M**25 for a constant M: folding at load time takes nearly all of its work away.

    Without optimisation ONNX Runtime multiplies the constants again at every call. No machine is so
    noisy that the plan which folds them is not clearly faster.
    """
    matrix = np.eye(WIDTH, dtype=np.float32) * np.float32(0.5)
    names = ["m", *(f"p{step}" for step in range(CHAIN))]
    nodes = [
        helper.make_node("MatMul", [names[step], "m"], [names[step + 1]]) for step in range(CHAIN)
    ]
    nodes.append(helper.make_node("Add", ["x", names[-1]], ["y"]))
    graph = helper.make_graph(
        nodes,
        "wasteful",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", WIDTH])],
        [numpy_helper.from_array(matrix, "m")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def wasteful_for_any_rows(path: Path) -> Path:
    """y = x + x M**25: as wasteful, for any number of rows."""
    model = onnx.load(wasteful(path))
    last = model.graph.node.pop()
    model.graph.node.append(helper.make_node("MatMul", ["x", last.input[1]], ["scaled"]))
    model.graph.node.append(helper.make_node("Add", ["x", "scaled"], ["y"]))
    onnx.save(model, path)
    return path


def wasteful_feed(seed: int = 0) -> dict[str, np.ndarray]:
    values = np.random.default_rng(seed).standard_normal((WIDTH, WIDTH))
    return {"x": values.astype(np.float32)}


def unoptimized() -> "ortsel.SessionOptions":
    """Options under which `wasteful` is as slow as it can be."""
    options = ortsel.SessionOptions()
    options.graph_optimization_level = ortsel.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return options


def folding(facts: CandidateFacts) -> tuple[Plan, ...]:
    """The one plan that folds constants."""
    settings = facts.reference.settings.with_attribute("graph_optimization_level", 1)
    return (evolve(facts.reference, name="folding", settings=settings),)


def folding_for_one_shape(facts: CandidateFacts) -> tuple[Plan, ...]:
    """The one plan that folds constants, told how many rows there are where that is offered."""
    if not facts.shapes:
        return folding(facts)
    rows = dict(facts.shapes)["x"][0]
    [plan] = folding(facts)
    settings = evolve(plan.settings, free_dimensions=(("n", rows),))
    return (evolve(plan, name=f"folding[n={rows}]", settings=settings, shapes=facts.shapes),)


def files(paths: dict[str, Path]) -> Callable[[CandidateFacts], Sequence[Plan]]:
    """Plans that are model files of the user's own."""

    def make(facts: CandidateFacts) -> Sequence[Plan]:
        return [
            evolve(facts.reference, name=name, variant=ortsel.model_file_variant(path))
            for name, path in paths.items()
        ]

    return make
