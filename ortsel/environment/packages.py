"""Versions of the packages that hold kernels."""

from importlib import metadata
from typing import Final

PACKAGES: Final = (
    "intel-openmp",
    "nvidia-cublas",
    "nvidia-cublas-cu12",
    "nvidia-cublas-cu13",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu12",
    "nvidia-cuda-runtime-cu13",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
    "nvidia-cufft",
    "nvidia-cufft-cu12",
    "onnxruntime",
    "onnxruntime-directml",
    "onnxruntime-ep-openvino",
    "onnxruntime-gpu",
    "onnxruntime-migraphx",
    "onnxruntime-openvino",
    "onnxruntime-qnn",
    "onnxruntime-rocm",
    "openvino",
    "tensorrt",
    "tensorrt-cu12",
    "tensorrt-cu12-libs",
    "tensorrt-cu13",
    "tensorrt-cu13-libs",
)
"""Distributions that ONNX Runtime's providers load libraries from."""


def read_packages() -> dict[str, str]:
    """Return the version of every one of them that is installed."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
