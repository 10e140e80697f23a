"""CUDA plans on every device of the presets, without a device."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kernels_cuda import (
    CUDA_OPTIONS,
    MASKS,
    TYPICAL_CALLS,
    CudaFacts,
    Owner,
    ProviderPlan,
    cuda_plans,
    distinct_masks,
)
from kernels_cuda.sdpa_masks import kernels
from spec.capability import (
    GPU_WHEEL_1_31,
    PRESETS,
    Backend,
    CacheForm,
    DeviceKind,
    ElementType,
    Hardware,
    NothingRunsError,
    Operator,
)
from tests.spec.capability.strategies import attention_inputs

CUDA_DEVICES = {
    name: device
    for name, device in PRESETS.items()
    if device.kind is DeviceKind.CUDA
    and device.compute_capability >= GPU_WHEEL_1_31.minimum_compute_capability
}
A100, H100, T4 = PRESETS["a100"], PRESETS["h100"], PRESETS["t4"]
FACTS = CudaFacts(A100, GPU_WHEEL_1_31)


def options_of(facts: CudaFacts) -> dict[str, dict[str, str]]:
    return {plan.name: dict(plan.options) for plan in cuda_plans(facts).plans}


@st.composite
def cuda_facts(draw: st.DrawFn) -> CudaFacts:
    user = st.dictionaries(
        st.sampled_from(("sdpa_kernel", "use_tf32", "prefer_nhwc", "device_id")),
        st.sampled_from(("0", "1")),
    )
    return CudaFacts(
        draw(st.sampled_from(tuple(PRESETS.values()))),
        GPU_WHEEL_1_31,
        tuple(draw(user).items()),
        draw(st.none() | st.lists(attention_inputs(), max_size=3).map(tuple)),
        draw(st.none() | st.booleans()),
        draw(st.none() | st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@given(cuda_facts())
def test_plans_have_unique_names_known_options_and_the_users_own(facts: CudaFacts) -> None:
    found = cuda_plans(facts)
    names = [plan.name for plan in found.plans]
    assert len(set(names)) == len(names)
    assert len({plan.options for plan in found.plans}) == len(names)
    own = dict(facts.user_options)
    for plan in found.plans:
        options = dict(plan.options)
        assert own.items() <= options.items()
        assert all(CUDA_OPTIONS.accepts(name, value) for name, value in options.items())
        for name in options.keys() - own.keys():
            allowed = {Owner.TUNER, Owner.SERVING} if facts.has_fixed_addresses else {Owner.TUNER}
            assert CUDA_OPTIONS.find(name).owner in allowed
    assert all(one.reason for one in found.left_out)
    assert found == cuda_plans(facts)


@given(cuda_facts())
def test_reduced_precision_is_never_on_unasked(facts: CudaFacts) -> None:
    own = dict(facts.user_options).get("use_tf32")
    for plan in cuda_plans(facts).plans:
        stated = dict(plan.options).get("use_tf32", own)
        if facts.hardware.sm >= 80:
            assert stated == (own or "0") or facts.tf32
        else:
            assert stated == own


@given(cuda_facts())
def test_masks_differ_in_the_kernels_that_run(facts: CudaFacts) -> None:
    calls = TYPICAL_CALLS if facts.attention is None else facts.attention
    taken = [
        kernels(calls, facts.hardware, facts.build, int(dict(plan.options)["sdpa_kernel"]))
        for plan in cuda_plans(facts).plans
        if plan.name.startswith("cuda:sdpa=")
    ]
    if taken:
        taken.append(kernels(calls, facts.hardware, facts.build, 0))
    assert len(set(taken)) == len(taken)


def test_the_names_on_an_ampere_device_are_stable() -> None:
    assert list(options_of(evolve(FACTS, has_fixed_addresses=True))) == [
        "cuda:sdpa=flash",
        "cuda:sdpa=cudnn",
        "cuda:sdpa=efficient",
        "cuda:sdpa=tensorrt",
        "cuda:sdpa=math",
        "cuda:graph",
        "cuda:conv=heuristic",
        "cuda:conv=default",
        "cuda:nhwc",
        "cuda:fuse-conv-bias",
    ]


def test_a_plan_holds_one_difference_and_what_it_says_of_tf32() -> None:
    options = options_of(FACTS)
    assert options["cuda:sdpa=efficient"] == {"sdpa_kernel": "2", "use_tf32": "0"}
    accepted = options_of(evolve(FACTS, tf32=True))
    assert accepted["cuda:sdpa=efficient"] == {"sdpa_kernel": "2", "use_tf32": "1"}
    assert accepted["cuda:tf32=off"] == {"use_tf32": "0"}
    chosen = options_of(evolve(FACTS, user_options=(("use_tf32", "1"),)))
    assert chosen["cuda:sdpa=efficient"] == {"sdpa_kernel": "2", "use_tf32": "1"}
    assert "use_tf32" not in options_of(evolve(FACTS, hardware=T4))["cuda:sdpa=efficient"]


def test_what_the_user_set_is_not_varied() -> None:
    facts = evolve(FACTS, user_options=(("sdpa_kernel", "2"), ("prefer_nhwc", "0")))
    found = cuda_plans(facts)
    assert not [plan.name for plan in found.plans if "sdpa" in plan.name or "nhwc" in plan.name]
    reasons = {one.name: one.reason for one in found.left_out}
    assert reasons["sdpa=flash"] == "the user set sdpa_kernel=2"
    assert reasons["nhwc"] == "the user set prefer_nhwc=0"


@pytest.mark.parametrize(
    ("facts", "name", "reason"),
    [
        (FACTS, "graph", "bound buffers"),
        (evolve(FACTS, has_fixed_addresses=True, has_control_flow=True), "graph", "control flow"),
        (evolve(FACTS, has_convolution=False), "nhwc", "no convolution"),
        (evolve(FACTS, has_convolution=False), "conv=heuristic", "no convolution"),
        (evolve(FACTS, attention=()), "sdpa", "no attention"),
        (evolve(FACTS, hardware=PRESETS["v100"]), "cuda", "compute capability 7.0, need 7.5"),
        (evolve(FACTS, hardware=PRESETS["arm64"]), "cuda", "is no CUDA device"),
        (evolve(FACTS, hardware=H100), "sdpa=tensorrt", "no call takes such a kernel"),
        (evolve(FACTS, hardware=T4), "sdpa=flash", "no call takes such a kernel"),
    ],
)
def test_what_cannot_matter_is_left_out_with_the_reason(
    facts: CudaFacts, name: str, reason: str
) -> None:
    found = cuda_plans(facts)
    assert f"cuda:{name}" not in [plan.name for plan in found.plans]
    assert reason in {one.name: one.reason for one in found.left_out}[name]


@pytest.mark.parametrize("device", CUDA_DEVICES.values(), ids=list(CUDA_DEVICES))
def test_every_device_has_kernels_to_choose_from(device: Hardware) -> None:
    masks, left_out = distinct_masks(TYPICAL_CALLS, device, GPU_WHEEL_1_31)
    assert masks
    assert len(masks) + len(left_out) == len(MASKS)
    assert {mask.name for mask in masks} >= {"efficient"}
    assert ("flash" in {mask.name for mask in masks}) is (device.sm >= 80)


def test_masks_that_resolve_alike_collapse() -> None:
    half = TYPICAL_CALLS[0]
    single = TYPICAL_CALLS[3]
    assert single.dtype is ElementType.FLOAT32
    masks, left_out = distinct_masks([single], A100, GPU_WHEEL_1_31)
    assert kernels([single], A100, GPU_WHEEL_1_31, 0) == (Backend.MEMORY_EFFICIENT,)
    assert [mask.name for mask in masks] == ["math"]
    assert len(left_out) == 4
    assert {mask.name for mask in distinct_masks([half], A100, GPU_WHEEL_1_31)[0]} > {"efficient"}


def test_a_call_that_no_kernel_takes_leaves_no_masks() -> None:
    two_tokens = evolve(
        TYPICAL_CALLS[0],
        operator=Operator.DECODER_MASKED_SELF_ATTENTION,
        query_length=2,
        key_length=3,
        past_length=1,
        cache=CacheForm.SHARED_BUFFER,
    )
    with pytest.raises(NothingRunsError):
        kernels([two_tokens], A100, GPU_WHEEL_1_31, 0)
    masks, left_out = distinct_masks([two_tokens], A100, GPU_WHEEL_1_31)
    assert masks == ()
    assert len(left_out) == len(MASKS)


def test_options_are_sorted_so_that_equal_plans_are_equal() -> None:
    one = ProviderPlan("a", "P", (("y", "1"), ("x", "2")))
    assert one == ProviderPlan("a", "P", (("x", "2"), ("y", "1")), notes="ignored")
    assert CudaFacts(A100, GPU_WHEEL_1_31, (("b", "1"), ("a", "1"))) == CudaFacts(
        A100, GPU_WHEEL_1_31, (("a", "1"), ("b", "1"))
    )
