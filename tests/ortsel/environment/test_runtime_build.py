"""The installed ONNX Runtime and this CPU as capability's values."""

import onnxruntime
import psutil
import pytest

from ortsel.environment import thread_budget
from ortsel.environment.runtime_build import read_build, read_cpu, read_switches
from spec.capability import Backend, DeviceKind, Provider, Switches, Toggle


def test_the_build_is_the_installed_one() -> None:
    build = read_build({})
    assert ".".join(map(str, build.version)) == onnxruntime.__version__
    has_cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    assert (Provider.CUDA in build.providers) is has_cuda
    assert (Backend.FLASH_ATTENTION_2 in build.compiled) is has_cuda
    assert build.switches == Switches()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Switches()),
        ({"ORT_DISABLE_FLASH_ATTENTION": "1"}, Switches(disable_flash_attention=True)),
        ({"ORT_DISABLE_FLASH_ATTENTION": "0"}, Switches()),
        (
            {"ORT_ENABLE_CUDNN_FLASH_ATTENTION": "0"},
            Switches(cudnn_flash_attention=Toggle.OFF),
        ),
        ({"ORT_ENABLE_CUDNN_FLASH_ATTENTION": "1"}, Switches(cudnn_flash_attention=Toggle.ON)),
        ({"ORT_ENABLE_XQA": "0"}, Switches(enable_xqa=False)),
        (
            {"ORT_MIN_SEQ_LEN_FLASH_ATTENTION_PACKED_QKV": "64"},
            Switches(minimum_flash_packed_length=64),
        ),
        (
            {"ORT_MIN_SEQ_LEN_EFFICIENT_ATTENTION_FP32": "none"},
            Switches(minimum_efficient_fp32_length=None),
        ),
    ],
)
def test_variables_that_change_attention_are_read(
    environment: dict[str, str], expected: Switches
) -> None:
    assert read_switches(environment) == expected


def test_the_cpu_is_this_one() -> None:
    cpu = read_cpu()
    assert cpu.kind is DeviceKind.CPU
    assert cpu.compute_units == thread_budget()
    assert cpu.total_memory_bytes == psutil.virtual_memory().total
    assert cpu.name
