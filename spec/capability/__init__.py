"""Capability: which attention backends can run a call, and which one is advised (C1 to C14).

`survey` asks every backend's rules, `advise` ranks those that can run, `resolve` says what ONNX
Runtime would run by itself, `settings_for` what to set for another. Everything comes in as values.
"""

from spec.capability.advice import Advice, Basis, Ranked, Survey, advise, survey
from spec.capability.advice_key import advice_key, workload_key
from spec.capability.attention_input import (
    AttentionInput,
    CacheForm,
    CacheScale,
    Layout,
    MaskKind,
    Packing,
    ScoresOutput,
    Sink,
)
from spec.capability.attention_operator import Operator
from spec.capability.backend import ORDER, Backend, sdpa_bits
from spec.capability.build import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    OrtBuild,
    Provider,
    Switches,
    Toggle,
)
from spec.capability.configuration import Configuration, Objective
from spec.capability.element_type import ElementType
from spec.capability.hardware import DeviceKind, Hardware
from spec.capability.hardware_presets import PRESETS
from spec.capability.history import Observation
from spec.capability.kernel_options import KernelOptions, kernel_options
from spec.capability.memory import MemoryEstimate, MemoryPart, memory_estimate
from spec.capability.placement import place
from spec.capability.precedence import Slot, precedence
from spec.capability.resolve import (
    NothingRunsError,
    Settings,
    UnreachableBackendError,
    resolve,
    settings_for,
)
from spec.capability.rule import Case, Exclusion, Rule, case_of
from spec.capability.rule_table import ALL_RULES, RULES
from spec.capability.work import executed_flops, needed_flops, visible_pairs

__all__ = [
    "ALL_RULES",
    "CPU_WHEEL_1_32",
    "GPU_WHEEL_1_31",
    "ORDER",
    "PRESETS",
    "RULES",
    "Advice",
    "AttentionInput",
    "Backend",
    "Basis",
    "CacheForm",
    "CacheScale",
    "Case",
    "Configuration",
    "DeviceKind",
    "ElementType",
    "Exclusion",
    "Hardware",
    "KernelOptions",
    "Layout",
    "MaskKind",
    "MemoryEstimate",
    "MemoryPart",
    "NothingRunsError",
    "Objective",
    "Observation",
    "Operator",
    "OrtBuild",
    "Packing",
    "Provider",
    "Ranked",
    "Rule",
    "ScoresOutput",
    "Settings",
    "Sink",
    "Slot",
    "Survey",
    "Switches",
    "Toggle",
    "UnreachableBackendError",
    "advice_key",
    "advise",
    "case_of",
    "executed_flops",
    "kernel_options",
    "memory_estimate",
    "needed_flops",
    "place",
    "precedence",
    "resolve",
    "sdpa_bits",
    "settings_for",
    "survey",
    "visible_pairs",
    "workload_key",
]
