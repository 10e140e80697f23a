"""Operations of an attention call by counting pairs one by one, where the shape is small."""

from conformance.vectors.second_route.plain import Odd, Plain, items, member, text, whole

LARGEST = 2**20
FULL = frozenset({"math", "tensorrt_fused", "tensorrt_flash", "tensorrt_cross"})


def work(asked: Plain) -> Plain:
    """Count every pair of a query and a key that it sees; None where that would take too long."""
    call = member(asked, "attention")
    queries, keys = whole(member(call, "query_length")), whole(member(call, "key_length"))
    batch, heads = whole(member(call, "batch")), whole(member(call, "query_heads"))
    if min(queries, keys, batch, heads, whole(member(call, "kv_heads"))) < 1:
        raise Odd("no call")
    if queries * keys * batch > LARGEST:
        return None
    lengths = [whole(one) for one in items(member(call, "sequence_lengths"))]
    onnx = text(member(call, "operator")).startswith("Attention.")
    offset = 0 if onnx and member(call, "cache") == "none" else keys - queries
    spans = [(one, one + offset) for one in lengths] or [(queries, keys)] * batch
    pairs = sum(
        1
        for rows, columns in spans
        for query in range(rows)
        for key in range(columns)
        if _sees(call, query + offset, key)
    )
    per_pair = 5 + 2 * (whole(member(call, "head_size")) + whole(member(call, "value_head_size")))
    needed = heads * pairs * per_pair
    full = text(member(asked, "backend")) in FULL
    return {
        "visible_pairs": pairs,
        "needed_flops": needed,
        "executed_flops": heads * batch * queries * keys * per_pair if full else needed,
    }


def _sees(call: Plain, position: int, key: int) -> bool:
    window = whole(member(call, "local_window"))
    ahead = member(call, "causal") is True and key > position
    behind = window > 0 and key <= position - window
    return not ahead and not behind
