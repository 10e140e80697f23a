"""The list of plans that a search tries, in the order it tries them."""

from collections.abc import Callable
from typing import Final, TypeAlias

from attrs import evolve

from ortsel.candidates.attention_variants import attention_variant_candidates
from ortsel.candidates.cuda import cuda_candidates
from ortsel.candidates.disabled_optimizers import disabled_optimizer_candidates
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.fused_graph import fused_graph_candidates
from ortsel.candidates.openvino import openvino_candidates
from ortsel.candidates.optimization_level import optimization_level_candidates
from ortsel.candidates.plugins import plugin_candidates
from ortsel.candidates.spinning import spinning_candidates
from ortsel.candidates.tensorrt import tensorrt_candidates
from ortsel.candidates.threads import thread_candidates
from ortsel.plan import Plan

REFERENCE: Final = "reference"
"""Name of the plan that does what plain ONNX Runtime would have done."""

Family: TypeAlias = Callable[[Plan, CandidateFacts], tuple[Plan, ...]]

FAMILIES: Final[tuple[Family, ...]] = (
    plugin_candidates,
    cuda_candidates,
    tensorrt_candidates,
    openvino_candidates,
    attention_variant_candidates,
    fused_graph_candidates,
    disabled_optimizer_candidates,
    thread_candidates,
    spinning_candidates,
    optimization_level_candidates,
)
"""Best guess first, so that a search that runs out of budget has seen what is most likely to win:
another provider or graph can gain more than half of the time, one left-out fusion as much on a
decode step; threads and spinning gain under load; a lower optimization level rarely gains."""


def generate(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference under its name, then every other plan worth a trial.

    Names are unique, and equal from call to call and machine to machine. No plan equals another in
    its parts. Everything that the user chose and a family does not change on purpose is in every
    plan: custom operators, overrides, provider options, determinism.
    """
    plans = [evolve(reference, name=REFERENCE)]
    for family in FAMILIES:
        for plan in family(plans[0], facts):
            if all(plan.parts() != earlier.parts() for earlier in plans):
                plans.append(plan)
    return tuple(plans)
