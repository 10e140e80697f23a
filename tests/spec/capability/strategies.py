"""Random calls, devices, builds and configurations that the value types accept."""

from fractions import Fraction

from attrs import evolve
from hypothesis import strategies as st

from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    ORDER,
    PRESETS,
    AttentionInput,
    Backend,
    CacheForm,
    CacheScale,
    Configuration,
    ElementType,
    Hardware,
    Layout,
    MaskKind,
    Objective,
    Operator,
    OrtBuild,
    Packing,
    ScoresOutput,
    Sink,
    Switches,
    Toggle,
)

FLOAT_TYPES = tuple(ElementType)[:5]
LENGTHS = st.one_of(st.integers(1, 40), st.sampled_from((64, 128, 256, 384, 385, 512, 1024, 4096)))
HEAD_SIZES = st.sampled_from((1, 16, 32, 60, 64, 80, 96, 128, 160, 256, 264, 1024, 1032))
GROWING = (CacheForm.APPENDED, CacheForm.SHARED_BUFFER)
RAGGED = {Operator.PACKED_ATTENTION, Operator.PACKED_MULTI_HEAD_ATTENTION}
TAKES_EXTERNAL = {Operator.ONNX_ATTENTION_24, Operator.ONNX_ATTENTION_25}

hardware: st.SearchStrategy[Hardware] = st.sampled_from(tuple(PRESETS.values()))
gpus: st.SearchStrategy[Hardware] = st.sampled_from(
    tuple(device for device in PRESETS.values() if device.sm >= 75)
)


@st.composite
def attention_inputs(draw: st.DrawFn) -> AttentionInput:
    operator = draw(st.sampled_from(Operator))
    cache, past = draw(_caches(operator))
    query_length = draw(LENGTHS)
    key_length = past + query_length if cache in {*GROWING, CacheForm.PAGED} else draw(LENGTHS)
    dtype = draw(st.sampled_from(FLOAT_TYPES))
    quantized = cache is not CacheForm.NONE and draw(st.booleans())
    other = [kind for kind in ElementType if kind is not dtype]
    batch = draw(st.integers(1, 4))
    kv_heads = draw(st.integers(1, 8))
    head_size = draw(HEAD_SIZES)
    lengths = st.lists(st.integers(1, query_length), min_size=batch, max_size=batch)
    return AttentionInput(
        operator=operator,
        batch=batch,
        query_heads=kv_heads * draw(st.sampled_from((1, 2, 4, 5, 7, 8))),
        kv_heads=kv_heads,
        query_length=query_length,
        key_length=key_length,
        head_size=head_size,
        value_head_size=draw(st.one_of(st.just(head_size), HEAD_SIZES)),
        dtype=dtype,
        causal=draw(st.booleans()),
        cache=cache,
        past_length=past,
        cache_dtype=draw(st.sampled_from(other)) if quantized else dtype,
        cache_scale=(
            draw(st.sampled_from((CacheScale.PER_TENSOR, CacheScale.PER_CHANNEL)))
            if quantized
            else CacheScale.NONE
        ),
        local_window=draw(st.sampled_from((0, 0, 1, 128))),
        mask=draw(st.sampled_from((MaskKind.NONE, *MaskKind))),
        attention_bias=draw(st.booleans()),
        input_bias=draw(st.booleans()),
        softcap=draw(st.sampled_from((Fraction(0), Fraction(30)))),
        dropout=draw(st.sampled_from((Fraction(0), Fraction(0), Fraction(1, 10)))),
        packing=draw(st.sampled_from((Packing.SEPARATE, *Packing))),
        layout=draw(st.sampled_from(Layout)),
        sink=draw(st.sampled_from((Sink.NONE, *Sink))),
        qk_norm=draw(st.booleans()),
        scores_output=draw(st.sampled_from((ScoresOutput.NONE, *ScoresOutput))),
        past_length_input=draw(st.booleans()),
        cache_indirection=draw(st.booleans()),
        beam_width=draw(st.sampled_from((1, 4))),
        page_size=draw(st.sampled_from((16, 256))) if cache is CacheForm.PAGED else 0,
        attention_metadata=draw(st.booleans()),
        sequence_lengths=tuple(draw(lengths)) if operator in RAGGED and draw(st.booleans()) else (),
    )


@st.composite
def _caches(draw: st.DrawFn, operator: Operator) -> tuple[CacheForm, int]:
    past = draw(st.one_of(st.just(0), LENGTHS))
    if operator is Operator.PAGED_ATTENTION:
        return CacheForm.PAGED, past
    forms = [CacheForm.NONE, *GROWING]
    if operator in TAKES_EXTERNAL:
        forms.append(CacheForm.EXTERNAL)
    form = draw(st.sampled_from(forms))
    return form, past if form in GROWING else 0


@st.composite
def plain_inputs(draw: st.DrawFn) -> AttentionInput:
    """Calls without the extras, so that fused kernels often can run them."""
    operator = draw(st.sampled_from(Operator))
    grows = operator in {
        Operator.GROUP_QUERY_ATTENTION,
        Operator.DECODER_MASKED_SELF_ATTENTION,
        Operator.PAGED_ATTENTION,
    }
    paged = operator is Operator.PAGED_ATTENTION
    cache = CacheForm.NONE if not grows else CacheForm.PAGED if paged else CacheForm.SHARED_BUFFER
    query_length = draw(st.sampled_from((1, 1, 77, 128, 384, 512, 2048)))
    past = draw(st.sampled_from((0, 127, 4096))) if grows else 0
    step = operator is Operator.MULTI_HEAD_ATTENTION and draw(st.booleans())
    head_size = draw(st.sampled_from((32, 64, 80, 128, 256)))
    group = draw(st.sampled_from((1, 4, 8))) if grows else 1
    return AttentionInput(
        operator=operator,
        batch=draw(st.integers(1, 4)),
        query_heads=2 * group,
        kv_heads=2,
        query_length=query_length,
        key_length=past + query_length if grows else draw(st.sampled_from((query_length, 128))),
        head_size=head_size,
        value_head_size=head_size,
        dtype=draw(st.sampled_from(FLOAT_TYPES[:3])),
        causal=draw(st.booleans()),
        cache=cache,
        past_length=past,
        layout=draw(st.sampled_from(Layout)),
        packing=draw(st.sampled_from(Packing)),
        past_length_input=step,
        cache_indirection=step,
        page_size=256 if paged else 0,
        attention_metadata=paged,
    )


@st.composite
def builds(
    draw: st.DrawFn, wheels: tuple[OrtBuild, ...] = (GPU_WHEEL_1_31, CPU_WHEEL_1_32)
) -> OrtBuild:
    build = draw(st.sampled_from(wheels))
    flag = st.sampled_from((False, False, False, True))
    switches = Switches(
        disable_flash_attention=draw(flag),
        disable_memory_efficient_attention=draw(flag),
        disable_fused_attention=draw(flag),
        cudnn_flash_attention=draw(st.sampled_from(Toggle)),
        disable_decoder_attention=draw(flag),
        enable_xqa=not draw(flag),
        disable_flash_decode=draw(flag),
        gqa_disable_flash_attention=draw(flag),
        minimum_flash_packed_length=draw(st.sampled_from((None, None, 0, 1024))),
    )
    missing = draw(st.sets(st.sampled_from([one for one in ORDER if one is not Backend.MATH])))
    kept = build.compiled - missing if draw(st.booleans()) else build.compiled
    floor = draw(st.sampled_from(((7, 5), (7, 0))))
    return evolve(build, switches=switches, compiled=kept, minimum_compute_capability=floor)


gpu_builds: st.SearchStrategy[OrtBuild] = builds(wheels=(GPU_WHEEL_1_31,))

configurations: st.SearchStrategy[Configuration] = st.builds(
    Configuration,
    preferred=st.lists(st.sampled_from(ORDER), max_size=1).map(tuple),
    disabled=st.frozensets(
        st.sampled_from([one for one in ORDER if one is not Backend.MATH]), max_size=4
    ),
    memory_budget_bytes=st.sampled_from((0, 0, 10**6, 10**9)),
    objective=st.sampled_from(Objective),
    minimum_flash_length=st.sampled_from((0, 128)),
    deterministic=st.booleans(),
    debug=st.booleans(),
)
