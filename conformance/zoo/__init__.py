"""Implementations that are wrong in one way each. The suite must find every one, and say where."""

from conformance.zoo.engine_faults import ENGINE_FAULTS
from conformance.zoo.question_faults import QUESTION_FAULTS
from conformance.zoo.wire_faults import WIRE_FAULTS
from conformance.zoo.wrong import Wrong

ZOO: tuple[Wrong, ...] = (*WIRE_FAULTS, *QUESTION_FAULTS, *ENGINE_FAULTS)

__all__ = ["ENGINE_FAULTS", "QUESTION_FAULTS", "WIRE_FAULTS", "ZOO", "Wrong"]
