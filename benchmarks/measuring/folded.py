"""The one plan that gains on a wasteful sample model. Apart, so that who serves needs no onnx."""

from attrs import evolve

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.plan import Plan


def unoptimized() -> "ortsel.SessionOptions":
    """Return options under which constants are not folded."""
    options = ortsel.SessionOptions()
    options.graph_optimization_level = ortsel.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return options


def folding(facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the one plan that folds constants."""
    settings = facts.reference.settings.with_attribute("graph_optimization_level", 1)
    return (evolve(facts.reference, name="folding", settings=settings),)
