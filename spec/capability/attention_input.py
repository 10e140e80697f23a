"""One attention call as a value: all that a kernel looks at, from shapes to masks and cache."""

from enum import Enum
from fractions import Fraction

from attrs import Factory, field, frozen

from spec.capability.attention_operator import ONNX_OPERATORS, RAGGED_OPERATORS, Operator
from spec.capability.element_type import CACHE_ONLY_TYPES, ElementType
from spec.errors import InvalidValue

RULE = "C2"


class MaskKind(Enum):
    """How the caller hides keys, apart from causality and windows."""

    NONE = "none"
    KEY_LENGTHS = "key_lengths"
    """One int32 length per sequence, shape (B)."""
    KEY_LENGTHS_AND_STARTS = "key_lengths_and_starts"
    """Lengths with cumulative starts of queries and keys, shape (3 B + 2)."""
    PADDING = "padding"
    """Integers per key, shape (B, S_kv)."""
    PER_QUERY = "per_query"
    """Integers per query and key, shape (B, S_q, S_kv)."""
    BOOLEAN = "boolean"
    """Booleans per query and key, true where the key is seen (ONNX Attention)."""
    ADDITIVE = "additive"
    """Values of the query's type added to the scores (ONNX Attention)."""


class CacheForm(Enum):
    """Where the keys and values of earlier tokens come from."""

    NONE = "none"
    APPENDED = "appended"
    """past and present are different tensors; the past is copied each call."""
    SHARED_BUFFER = "shared_buffer"
    """past and present are one buffer; only the new tokens are written."""
    EXTERNAL = "external"
    """The cache is an ordinary input with a valid length per sequence (ONNX nonpad_kv_seqlen)."""
    PAGED = "paged"


class CacheScale(Enum):
    """How a quantized cache is scaled."""

    NONE = "none"
    PER_TENSOR = "per_tensor"
    PER_CHANNEL = "per_channel"


class Packing(Enum):
    """Whether query, key and value come in one tensor."""

    SEPARATE = "separate"
    PACKED_KV = "packed_kv"
    PACKED_QKV = "packed_qkv"


class Layout(Enum):
    """Order of axes of key and value; com.microsoft operators take the query tokens first."""

    BSNH = "bsnh"
    BNSH = "bnsh"


class Sink(Enum):
    """A term in the softmax denominator that belongs to no key."""

    NONE = "none"
    SMOOTH = "smooth"
    HEAD_SINK = "head_sink"
    """One learned logit per head."""


class ScoresOutput(Enum):
    """Which form of the score matrix the caller asks for as an output."""

    NONE = "none"
    RAW = "raw"
    SOFTCAPPED = "softcapped"
    BIASED = "biased"
    PROBABILITIES = "probabilities"


@frozen
class AttentionInput:
    """One attention call. Two calls that are equal here get the same kernel.

    `key_length` is the number of keys attended to, past included: past_length + query_length with
    a cache that grows, the valid length with an external one. Ragged operators give each
    sequence's own length in `sequence_lengths` (empty: all are query_length long).
    """

    operator: Operator
    batch: int
    query_heads: int
    kv_heads: int
    query_length: int
    key_length: int
    head_size: int
    value_head_size: int
    dtype: ElementType
    causal: bool = False
    cache: CacheForm = CacheForm.NONE
    past_length: int = 0
    cache_dtype: ElementType = field(
        default=Factory(lambda self: self.dtype, takes_self=True)  # the cache is native by default
    )
    cache_scale: CacheScale = CacheScale.NONE
    local_window: int = 0
    """Keys that a query sees, itself included; 0 means all of them."""
    mask: MaskKind = MaskKind.NONE
    attention_bias: bool = False
    """A bias on the scores, shape (B or 1, N or 1, S_q, S_kv)."""
    input_bias: bool = False
    """A bias of the Q, K, V projections that the operator adds itself."""
    softcap: Fraction = Fraction(0)
    dropout: Fraction = Fraction(0)
    packing: Packing = Packing.SEPARATE
    layout: Layout = Layout.BSNH
    sink: Sink = Sink.NONE
    qk_norm: bool = False
    scores_output: ScoresOutput = ScoresOutput.NONE
    past_length_input: bool = False
    """The operator's past_sequence_length input is given."""
    cache_indirection: bool = False
    beam_width: int = 1
    page_size: int = 0
    """Tokens in one page of a paged cache, 0 for every other cache."""
    attention_metadata: bool = False
    """PagedAttention's host-side summary of lengths is given."""
    sequence_lengths: tuple[int, ...] = ()

    def __attrs_post_init__(self) -> None:
        self._check_sizes()
        self._check_cache()
        if self.dtype in CACHE_ONLY_TYPES:
            _refuse("dtype", self.dtype.value, "a float type")
        if self.softcap < 0:
            _refuse("softcap", str(self.softcap), ">= 0")
        if not 0 <= self.dropout < 1:
            _refuse("dropout", str(self.dropout), "0 <= dropout < 1")
        if self.sequence_lengths:
            self._check_ragged()

    def _check_sizes(self) -> None:
        sizes = {
            "batch": self.batch,
            "query_heads": self.query_heads,
            "kv_heads": self.kv_heads,
            "query_length": self.query_length,
            "key_length": self.key_length,
            "head_size": self.head_size,
            "value_head_size": self.value_head_size,
            "beam_width": self.beam_width,
        }
        for name, size in sizes.items():
            if size < 1:
                _refuse(name, str(size), ">= 1")
        if self.local_window < 0:
            _refuse("local_window", str(self.local_window), ">= 0")
        if self.query_heads % self.kv_heads:
            _refuse("query_heads", str(self.query_heads), f"a multiple of kv_heads {self.kv_heads}")

    def _check_cache(self) -> None:
        if self.cache in {CacheForm.NONE, CacheForm.EXTERNAL} and self.past_length:
            _refuse("past_length", str(self.past_length), f"0 with cache {self.cache.value}")
        grows = self.cache in {CacheForm.APPENDED, CacheForm.SHARED_BUFFER, CacheForm.PAGED}
        if self.past_length < 0 or (
            grows and self.past_length + self.query_length != self.key_length
        ):
            _refuse(
                "key_length",
                f"{self.key_length} with past_length {self.past_length}",
                f"past_length >= 0 plus query_length {self.query_length}",
            )
        if self.cache is CacheForm.EXTERNAL and self.operator not in ONNX_OPERATORS - {
            Operator.ONNX_ATTENTION_23
        }:
            _refuse("cache", "external", "ONNX Attention of opset 24 or newer")
        if (self.cache is CacheForm.PAGED) != (self.operator is Operator.PAGED_ATTENTION):
            _refuse("cache", self.cache.value, "paged with PagedAttention and only there")
        if (self.page_size > 0) != (self.cache is CacheForm.PAGED) or self.page_size < 0:
            _refuse("page_size", str(self.page_size), "positive with a paged cache, else 0")
        if (self.cache_dtype is not self.dtype) != self.quantized_cache:
            _refuse(
                "cache_dtype",
                f"{self.cache_dtype.value} with scale {self.cache_scale.value}",
                f"{self.dtype.value} unscaled, or another type with a scale",
            )
        if self.quantized_cache and self.cache is CacheForm.NONE:
            _refuse("cache_scale", self.cache_scale.value, "none without a cache")

    def _check_ragged(self) -> None:
        if self.operator not in RAGGED_OPERATORS:
            _refuse("sequence_lengths", "given", "a packed or paged operator")
        if len(self.sequence_lengths) != self.batch:
            _refuse("sequence_lengths", f"{len(self.sequence_lengths)} lengths", f"{self.batch}")
        for length in self.sequence_lengths:
            if not 1 <= length <= self.query_length:
                _refuse("sequence_lengths", str(length), f"1..{self.query_length}")

    @property
    def quantized_cache(self) -> bool:
        """The cache holds other numbers than the query does."""
        return self.cache_scale is not CacheScale.NONE

    @property
    def group_size(self) -> int:
        """Query heads that read one key/value head."""
        return self.query_heads // self.kv_heads

    @property
    def longest(self) -> int:
        """The longer of query and key length."""
        return max(self.query_length, self.key_length)

    @property
    def query_tokens(self) -> int:
        """Query tokens that exist: padding counts, except in ragged operators."""
        return (
            sum(self.sequence_lengths) if self.sequence_lengths else self.batch * self.query_length
        )


def _refuse(name: str, got: str, need: str) -> None:
    field_name = f"attention_input.{name}"
    raise InvalidValue(field_name, got, need, RULE)
