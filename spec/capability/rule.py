"""Rules as data: what one backend needs of a case, who says so, and what a case had instead."""

from collections.abc import Callable, Iterable

from attrs import frozen

from spec.capability.attention_input import AttentionInput
from spec.capability.attention_operator import EVERY_OPERATOR, Operator
from spec.capability.backend import Backend
from spec.capability.build import OrtBuild, Provider
from spec.capability.configuration import Configuration
from spec.capability.element_type import ElementType
from spec.capability.hardware import Hardware
from spec.capability.kernel_options import KernelOptions, kernel_options
from spec.capability.placement import CAST_ON_CPU, place

NO_WISHES = Configuration()


@frozen
class Case:
    """Everything that a rule may look at."""

    attention: AttentionInput
    hardware: Hardware
    build: OrtBuild
    configuration: Configuration
    options: KernelOptions
    provider: Provider

    @property
    def kernel_type(self) -> ElementType:
        """The type that the kernel sees: float32 where the CPU provider casts float16 around it."""
        casts = self.provider is Provider.CPU and self.attention.operator in CAST_ON_CPU
        return ElementType.FLOAT32 if casts else self.attention.dtype


def case_of(
    attention: AttentionInput,
    hardware: Hardware,
    build: OrtBuild,
    configuration: Configuration = NO_WISHES,
    sdpa_kernel: int = 0,
) -> Case:
    """The case with the node placed and the options of `sdpa_kernel` worked out."""
    return Case(
        attention=attention,
        hardware=hardware,
        build=build,
        configuration=configuration,
        options=kernel_options(sdpa_kernel, build, attention.operator),
        provider=place(attention, hardware, build),
    )


@frozen
class Rule:
    """One condition of one backend. It says nothing about operators outside its scope."""

    id: str
    """Backend and condition, joined by a colon; unique."""
    backend: Backend
    operators: frozenset[Operator]
    need: str
    source: str
    holds: Callable[[Case], bool]
    got: Callable[[Case], str]

    def broken_by(self, case: Case) -> bool:
        """Whether the case is in scope and fails the condition."""
        return case.attention.operator in self.operators and not self.holds(case)


@frozen
class Exclusion:
    """Why a backend can't take a case: the first of its rules that the case breaks."""

    backend: Backend
    rule_id: str
    got: str
    need: str
    source: str

    def __str__(self) -> str:
        return f"{self.rule_id}: got {self.got}, need {self.need} ({self.source})"


def rule(
    backend: Backend,
    condition: str,
    need: str,
    source: str,
    *,
    holds: Callable[[Case], bool],
    got: Callable[[Case], str],
    operators: Iterable[Operator] = EVERY_OPERATOR,
) -> Rule:
    """A rule whose id is the backend's name and the condition's."""
    return Rule(
        f"{backend.value}:{condition}", backend, frozenset(operators), need, source, holds, got
    )


def first_broken(rules: Iterable[Rule], case: Case) -> tuple[Exclusion, ...]:
    """The first rule that the case breaks, as an exclusion; empty if all hold."""
    operator = case.attention.operator
    return first_unmet((one for one in rules if operator in one.operators), case)


def first_unmet(rules: Iterable[Rule], case: Case) -> tuple[Exclusion, ...]:
    """The same for rules that all speak of the case's operator."""
    for one in rules:
        if not one.holds(case):
            return (Exclusion(one.backend, one.id, one.got(case), one.need, one.source),)
    return ()
