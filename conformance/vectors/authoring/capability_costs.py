"""Questions about operations and bytes (C10)."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from conformance.codec import codec_of
from conformance.vectors.authoring.capability_calls import (
    A100,
    CPU_STEP,
    FP32,
    GQA,
    MHA,
    ONNX,
    PACKED_MHA,
    QUANTIZED,
    STEP,
    T4,
    X86,
)
from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions.capability import (
    MEMORY,
    WORK,
    MemoryAsked,
    WorkAsked,
)
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.capability import (
    AttentionInput,
    Backend,
    CacheForm,
    ElementType,
    Hardware,
    MaskKind,
    Operator,
    Provider,
    ScoresOutput,
)

B: Final = Backend
LONG: Final = evolve(MHA, query_length=4096, key_length=4096, causal=True)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about costs."""
    return (
        *_work(),
        *_memory(),
    )


def _changed(value: object, changes: Mapping[str, Json]) -> Json:
    encoded = codec_of(type(value)).encode(value)
    assert isinstance(encoded, dict), "values with fields are objects"
    return {**encoded, **changes}


def _work() -> tuple[Vector, ...]:
    def work(
        name: str, comment: str, attention: AttentionInput, backend: Backend = B.MATH
    ) -> Vector:
        return question(f"capability/work/{name}", WORK, WorkAsked(backend, attention), comment,
                        holds="C10", flags="exact")  # fmt: skip

    def square(length: int, **changes: object) -> AttentionInput:
        plain = evolve(MHA, batch=1, query_heads=1, kv_heads=1, query_length=length,
                       key_length=length, head_size=8, value_head_size=8)  # fmt: skip
        causal = bool(changes.get("causal"))
        window = changes.get("window", 0)
        assert isinstance(window, int), "a window is a number"
        return evolve(plain, causal=causal, local_window=window)

    causal4 = square(4, causal=True)
    onnx4 = evolve(causal4, operator=Operator.ONNX_ATTENTION_24)
    return (
        work("one-by-one", "1 pair: 2*8 + 2*8 + 5 = 37 operations.", square(1)),
        work("full-square", "16 pairs: 592.", square(4)),
        work("causal-square", "1+2+3+4 = 10 pairs: 370.", causal4),
        work("causal-square-skipped", "FlashAttention skips what is hidden.", causal4,
             B.FLASH_ATTENTION_2),
        work("causal-square-of-tensorrt", "TensorRT computes the full rectangle.", causal4,
             B.TENSORRT_FUSED),
        work("window", "Each query sees itself and the one before: 1+2+2+2 = 7.",
             square(4, causal=True, window=2)),
        work("window-of-one", "Each sees itself: 4.", square(4, causal=True, window=1)),
        work("window-without-causality", "A window hides what lies behind, not what lies ahead: "
             "4+4+3+2 = 13.", square(4, window=2)),
        work("window-wider-than-keys", "Nothing is hidden by it: 10.",
             square(4, causal=True, window=100)),
        work("more-keys-bottom-right", "2 queries, 5 keys, the last aligned: 4+5 = 9.",
             evolve(causal4, query_length=2, key_length=5)),
        work("more-keys-top-left", "ONNX without a past aligns the first: 1+2 = 3.",
             evolve(onnx4, query_length=2, key_length=5)),
        work("more-queries-bottom-right", "5 queries, 2 keys: 0+0+0+1+2 = 3.",
             evolve(causal4, query_length=5, key_length=2)),
        work("more-queries-top-left", "ONNX: 1+2+2+2+2 = 9.",
             evolve(onnx4, query_length=5, key_length=2)),
        work("decode", "One query over 512 keys, 2 sequences, 8 heads.", GQA, B.FLASH_DECODE),
        work("past-of-onnx", "2 queries behind a past of 3: 4+5 = 9.",
             evolve(onnx4, cache=CacheForm.APPENDED, past_length=3, query_length=2,
                    key_length=5)),
        work("ragged", "Sequences of 2 and 3: 4+9 = 13 pairs; MATH computes 2*4*4 = 32.",
             evolve(square(4), operator=Operator.PACKED_ATTENTION, batch=2,
                    sequence_lengths=(2, 3))),
        work("wide-values", "Values of 16: 2*8 + 2*16 + 5 = 53 per pair.",
             evolve(square(3), value_head_size=16)),
        work("grouped-heads", "Key heads don't matter: 8 query heads do.",
             evolve(square(3), query_heads=8, kv_heads=2)),
        raw_question("capability/work/no-heads", WORK.name, {
            "backend": "math", "attention": _changed(MHA, {"query_heads": 0, "kv_heads": 0})},
            "A call without heads is no call, and has no work.", breaks="C10 C2",
            flags="boundary types"),
        work("large", "131072 causal tokens, 64 heads of 128, 8 sequences: more than 2**53.",
             evolve(LONG, batch=8, query_heads=64, kv_heads=8, query_length=131_072,
                    key_length=131_072, head_size=128, value_head_size=128)),
    )  # fmt: skip


def _memory() -> tuple[Vector, ...]:
    def memory(
        name: str, comment: str, backend: Backend, attention: AttentionInput,
        hardware: Hardware = A100, provider: Provider = Provider.CUDA,
    ) -> Vector:  # fmt: skip
        asked = MemoryAsked(backend, attention, hardware, provider)
        return question(f"capability/memory/{name}", MEMORY, asked, comment, holds="C10",
                        flags="exact")  # fmt: skip

    plain32 = evolve(MHA, dtype=FP32, cache_dtype=FP32)
    return (
        memory("math", "Scores and probabilities: 2*8*512*512 halves, twice.", B.MATH, MHA),
        memory("math-onnx", "Scores in float32, probabilities in half.", B.MATH, ONNX),
        memory("math-cpu", "In place, with transposed copies.", B.MATH, plain32, X86,
               Provider.CPU),
        memory("math-cpu-float16", "And float32 copies.", B.MATH, MHA, X86, Provider.CPU),
        memory("flash", "The log-sum-exp only, where the device is full.", B.FLASH_ATTENTION_2,
               evolve(MHA, batch=16)),
        memory("flash-split", "One query over many keys is split.", B.FLASH_DECODE,
               evolve(GQA, key_length=32768, past_length=32767)),
        memory("flash-window", "A window leaves few keys to split.", B.FLASH_DECODE,
               evolve(GQA, key_length=32768, past_length=32767, local_window=256)),
        memory("quantized-cache", "Keys and values by the cache's type.", B.XQA, QUANTIZED),
        memory("int4-cache", "Two to a byte.", B.XQA,
               evolve(QUANTIZED, cache_dtype=ElementType.INT4)),
        memory("appended-past", "The past is copied.", B.FLASH_ATTENTION_2,
               evolve(GQA, cache=CacheForm.APPENDED)),
        memory("efficient-wide", "A float32 accumulator for heads wider than 128.",
               B.MEMORY_EFFICIENT, evolve(MHA, head_size=136, value_head_size=136), T4),
        memory("efficient-at-128", "None at 128.", B.MEMORY_EFFICIENT,
               evolve(MHA, head_size=128, value_head_size=128), T4),
        memory("efficient-grouped", "Keys and values expanded to all heads.",
               B.MEMORY_EFFICIENT, GQA, T4),
        memory("tensorrt", "Repacked operands.", B.TENSORRT_FUSED,
               evolve(MHA, query_length=128, key_length=128)),
        memory("tensorrt-cross", "Keys and values repacked.", B.TENSORRT_CROSS,
               evolve(MHA, key_length=77)),
        memory("ragged", "Ragged tokens, cumulative lengths.", B.VARIABLE_LENGTH,
               evolve(PACKED_MHA, sequence_lengths=(100, 300))),
        memory("cpu-tiled", "Tiles per thread, sized to the cache.", B.CPU, plain32, X86,
               Provider.CPU),
        memory("cpu-decode", "Partial results per split.", B.FLASH_DECODE, CPU_STEP, X86,
               Provider.CPU),
        memory("nothing", "A kernel without buffers.", B.DECODER_MASKED, STEP),
        *(memory(f"mask-{mask.value.replace('_', '-')}", "What the mask takes.", B.CUDNN,
                 evolve(ONNX, mask=mask)) for mask in MaskKind),
        memory("bias-and-scores", "A bias on the scores, and the scores as an output.", B.MATH,
               evolve(ONNX, attention_bias=True, scores_output=ScoresOutput.RAW)),
    )  # fmt: skip
