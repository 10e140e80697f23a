"""Graph variants: equal models, written in another way that may run faster.

One rewrite per file, listed in `building`. Each changes a copy and says what it must have done; the
original is never touched, and what comes out is checked before anybody sees it. `find_attention`
says where a model computes attention, which is what most of them are about.
"""

from ortsel.graph_variants.attention_search import AttentionSite, Operand, find_attention
from ortsel.graph_variants.building import build_variant, variant_names
from ortsel.graph_variants.errors import UnknownVariantError, VariantRefusedError
from ortsel.graph_variants.loading import UnreadableModelError

__all__ = [
    "AttentionSite",
    "Operand",
    "UnknownVariantError",
    "UnreadableModelError",
    "VariantRefusedError",
    "build_variant",
    "find_attention",
    "variant_names",
]
