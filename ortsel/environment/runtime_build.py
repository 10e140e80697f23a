"""The installed ONNX Runtime and this machine's CPU, as capability's values."""

import importlib.metadata
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from ortsel.environment.cpu_budget import thread_budget
from ortsel.environment.cpu_model import read_cpu_model
from ortsel.environment.nvidia import library_versions
from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    DeviceKind,
    ElementType,
    Hardware,
    OrtBuild,
    Provider,
    Switches,
    Toggle,
)

CUDA: Final = "CUDAExecutionProvider"
CACHE_FLAGS: Final[Mapping[str, ElementType]] = {
    "int4-kv-cache=1": ElementType.INT4,
    "fp8-kv-cache=1": ElementType.FLOAT8_E4M3,
}
"""Words of the build information, and the quantized cache that each one means. INT8 has no word:
every build with CUDA has it."""
CUDNN_PACKAGES: Final = ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12")
FLAGS: Final[Mapping[str, str]] = {
    "disable_flash_attention": "ORT_DISABLE_FLASH_ATTENTION",
    "disable_memory_efficient_attention": "ORT_DISABLE_MEMORY_EFFICIENT_ATTENTION",
    "disable_fused_attention": "ORT_DISABLE_FUSED_ATTENTION",
    "disable_trt_flash_attention": "ORT_DISABLE_TRT_FLASH_ATTENTION",
    "disable_fused_cross_attention": "ORT_DISABLE_FUSED_CROSS_ATTENTION",
    "enable_lean_attention": "ORT_ENABLE_LEAN_ATTENTION",
    "disable_decoder_attention": "ORT_DISABLE_DECODER_ATTENTION",
    "enable_xqa_native_kv": "ORT_ENABLE_XQA_NATIVE_KV",
    "disable_flash_decode": "ORT_DISABLE_FLASH_DECODE",
    "gqa_disable_flash_attention": "ORT_GQA_DISABLE_FLASH_ATTENTION",
}
FLASH_LENGTH: Final = "ORT_MIN_SEQ_LEN_FLASH_ATTENTION_PACKED_QKV"
EFFICIENT_LENGTH: Final = "ORT_MIN_SEQ_LEN_EFFICIENT_ATTENTION_FP32"
CUDNN_SWITCH: Final = "ORT_ENABLE_CUDNN_FLASH_ATTENTION"
XQA_SWITCH: Final = "ORT_ENABLE_XQA"
_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def read_build(environment: Mapping[str, str] = os.environ) -> OrtBuild:
    """Return the installed ONNX Runtime. Compiled kernels are those of the stock wheel."""
    import onnxruntime

    runtime: Any = onnxruntime
    has_cuda = CUDA in runtime.get_available_providers()
    information = str(runtime.get_build_info())
    cached = {kind for word, kind in CACHE_FLAGS.items() if word in information}
    stock = GPU_WHEEL_1_31 if has_cuda else CPU_WHEEL_1_32
    return OrtBuild(
        version=_version(str(runtime.__version__)),
        providers=frozenset({Provider.CPU, Provider.CUDA} if has_cuda else {Provider.CPU}),
        compiled=stock.compiled,
        cudnn=_cudnn() if has_cuda else (0, 0, 0),
        minimum_compute_capability=stock.minimum_compute_capability,
        cache_types=frozenset(cached | {ElementType.INT8}) if has_cuda else frozenset(),
        switches=read_switches(environment),
    )


def read_switches(environment: Mapping[str, str] = os.environ) -> Switches:
    """Return the environment variables that change attention kernels."""
    flags = {name: environment.get(variable) == "1" for name, variable in FLAGS.items()}
    cudnn = {"1": Toggle.ON, "0": Toggle.OFF}.get(environment.get(CUDNN_SWITCH, ""), Toggle.UNSET)
    return Switches(
        **flags,
        minimum_flash_packed_length=_length(environment.get(FLASH_LENGTH, "")),
        minimum_efficient_fp32_length=_length(environment.get(EFFICIENT_LENGTH, "")),
        cudnn_flash_attention=cudnn,
        enable_xqa=environment.get(XQA_SWITCH, "1") != "0",
    )


def _length(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def read_cpu() -> Hardware:
    """Return the CPU, with the threads that this process may use. Bandwidth is not known."""
    model = read_cpu_model()
    memory = psutil.virtual_memory()
    lines = () if model is None else model.identity
    name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "CPU")
    sets = frozenset() if model is None else frozenset(model.instructions)
    native = {ElementType.FLOAT32}
    if {"avx512_bf16", "amx_bf16", "bf16"} & sets:
        native.add(ElementType.BFLOAT16)
    if {"fphp", "asimdhp", "fp16", "avx512_fp16", "amx_fp16"} & sets:
        native.add(ElementType.FLOAT16)
    return Hardware(
        name=name or "CPU",
        kind=DeviceKind.CPU,
        compute_units=thread_budget(),
        total_memory_bytes=int(memory.total),
        available_memory_bytes=min(int(memory.available), int(memory.total)),
        memory_bandwidth_bytes_per_s=0,
        native_types=frozenset(native),
        l2_cache_bytes=_l2_cache_bytes(),
        instruction_sets=sets,
    )


def _l2_cache_bytes(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Return the size of one core's second-level cache; 0 where the system does not say."""
    try:
        for index in sorted(root.glob("index*")):
            if (index / "level").read_text().strip() == "2":
                size = (index / "size").read_text().strip()
                return int(size.removesuffix("K")) * 1024 if size.endswith("K") else 0
    except (OSError, ValueError):
        return 0
    return 0


def _version(text: str) -> tuple[int, int, int]:
    found = _VERSION.match(text)
    if found is None:
        return (0, 0, 0)
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def _cudnn() -> tuple[int, int, int]:
    for package in CUDNN_PACKAGES:
        try:
            return _version(importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            continue
    file = library_versions(("libcudnn.so.9",)).get("libcudnn.so.9", "")
    return _version(file.partition(".so.")[2])
