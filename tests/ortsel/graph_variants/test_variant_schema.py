"""What a variant writes may change only with `VARIANT_SCHEMA`: decisions and kept files rest on it.

`python -m tests.ortsel.graph_variants.test_variant_schema` writes the digests anew, once the number
was raised.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import onnx

from ortsel.graph_variants import VariantRefusedError, build_variant, variant_names
from ortsel.plan import VARIANT_SCHEMA
from tests.ortsel.graph_variants.attention_models import (
    Attention,
    multi_head_attention,
    onnx_attention,
)
from tests.ortsel.graph_variants.chain_models import Chain, chain_model
from tests.ortsel.graph_variants.test_float_types import half_model
from tests.ortsel.graph_variants.test_packed_and_grouped import (
    Grouped,
    Packed,
    grouped_model,
    packed_model,
)

RECORDED: Final = Path(__file__).with_name("variant_digests.json")
FOREIGN: Final = ("ort-fusions", "ort-optimizer", "dynamic-int8")
"""Written by other packages, whose versions are in the keys of decisions and files."""
MODELS: Final[dict[str, Callable[[], onnx.ModelProto]]] = {
    "multi-head": lambda: multi_head_attention(Attention(), opset=23),
    "multi-head with a cache": lambda: multi_head_attention(Attention(past=3)),
    "onnx": lambda: onnx_attention(Attention(with_heads=True), is_causal=1),
    "onnx with a cap": lambda: onnx_attention(Attention(queries=3), softcap=2.0, dynamic=False),
    "onnx 25": lambda: onnx_attention(Attention(with_heads=True), opset=25),
    "chain": lambda: chain_model(
        Chain(1, 2, 3, 8, 4, "after by Mul", "added", True, merged_batch=False, fused_product=False)
    ),
    "chosen chain": lambda: chain_model(
        Chain(1, 2, 3, 8, 4, "both", "chosen", False, merged_batch=False, fused_product=False)
    ),
    "packed": lambda: packed_model(Packed(mask="2"))[0],
    "packed and causal": lambda: packed_model(Packed(causal=True, size=8, value_size=8))[0],
    "half": half_model,
    "grouped": lambda: grouped_model(Grouped(rotary=True))[0],
}


def written_digest(path: Path) -> str:
    """Return a hash of a model file's graph and operator sets, whoever serialized it when."""
    model = onnx.load(path)
    kept = onnx.ModelProto(graph=model.graph, functions=model.functions)
    kept.opset_import.extend(sorted(model.opset_import, key=lambda one: str(one.domain)))
    for node in kept.graph.node:
        attributes = sorted(node.attribute, key=lambda one: str(one.name))
        del node.attribute[:]
        node.attribute.extend(attributes)
    del kept.graph.value_info[:]
    return hashlib.sha256(kept.SerializeToString(deterministic=True)).hexdigest()[:16]


def digests() -> dict[str, str]:
    """Return the digest of each variant of each model that takes it."""
    found = {}
    names = [name for lossy in (False, True) for name in variant_names(lossy=lossy)]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "variant.onnx"
        for model, build in MODELS.items():
            onnx.save(build(), source)
            for name in names:
                if name in FOREIGN:
                    continue
                try:
                    build_variant(name, source, target)
                except VariantRefusedError:
                    continue
                found[f"{name} of {model}"] = written_digest(target)
    return found


def changed(recorded: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return which recorded digests differ, also by having gone; new ones change nothing."""
    return sorted(name for name, digest in recorded.items() if found.get(name) != digest)


def test_what_variants_write_changes_only_with_the_schema() -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    assert recorded["schema"] == VARIANT_SCHEMA, "the schema was raised: write the digests anew"
    differing = changed(recorded["digests"], digests())
    assert not differing, "raise VARIANT_SCHEMA in ortsel/plan.py, and write the digests anew"


def test_every_variant_of_our_own_is_recorded() -> None:
    recorded = {
        name.split(" of ")[0] for name in json.loads(RECORDED.read_text("utf-8"))["digests"]
    }
    own = {name for lossy in (False, True) for name in variant_names(lossy=lossy)} - {*FOREIGN}
    assert recorded == own


def test_another_operator_another_digest(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = multi_head_attention(Attention())
    onnx.save(model, path)
    before = written_digest(path)
    model.producer_name = "somebody else"
    onnx.save(model, path)
    assert written_digest(path) == before
    model.graph.node[0].op_type = "Attention"
    onnx.save(model, path)
    assert changed({"a": before}, {"a": written_digest(path)}) == ["a"]
    assert changed({"a": before}, {}) == ["a"]


if __name__ == "__main__":
    now = digests()
    if RECORDED.exists():
        before = json.loads(RECORDED.read_text("utf-8"))
        if before["schema"] == VARIANT_SCHEMA and changed(before["digests"], now):
            sys.exit(f"raise VARIANT_SCHEMA first: got {VARIANT_SCHEMA}, as recorded")
    text = json.dumps({"digests": now, "schema": VARIANT_SCHEMA}, indent=1, sort_keys=True)
    RECORDED.write_text(text + "\n", "utf-8")
