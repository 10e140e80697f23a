"""NVIDIA devices, their driver, and the libraries that the CUDA and TensorRT providers load.

The driver's own management library (NVML) is asked through ctypes: it comes with the driver, so
there is nothing to install, and asking it neither creates a CUDA context nor takes device memory.
"""

import ctypes
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

_NVML: Final = "nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"
_TEXT_BYTES: Final = 96


@frozen
class NvidiaFacts:
    """What the driver says."""

    driver: str
    devices: tuple[tuple[str, str], ...]
    """Name and compute capability of each kind of device that CUDA may see here, sorted. How many
    there are of one kind changes no kernel."""
    visible: str
    """CUDA_VISIBLE_DEVICES where the machine has devices of several kinds, else empty: device
    numbers and identifiers tell nothing where all are alike."""


class _NvmlError(Exception):
    """A call of the management library failed."""


def read_nvidia(
    environment: Mapping[str, str] = os.environ, library: str = _NVML
) -> NvidiaFacts | str | None:
    """Return the facts, None where no driver is installed, or why they cannot be read."""
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        return None
    try:
        _check(nvml.nvmlInit_v2())
        try:
            driver, devices = _driver(nvml), tuple(sorted(set(_devices(nvml))))
        finally:
            nvml.nvmlShutdown()
    except (_NvmlError, AttributeError) as error:
        return f"nvidia driver: {error}"
    visible = environment.get("CUDA_VISIBLE_DEVICES", "") if len(devices) > 1 else ""
    return NvidiaFacts(driver, devices, visible)


def library_versions(
    names: tuple[str, ...], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the full version in the file name of each shared library that can be found.

    A library such as "libcudnn.so.9" is a link to a file that is named after its whole version.
    """
    found: dict[str, str] = {}
    for name in names:
        for folder in _folders(environment):
            path = folder / name
            if path.exists():
                found[name] = path.resolve().name
                break
    return found


def _folders(environment: Mapping[str, str]) -> Iterator[Path]:
    for folder in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder)
    for folder in (
        f"/usr/lib/{platform.machine()}-linux-gnu",
        "/usr/local/cuda/lib64",
        "/usr/lib64",
        "/usr/lib",
    ):
        yield Path(folder)


def _driver(nvml: Any) -> str:
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    _check(nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(_TEXT_BYTES)))
    return text.value.decode("ascii", "replace")


def _devices(nvml: Any) -> Iterator[tuple[str, str]]:
    count = ctypes.c_uint()
    _check(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)))
    for index in range(count.value):
        device = ctypes.c_void_p()
        _check(nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device)))
        name = ctypes.create_string_buffer(_TEXT_BYTES)
        _check(nvml.nvmlDeviceGetName(device, name, ctypes.c_uint(_TEXT_BYTES)))
        _check_whole(nvml, device)
        major, minor = ctypes.c_int(), ctypes.c_int()
        _check(
            nvml.nvmlDeviceGetCudaComputeCapability(
                device, ctypes.byref(major), ctypes.byref(minor)
            )
        )
        yield name.value.decode("utf-8", "replace"), f"{major.value}.{minor.value}"


def _check_whole(nvml: Any, device: ctypes.c_void_p) -> None:
    """Refuse a device that is split (MIG): its slices differ in size and have one name."""
    mode = getattr(nvml, "nvmlDeviceGetMigMode", None)
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    if mode is None or mode(device, ctypes.byref(current), ctypes.byref(pending)) != 0:
        return  # an older driver, or a device that cannot be split
    if current.value != 0:
        raise _NvmlError("a device is split into slices (MIG)")


def _check(code: int) -> None:
    if code != 0:
        msg = f"NVML error {code}"
        raise _NvmlError(msg)
