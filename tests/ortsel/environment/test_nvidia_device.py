"""Reading the GPU, from a management library that answers like NVIDIA's."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field

from kernels_cuda import COMPUTE_CAPABILITIES, capability_facts
from ortsel.environment.nvidia_device import NoGpu, read_gpu
from spec.capability import PRESETS, DeviceKind, Hardware

GIB = 2**30


class NvmlError(Exception):
    """As the library's own."""


@define
class Memory:
    total: int
    free: int


@define
class Device:
    name: str
    capability: tuple[int, int]
    cores: int
    bus_bits: int = 5120
    clock_mhz: int = 1593
    uuid: str = "GPU-0000"
    split: bool = False
    memory: Memory = field(factory=lambda: Memory(80 * GIB, 79 * GIB))


A100 = Device("NVIDIA A100-SXM4-80GB", (8, 0), 6912)
T4 = Device("Tesla T4", (7, 5), 2560, 256, 5001, "GPU-1111")


class Nvml:
    """The questions that are asked, answered from a list of devices."""

    NVMLError = NvmlError
    NVML_CLOCK_MEM = 2

    def __init__(self, *devices: Device, driver: bool = True, mute: frozenset[str] = frozenset()):
        self.devices = devices
        self.driver = driver
        self.mute = mute
        self.open = 0

    def nvmlInit(self) -> None:
        if not self.driver:
            raise NvmlError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Device:
        return self.devices[index]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, Callable[[Device], Any]] = {
            "nvmlDeviceGetName": lambda one: one.name,
            "nvmlDeviceGetUUID": lambda one: one.uuid.encode(),
            "nvmlDeviceGetCudaComputeCapability": lambda one: one.capability,
            "nvmlDeviceGetMemoryInfo": lambda one: one.memory,
            "nvmlDeviceGetNumGpuCores": lambda one: one.cores,
            "nvmlDeviceGetMemoryBusWidth": lambda one: one.bus_bits,
            "nvmlDeviceGetMaxClockInfo": lambda one: one.clock_mhz,
            "nvmlDeviceGetMigMode": lambda one: (int(one.split), 0),
        }

        def asked(device: Device, *_: object) -> Any:
            if name in self.mute:
                raise NvmlError("Not Supported")
            return answers[name](device)

        return asked


def test_a_device_is_described_like_its_preset() -> None:
    found, preset = read_gpu(0, {}, Nvml(A100)), PRESETS["a100"]
    assert isinstance(found, Hardware)
    assert found.kind is DeviceKind.CUDA
    assert found.compute_units == preset.compute_units
    assert found.compute_capability == preset.compute_capability
    assert found.native_types == preset.native_types
    assert found.shared_memory_per_block_bytes == preset.shared_memory_per_block_bytes
    assert found.available_memory_bytes == 79 * GIB
    ratio = found.memory_bandwidth_bytes_per_s / preset.memory_bandwidth_bytes_per_s
    assert 0.95 < ratio < 1.05


CUDA_PRESETS = {name: one for name, one in PRESETS.items() if one.kind is DeviceKind.CUDA}


@pytest.mark.parametrize("preset", CUDA_PRESETS.values(), ids=list(CUDA_PRESETS))
def test_what_follows_from_a_compute_capability_is_what_every_preset_has(preset: Hardware) -> None:
    facts = capability_facts(preset.compute_capability)
    assert facts is not None
    assert facts.native_types == preset.native_types
    assert facts.has_tensor_cores == preset.has_tensor_cores
    assert facts.shared_memory_per_block_bytes == preset.shared_memory_per_block_bytes


def test_an_unlisted_capability_has_what_the_one_below_it_has_within_its_generation() -> None:
    assert (12, 1) not in COMPUTE_CAPABILITIES
    assert capability_facts((12, 1)) == capability_facts((12, 0))
    assert capability_facts((11, 0)) is None
    assert capability_facts((3, 5)) is None


@pytest.mark.parametrize(
    ("nvml", "device_id", "environment", "reason"),
    [
        (Nvml(driver=False), 0, {}, "no NVIDIA driver answers: Driver Not Loaded"),
        (Nvml(), 0, {}, "the NVIDIA driver has no device"),
        (Nvml(A100), 1, {}, "device 1 of 1 that CUDA may see"),
        (Nvml(A100, T4), 0, {}, "devices differ and CUDA's order is not known"),
        (Nvml(A100, T4), 0, {"CUDA_VISIBLE_DEVICES": "0"}, "devices differ"),
        (Nvml(A100), 0, {"CUDA_VISIBLE_DEVICES": ""}, "lets CUDA see no device"),
        (Nvml(A100), 0, {"CUDA_VISIBLE_DEVICES": "7"}, "lets CUDA see no device"),
        (Nvml(A100), 0, {"CUDA_VISIBLE_DEVICES": "GPU-9"}, "lets CUDA see no device"),
        (Nvml(Device("Old", (3, 5), 2880)), 0, {}, "nothing is known of compute capability 3.5"),
        (Nvml(Device("Split", (9, 0), 1, split=True)), 0, {}, "split into slices"),
        (Nvml(A100, mute=frozenset({"nvmlDeviceGetMemoryInfo"})), 0, {}, "does not say: Not Supp"),
    ],
)
def test_without_certainty_there_is_no_gpu_and_a_reason(
    nvml: Nvml, device_id: int, environment: dict[str, str], reason: str
) -> None:
    found = read_gpu(device_id, environment, nvml)
    assert isinstance(found, NoGpu)
    assert reason in found.reason
    assert nvml.open == 0, "the library is closed again"


@pytest.mark.parametrize(
    ("environment", "device_id", "name"),
    [
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, 1, T4.name),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1,0"}, 0, T4.name),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1111"}, 0, T4.name),
        ({"CUDA_VISIBLE_DEVICES": "GPU-11,GPU-00"}, 1, A100.name),
    ],
)
def test_devices_that_differ_are_told_apart_where_the_environment_says_how(
    environment: dict[str, str], device_id: int, name: str
) -> None:
    found = read_gpu(device_id, environment, Nvml(A100, T4))
    assert isinstance(found, Hardware)
    assert found.name == name


def test_what_an_older_driver_does_not_say_is_unknown_not_guessed() -> None:
    silent = frozenset({"nvmlDeviceGetMemoryBusWidth", "nvmlDeviceGetMigMode"})
    found = read_gpu(0, {}, Nvml(A100, mute=silent))
    assert isinstance(found, Hardware)
    assert found.memory_bandwidth_bytes_per_s == 0


def test_the_real_library_answers_on_this_machine() -> None:
    pytest.importorskip("pynvml")
    found = read_gpu(0, {})
    assert isinstance(found, (Hardware, NoGpu))
    if isinstance(found, NoGpu):
        assert found.reason
