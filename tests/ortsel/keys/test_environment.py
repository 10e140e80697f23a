"""What the environment says, and what it admits not to know."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
from attrs import fields

from ortsel.environment import environment as module
from ortsel.environment import read_environment
from ortsel.environment.cpu_model import parse_cpuinfo, read_cpu_model
from ortsel.environment.nvidia import NvidiaFacts, library_versions, read_nvidia
from ortsel.environment.variables import PREFIXES, VARIABLES, read_variables
from spec.canonical_json import canonical

ROOT = Path(__file__).parents[3]
X86 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC
cpu MHz\t\t: 2445.430
flags\t\t: fpu sse2 avx avx2 fma avx512_vnni amx_tile ibrs xsaves avx_vnni sse4_1
bugs\t\t: spectre_v1

processor\t: 1
model name\t: another
flags\t\t: avx10
"""
ARM = """processor\t: 0
Features\t: fp asimd i8mm
CPU implementer\t: 0x41
CPU part\t: 0xd05

processor\t: 1
Features\t: fp asimd bf16
CPU implementer\t: 0x41
CPU part\t: 0xd0a
"""


def test_the_environment_names_versions_cpu_and_budget() -> None:
    environment = read_environment()
    parts: Any = environment.parts()
    assert parts["onnxruntime"]["version"] == onnxruntime.__version__
    assert parts["onnxruntime"]["build"] == onnxruntime.get_build_info()
    assert parts["providers"] == list(onnxruntime.get_available_providers())
    assert parts["cpu"]["identity"]
    assert parts["threads"]["threads"] >= 1
    assert len(canonical(parts)) < 16_384


def test_every_field_is_a_part() -> None:
    environment = read_environment()
    parts: Any = environment.parts()
    renamed = {"budget": "threads"}
    names = {renamed.get(one.name, one.name) for one in fields(module.Environment)}
    assert parts.keys() == names | {"decision_schema"}


def test_two_reads_and_two_processes_agree(tmp_path: Path) -> None:
    here = canonical(read_environment().parts())
    assert canonical(read_environment().parts()) == here
    program = (
        "from ortsel.environment import read_environment\n"
        "from spec.canonical_json import canonical\n"
        "print(canonical(read_environment().parts()))\n"
    )
    command = [sys.executable, "-c", program]
    child_environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        command, env=child_environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == here + "\n"


def test_reading_needs_neither_numpy_nor_onnx_until_it_is_done() -> None:
    program = (
        "import sys; import ortsel.environment.environment, ortsel.environment.cpu_budget\n"
        "print(sorted({'onnx', 'psutil', 'cattrs'} & set(sys.modules)))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_a_variable_of_the_list_is_a_part_while_it_is_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    before: Any = read_environment().parts()
    monkeypatch.setenv(name, "1")
    after: Any = read_environment().parts()
    assert name not in before["variables"]
    assert after["variables"][name] == "1"
    assert VARIABLES[name], "each has its reason"


@pytest.mark.parametrize("name", [f"{prefix}ANYTHING" for prefix in PREFIXES])
def test_variables_with_a_prefix_of_the_list_count(name: str) -> None:
    assert read_variables({name: "1"}) == {name: "1"}


@pytest.mark.parametrize(
    "name", ["OMP_NUM_THREADS", "PATH", "HOME", "PWD", "ORT_DISABLE_TELEMETRY", "HOSTNAME"]
)
def test_other_variables_do_not_count(name: str) -> None:
    assert read_variables({name: "1"}) == {}


def test_on_x86_the_first_cpu_speaks_for_all() -> None:
    cpu = parse_cpuinfo(X86.splitlines(keepends=True))
    assert cpu is not None
    assert "model name: AMD EPYC" in cpu.identity
    assert cpu.instructions == (
        "amx_tile", "avx", "avx2", "avx512_vnni", "avx_vnni", "fma", "sse2", "sse4_1",
    )  # fmt: skip
    assert not any("another" in line or "MHz" in line for line in cpu.identity)


def test_on_arm_every_kind_of_core_counts() -> None:
    cpu = parse_cpuinfo(ARM.splitlines(keepends=True))
    assert cpu is not None
    assert {"CPU part: 0xd05", "CPU part: 0xd0a"} < set(cpu.identity)
    assert cpu.instructions == ("asimd", "bf16", "fp", "i8mm")


def test_a_cpu_that_nobody_describes_is_unknown(tmp_path: Path) -> None:
    assert read_cpu_model(tmp_path) is None
    assert parse_cpuinfo(["processor\t: 0\n"]) is None


def _missing(*providers: str, packages: tuple[str, ...] = (), **rest: Any) -> list[str]:
    nvidia = rest.get("nvidia")
    libraries = rest.get("libraries", {})
    return module._without_version(providers, dict.fromkeys(packages, "1"), nvidia, libraries)


H200 = NvidiaFacts("580.1", (("NVIDIA H200", "9.0"),), "")


def test_a_provider_whose_version_cannot_be_read_is_unknown() -> None:
    assert _missing("CPUExecutionProvider", "AzureExecutionProvider") == []
    assert _missing("NewExecutionProvider") == ["version of NewExecutionProvider"]
    assert _missing("OpenVINOExecutionProvider") == ["version of OpenVINOExecutionProvider"]
    assert _missing("OpenVINOExecutionProvider", packages=("onnxruntime-openvino",)) == []


def test_a_library_of_the_cuda_provider_whose_version_cannot_be_read_is_unknown() -> None:
    cuda = "CUDAExecutionProvider"
    assert _missing(cuda, nvidia=H200) == ["version of cuBLAS", "version of cuDNN"]
    assert _missing(cuda, nvidia=H200, packages=("nvidia-cublas", "nvidia-cudnn-cu13")) == []
    found = {"libcublas.so.13": "libcublas.so.13.1.0", "libcudnn.so.9": "libcudnn.so.9.10.2"}
    assert _missing(cuda, nvidia=H200, libraries=found) == []
    both = _missing(cuda, "TensorrtExecutionProvider", nvidia=H200, libraries=found)
    assert both == ["version of TensorRT"]
    assert _missing(cuda, nvidia=None) == [], "without a driver nothing of it can run"


def test_a_library_is_known_by_the_file_that_its_name_leads_to(tmp_path: Path) -> None:
    (tmp_path / "libcudnn.so.9.10.2").touch()
    (tmp_path / "libcudnn.so.9").symlink_to("libcudnn.so.9.10.2")
    found = library_versions(
        ("libcudnn.so.9", "libnone.so.1"), {"LD_LIBRARY_PATH": f"/none:{tmp_path}"}
    )
    assert found == {"libcudnn.so.9": "libcudnn.so.9.10.2"}


def test_no_driver_is_a_fact_and_a_broken_one_is_unknown() -> None:
    assert read_nvidia(library="libnone.so.1") is None
    broken = read_nvidia(library="libc.so.6")
    assert isinstance(broken, str)
    assert "nvmlInit_v2" in broken


NVML = """
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    strncpy(text, "580.65", size); return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = COUNT; return FAIL; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(long)(index + 1); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) {
    strncpy(text, (long)device > SAME ? "Other" : "H200", size); return 0; }
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    *current = MIG; return MIG < 0 ? 3 : 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    *major = 9; *minor = 0; return 0; }
"""


def _nvml(folder: Path, **macros: int) -> str:
    source, library = folder / "nvml.c", folder / "libnvml.so"
    source.write_text(NVML)
    flags = [f"-D{name}={value}" for name, value in macros.items()]
    command = ["gcc", "-shared", "-fPIC", *flags, str(source), "-o", str(library)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs a C compiler")
    return str(library)


def test_devices_of_one_kind_are_one_whatever_is_visible(tmp_path: Path) -> None:
    library = _nvml(tmp_path, COUNT=8, SAME=8, FAIL=0, MIG=0)
    facts = read_nvidia({"CUDA_VISIBLE_DEVICES": "GPU-1234"}, library)
    assert facts == NvidiaFacts("580.65", (("H200", "9.0"),), "")


def test_with_devices_of_several_kinds_it_counts_which_are_visible(tmp_path: Path) -> None:
    library = _nvml(tmp_path, COUNT=2, SAME=1, FAIL=0, MIG=-1)
    facts = read_nvidia({"CUDA_VISIBLE_DEVICES": "1"}, library)
    assert facts == NvidiaFacts("580.65", (("H200", "9.0"), ("Other", "9.0")), "1")


def test_a_driver_that_fails_is_unknown(tmp_path: Path) -> None:
    assert read_nvidia({}, _nvml(tmp_path, COUNT=1, SAME=1, FAIL=999, MIG=0)) == (
        "nvidia driver: NVML error 999"
    )


def test_a_device_that_is_split_is_unknown(tmp_path: Path) -> None:
    facts = read_nvidia({}, _nvml(tmp_path, COUNT=1, SAME=1, FAIL=0, MIG=1))
    assert facts == "nvidia driver: a device is split into slices (MIG)"
