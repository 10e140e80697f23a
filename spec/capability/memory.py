"""Bytes that one attention call takes: operands and workspace, each part with its formula.

Letters: B batch, N query heads, G key/value heads, S queries, T keys, P past length, H head size
of queries and keys, V head size of values, e bytes per element, c bytes per cache element, U query
tokens (B S unless ragged). Softmax statistics are float32 everywhere.

What is not counted, since shapes don't give it: cuDNN's plan workspace, cuBLAS workspaces, the
arena's rounding, weights. Kernel sources: onnxruntime contrib_ops/cuda/bert (flash_attention/
flash_api.cc for the number of splits and the partial buffers, cutlass_fmha for the float32
accumulator, group_query_attention.cc for expanded heads) and contrib_ops/cpu/bert.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final, assert_never

from attrs import frozen

from spec.capability.attention_input import (
    AttentionInput,
    CacheForm,
    Layout,
    MaskKind,
    Packing,
    ScoresOutput,
)
from spec.capability.attention_operator import ONNX_OPERATORS, Operator
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.element_type import ElementType, bytes_of
from spec.capability.hardware import Hardware
from spec.capability.placement import CAST_ON_CPU

_FLOAT: Final = 4
_INT32: Final = 4
_MAXIMUM_SPLITS: Final = 128
_KEY_BLOCKS: Final = ((64, 256), (128, 128), (1 << 31, 64))
"""Widest head, and the keys that one block of it takes."""
_FLASH_QUERY_ROWS: Final = 64
_OCCUPIED: Final = Fraction(8, 10)
"""Above this share of busy processors, splitting over the keys gains nothing."""
_GOOD_ENOUGH: Final = Fraction(85, 100)
"""The fewest splits within this share of the best occupancy are taken."""
_WIDE_VALUE_HEAD: Final = 128
"""The CUTLASS kernel keeps wider value heads out of registers."""


@frozen
class MemoryPart:
    """One buffer: what it is, how its size follows from the shapes, and the size."""

    name: str
    formula: str
    size_bytes: int


@frozen
class MemoryEstimate:
    """All buffers that live during one call of one backend."""

    operands: tuple[MemoryPart, ...]
    workspace: tuple[MemoryPart, ...]

    @property
    def operand_bytes(self) -> int:
        """Bytes of inputs, outputs and cache."""
        return sum(part.size_bytes for part in self.operands)

    @property
    def workspace_bytes(self) -> int:
        """Bytes that the kernel needs beside them."""
        return sum(part.size_bytes for part in self.workspace)

    @property
    def total_bytes(self) -> int:
        """Operands plus workspace."""
        return self.operand_bytes + self.workspace_bytes


def memory_estimate(
    backend: Backend,
    attention: AttentionInput,
    hardware: Hardware,
    provider: Provider = Provider.CUDA,
) -> MemoryEstimate:
    """Operands and workspace of the backend on the provider that took the node."""
    return MemoryEstimate(
        operands=_kept(operands(attention)),
        workspace=_kept(_WORKSPACES[backend](attention, hardware, provider)),
    )


def _kept(parts: tuple[MemoryPart, ...]) -> tuple[MemoryPart, ...]:
    return tuple(part for part in parts if part.size_bytes > 0)


def operands(attention: AttentionInput) -> tuple[MemoryPart, ...]:
    """Tensors that exist whichever backend runs; keys and values by cache type and G heads."""
    a = attention
    both = a.head_size + a.value_head_size
    past = a.past_length if a.cache is CacheForm.APPENDED else 0
    per_pair = a.batch * a.query_length * a.key_length
    return (
        MemoryPart(
            "query", "U N H e", bytes_of(a.query_tokens * a.query_heads * a.head_size, a.dtype)
        ),
        MemoryPart("key and value", "G T (H + V) c per sequence", _key_value_bytes(a)),
        MemoryPart(
            "past copied into present",
            "B G P (H + V) c",
            bytes_of(a.batch * a.kv_heads * past * both, a.cache_dtype),
        ),
        MemoryPart("mask", _MASK_FORMULAS[a.mask], _mask_bytes(a)),
        MemoryPart(
            "attention bias",
            "B N S T e (not broadcast)",
            bytes_of(per_pair * a.query_heads, a.dtype) if a.attention_bias else 0,
        ),
        MemoryPart(
            "output",
            "U N V e",
            bytes_of(a.query_tokens * a.query_heads * a.value_head_size, a.dtype),
        ),
        MemoryPart(
            "scores output",
            "B N S T e",
            0
            if a.scores_output is ScoresOutput.NONE
            else bytes_of(per_pair * a.query_heads, a.dtype),
        ),
    )


def _key_value_bytes(a: AttentionInput) -> int:
    past = a.key_length - a.query_length
    tokens = (
        sum(n + past for n in a.sequence_lengths) if a.sequence_lengths else a.batch * a.key_length
    )
    return bytes_of(tokens * a.kv_heads * (a.head_size + a.value_head_size), a.cache_dtype)


_MASK_FORMULAS: Final = {
    MaskKind.NONE: "0",
    MaskKind.KEY_LENGTHS: "4 B",
    MaskKind.KEY_LENGTHS_AND_STARTS: "4 (3 B + 2)",
    MaskKind.PADDING: "4 B T",
    MaskKind.PER_QUERY: "4 B S T",
    MaskKind.BOOLEAN: "B S T (one for all heads)",
    MaskKind.ADDITIVE: "B S T e (one for all heads)",
}


def _mask_bytes(a: AttentionInput) -> int:
    match a.mask:
        case MaskKind.NONE:
            return 0
        case MaskKind.KEY_LENGTHS:
            return _INT32 * a.batch
        case MaskKind.KEY_LENGTHS_AND_STARTS:
            return _INT32 * (3 * a.batch + 2)
        case MaskKind.PADDING:
            return _INT32 * a.batch * a.key_length
        case MaskKind.PER_QUERY:
            return _INT32 * a.batch * a.query_length * a.key_length
        case MaskKind.BOOLEAN:
            return a.batch * a.query_length * a.key_length
        case MaskKind.ADDITIVE:
            return bytes_of(a.batch * a.query_length * a.key_length, a.dtype)
        case _:
            assert_never(a.mask)


def _statistics(a: AttentionInput) -> MemoryPart:
    size = a.batch * a.query_heads * a.query_length * _FLOAT
    return MemoryPart("log-sum-exp", "4 B N S", size)


def _offsets(a: AttentionInput, tensors: int) -> MemoryPart:
    size = tensors * (a.batch + 1) * _INT32
    return MemoryPart("cumulative lengths", f"{4 * tensors} (B + 1)", size)


def _math(a: AttentionInput, _hardware: Hardware, provider: Provider) -> tuple[MemoryPart, ...]:
    scores = a.batch * a.query_heads * a.query_length * a.key_length
    if provider is Provider.CPU:
        part = MemoryPart("scores, softmax in place", "4 B N S T", scores * _FLOAT)
        return (part, *_cpu_copies(a))
    if a.operator in ONNX_OPERATORS and provider is Provider.CUDA:
        return (
            MemoryPart("scores in float32", "4 B N S T", scores * _FLOAT),
            MemoryPart("probabilities", "B N S T e", bytes_of(scores, a.dtype)),
        )
    return (MemoryPart("scores and probabilities", "2 B N S T e", 2 * bytes_of(scores, a.dtype)),)


def _cpu_copies(a: AttentionInput) -> tuple[MemoryPart, ...]:
    """Token-first operands of com.microsoft operators are transposed; float16 ones are cast."""
    query = a.batch * a.query_length * a.query_heads * a.head_size
    key_value = a.batch * a.key_length * a.kv_heads * (a.head_size + a.value_head_size)
    output = a.batch * a.query_length * a.query_heads * a.value_head_size
    transposed = query + (key_value if a.layout is Layout.BSNH else 0)
    casts = a.operator in CAST_ON_CPU and a.dtype is ElementType.FLOAT16
    return (
        MemoryPart(
            "transposed operands",
            "4 (B S N H + B T G (H + V) if token-first)",
            0 if a.operator in ONNX_OPERATORS else transposed * _FLOAT,
        ),
        MemoryPart(
            "float32 copies",
            "4 (B S N (H + V) + B T G (H + V))",
            (query + key_value + output) * _FLOAT if casts else 0,
        ),
    )


def _tiles(a: AttentionInput, hardware: Hardware) -> MemoryPart:
    """Per thread one tile of scores, one of output and two statistics per row, sized to L2."""
    width = a.head_size + a.value_head_size
    keys = max(1, hardware.l2_cache_bytes // (4 * _FLOAT * width))
    rows = min(keys, width)
    keys, rows = min(keys, a.key_length), min(rows, a.query_length)
    per_thread = (2 * rows + rows * keys + rows * a.value_head_size) * _FLOAT
    return MemoryPart(
        "tiles", "4 threads r (2 + k + V), k = L2 / (16 (H + V)), r = min(k, H + V)",
        hardware.compute_units * per_thread,
    )  # fmt: skip


def _cpu_decode(a: AttentionInput, hardware: Hardware) -> tuple[MemoryPart, ...]:
    heads = a.batch * a.query_heads
    splits = min(a.key_length, -(-hardware.compute_units // heads))
    size = heads * splits * (a.value_head_size + 2) * _FLOAT
    return (MemoryPart("partial results", "4 B N splits (V + 2), splits = threads / (B N)", size),)


def flash_splits(a: AttentionInput, hardware: Hardware, heads: int) -> int:
    """Parts into which FlashAttention cuts the keys: the fewest that fill the device well enough.

    `heads` is G where the grouped-query kernel works per key/value head, else N. Keys are cut in
    blocks of 256, 128 or 64 (H up to 64, up to 128, above). One part where batch, heads and query
    blocks alone keep eight tenths of the processors busy. Otherwise the smallest count whose last
    wave is within 85 % of the best achievable, counting only those that change the blocks per part.
    """
    block = next(keys for widest, keys in _KEY_BLOCKS if a.head_size <= widest)
    keys = min(a.key_length, a.local_window) if a.local_window else a.key_length
    key_blocks = -(-keys // block)
    units = a.batch * heads * -(-a.query_length // _FLASH_QUERY_ROWS)
    processors = hardware.compute_units
    if units >= _OCCUPIED * processors:
        return 1
    limit = min(_MAXIMUM_SPLITS, processors, key_blocks)
    distinct = [
        n for n in range(1, limit + 1) if n == 1 or -(-key_blocks // n) != -(-key_blocks // (n - 1))
    ]
    occupancy = {n: Fraction(units * n, processors) / -(-units * n // processors) for n in distinct}
    enough = _GOOD_ENOUGH * max(occupancy.values())
    return next(n for n in distinct if occupancy[n] >= enough)


def _partials(a: AttentionInput, hardware: Hardware, heads: int) -> tuple[MemoryPart, ...]:
    splits = flash_splits(a, hardware, heads)
    if splits == 1:
        return ()
    rows = a.batch * a.query_heads * a.query_length
    width = -(-a.value_head_size // 32) * 32
    return (
        MemoryPart("partial log-sum-exp", "4 splits B N S", splits * rows * _FLOAT),
        MemoryPart("partial output", "4 splits B N S V', V' = V rounded up to 32",
                   splits * rows * width * _FLOAT),
    )  # fmt: skip


def _memory_efficient(
    a: AttentionInput, _hardware: Hardware, _provider: Provider
) -> tuple[MemoryPart, ...]:
    narrow = a.dtype is not ElementType.FLOAT32
    accumulator = a.query_tokens * a.query_heads * a.value_head_size * _FLOAT
    expands = a.operator is Operator.GROUP_QUERY_ATTENTION and a.group_size > 1
    expanded = a.batch * a.query_heads * a.key_length * (a.head_size + a.value_head_size)
    return (
        MemoryPart(
            "float32 accumulator",
            "4 U N V if V > 128 and e < 4",
            accumulator if narrow and a.value_head_size > _WIDE_VALUE_HEAD else 0,
        ),
        MemoryPart(
            "key and value expanded to all query heads",
            "B N T (H + V) e if N > G",
            bytes_of(expanded, a.dtype) if expands else 0,
        ),
    )


def _repacked(a: AttentionInput, wanted: Packing) -> MemoryPart:
    """TensorRT kernels read one packed tensor; separate inputs are copied together first."""
    both = a.kv_heads * (a.head_size + a.value_head_size)
    elements = a.batch * a.key_length * both
    if wanted is Packing.PACKED_QKV:
        elements += a.query_tokens * a.query_heads * a.head_size
    size = 0 if a.packing is wanted else bytes_of(elements, a.dtype)
    return MemoryPart(
        "repacked operands", f"all of {wanted.value} in e, if not packed already", size
    )


Parts = tuple[MemoryPart, ...]


def _grouped_split(a: AttentionInput, hardware: Hardware, provider: Provider) -> Parts:
    if provider is not Provider.CUDA:
        return _cpu_decode(a, hardware)
    return (_statistics(a), *_partials(a, hardware, a.kv_heads))


def _split(a: AttentionInput, hardware: Hardware, _provider: Provider) -> Parts:
    return (_statistics(a), *_partials(a, hardware, a.query_heads))


def _only_statistics(a: AttentionInput, _hardware: Hardware, _provider: Provider) -> Parts:
    return (_statistics(a),)


def _ragged(a: AttentionInput, _hardware: Hardware, _provider: Provider) -> Parts:
    return (_statistics(a), _offsets(a, 1))


def _tensorrt(a: AttentionInput, _hardware: Hardware, _provider: Provider) -> Parts:
    return (_repacked(a, Packing.PACKED_QKV), _offsets(a, 1))


def _tensorrt_cross(a: AttentionInput, _hardware: Hardware, _provider: Provider) -> Parts:
    return (_repacked(a, Packing.PACKED_KV), _offsets(a, 2))


def _nothing(_a: AttentionInput, _hardware: Hardware, _provider: Provider) -> Parts:
    return ()


def _tiled_cpu(a: AttentionInput, hardware: Hardware, _provider: Provider) -> Parts:
    return (_tiles(a, hardware), *_cpu_copies(a))


_WORKSPACES: Final[Mapping[Backend, Callable[[AttentionInput, Hardware, Provider], Parts]]] = (
    MappingProxyType(
        {
            Backend.XQA: _grouped_split,
            Backend.FLASH_DECODE: _grouped_split,
            Backend.FLASH_ATTENTION_3: _only_statistics,
            Backend.FLASH_ATTENTION_2: _split,
            Backend.VARIABLE_LENGTH: _ragged,
            Backend.CUDNN: _only_statistics,
            Backend.DECODER_MASKED: _nothing,
            Backend.LEAN: _split,
            Backend.TENSORRT_CROSS: _tensorrt_cross,
            Backend.TENSORRT_FUSED: _tensorrt,
            Backend.TENSORRT_FLASH: _tensorrt,
            Backend.MEMORY_EFFICIENT: _memory_efficient,
            Backend.METAL: _only_statistics,
            Backend.CPU: _tiled_cpu,
            Backend.MATH: _math,
        }
    )
)
