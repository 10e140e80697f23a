"""TensorRT plans as plans of a session, without a device."""

import pytest
from attrs import evolve

from kernels_cuda import CUDA, NV_TENSORRT_RTX, TENSORRT, ShapeRange
from ortsel.candidates import REFERENCE, CandidateFacts, GpuFacts, ModelTraits, generate
from ortsel.candidates.facts import EngineFacts
from ortsel.plan import Plan, Provider
from spec.capability import GPU_WHEEL_1_31, PRESETS

CPU = "CPUExecutionProvider"
FACTS = CandidateFacts(
    8,
    8,
    (TENSORRT, CUDA, CPU),
    gpu=GpuFacts(PRESETS["a100"], GPU_WHEEL_1_31),
    engines=EngineFacts("/cache", "f" * 64, (ShapeRange("x", (1, 8), (4, 8), (16, 8)),)),
)
ON_CUDA = Plan(REFERENCE, (Provider(CUDA, (("device_id", "1"),)), Provider(CPU)))


def engines(reference: Plan, facts: CandidateFacts) -> dict[str, Plan]:
    found = (
        plan
        for plan in generate(reference, facts)
        if plan.name.split(":")[0].endswith(("tensorrt", "rtx"))
    )
    return {plan.name: plan for plan in found}


def test_an_engine_comes_in_front_of_what_the_user_named_with_caches_of_its_own() -> None:
    plans = engines(ON_CUDA, FACTS)
    first = plans["tensorrt:engine"].providers
    assert first is not None
    assert [one.name for one in first] == [TENSORRT, CUDA, CPU]
    assert first[1:] == ON_CUDA.providers
    options = dict(first[0].options)
    assert options["trt_profile_max_shapes"] == "x:16x8"
    assert options["trt_engine_cache_path"].startswith("/cache/")
    folders = [
        dict(plan.providers[0].options)["trt_engine_cache_path"]
        for plan in plans.values()
        if plan.providers
    ]
    assert len(folders) > 1
    assert len(set(folders)) == len(folders)


def test_who_named_no_provider_gets_exact_cuda_behind_the_engine() -> None:
    providers = engines(Plan(REFERENCE), FACTS)["tensorrt:engine"].providers
    assert providers is not None
    assert providers[1:] == (Provider(CUDA, (("use_tf32", "0"),)), Provider(CPU))


@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        (Plan(REFERENCE, (Provider(CPU),)), FACTS),
        (ON_CUDA, evolve(FACTS, providers=(CUDA, CPU))),
        (ON_CUDA, evolve(FACTS, gpu=None)),
        (ON_CUDA, evolve(FACTS, engines=None)),
        (ON_CUDA, evolve(FACTS, gpu=GpuFacts(PRESETS["v100"], GPU_WHEEL_1_31))),
        (Plan(REFERENCE, (Provider(NV_TENSORRT_RTX),)), FACTS),
    ],
    ids=["CPU chosen", "no provider", "no GPU", "no engines", "too old", "the other TensorRT"],
)
def test_no_engine_where_it_cannot_be_built_or_was_not_wanted(
    reference: Plan, facts: CandidateFacts
) -> None:
    assert engines(ON_CUDA, FACTS)
    assert engines(reference, facts) == {}


def test_tensorrt_for_rtx_is_offered_where_it_is_the_one_that_is_there() -> None:
    facts = evolve(FACTS, providers=(NV_TENSORRT_RTX, CUDA, CPU))
    [(name, plan)] = engines(ON_CUDA, facts).items()
    assert name == "nv-tensorrt-rtx:engine"
    assert plan.providers is not None
    assert dict(plan.providers[0].options)["enable_cuda_graph"] == "0"
    bound = evolve(facts, has_fixed_addresses=True)
    assert "nv-tensorrt-rtx:engine,graph" in engines(ON_CUDA, bound)


OPEN = ModelTraits(dynamic_shapes=True, inputs=(("x", ("n", 8)), ("y", (4,))))
CALL = evolve(
    FACTS,
    model=OPEN,
    engines=EngineFacts("/cache", "f" * 64),
    shapes=(("x", (2, 8)), ("y", (4,))),
    has_fixed_addresses=True,
)


@pytest.mark.parametrize("provider", [TENSORRT, NV_TENSORRT_RTX])
def test_a_calls_own_shapes_are_the_profile_of_engines_for_them_alone(provider: str) -> None:
    prefix = "trt" if provider == TENSORRT else "nv"
    plans = engines(ON_CUDA, evolve(CALL, providers=(provider, CUDA, CPU)))
    assert len(plans) > 2
    for_any = [plan for plan in plans.values() if not plan.shapes]
    assert [plan.name.partition(":")[2] for plan in for_any] == ["engine"]
    for plan in plans.values():
        assert plan.providers is not None
        options = dict(plan.providers[0].options)
        profile = {name: text for name, text in options.items() if "_profile_" in name}
        if plan in for_any:
            assert profile == {}
            continue
        assert plan.name.endswith("[x=2x8,y=4]")
        assert plan.shapes == CALL.shapes
        assert set(profile) == {f"{prefix}_profile_{end}_shapes" for end in ("min", "opt", "max")}
        assert set(profile.values()) == {"x:2x8"}
        assert plan.fixed_addresses == ("graph" in plan.name)
    caches = {
        value
        for plan in plans.values()
        for name, value in (plan.providers or ())[0].options
        if name.endswith(("engine_cache_path", "runtime_cache_path"))
    }
    assert len(caches) == len(plans), "engines of one shape are never loaded for another"


def test_there_is_no_profile_for_what_it_cannot_say() -> None:
    for sizes in ((("x", (0, 8)), ("y", (4,))), (("y", (4,)),)):
        plans = engines(ON_CUDA, evolve(CALL, shapes=sizes, has_fixed_addresses=False))
        assert plans
        assert not any(plan.shapes for plan in plans.values())
    named = evolve(OPEN, inputs=(("a:b", ("n", 8)),))
    facts = evolve(CALL, model=named, shapes=(("a:b", (2, 8)),), has_fixed_addresses=False)
    assert not any(plan.shapes for plan in engines(ON_CUDA, facts).values())
