"""What NVIDIA's compute capabilities have, as far as the driver does not say.

From the compute capability table of the CUDA C++ Programming Guide and NVIDIA's architecture white
papers. A capability that is not listed has what the newest listed one below it in its generation
has; of a generation without any, nothing is said.
"""

from typing import Final

from attrs import frozen

from spec.capability import ElementType

_KIB: Final = 1024
_FP16: Final = frozenset({ElementType.FLOAT32, ElementType.FLOAT16})
_BF16: Final = _FP16 | {ElementType.BFLOAT16}
_FP8: Final = _BF16 | {ElementType.FLOAT8_E4M3, ElementType.FLOAT8_E5M2}


@frozen
class ComputeCapability:
    """One generation's multiprocessor."""

    cores_per_multiprocessor: int
    shared_memory_per_block_bytes: int
    """Largest that a block may opt into."""
    native_types: frozenset[ElementType]
    has_tensor_cores: bool


COMPUTE_CAPABILITIES: Final = {
    (6, 0): ComputeCapability(64, 48 * _KIB, _FP16, has_tensor_cores=False),
    (6, 1): ComputeCapability(128, 48 * _KIB, _FP16, has_tensor_cores=False),
    (7, 0): ComputeCapability(64, 96 * _KIB, _FP16, has_tensor_cores=True),
    (7, 5): ComputeCapability(64, 64 * _KIB, _FP16, has_tensor_cores=True),
    (8, 0): ComputeCapability(64, 163 * _KIB, _BF16, has_tensor_cores=True),
    (8, 6): ComputeCapability(128, 99 * _KIB, _BF16, has_tensor_cores=True),
    (8, 7): ComputeCapability(128, 163 * _KIB, _BF16, has_tensor_cores=True),
    (8, 9): ComputeCapability(128, 99 * _KIB, _FP8, has_tensor_cores=True),
    (9, 0): ComputeCapability(128, 227 * _KIB, _FP8, has_tensor_cores=True),
    (10, 0): ComputeCapability(128, 227 * _KIB, _FP8, has_tensor_cores=True),
    (12, 0): ComputeCapability(128, 99 * _KIB, _FP8, has_tensor_cores=True),
}


def capability_facts(capability: tuple[int, int]) -> ComputeCapability | None:
    """Return what a compute capability has; None for a generation that is not listed."""
    known = [one for one in COMPUTE_CAPABILITIES if one[0] == capability[0] and one <= capability]
    return COMPUTE_CAPABILITIES[max(known)] if known else None
