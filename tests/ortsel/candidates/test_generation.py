"""Which plans are generated, under which names, and what they keep of the user's."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ortsel.candidates import REFERENCE, CandidateFacts, ModelTraits, generate
from ortsel.candidates.openvino import OPENVINO
from ortsel.errors import UsageError
from ortsel.graph_variants import variant_names
from ortsel.plan import Plan, Provider, SessionSettings

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
LEVELS = (0, 1, 2, 3, 99)

PLAIN = Plan(REFERENCE)
EIGHT_CPUS = CandidateFacts(8, 4, (CPU,), has_onnxscript=True)


def names(plans: tuple[Plan, ...]) -> list[str]:
    return [plan.name for plan in plans]


def by_name(reference: Plan, found: CandidateFacts) -> dict[str, Plan]:
    return {plan.name: plan for plan in generate(reference, found)}


def with_attributes(**attributes: int | bool) -> Plan:
    return Plan(REFERENCE, settings=SessionSettings(tuple(attributes.items())))


@st.composite
def references(draw: st.DrawFn) -> Plan:
    attributes: dict[str, bool | int | str] = {}
    if draw(st.booleans()):
        attributes["intra_op_num_threads"] = draw(st.integers(0, 9))
    if draw(st.booleans()):
        attributes["graph_optimization_level"] = draw(st.sampled_from(LEVELS))
    if draw(st.booleans()):
        attributes["use_deterministic_compute"] = draw(st.booleans())
    if draw(st.booleans()):
        attributes["execution_mode"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        attributes["use_per_session_threads"] = draw(st.booleans())
    config = draw(
        st.dictionaries(
            st.sampled_from(
                (
                    "session.set_denormal_as_zero",
                    "session.intra_op.allow_spinning",
                    "session.inter_op.allow_spinning",
                    "optimization.disable_specified_optimizers",
                    "session.intra_op_thread_affinities",
                )
            ),
            st.sampled_from(("0", "1", "ConstantFolding;MatMulScaleFusion", "1;2")),
        )
    )
    providers = draw(
        st.sampled_from(
            (
                None,
                (Provider(CPU, (("use_arena", "1"),)),),
                (Provider(CUDA, (("device_id", "1"),)), Provider(CPU)),
                (Provider(OPENVINO, (("cache_dir", "x"),)),),
                (Provider(OPENVINO, (("load_config", "{}"),)), Provider(CPU)),
                (Provider(OPENVINO, (("num_of_threads", "3"),)), Provider(CPU)),
            )
        )
    )
    return Plan(
        draw(st.sampled_from((REFERENCE, "other"))),
        providers,
        SessionSettings(
            tuple(attributes.items()),
            tuple(config.items()),
            draw(st.sampled_from(((), (("batch", 1),)))),
            draw(st.sampled_from(((), (("N", 2),)))),
            draw(st.sampled_from(((), ("/lib/a.so", "/lib/b.so")))),
        ),
        disabled_optimizers=draw(
            st.sampled_from(((), ("ConstantFolding",), ("MatMulScaleFusion",)))
        ),
    )


@st.composite
def facts(draw: st.DrawFn) -> CandidateFacts:
    operators = st.sets(st.sampled_from(("MatMul", "Mul", "Conv", "Relu", "Softmax")))
    return CandidateFacts(
        draw(st.integers(1, 96)),
        draw(st.none() | st.integers(1, 96)),
        draw(st.sampled_from(((CPU,), (OPENVINO, CPU), (CUDA, CPU)))),
        has_onnxscript=draw(st.booleans()),
        model=ModelTraits(
            draw(st.none() | operators.map(frozenset)),
            draw(st.none() | st.booleans()),
            draw(st.none() | st.integers(0, 28)),
            draw(st.none() | st.booleans()),
        ),
    )


@given(references(), facts())
def test_names_and_parts_are_unique_and_the_reference_is_first_and_unchanged(
    reference: Plan, found: CandidateFacts
) -> None:
    plans = generate(reference, found)
    assert plans[0] == evolve(reference, name=REFERENCE)
    assert names(plans).count(REFERENCE) == 1
    assert len(set(names(plans))) == len(plans)
    parts = [plan.parts() for plan in plans]
    assert all(parts.count(part) == 1 for part in parts)
    assert plans == generate(reference, found), "the same facts give the same plans"


@given(references(), facts())
def test_what_the_user_chose_for_its_meaning_is_in_every_plan(
    reference: Plan, found: CandidateFacts
) -> None:
    settings = reference.settings
    for plan in generate(reference, found):
        kept = plan.settings
        assert kept.custom_op_libraries == settings.custom_op_libraries
        assert kept.free_dimensions == settings.free_dimensions
        assert kept.free_denotations == settings.free_denotations
        for name in ("use_deterministic_compute", "execution_mode", "use_per_session_threads"):
            assert dict(kept.attributes).get(name) == dict(settings.attributes).get(name)
        for name in ("session.set_denormal_as_zero", "session.intra_op_thread_affinities"):
            assert dict(kept.config).get(name) == dict(settings.config).get(name)
        assert set(reference.disabled_optimizers) <= set(plan.disabled_optimizers)
        for provider in reference.providers or ():
            (same,) = [other for other in plan.providers or () if other.name == provider.name]
            assert set(provider.options) <= set(same.options)


@given(references(), facts())
def test_no_plan_uses_more_threads_than_the_user_or_the_budget_allows(
    reference: Plan, found: CandidateFacts
) -> None:
    chosen = int(reference.settings.attribute("intra_op_num_threads", 0))
    limit = min(found.thread_budget, chosen or found.thread_budget)
    for plan in generate(reference, found)[1:]:
        threads = int(plan.settings.attribute("intra_op_num_threads", 0))
        assert threads <= limit or threads == chosen
        if plan.name.startswith("openvino"):
            own_count = ",threads=" not in plan.name
            assert not (own_count and chosen), "OpenVINO's own count knows no limit"
            assert own_count or int(plan.name.rpartition("=")[2]) <= limit


@given(references(), facts())
def test_plans_of_the_cpu_keep_the_list_of_providers(
    reference: Plan, found: CandidateFacts
) -> None:
    for plan in generate(reference, found):
        assert plan.name.startswith("openvino:") or plan.providers == reference.providers


def test_the_names_are_stable() -> None:
    found = evolve(EIGHT_CPUS, providers=(OPENVINO, CPU))
    assert names(generate(PLAIN, found)) == [
        "reference",
        "variant=onnx-attention",
        "variant=attention-24+prescaled-query",
        "variant=attention-24",
        "variant=prescaled-query",
        "variant=group-query-attention",
        "variant=memory-efficient",
        "variant=multi-head-attention",
        "variant=ort-fusions",
        "variant=ort-optimizer",
        "cpu:without=MatMulScaleFusion",
        "openvino:latency",
        "openvino:latency,threads=8",
        "openvino:latency,threads=1",
        "openvino:throughput,threads=8",
        "cpu:threads=8",
        "cpu:threads=4",
        "cpu:threads=1",
        "cpu:threads=2",
        "cpu:spin=off",
        "cpu:level=extended",
        "cpu:level=basic",
        "cpu:level=disabled",
        "cpu:block-base=4",
        "cpu:mem-pattern=off",
        "cpu:arena=off",
        "variant=multi-head-attention-4d",
        "variant=math",
        "variant=flash-decode",
    ]


def test_a_name_stands_for_one_difference() -> None:
    found = by_name(PLAIN, EIGHT_CPUS)
    assert dict(found["cpu:threads=2"].settings.attributes) == {"intra_op_num_threads": 2}
    assert dict(found["cpu:level=basic"].settings.attributes) == {"graph_optimization_level": 1}
    assert dict(found["cpu:spin=off"].settings.config) == {"session.intra_op.allow_spinning": "0"}
    assert found["cpu:without=MatMulScaleFusion"].disabled_optimizers == ("MatMulScaleFusion",)
    assert found["variant=ort-fusions"].variant == "ort-fusions"
    assert all(plan.notes for name, plan in found.items() if name != REFERENCE)


def test_one_cpu_and_one_thread_leave_nothing_to_try_with_threads() -> None:
    plans = generate(with_attributes(intra_op_num_threads=1), CandidateFacts(1, 1))
    assert not [name for name in names(plans) if "threads" in name or "spin" in name]
    two = generate(with_attributes(intra_op_num_threads=2), CandidateFacts(2, 2))
    assert {"cpu:threads=1", "cpu:spin=off"} <= set(names(two)), "pointless unless two differ"


def test_the_default_on_one_core_cannot_spin_but_an_unknown_machine_may() -> None:
    assert "cpu:spin=off" not in names(generate(PLAIN, CandidateFacts(1, 1)))
    assert "cpu:spin=off" in names(generate(PLAIN, CandidateFacts(1, None)))


def test_threads_that_a_session_does_not_own_are_left_alone() -> None:
    plans = generate(with_attributes(use_per_session_threads=False), EIGHT_CPUS)
    assert not [name for name in names(plans) if "threads" in name or "spin" in name]


def test_affinities_fix_the_number_of_threads() -> None:
    pinned = Plan(
        REFERENCE,
        settings=SessionSettings(
            (("intra_op_num_threads", 3),), (("session.intra_op_thread_affinities", "1;2"),)
        ),
    )
    plans = names(generate(pinned, EIGHT_CPUS))
    assert not [name for name in plans if name.startswith("cpu:threads")]
    assert "cpu:spin=off" in plans


def test_the_second_pool_of_a_parallel_session_sleeps_too() -> None:
    (plan,) = (
        plan
        for plan in generate(with_attributes(execution_mode=1), EIGHT_CPUS)
        if plan.name == "cpu:spin=off"
    )
    assert dict(plan.settings.config) == {
        "session.intra_op.allow_spinning": "0",
        "session.inter_op.allow_spinning": "0",
    }


@pytest.mark.parametrize("level", LEVELS)
def test_the_users_own_level_is_not_offered_again(level: int) -> None:
    plans = generate(with_attributes(graph_optimization_level=level), EIGHT_CPUS)
    offered = {
        int(plan.settings.attribute("graph_optimization_level", -1))
        for plan in plans
        if plan.name.startswith("cpu:level=")
    }
    assert offered == {0, 1, 2, 99} - {99 if level == 3 else level}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        (Plan(REFERENCE, disabled_optimizers=("MatMulScaleFusion",)), EIGHT_CPUS),
        (with_attributes(graph_optimization_level=1), EIGHT_CPUS),
        (PLAIN, evolve(EIGHT_CPUS, model=ModelTraits(frozenset({"MatMul", "Add"})))),
        (PLAIN, evolve(EIGHT_CPUS, model=ModelTraits(frozenset({"Mul", "Conv"})))),
    ],
)
def test_a_fusion_that_cannot_happen_is_not_left_out(
    reference: Plan, found: CandidateFacts
) -> None:
    assert "cpu:without=MatMulScaleFusion" in names(generate(PLAIN, EIGHT_CPUS))
    assert "cpu:without=MatMulScaleFusion" not in names(generate(reference, found))


def test_optimizers_disabled_by_configuration_stay_disabled() -> None:
    configured = Plan(
        REFERENCE,
        settings=SessionSettings(
            config=(("optimization.disable_specified_optimizers", "ConstantFolding"),)
        ),
    )
    by_name = {plan.name: plan for plan in generate(configured, EIGHT_CPUS)}
    assert by_name["cpu:without=MatMulScaleFusion"].disabled_optimizers == (
        "ConstantFolding",
        "MatMulScaleFusion",
    )


@pytest.mark.parametrize(
    "found",
    [
        evolve(EIGHT_CPUS, has_onnxscript=False),
        evolve(EIGHT_CPUS, model=ModelTraits(onnx_format=False)),
        evolve(EIGHT_CPUS, model=ModelTraits(frozenset({"Conv", "Relu"}))),
        evolve(EIGHT_CPUS, model=ModelTraits(frozenset({"Gemm", "Softmax", "Pow"}))),
    ],
)
def test_a_graph_that_cannot_be_fused_is_not_offered(found: CandidateFacts) -> None:
    assert "variant=ort-fusions" in names(generate(PLAIN, EIGHT_CPUS))
    assert "variant=ort-fusions" not in names(generate(PLAIN, found))


def test_variants_of_attention_need_an_operator_to_rewrite() -> None:
    def variants(*operators: str) -> set[str]:
        found = evolve(EIGHT_CPUS, model=ModelTraits(frozenset(operators)))
        return {plan.variant for plan in generate(PLAIN, found)} - {"", "ort-fusions"}

    of_any = {"prescaled-query", "memory-efficient", "flash-decode"}
    of_fused = of_any | {"group-query-attention", "math"}
    as_multi_head = {"multi-head-attention", "multi-head-attention-4d"}
    assert variants("MultiHeadAttention") == of_fused | {"onnx-attention"}
    lowered = {"attention-24", "attention-24+prescaled-query"}
    assert variants("Attention") == of_fused | as_multi_head | lowered
    assert variants("MatMul", "Softmax") == of_any | as_multi_head | {"ort-optimizer"}
    assert variants("MatMul", "GroupQueryAttention") == {"memory-efficient", "math"}
    assert variants("Conv", "Softmax") == set()


def test_float16_is_computed_in_float32_on_the_cpu_alone() -> None:
    half = evolve(EIGHT_CPUS, model=ModelTraits(float16=True))
    assert "variant=float32" in names(generate(PLAIN, half))
    assert "variant=float32" in names(generate(Plan(REFERENCE, (Provider(CPU),)), half))
    assert "variant=float32" not in names(generate(Plan(REFERENCE, (Provider(CUDA),)), half))
    for known in (False, None):
        full = evolve(EIGHT_CPUS, model=ModelTraits(float16=known))
        assert "variant=float32" not in names(generate(PLAIN, full))


OF_PRODUCTS = (
    "group-query-attention",
    "memory-efficient",
    "multi-head-attention",
    "multi-head-attention-4d",
    "math",
    "flash-decode",
)


@pytest.mark.parametrize(
    ("opset", "expected"),
    [
        (12, {"prescaled-query"}),
        (17, {"prescaled-query", *OF_PRODUCTS}),
        (23, {"onnx-attention", "prescaled-query", *OF_PRODUCTS}),
        (25, {"attention-24", "attention-24+prescaled-query", "prescaled-query", *OF_PRODUCTS}),
    ],
)
def test_variants_of_attention_need_the_right_operator_set(opset: int, expected: set[str]) -> None:
    model = ModelTraits(frozenset({"MultiHeadAttention", "Attention"}), opset=opset)
    found = generate(PLAIN, evolve(EIGHT_CPUS, model=model))
    assert {plan.variant for plan in found} - {"", "ort-fusions"} == expected


def test_every_variant_that_is_offered_can_be_built_by_name() -> None:
    half = evolve(EIGHT_CPUS, model=ModelTraits(float16=True))
    offered = {plan.variant for plan in generate(PLAIN, half)} - {""}
    assert {step for name in offered for step in name.split("+")} == set(variant_names())


@pytest.mark.parametrize(
    ("providers", "offered", "expected"),
    [
        (None, (OPENVINO, CPU), True),
        ((Provider(CPU),), (OPENVINO, CPU), True),
        (None, (CPU,), False),
        ((Provider(CUDA), Provider(CPU)), (OPENVINO, CUDA, CPU), False),
        ((Provider(OPENVINO, (("device_type", "GPU"),)),), (OPENVINO, CPU), False),
        ((Provider(OPENVINO, (("load_config", "{}"),)),), (OPENVINO, CPU), False),
        ((Provider(OPENVINO, (("cache_dir", "x"),)),), (OPENVINO, CPU), True),
    ],
)
def test_openvino_is_offered_where_it_is_installed_and_the_user_left_it_open(
    providers: tuple[Provider, ...] | None, offered: tuple[str, ...], expected: bool
) -> None:
    plans = generate(Plan(REFERENCE, providers), evolve(EIGHT_CPUS, providers=offered))
    assert any(name.startswith("openvino:") for name in names(plans)) is expected


def test_openvino_computes_exactly_and_keeps_the_users_options() -> None:
    given_options = (Provider(OPENVINO, (("precision", "FP32"), ("cache_dir", "x"))),)
    found = evolve(EIGHT_CPUS, providers=(OPENVINO, CPU))
    exact = by_name(PLAIN, found)["openvino:latency"].providers
    kept = by_name(Plan(REFERENCE, given_options), found)["openvino:latency"].providers
    assert exact is not None
    assert kept is not None
    assert dict(exact[0].options) == {
        "device_type": "CPU",
        "load_config": '{"CPU":{"INFERENCE_PRECISION_HINT":"f32","PERFORMANCE_HINT":"LATENCY"}}',
    }
    assert exact[1].name == CPU
    assert dict(kept[0].options)["precision"] == "FP32"
    assert dict(kept[0].options)["cache_dir"] == "x"


@pytest.mark.parametrize("budget", [0, -1, True, 1.5, "2"])
def test_a_budget_that_is_no_count_is_refused(budget: Any) -> None:
    with pytest.raises(UsageError, match=r"thread_budget: got .*, need an integer of at least 1"):
        CandidateFacts(budget)
