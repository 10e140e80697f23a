"""Which backend ONNX Runtime runs by itself, and which settings make it run another."""

from collections.abc import Callable
from typing import Final

from attrs import evolve, frozen

from spec.capability.attention_input import AttentionInput
from spec.capability.backend import MATH_BIT, Backend, sdpa_bits
from spec.capability.build import OrtBuild, Switches
from spec.capability.hardware import Hardware
from spec.capability.precedence import precedence
from spec.capability.rule import Case, Exclusion, case_of, first_broken
from spec.capability.rule_table import RULES
from spec.errors import SpecError


@frozen
class NothingRunsError(SpecError):
    """No backend can take the call: ONNX Runtime would refuse the session or fail in the node.

    `excluded` names, for every backend that was asked, the first rule in its way.
    """

    operator: str
    excluded: tuple[Exclusion, ...]

    def __str__(self) -> str:
        reasons = "; ".join(str(exclusion) for exclusion in self.excluded)
        return f"{self.operator}: no backend can run it (rule C7): {reasons}"


@frozen
class UnreachableBackendError(SpecError):
    """No setting makes ONNX Runtime take this backend for this call."""

    backend: Backend
    operator: str

    def __str__(self) -> str:
        return f"{self.backend.value}: no setting selects it for {self.operator} (rule C8)"


def resolve(
    attention: AttentionInput, hardware: Hardware, build: OrtBuild, sdpa_kernel: int = 0
) -> Backend:
    """The first backend in the operator's order whose rules all hold.

    `sdpa_kernel` is the CUDA provider option, 0 for unset; no configuration of ours takes part.
    Raises NothingRunsError where every try fails, and InvalidValue for a negative option.
    """
    return _resolved(case_of(attention, hardware, build, sdpa_kernel=sdpa_kernel))


def _resolved(case: Case) -> Backend:
    excluded: list[Exclusion] = []
    for slot in precedence(case.attention.operator, case.provider):
        if not slot.covers(case.hardware.sm):
            continue
        broken = first_broken(RULES[slot.backend], case)
        if not broken:
            return slot.backend
        excluded.extend(broken)
    if not excluded:
        excluded.extend(first_broken(RULES[Backend.MATH], case))
    raise NothingRunsError(case.attention.operator.value, tuple(excluded))


@frozen
class Settings:
    """What to set so that a backend runs: the provider option, and the environment."""

    sdpa_kernel: int
    switches: Switches


def _unchanged(switches: Switches) -> Switches:
    return switches


def _no_xqa(switches: Switches) -> Switches:
    return evolve(switches, enable_xqa=False)


def _no_flash_decode(switches: Switches) -> Switches:
    return evolve(switches, disable_flash_decode=True)


def _no_decode_kernel(switches: Switches) -> Switches:
    return _no_xqa(_no_flash_decode(switches))


def _no_decoder(switches: Switches) -> Switches:
    return evolve(switches, disable_decoder_attention=True)


def _no_flash(switches: Switches) -> Switches:
    return evolve(switches, disable_flash_attention=True)


def _no_grouped_flash(switches: Switches) -> Switches:
    return evolve(switches, gqa_disable_flash_attention=True)


_CHANGES: Final[tuple[Callable[[Switches], Switches], ...]] = (
    _unchanged,
    _no_xqa,
    _no_flash_decode,
    _no_decode_kernel,
    _no_decoder,
    _no_flash,
    _no_grouped_flash,
)
"""Changes to the environment, least first. XQA and the CPU kernels answer to nothing else."""


def settings_for(
    backend: Backend, attention: AttentionInput, hardware: Hardware, build: OrtBuild
) -> Settings:
    """The smallest change that makes `resolve` answer with the backend.

    Tried in this order: fewest environment changes, then option 0, the backend's own bits, MATH's
    bit. An option alone can't do it everywhere: XQA has no bit, so while its conditions hold
    nothing else runs a decode step of GroupQueryAttention until ORT_ENABLE_XQA=0. Raises
    UnreachableBackendError.
    """
    options = dict.fromkeys((0, sdpa_bits(backend, attention.operator), MATH_BIT))
    for change in _CHANGES:
        changed = evolve(build, switches=change(build.switches))
        for option in options:
            try:
                found = resolve(attention, hardware, changed, option)
            except NothingRunsError:
                continue
            if found is backend:
                return Settings(option, changed.switches)
    raise UnreachableBackendError(backend, attention.operator.value)
