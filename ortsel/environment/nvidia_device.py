"""The GPU that a CUDA session of this process would use, as a value, asked through nvidia-ml-py.

Asking creates no CUDA context and takes no device memory. What the management library does not say
(types, shared memory, multiprocessors) follows from the compute capability.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from attrs import frozen

from kernels_cuda import capability_facts
from ortsel.errors import MissingPackageError
from spec.capability import DeviceKind, Hardware

TRANSFERS_PER_CLOCK: Final = 2
BITS_PER_BYTE: Final = 8
HERTZ_PER_MHZ: Final = 10**6


@frozen
class NoGpu:
    """Why there is no GPU that anything is known of."""

    reason: str


def read_gpu(
    device_id: int = 0, environment: Mapping[str, str] = os.environ, nvml: Any = None
) -> Hardware | NoGpu:
    """Return the device that CUDA calls `device_id` in this process, or why it is not known.

    `nvml` is the management library's module, nvidia-ml-py's unless given. Raises
    `MissingPackageError` (extra `gpu`) where that is not installed.
    """
    library = _library() if nvml is None else nvml
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        return NoGpu(f"no NVIDIA driver answers: {error}")
    try:
        return _read(library, device_id, environment)
    except (library.NVMLError, UnicodeDecodeError) as error:
        return NoGpu(f"the NVIDIA driver does not say: {error}")
    finally:
        library.nvmlShutdown()


def _library() -> ModuleType:
    try:
        return import_module("pynvml")
    except ModuleNotFoundError as error:
        raise MissingPackageError("reading the GPU", "nvidia-ml-py", "gpu") from error


def _read(nvml: Any, device_id: int, environment: Mapping[str, str]) -> Hardware | NoGpu:
    count = nvml.nvmlDeviceGetCount()
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    if not handles:
        return NoGpu("the NVIDIA driver has no device")
    visible = _visible(nvml, handles, environment)
    if isinstance(visible, NoGpu):
        return visible
    if not 0 <= device_id < len(visible):
        return NoGpu(f"device {device_id} of {len(visible)} that CUDA may see")
    handle = visible[device_id]
    if _is_split(nvml, handle):
        return NoGpu("the device is split into slices (MIG), and the driver describes the whole")
    capability = tuple(map(int, nvml.nvmlDeviceGetCudaComputeCapability(handle)))
    facts = capability_facts((capability[0], capability[1]))
    if facts is None:
        got = ".".join(map(str, capability))
        return NoGpu(f"nothing is known of compute capability {got}")
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    cores = _asked(nvml, lambda: nvml.nvmlDeviceGetNumGpuCores(handle))
    return Hardware(
        name=_text(nvml.nvmlDeviceGetName(handle)),
        kind=DeviceKind.CUDA,
        compute_units=max(1, cores // facts.cores_per_multiprocessor),
        total_memory_bytes=int(memory.total),
        available_memory_bytes=min(int(memory.free), int(memory.total)),
        memory_bandwidth_bytes_per_s=_bandwidth(nvml, handle),
        compute_capability=(capability[0], capability[1]),
        native_types=facts.native_types,
        has_tensor_cores=facts.has_tensor_cores,
        shared_memory_per_block_bytes=facts.shared_memory_per_block_bytes,
    )


def _visible(nvml: Any, handles: list[Any], environment: Mapping[str, str]) -> list[Any] | NoGpu:
    """Return the devices in CUDA's order.

    CUDA counts the fastest first and the driver by place on the bus, unless all are alike.
    """
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    kinds = {
        (_text(nvml.nvmlDeviceGetName(one)), *nvml.nvmlDeviceGetCudaComputeCapability(one))
        for one in handles
    }
    in_order = len(kinds) == 1 or environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if wanted is None:
        return handles if in_order else NoGpu("devices differ and CUDA's order is not known")
    found = []
    for entry in filter(None, map(str.strip, wanted.split(","))):
        if entry.isdecimal():
            if not in_order:
                return NoGpu("devices differ and CUDA's order is not known")
            if int(entry) >= len(handles):
                break  # CUDA sees nothing from the first wrong entry on
            found.append(handles[int(entry)])
            continue
        matches = [one for one in handles if _text(nvml.nvmlDeviceGetUUID(one)).startswith(entry)]
        if len(matches) != 1:
            break
        found.append(matches[0])
    return found or NoGpu(f"CUDA_VISIBLE_DEVICES={wanted!r} lets CUDA see no device")


def _is_split(nvml: Any, handle: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except nvml.NVMLError:
        return False  # an older driver, or a device that cannot be split


def _bandwidth(nvml: Any, handle: Any) -> int:
    """Return bytes per second: bus width times clock times two transfers; 0 if it is not said."""
    width = _asked(nvml, lambda: nvml.nvmlDeviceGetMemoryBusWidth(handle))
    clock = _asked(nvml, lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM))
    return width * clock * HERTZ_PER_MHZ * TRANSFERS_PER_CLOCK // BITS_PER_BYTE


def _asked(nvml: Any, question: Any) -> int:
    try:
        return int(question())
    except nvml.NVMLError:
        return 0


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
