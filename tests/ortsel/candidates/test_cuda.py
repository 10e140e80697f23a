"""CUDA plans as plans of a session, without a device."""

import pytest
from attrs import evolve

from kernels_cuda import CUDA
from ortsel.candidates import REFERENCE, CandidateFacts, GpuFacts, ModelTraits, generate
from ortsel.plan import Plan, Provider
from spec.capability import GPU_WHEEL_1_31, PRESETS

CPU = "CPUExecutionProvider"
ON_A100 = CandidateFacts(8, 8, (CUDA, CPU), gpu=GpuFacts(PRESETS["a100"], GPU_WHEEL_1_31))
NAMED = Plan(REFERENCE, (Provider(CUDA, (("device_id", "1"),)), Provider(CPU)))


def cuda_names(reference: Plan, facts: CandidateFacts) -> list[str]:
    return [plan.name for plan in generate(reference, facts) if plan.name.startswith("cuda:")]


def test_the_named_provider_is_varied_in_its_place_with_the_users_options() -> None:
    by_name = {plan.name: plan for plan in generate(NAMED, ON_A100)}
    assert by_name["cuda:sdpa=efficient"].providers == (
        Provider(CUDA, (("device_id", "1"), ("sdpa_kernel", "2"), ("use_tf32", "0"))),
        Provider(CPU),
    )
    assert by_name["cpu:threads=1"].providers == NAMED.providers


def test_a_user_who_named_no_provider_is_offered_the_device() -> None:
    by_name = {plan.name: plan for plan in generate(Plan(REFERENCE), ON_A100)}
    assert by_name["cuda:default"].providers == (
        Provider(CUDA, (("use_tf32", "0"),)),
        Provider(CPU),
    )
    assert "cuda:default" not in cuda_names(NAMED, ON_A100)


@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        (Plan(REFERENCE, (Provider(CPU),)), ON_A100),
        (NAMED, evolve(ON_A100, providers=(CPU,))),
        (NAMED, evolve(ON_A100, gpu=None)),
        (NAMED, evolve(ON_A100, gpu=GpuFacts(PRESETS["arm64"], GPU_WHEEL_1_31))),
    ],
    ids=["the user chose the CPU", "no provider", "unknown device", "no CUDA device"],
)
def test_no_cuda_plan_where_it_cannot_run_or_was_not_wanted(
    reference: Plan, facts: CandidateFacts
) -> None:
    assert cuda_names(NAMED, ON_A100)
    assert cuda_names(reference, facts) == []


def test_the_model_decides_what_can_matter() -> None:
    def names(*operators: str) -> set[str]:
        return set(cuda_names(NAMED, evolve(ON_A100, model=ModelTraits(frozenset(operators)))))

    assert names("Relu") == set()
    assert "cuda:nhwc" in names("Conv")
    assert not any("sdpa" in name for name in names("Conv"))
    assert any("sdpa" in name for name in names("MatMul", "Softmax"))
    assert any("sdpa" in name for name in names("GroupQueryAttention"))


def test_graph_capture_needs_a_caller_that_binds_buffers() -> None:
    bound = evolve(ON_A100, has_fixed_addresses=True)
    assert "cuda:graph" not in cuda_names(NAMED, ON_A100)
    assert "cuda:graph" in cuda_names(NAMED, bound)
    shaped = evolve(bound, shapes=(("x", (2, 3)),))
    [graph] = [plan for plan in generate(NAMED, shaped) if plan.name.startswith("cuda:graph")]
    assert graph.name == "cuda:graph[x=2x3]"
    assert graph.fixed_addresses
    assert graph.shapes == (("x", (2, 3)),)
    assert not any(plan.fixed_addresses for plan in generate(NAMED, shaped) if plan != graph)
    fixed = evolve(shaped, model=ModelTraits(frozenset({"Conv"}), dynamic_shapes=False))
    assert "cuda:graph" in cuda_names(NAMED, fixed)
    branches = evolve(bound, model=ModelTraits(frozenset({"If", "Conv"})))
    assert "cuda:graph" not in cuda_names(NAMED, branches)


def test_reduced_precision_stays_on_only_where_the_user_switched_it_on() -> None:
    accepted = Plan(REFERENCE, (Provider(CUDA, (("use_tf32", "1"),)),))
    for plan in generate(accepted, ON_A100):
        if plan.name.startswith("cuda:") and plan.name != "cuda:tf32=off":
            assert plan.providers is not None
            assert dict(plan.providers[0].options)["use_tf32"] == "1"
