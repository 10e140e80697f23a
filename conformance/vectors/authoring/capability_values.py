"""Questions whether devices, calls, builds and wishes may be (C1 to C4)."""

from collections.abc import Mapping

from conformance.codec import codec_of
from conformance.vectors.authoring.capability_calls import (
    A100,
    EXTERNAL,
    GPU,
    GQA,
    MHA,
    PACKED,
    PAGED,
    QUANTIZED,
)
from conformance.vectors.authoring.question import raw_question
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.capability import (
    AttentionInput,
)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about values."""
    return (
        *_values(),
        *_more_values(),
    )


def _accepts(
    group: str, name: str, word: str, value: Json, rule: str, comment: str, *, accepted: bool
) -> Vector:
    return raw_question(f"capability/{group}/{name}", "accepts", {"type": word, "value": value},
                        comment, holds=rule if accepted else "",
                        breaks="" if accepted else rule, flags="boundary types")  # fmt: skip


def _changed(value: object, changes: Mapping[str, Json]) -> Json:
    encoded = codec_of(type(value)).encode(value)
    assert isinstance(encoded, dict), "values with fields are objects"
    return {**encoded, **changes}


def _values() -> tuple[Vector, ...]:
    def device(name: str, comment: str, changes: Mapping[str, Json], *, accepted: bool) -> Vector:
        return _accepts("device", name, "hardware", _changed(A100, changes), "C1", comment,
                        accepted=accepted)  # fmt: skip

    def build(name: str, comment: str, changes: Mapping[str, Json], *, accepted: bool) -> Vector:
        return _accepts("build", name, "ort-build", _changed(GPU, changes), "C3", comment,
                        accepted=accepted)  # fmt: skip

    def wish(name: str, comment: str, value: Json, *, accepted: bool) -> Vector:
        return _accepts("wishes", name, "configuration", value, "C4", comment,
                        accepted=accepted)  # fmt: skip

    return (
        device("usual", "A board as its vendor describes it.", {}, accepted=True),
        device("no-name", "A device without a name.", {"name": ""}, accepted=False),
        device("no-units", "At least one processor.", {"compute_units": 0}, accepted=False),
        device("nothing-free", "No memory free is a fact.", {"available_memory_bytes": 0},
               accepted=True),
        device("more-free-than-there-is", "More memory free than there is.",
               {"available_memory_bytes": 80_000_000_001}, accepted=False),
        device("cuda-without-capability", "A CUDA device has a compute capability.",
               {"compute_capability": [0, 0]}, accepted=False),
        device("cpu-with-capability", "Others have none.", {"kind": "cpu"}, accepted=False),
        device("cpu", "A CPU has 0.0.", {"kind": "cpu", "compute_capability": [0, 0]},
               accepted=True),
        device("minor-of-ten", "Minor 10 would run into the major.",
               {"compute_capability": [8, 10]}, accepted=False),
        device("unknown-cache", "0 is unknown.", {"l2_cache_bytes": 0}, accepted=True),
        device("negative-bandwidth", "Less than none.", {"memory_bandwidth_bytes_per_s": -1},
               accepted=False),
        build("usual", "A wheel as it is.", {}, accepted=True),
        build("no-cpu", "Every build has the CPU provider.", {"providers": ["cuda"]},
              accepted=False),
        build("no-math", "Every build has MATH.", {"compiled": ["cudnn"]}, accepted=False),
        build("math-only", "MATH alone will do.", {"compiled": ["math"]}, accepted=True),
        build("nowhere-as-provider", "Nowhere is a placement, not a provider.",
              {"providers": ["cpu", "nowhere"]}, accepted=False),
        build("negative-version", "A version under 0.", {"version": [1, -1, 0]}, accepted=False),
        wish("none", "No wishes.", {}, accepted=True),
        wish("one-preferred", "One preference.", {"preferred": ["cudnn"]}, accepted=True),
        wish("two-preferred", "Two are one too many.", {"preferred": ["cudnn", "xqa"]},
             accepted=False),
        wish("math-disabled", "MATH can't be disabled.", {"disabled": ["math"]},
             accepted=False),
        wish("budget-negative", "Fewer bytes than none.", {"memory_budget_bytes": -1},
             accepted=False),
        wish("budget-zero", "0 sets no limit.", {"memory_budget_bytes": 0}, accepted=True),
        wish("length-negative", "Shorter than nothing.", {"minimum_flash_length": -1},
             accepted=False),
        wish("same-disabled-twice", "A set has no member twice.",
             {"disabled": ["xqa", "xqa"]}, accepted=False),
    )  # fmt: skip


def _more_values() -> tuple[Vector, ...]:
    def attention(
        name: str,
        comment: str,
        base: AttentionInput,
        changes: Mapping[str, Json],
        *,
        accepted: bool,
    ) -> Vector:
        return _accepts("call", name, "attention-input", _changed(base, changes), "C2", comment,
                        accepted=accepted)  # fmt: skip

    return (
        attention("usual", "A plain call.", MHA, {}, accepted=True),
        attention("no-batch", "At least one sequence.", MHA, {"batch": 0}, accepted=False),
        attention("no-queries", "At least one query.", MHA, {"query_length": 0}, accepted=False),
        attention("heads-not-a-multiple", "8 query heads over 3.", MHA, {"kv_heads": 3},
                  accepted=False),
        attention("one-key-head", "8 query heads over 1.", MHA, {"kv_heads": 1}, accepted=True),
        attention("past-and-queries-make-keys", "511 + 1 = 512.", GQA, {}, accepted=True),
        attention("past-and-queries-miss-keys", "510 + 1 is not 512.", GQA,
                  {"past_length": 510}, accepted=False),
        attention("past-without-cache", "A past needs a cache.", MHA, {"past_length": 1},
                  accepted=False),
        attention("external-of-opset-23", "An external cache came with opset 24.", EXTERNAL,
                  {"operator": "Attention.23"}, accepted=False),
        attention("external", "Opset 24 has it.", EXTERNAL, {}, accepted=True),
        attention("paged-elsewhere", "Only PagedAttention is paged.", GQA,
                  {"cache": "paged", "page_size": 16}, accepted=False),
        attention("paged-without-pages", "A page has a size.", PAGED, {"page_size": 0},
                  accepted=False),
        attention("int8-query", "Only caches are quantized.", MHA,
                  {"dtype": "int8", "cache_dtype": "int8"}, accepted=False),
        attention("quantized-without-scale", "Another type needs a scale.", QUANTIZED,
                  {"cache_scale": "none"}, accepted=False),
        attention("scale-without-cache", "A scale of no cache.", MHA,
                  {"cache_scale": "per_tensor", "cache_dtype": "int8"}, accepted=False),
        attention("dropout-one", "Dropping everything.", MHA, {"dropout": [1, 1]},
                  accepted=False),
        attention("dropout-almost-one", "999/1000.", MHA, {"dropout": [999, 1000]},
                  accepted=True),
        attention("softcap-negative", "A cap under 0.", MHA, {"softcap": [-1, 1]},
                  accepted=False),
        attention("ragged", "Two sequences of their own lengths.", PACKED,
                  {"sequence_lengths": [1, 512]}, accepted=True),
        attention("ragged-too-long", "513 of at most 512.", PACKED,
                  {"sequence_lengths": [1, 513]}, accepted=False),
        attention("ragged-too-few", "One length for two sequences.", PACKED,
                  {"sequence_lengths": [512]}, accepted=False),
        attention("ragged-elsewhere", "Padded operators have none.", MHA,
                  {"sequence_lengths": [512, 512]}, accepted=False),
        attention("window-negative", "A window under 0.", MHA, {"local_window": -1},
                  accepted=False),
    )  # fmt: skip
