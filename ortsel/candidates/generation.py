"""The list of plans that a search tries, in the order it tries them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from attrs import evolve

from ortsel.candidates.attention_variants import (
    attention_variant_candidates,
    rare_attention_variant_candidates,
)
from ortsel.candidates.cuda import cuda_candidates
from ortsel.candidates.disabled_optimizers import disabled_optimizer_candidates
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.float_types import float_type_candidates
from ortsel.candidates.fused_graph import fused_graph_candidates
from ortsel.candidates.lossy_variants import lossy_variant_candidates
from ortsel.candidates.memory_settings import memory_candidates
from ortsel.candidates.openvino import openvino_candidates
from ortsel.candidates.optimization_level import optimization_level_candidates
from ortsel.candidates.plugins import plugin_candidates
from ortsel.candidates.ranked_order import in_ranked_order
from ortsel.candidates.search_space import LeftOut, SearchSpace
from ortsel.candidates.spinning import spinning_candidates
from ortsel.candidates.static_shapes import static_shape_candidates
from ortsel.candidates.tensorrt import tensorrt_candidates
from ortsel.candidates.threads import thread_candidates
from ortsel.plan import Plan
from spec.ranking import History

REFERENCE: Final = "reference"
"""Name of the plan that does what plain ONNX Runtime would have done."""

Family: TypeAlias = Callable[[Plan, CandidateFacts], Iterable[Plan | LeftOut]]

FAMILIES: Final[tuple[Family, ...]] = (
    plugin_candidates,
    cuda_candidates,
    tensorrt_candidates,
    static_shape_candidates,
    openvino_candidates,
    attention_variant_candidates,
    fused_graph_candidates,
    float_type_candidates,
    lossy_variant_candidates,
    disabled_optimizer_candidates,
    thread_candidates,
    spinning_candidates,
    optimization_level_candidates,
    memory_candidates,
    rare_attention_variant_candidates,
)
"""Each is asked only when its turn comes; ranking orders what they offer."""


def offered(reference: Plan, facts: CandidateFacts) -> Iterator[Plan | LeftOut]:
    """Yield every candidate, worth a trial or left out, one family after the other.

    Lazily: a family is asked when it is reached. Names are unique, and equal from call to call and
    machine to machine. No plan equals another in its parts.
    """
    plans = [evolve(reference, name=REFERENCE)]
    for family in FAMILIES:
        for one in family(plans[0], facts):
            if isinstance(one, LeftOut):
                yield one
                continue
            parts = one.parts()
            same = next((plan for plan in plans if plan.parts() == parts), None)
            if same is None:
                plans.append(one)
                yield one
            else:
                yield LeftOut(one.name, "same-plan", f"it is {same.name} under another name")


def search_space(
    reference: Plan, facts: CandidateFacts, history: History | None = None
) -> SearchSpace:
    """Return the reference under its name and every other plan worth a trial, in ranked order.

    Everything that the user chose and a family does not change on purpose is in every plan: custom
    operators, overrides, provider options, determinism. `history` has what was measured before.
    """
    plans = [evolve(reference, name=REFERENCE)]
    left_out = []
    for one in offered(reference, facts):
        if isinstance(one, LeftOut):
            left_out.append(one)
        else:
            plans.append(one)
    return SearchSpace(in_ranked_order(plans, facts, history), tuple(left_out))


def generate(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the plans of the search space: the reference, then the others in ranked order."""
    return search_space(reference, facts).plans
