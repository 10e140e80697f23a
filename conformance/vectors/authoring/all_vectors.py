"""Every vector there is."""

import functools

from conformance.vectors.authoring import (
    cache,
    capability,
    capability_rules,
    evidence,
    keys,
    ranking,
    records,
    regression,
    selection_admission,
    selection_inputs,
    selection_search,
    selection_stored,
    selection_verdicts,
)
from conformance.vectors.vector import Vector


@functools.cache
def all_vectors() -> tuple[Vector, ...]:
    """Return every vector, answered by the reference model."""
    modules = (
        cache,
        capability,
        capability_rules,
        evidence,
        keys,
        ranking,
        records,
        regression,
        selection_admission,
        selection_inputs,
        selection_search,
        selection_stored,
        selection_verdicts,
    )
    return tuple(vector for module in modules for vector in module.vectors())
