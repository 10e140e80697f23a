"""What a device can do, as a value: facts that the caller read from the machine."""

from enum import Enum

from attrs import frozen

from spec.capability.element_type import ElementType
from spec.errors import InvalidValue

RULE = "C1"
_MINOR_END = 10


class DeviceKind(Enum):
    """Whose device it is, which decides the execution providers that can use it."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"
    METAL = "metal"
    XPU = "xpu"


@frozen
class Hardware:
    """One device. Nothing is guessed: what is unknown is zero or absent, and rules treat it so.

    Bandwidth is in bytes per second, sizes are in bytes. `compute_units` counts streaming
    multiprocessors, GPU cores, or the CPU threads that the session may use.
    """

    name: str
    kind: DeviceKind
    compute_units: int
    total_memory_bytes: int
    available_memory_bytes: int
    memory_bandwidth_bytes_per_s: int
    compute_capability: tuple[int, int] = (0, 0)
    """Major and minor for CUDA devices, (0, 0) for all others."""
    native_types: frozenset[ElementType] = frozenset({ElementType.FLOAT32})
    """Types the device multiplies natively."""
    has_tensor_cores: bool = False
    l2_cache_bytes: int = 0
    """Per device on a GPU, per core on a CPU; 0 when unknown."""
    shared_memory_per_block_bytes: int = 0
    """Largest opt-in shared memory of one block on a CUDA device; 0 when unknown."""
    instruction_sets: frozenset[str] = frozenset()
    """CPU instruction sets that change kernels, in lower case."""

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise InvalidValue("hardware.name", "''", "a non-empty name", RULE)
        if self.compute_units < 1:
            raise InvalidValue("hardware.compute_units", str(self.compute_units), ">= 1", RULE)
        sizes = {
            "total_memory_bytes": self.total_memory_bytes,
            "available_memory_bytes": self.available_memory_bytes,
            "memory_bandwidth_bytes_per_s": self.memory_bandwidth_bytes_per_s,
            "l2_cache_bytes": self.l2_cache_bytes,
            "shared_memory_per_block_bytes": self.shared_memory_per_block_bytes,
        }
        for name, size in sizes.items():
            if size < 0:
                field_name = f"hardware.{name}"
                raise InvalidValue(field_name, str(size), ">= 0", RULE)
        if self.available_memory_bytes > self.total_memory_bytes:
            raise InvalidValue(
                "hardware.available_memory_bytes",
                str(self.available_memory_bytes),
                f"<= total_memory_bytes {self.total_memory_bytes}",
                RULE,
            )
        major, minor = self.compute_capability
        is_cuda = self.kind is DeviceKind.CUDA
        if (major > 0) != is_cuda or not 0 <= minor < _MINOR_END:
            raise InvalidValue(
                "hardware.compute_capability",
                f"{major}.{minor} on {self.kind.value}",
                "major >= 1 and minor 0..9 on CUDA, 0.0 elsewhere",
                RULE,
            )

    @property
    def sm(self) -> int:
        """Compute capability as ten times major plus minor: 8.6 is 86, no CUDA device is 0."""
        major, minor = self.compute_capability
        return 10 * major + minor
