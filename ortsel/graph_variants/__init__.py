"""Graph variants: equal models, written in another way that may run faster.

One rewrite per file, listed in `building`. Each changes a copy and says what it must have done; the
original is never touched, and what comes out is checked before anybody sees it.
"""

from ortsel.graph_variants.building import build_variant, variant_names
from ortsel.graph_variants.errors import UnknownVariantError, VariantRefusedError

__all__ = ["UnknownVariantError", "VariantRefusedError", "build_variant", "variant_names"]
