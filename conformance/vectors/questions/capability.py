"""Questions about attention backends: what runs, what is advised, what it costs (C1 to C14)."""

from fractions import Fraction
from typing import Final

from attrs import frozen

from conformance.vectors.questions.kind import kind
from spec.capability import (
    RULES,
    AttentionInput,
    Backend,
    Basis,
    Configuration,
    Hardware,
    NothingRunsError,
    Observation,
    OrtBuild,
    Provider,
    Settings,
    UnreachableBackendError,
    advice_key,
    advise,
    case_of,
    executed_flops,
    kernel_options,
    memory_estimate,
    needed_flops,
    place,
    resolve,
    settings_for,
    survey,
    visible_pairs,
    workload_key,
)
from spec.capability.rule import first_broken


@frozen
class Asked:
    """One call on one device with one build, and the user's wishes."""

    attention: AttentionInput
    hardware: Hardware
    configuration: Configuration
    build: OrtBuild


@frozen
class BackendAsked:
    """One backend's rules for one case, under a value of the option `sdpa_kernel`."""

    backend: Backend
    case: Asked
    sdpa_kernel: int


@frozen
class FirstBroken:
    """Id of the first rule in its way; null if it can run."""

    rule: str | None


@frozen
class Out:
    """A backend that can't run, and the first rule in its way."""

    backend: Backend
    rule: str


@frozen
class Surveyed:
    """Every backend once, in the fixed order."""

    runnable: tuple[Backend, ...]
    excluded: tuple[Out, ...]


@frozen
class Resolution:
    """What the runtime takes by itself; null if it would refuse the node."""

    provider: Provider
    backend: Backend | None


@frozen
class ResolveAsked:
    """One call, and the option `sdpa_kernel`, 0 for unset."""

    attention: AttentionInput
    hardware: Hardware
    build: OrtBuild
    sdpa_kernel: int


@frozen
class SettingsAsked:
    """A backend that somebody wants to run."""

    backend: Backend
    attention: AttentionInput
    hardware: Hardware
    build: OrtBuild


@frozen
class SettingsFound:
    """The smallest change; null if none does it."""

    settings: Settings | None


@frozen
class Measured:
    """Latencies of one backend for the call that is asked about."""

    backend: Backend
    latencies_ns: tuple[int, ...]
    elsewhere: bool = False
    """They belong to another workload: twice the batch."""


@frozen
class AdviceAsked:
    """A case and what was measured."""

    case: Asked
    measured: tuple[Measured, ...]


@frozen
class Place:
    """One backend in an advice."""

    backend: Backend
    basis: Basis
    score_permille: int
    expected_speedup: Fraction
    confidence: Fraction
    samples: int
    memory_bytes: int


@frozen
class Advised:
    """The order, best first; empty where nothing can run. How many remarks there are counts."""

    order: tuple[Place, ...]
    excluded: tuple[Out, ...]
    notes: int


@frozen
class WorkAsked:
    """A call, and the backend that would run it."""

    backend: Backend
    attention: AttentionInput


@frozen
class Work:
    """Exact counts."""

    visible_pairs: int
    needed_flops: int
    executed_flops: int


@frozen
class MemoryAsked:
    """A call, a backend, a device, and the provider that took the node."""

    backend: Backend
    attention: AttentionInput
    hardware: Hardware
    provider: Provider


@frozen
class Memory:
    """Bytes of what lives during one call, beside the kernel and in it."""

    operand_bytes: int
    workspace_bytes: int
    total_bytes: int


@frozen
class OptionsAsked:
    """A build, and the option `sdpa_kernel`."""

    sdpa_kernel: int
    build: OrtBuild
    attention: AttentionInput


@frozen
class OptionsFound:
    """What is left on, in the fixed order."""

    enabled: tuple[Backend, ...]
    cudnn_auto: bool
    minimum_flash_packed_length: int
    minimum_efficient_fp32_length: int


@frozen
class TwoCases:
    """Two cases."""

    left: Asked
    right: Asked


@frozen
class SameKeys:
    """Whether they share advice, and measurements."""

    same_advice: bool
    same_measurements: bool


def _first_broken(asked: BackendAsked) -> FirstBroken:
    one = asked.case
    case = case_of(one.attention, one.hardware, one.build, one.configuration, asked.sdpa_kernel)
    broken = first_broken(RULES[asked.backend], case)
    return FirstBroken(broken[0].rule_id if broken else None)


def _survey(asked: Asked) -> Surveyed:
    found = survey(asked.attention, asked.hardware, asked.configuration, asked.build)
    return Surveyed(found.runnable, tuple(Out(one.backend, one.rule_id) for one in found.excluded))


def _resolve(asked: ResolveAsked) -> Resolution:
    provider = place(asked.attention, asked.hardware, asked.build)
    try:
        found = resolve(asked.attention, asked.hardware, asked.build, asked.sdpa_kernel)
    except NothingRunsError:
        return Resolution(provider, None)
    return Resolution(provider, found)


def _settings(asked: SettingsAsked) -> SettingsFound:
    try:
        found = settings_for(asked.backend, asked.attention, asked.hardware, asked.build)
    except UnreachableBackendError:
        return SettingsFound(None)
    return SettingsFound(found)


def _advise(asked: AdviceAsked) -> Advised:
    case = asked.case
    own = workload_key(case.attention, case.hardware, case.build)
    other = (*own, ("another", "call"))
    history = [
        Observation(one.backend, other if one.elsewhere else own, latency_ns)
        for one in asked.measured
        for latency_ns in one.latencies_ns
    ]
    try:
        found = advise(case.attention, case.hardware, case.configuration, case.build, history)
    except NothingRunsError as error:
        return Advised((), _outs(error), 0)
    order = (found.recommended, *found.alternatives)
    return Advised(
        tuple(
            Place(
                one.backend,
                one.basis,
                one.score_permille,
                one.expected_speedup,
                one.confidence,
                one.samples,
                one.memory.total_bytes,
            )
            for one in order
        ),
        tuple(Out(one.backend, one.rule_id) for one in found.excluded),
        len(found.notes),
    )


def _outs(error: NothingRunsError) -> tuple[Out, ...]:
    return tuple(Out(one.backend, one.rule_id) for one in error.excluded)


def _work(asked: WorkAsked) -> Work:
    return Work(
        visible_pairs(asked.attention),
        needed_flops(asked.attention),
        executed_flops(asked.backend, asked.attention),
    )


def _memory(asked: MemoryAsked) -> Memory:
    found = memory_estimate(asked.backend, asked.attention, asked.hardware, asked.provider)
    return Memory(found.operand_bytes, found.workspace_bytes, found.total_bytes)


def _options(asked: OptionsAsked) -> OptionsFound:
    found = kernel_options(asked.sdpa_kernel, asked.build, asked.attention.operator)
    return OptionsFound(
        tuple(one for one in Backend if one in found.enabled),
        found.cudnn_auto,
        found.minimum_flash_packed_length,
        found.minimum_efficient_fp32_length,
    )


def _same(asked: TwoCases) -> SameKeys:
    left, right = asked.left, asked.right
    return SameKeys(
        advice_key(left.attention, left.hardware, left.configuration, left.build)
        == advice_key(right.attention, right.hardware, right.configuration, right.build),
        workload_key(left.attention, left.hardware, left.build)
        == workload_key(right.attention, right.hardware, right.build),
    )


BROKEN: Final = kind("first-broken-rule", BackendAsked, FirstBroken, _first_broken)
SURVEY: Final = kind("survey", Asked, Surveyed, _survey)
RESOLVE: Final = kind("resolve", ResolveAsked, Resolution, _resolve)
SETTINGS: Final = kind("settings", SettingsAsked, SettingsFound, _settings)
ADVISE: Final = kind("advise", AdviceAsked, Advised, _advise)
WORK: Final = kind("work", WorkAsked, Work, _work)
MEMORY: Final = kind("memory", MemoryAsked, Memory, _memory)
OPTIONS: Final = kind("kernel-options", OptionsAsked, OptionsFound, _options)
SAME: Final = kind("same-keys", TwoCases, SameKeys, _same)
KINDS: Final = (BROKEN, SURVEY, RESOLVE, SETTINGS, ADVISE, WORK, MEMORY, OPTIONS, SAME)
