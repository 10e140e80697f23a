"""Every rule of every backend, in the order in which they are asked."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spec.capability.attention_operator import Operator
from spec.capability.backend import Backend
from spec.capability.rule import Rule
from spec.capability.rules_decode import DECODER_MASKED_RULES, LEAN_RULES, XQA_RULES
from spec.capability.rules_flash import (
    FLASH_ATTENTION_2_RULES,
    FLASH_ATTENTION_3_RULES,
    FLASH_DECODE_RULES,
    VARIABLE_LENGTH_RULES,
)
from spec.capability.rules_fused import CUDNN_RULES, MEMORY_EFFICIENT_RULES
from spec.capability.rules_plain import CPU_RULES, MATH_RULES, METAL_RULES
from spec.capability.rules_tensorrt import (
    TENSORRT_CROSS_RULES,
    TENSORRT_FLASH_RULES,
    TENSORRT_FUSED_RULES,
)

RULES: Final[Mapping[Backend, tuple[Rule, ...]]] = MappingProxyType(
    {
        Backend.XQA: XQA_RULES,
        Backend.FLASH_DECODE: FLASH_DECODE_RULES,
        Backend.FLASH_ATTENTION_3: FLASH_ATTENTION_3_RULES,
        Backend.FLASH_ATTENTION_2: FLASH_ATTENTION_2_RULES,
        Backend.VARIABLE_LENGTH: VARIABLE_LENGTH_RULES,
        Backend.CUDNN: CUDNN_RULES,
        Backend.DECODER_MASKED: DECODER_MASKED_RULES,
        Backend.LEAN: LEAN_RULES,
        Backend.TENSORRT_CROSS: TENSORRT_CROSS_RULES,
        Backend.TENSORRT_FUSED: TENSORRT_FUSED_RULES,
        Backend.TENSORRT_FLASH: TENSORRT_FLASH_RULES,
        Backend.MEMORY_EFFICIENT: MEMORY_EFFICIENT_RULES,
        Backend.METAL: METAL_RULES,
        Backend.CPU: CPU_RULES,
        Backend.MATH: MATH_RULES,
    }
)
"""Per backend: is it there, is the node where it can run, may it run, can the device, can the
shapes, does the operator let it, and last what the configuration says."""

ALL_RULES: Final[tuple[Rule, ...]] = tuple(rule for rules in RULES.values() for rule in rules)
"""The whole table, flat."""

RULES_FOR: Final[Mapping[Operator, Mapping[Backend, tuple[Rule, ...]]]] = MappingProxyType(
    {
        operator: MappingProxyType(
            {
                backend: tuple(rule for rule in rules if operator in rule.operators)
                for backend, rules in RULES.items()
            }
        )
        for operator in Operator
    }
)
"""The rules of each backend that speak of an operator, for who asks often."""
