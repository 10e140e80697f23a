"""Plans for one shape alone: when they are offered, and that no session of theirs takes another."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from ortsel.candidates import (
    REFERENCE,
    CandidateFacts,
    LeftOut,
    ModelTraits,
    candidate_space,
    generate,
    search_space,
)
from ortsel.candidates.openvino import OPENVINO
from ortsel.candidates.shape_labels import LONGEST
from ortsel.candidates.static_shapes import static_shape_candidates
from ortsel.errors import UsageError
from ortsel.plan import Plan, SessionSettings, Shapes
from ortsel.provider_caches import with_caches
from ortsel.session_builder import build_session

CPU = "CPUExecutionProvider"
TRAITS = ModelTraits(
    frozenset({"Shape", "Reshape"}),
    dynamic_shapes=True,
    inputs=(("x", ("n", 4)), ("y", ("n", "m"))),
)
SHAPES: Shapes = (("x", (2, 4)), ("y", (2, 3)))
FACTS = CandidateFacts(8, 4, (OPENVINO, CPU), model=TRAITS, shapes=SHAPES)
PLAIN = Plan(REFERENCE)


def offered(facts: CandidateFacts, reference: Plan = PLAIN) -> list[Plan]:
    return [plan for plan in generate(reference, facts) if plan.shapes]


def reasons(facts: CandidateFacts, reference: Plan = PLAIN) -> dict[str, str]:
    found = static_shape_candidates(reference, facts)
    return {one.name: one.rule for one in found if isinstance(one, LeftOut)}


def test_the_sizes_of_a_call_are_told_to_its_own_plans() -> None:
    plans = {plan.name: plan for plan in offered(FACTS)}
    assert set(plans) == {
        "cpu:static[m=3,n=2]",
        "openvino:latency,static[m=3,n=2]",
        "openvino:latency,threads=1,static[m=3,n=2]",
    }
    limited = evolve(PLAIN, settings=SessionSettings((("intra_op_num_threads", 2),)))
    assert [plan.name for plan in offered(FACTS, limited) if "openvino" in plan.name] == [
        "openvino:latency,threads=2,static[m=3,n=2]",
        "openvino:latency,threads=1,static[m=3,n=2]",
    ]
    order = [plan.name for plan in generate(PLAIN, FACTS)]
    assert order.index("openvino:latency,static[m=3,n=2]") < order.index("openvino:latency")
    for plan in plans.values():
        assert plan.shapes == SHAPES
        assert plan.settings.free_dimensions == (("m", 3), ("n", 2))


def test_other_sizes_are_other_plans_under_other_names_and_keys() -> None:
    other = evolve(FACTS, shapes=(("x", (5, 4)), ("y", (5, 3))))
    assert {plan.name for plan in offered(FACTS)}.isdisjoint(plan.name for plan in offered(other))
    first, second = offered(FACTS)[0], offered(other)[0]
    assert first.parts() != second.parts()
    alike = evolve(first, shapes=())
    assert alike.parts() != first.parts()


def test_what_the_user_overrides_stays_as_it_is() -> None:
    own = evolve(PLAIN, settings=SessionSettings(free_dimensions=(("n", 2),)))
    [plan] = [one for one in offered(FACTS, own) if one.name.startswith("cpu:")]
    assert plan.name == "cpu:static[m=3]"
    assert plan.settings.free_dimensions == (("m", 3), ("n", 2))


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (evolve(FACTS, shapes=(("x", (2, 4)), ("y", (5, 3)))), "no-gain"),
        (evolve(FACTS, shapes=(("x", (0, 4)), ("y", (0, 3)))), "no-gain"),
        (evolve(FACTS, shapes=(("x", (2, 4)),)), "unknown-shapes"),
        (evolve(FACTS, model=evolve(TRAITS, inputs=None)), "unknown-shapes"),
    ],
    ids=["one name, two sizes", "empty", "an input is left out", "unknown inputs"],
)
def test_no_plan_where_the_sizes_cannot_be_told(facts: CandidateFacts, rule: str) -> None:
    assert offered(facts) == []
    assert reasons(facts) == {"cpu:static": rule}


def test_a_fixed_model_and_a_call_of_no_one_shape_have_no_such_plan() -> None:
    fixed = evolve(TRAITS, dynamic_shapes=False, inputs=(("x", (2, 4)),))
    assert static_shape_candidates(PLAIN, evolve(FACTS, model=fixed)) == ()
    assert static_shape_candidates(PLAIN, evolve(FACTS, shapes=())) == ()


def test_the_processor_needs_something_to_fold() -> None:
    plain = evolve(FACTS, model=evolve(TRAITS, operator_types=frozenset({"Conv"})))
    assert reasons(plain) == {"cpu:static[m=3,n=2]": "no-gain"}
    assert len(offered(plain)) == 2, "OpenVINO compiles for sizes in any case"
    unoptimized = evolve(PLAIN, settings=SessionSettings((("graph_optimization_level", 0),)))
    assert reasons(FACTS, unoptimized) == {"cpu:static[m=3,n=2]": "same-as-reference"}


def test_openvino_reshapes_where_a_dimension_has_no_name() -> None:
    unnamed = evolve(TRAITS, inputs=(("x", (None, 4)), ("y", (2, 3))))
    facts = evolve(FACTS, model=unnamed)
    assert reasons(facts) == {"cpu:static": "unnamed-dimension"}
    plan, *others = offered(facts)
    assert len(others) == 1
    assert plan.name == "openvino:latency,static[x=2x4,y=2x3]"
    assert plan.shapes == SHAPES
    assert plan.providers is not None
    assert dict(plan.providers[0].options)["reshape_input"] == "x[2,4],y[2,3]"
    strange = evolve(
        facts, shapes=(("a[0]", (2, 4)),), model=evolve(unnamed, inputs=(("a[0]", (None, 4)),))
    )
    assert offered(strange) == []


def test_many_sizes_have_a_short_name() -> None:
    many = tuple((f"cache.{place}", (f"dimension_{place}",)) for place in range(50))
    shapes = tuple((name, (7,)) for name, _ in many)
    model = evolve(TRAITS, inputs=many)
    plan, *_ = offered(evolve(FACTS, model=model, shapes=shapes))
    assert len(plan.name) < LONGEST
    assert len(plan.settings.free_dimensions) == 50


def test_a_plan_of_the_users_for_another_shape_is_not_for_this_call() -> None:
    own = (
        evolve(PLAIN, name="here", disabled_optimizers=("A",), shapes=SHAPES),
        evolve(PLAIN, name="there", disabled_optimizers=("B",), shapes=(("x", (9, 4)),)),
    )
    space = candidate_space(PLAIN, FACTS, own, {})
    assert [plan.name for plan in space.plans] == [REFERENCE, "here"]
    assert space.left_out == (LeftOut("there", "another-shape", "it is for x [9, 4]"),)
    with pytest.raises(UsageError, match="shapes"):
        candidate_space(PLAIN, FACTS, (Plan("fixed", fixed_addresses=True),), {})


def shaped(path: Path, rows: str | None = "n") -> Path:
    """y = x reshaped to a shape that is computed from its own."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Reshape", ["x", "s"], ["r"]),
        helper.make_node("Abs", ["r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 4])],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize("rows", ["n", None])
def test_openvino_keeps_what_it_compiles_for_one_shape_apart(
    tmp_path: Path, rows: str | None
) -> None:
    if OPENVINO not in onnxruntime.get_available_providers():
        pytest.skip(f"this ONNX Runtime has no {OPENVINO}")
    model = shaped(tmp_path / "model.onnx", rows)
    caches = tmp_path / "caches"
    (caches / "openvino").mkdir(parents=True)
    feeds = {count: np.full((count, 4), -count, np.float32) for count in (2, 3)}
    compiled: list[int] = []
    for count in (2, 3, 2, 3):  # one folder for all plans: OpenVINO's key has the sizes
        facts = evolve(CandidateFacts.read(model), shapes=(("x", (count, 4)),))
        plans = (plan for plan in generate(PLAIN, facts) if plan.name.startswith("openvino"))
        plan = next(plan for plan in plans if plan.shapes)
        session = build_session(model, with_caches(plan, caches))
        [got] = session.run(None, {"x": feeds[count]})
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, np.abs(feeds[count]))
        compiled.append(len(list((caches / "openvino").iterdir())))
    assert compiled[:2] == [1, 2]


@pytest.mark.parametrize("provider", [CPU, OPENVINO])
def test_a_session_told_its_sizes_computes_the_same_and_refuses_others(
    tmp_path: Path, provider: str
) -> None:
    if provider not in onnxruntime.get_available_providers():
        pytest.skip(f"this ONNX Runtime has no {provider}")
    model = shaped(tmp_path / "model.onnx")
    facts = evolve(CandidateFacts.read(model), shapes=(("x", (3, 4)),))
    plans = [
        plan
        for plan in search_space(PLAIN, facts).plans
        if plan.shapes and plan.name.startswith("openvino") == (provider == OPENVINO)
    ]
    assert plans
    feed = {"x": np.arange(-6, 6, dtype=np.float32).reshape(3, 4)}
    for plan in plans:
        session = build_session(model, plan)
        [got] = session.run(None, feed)
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, np.abs(feed["x"]))
        with pytest.raises(InvalidArgument, match="invalid dimensions"):
            session.run(None, {"x": feed["x"][:2]})
