"""Every vector there is."""

import functools

from conformance.vectors.authoring import (
    cache,
    capability_advice,
    capability_choice,
    capability_costs,
    capability_rules,
    capability_values,
    evidence,
    keys,
    ranking_judgement,
    ranking_kernels,
    ranking_orders,
    records,
    regression_questions,
    regression_scripts,
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
        capability_advice,
        capability_choice,
        capability_costs,
        capability_values,
        capability_rules,
        evidence,
        keys,
        ranking_judgement,
        ranking_kernels,
        ranking_orders,
        records,
        regression_questions,
        regression_scripts,
        selection_admission,
        selection_inputs,
        selection_search,
        selection_stored,
        selection_verdicts,
    )
    return tuple(vector for module in modules for vector in module.vectors())
