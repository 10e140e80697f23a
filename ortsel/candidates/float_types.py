"""Models in float16 computed in float32 on the CPU, which has few kernels for float16."""

from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

VARIANT: Final = "float32"
CPU: Final = "CPUExecutionProvider"


def float_type_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference computed in float32, where the model is in float16 and on the CPU."""
    named = {provider.name for provider in reference.providers or ()}
    if reference.variant or not facts.model.float16 or not facts.has_onnxscript or named - {CPU}:
        return ()
    notes = "float16 computed in float32, inputs and outputs as they were"
    return (derive(reference, f"variant={VARIANT}", variant=VARIANT, notes=notes),)
