"""NVIDIA's TensorRT providers, from the catalogue of kernels.

Offered to a user who named one of them or CUDA, and to one who named no provider, since building an
engine takes seconds to minutes: a search that has no budget for it says so, and no request waits.
Each plan keeps its engines in a folder of its own below the cache folder.
"""

from itertools import islice
from typing import Final

from attrs import evolve

from kernels_cuda import (
    CUDA,
    NV_TENSORRT_RTX,
    TENSORRT,
    NvTensorrtRtxFacts,
    ProviderPlan,
    ProviderPlans,
    ShapeRange,
    TensorrtFacts,
    nv_tensorrt_rtx_plans,
    tensorrt_plans,
)
from ortsel.candidates.captured_graphs import captured, for_shapes
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts, EngineFacts, GpuFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan, Provider

CPU: Final = "CPUExecutionProvider"


def tensorrt_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return the reference on TensorRT; none without facts about the device and its engines.

    The two providers can't be in one session, so each takes the other's place.
    """
    named = {provider.name for provider in reference.providers or ()}
    if not facts.offers(TENSORRT) and not facts.offers(NV_TENSORRT_RTX):
        return ()
    if named and named.isdisjoint({CUDA, TENSORRT, NV_TENSORRT_RTX}):
        reason = f"the user named {', '.join(sorted(named))}"
        return (LeftOut("tensorrt", "users-choice", reason),)
    if facts.gpu is None or facts.engines is None:
        return (LeftOut("tensorrt", "no-device", "nothing is known of a GPU"),)
    if facts.offers(TENSORRT) and NV_TENSORRT_RTX not in named:
        kind = _tensorrt
    elif facts.offers(NV_TENSORRT_RTX) and TENSORRT not in named:
        kind = _nv_tensorrt_rtx
    else:
        return ()
    gpu, engines = facts.gpu, facts.engines
    found = kind(reference, facts, gpu, engines)
    left_out = (LeftOut(f"tensorrt:{one.name}", "no-gain", one.reason) for one in found.left_out)
    for_any = (_plan(reference, facts, plan) for plan in found.plans)
    profile = _profile(facts)
    if not profile:
        return (*for_any, *left_out)
    # Without a profile an engine is built anew, during a call, whenever a shape leaves the range
    # that it has met; with one it takes no shape outside of it.
    profiled = kind(reference, facts, gpu, evolve(engines, shapes=profile))
    for_one = (for_shapes(_plan(reference, facts, plan), facts) for plan in profiled.plans)
    return (*for_one, *islice(for_any, 1), *left_out)


def _profile(facts: CandidateFacts) -> tuple[ShapeRange, ...]:
    """Return the call's own shapes as a profile of the inputs that the model leaves open.

    None where all are fixed, where some are not known, and for what no profile can say.
    """
    given = dict(facts.shapes)
    ranges = []
    for name, dimensions in facts.model.inputs or ():
        if all(isinstance(dimension, int) for dimension in dimensions):
            continue
        sizes = given.get(name)
        if not sizes or 0 in sizes or set(name) & set(":,"):
            return ()
        ranges.append(ShapeRange(name, sizes, sizes, sizes))
    return tuple(ranges)


def _tensorrt(
    reference: Plan, facts: CandidateFacts, gpu: GpuFacts, engines: EngineFacts
) -> ProviderPlans:
    return tensorrt_plans(
        TensorrtFacts(
            gpu.hardware,
            engines.folder,
            engines.fingerprint,
            engines.shapes,
            _options(reference, TENSORRT),
            lossy=facts.lossy,
            has_fixed_addresses=facts.has_fixed_addresses,
        )
    )


def _nv_tensorrt_rtx(
    reference: Plan, facts: CandidateFacts, gpu: GpuFacts, engines: EngineFacts
) -> ProviderPlans:
    return nv_tensorrt_rtx_plans(
        NvTensorrtRtxFacts(
            gpu.hardware,
            engines.folder,
            engines.fingerprint,
            engines.shapes,
            _options(reference, NV_TENSORRT_RTX),
            has_fixed_addresses=facts.has_fixed_addresses,
        )
    )


def _options(reference: Plan, provider: str) -> tuple[tuple[str, str], ...]:
    for one in reference.providers or ():
        if one.name == provider:
            return one.options
    return ()


def _plan(reference: Plan, facts: CandidateFacts, plan: ProviderPlan) -> Plan:
    """Put the provider in front of those that were named, CUDA behind it for what it leaves."""
    others = [one for one in reference.providers or () if one.name != plan.provider]
    if not others:
        cuda = [Provider(CUDA, (("use_tf32", "0"),))] if facts.offers(CUDA) else []
        others = [*cuda, Provider(CPU)]
    made = derive(
        reference,
        plan.name,
        providers=(Provider(plan.provider, plan.options), *others),
        notes=plan.notes,
    )
    return captured(made, facts) if plan.captures else made
