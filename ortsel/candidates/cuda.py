"""NVIDIA's CUDA provider with other options, from the catalogue of kernels.

Offered to a user who named the provider, and to one who named none. Whoever named other providers
only chose where the work runs.
"""

from typing import Final

from kernels_cuda import CUDA, CudaFacts, ProviderPlan, cuda_plans
from ortsel.candidates.captured_graphs import captured
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.model_traits import ModelTraits
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan, Provider

CPU: Final = "CPUExecutionProvider"
FUSED_ATTENTION: Final = (
    "Attention",
    "DecoderMaskedMultiHeadAttention",
    "DecoderMaskedSelfAttention",
    "GroupQueryAttention",
    "MultiHeadAttention",
    "PackedAttention",
    "PackedMultiHeadAttention",
    "PagedAttention",
    "QAttention",
    "SparseAttention",
)
CONTROL_FLOW: Final = ("If", "Loop", "Scan")


def cuda_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return the reference with other CUDA options; none without facts about the device."""
    named = {provider.name: provider for provider in reference.providers or ()}
    if not facts.offers(CUDA):
        return ()
    if named and CUDA not in named:
        return (LeftOut("cuda", "users-choice", f"the user named {', '.join(named)}"),)
    if facts.gpu is None:
        return (LeftOut("cuda", "no-device", "nothing is known of a GPU"),)
    own = dict(named[CUDA].options) if CUDA in named else {}
    found = cuda_plans(
        CudaFacts(
            facts.gpu.hardware,
            facts.gpu.build,
            tuple(own.items()),
            None if _may_have_attention(facts.model) else (),
            _contains(facts.model, "Conv", "ConvTranspose"),
            _contains(facts.model, *CONTROL_FLOW),
            facts.has_fixed_addresses,
            tf32=own.get("use_tf32", "1" if facts.reduced_precision else "0") == "1",
        )
    )
    plans = found.plans
    if plans and not named:
        notes = "the CUDA provider as it is, exact float32 products"
        plans = (ProviderPlan("cuda:default", CUDA, (("use_tf32", "0"),), notes), *plans)
    left_out = (LeftOut(f"cuda:{one.name}", "no-gain", one.reason) for one in found.left_out)
    return (*(_plan(reference, facts, plan) for plan in plans), *left_out)


def _plan(reference: Plan, facts: CandidateFacts, plan: ProviderPlan) -> Plan:
    changed = Provider(plan.provider, plan.options)
    providers = reference.providers or (changed, Provider(CPU))
    made = derive(
        reference,
        plan.name,
        providers=tuple(changed if one.name == CUDA else one for one in providers),
        notes=plan.notes,
    )
    return captured(made, facts) if plan.captures else made


def _contains(model: ModelTraits, *operator_types: str) -> bool | None:
    return None if model.operator_types is None else model.may_contain(*operator_types)


def _may_have_attention(model: ModelTraits) -> bool:
    """Whether there may be attention, fused already or for ONNX Runtime to fuse."""
    unfused = model.may_contain("MatMul", "FusedMatMul") and model.may_contain("Softmax")
    return unfused or model.may_contain(*FUSED_ATTENTION)
