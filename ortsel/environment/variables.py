"""Environment variables that change kernels, in one list, each with what it changes.

They count only when set. Not listed: OMP_NUM_THREADS and its kin, since ONNX Runtime has its own
thread pool; telemetry and logging, which change nothing that is computed or measured.
"""

import os
from collections.abc import Mapping
from typing import Final

_ATTENTION: Final = "takes an attention kernel out of, or into, the choice"
_THREADS: Final = "size of the thread pools where the session names none"
_NUMERICS: Final = "another kernel with other numerics"
_THRESHOLD: Final = "sequence length from which an attention kernel is chosen"

VARIABLES: Final[Mapping[str, str]] = {
    "CUBLAS_WORKSPACE_CONFIG": "workspace, and with it the algorithms that cuBLAS may choose",
    "CUDA_DEVICE_MAX_CONNECTIONS": "hardware queues, and with them what may overlap",
    "CUDA_FORCE_PTX_JIT": "kernels compiled for this device instead of those shipped",
    "CUDA_LAUNCH_BLOCKING": "every launch waits for its kernel",
    "CUDA_MODULE_LOADING": "when kernels are loaded: at start or at first use",
    "CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT": "workspace of cuDNN attention",
    "CUDNN_LOGLEVEL_DBG": "logging inside cuDNN's calls, which costs time",
    "DNNL_MAX_CPU_ISA": "instruction sets that oneDNN, and with it OpenVINO, may use",
    "MKL_ENABLE_INSTRUCTIONS": "instruction sets that MKL may use",
    "MLAS_NCHWC_FILTERSET_BALANCE": "blocking of convolutions",
    "MLAS_NCHWC_FSS_TARGET": "blocking of convolutions",
    "NVIDIA_TF32_OVERRIDE": "TF32 in every CUDA library: 0 forbids it, whatever the options say",
    "ONEDNN_MAX_CPU_ISA": "instruction sets that oneDNN, and with it OpenVINO, may use",
    "ORT_BEAM_SEARCH_USE_FAST_TOPK": "which top-k kernel beam search takes",
    "ORT_CUDA_GEMM_OPTIONS": "accumulation and reduction precision of matrix products",
    "ORT_DECODER_MASKED_ATTENTION_LOAD_KV_DATA_IN_FLIGHT": "how decoding loads keys and values",
    "ORT_DISABLE_DECODER_ATTENTION": _ATTENTION,
    "ORT_DISABLE_FLASH_ATTENTION": _ATTENTION,
    "ORT_DISABLE_FLASH_DECODE": _ATTENTION,
    "ORT_DISABLE_FUSED_ATTENTION": _ATTENTION,
    "ORT_DISABLE_FUSED_CROSS_ATTENTION": _ATTENTION,
    "ORT_DISABLE_FUSED_KV_DEQUANT": _ATTENTION,
    "ORT_DISABLE_MEMORY_EFFICIENT_ATTENTION": _ATTENTION,
    "ORT_DISABLE_SPARSE_ATTENTION_V1": _ATTENTION,
    "ORT_DISABLE_TRT_FLASH_ATTENTION": _ATTENTION,
    "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO": "printing in every attention node, which costs time",
    "ORT_ENABLE_CUDNN_FLASH_ATTENTION": _ATTENTION,
    "ORT_ENABLE_FUSED_CAUSAL_ATTENTION": _ATTENTION,
    "ORT_ENABLE_LEAN_ATTENTION": _ATTENTION,
    "ORT_ENABLE_XQA": _ATTENTION,
    "ORT_ENABLE_XQA_NATIVE_KV": _ATTENTION,
    "ORT_ENABLE_XQA_PER_CHANNEL_KV": _ATTENTION,
    "ORT_GQA_DISABLE_FLASH_ATTENTION": _ATTENTION,
    "ORT_INTER_OP_NUM_THREADS": _THREADS,
    "ORT_INTRA_OP_NUM_THREADS": _THREADS,
    "ORT_LOAD_CONFIG_FROM_MODEL": "session options that are read from the model",
    "ORT_MIN_SEQ_LEN_EFFICIENT_ATTENTION_FP32": _THRESHOLD,
    "ORT_MIN_SEQ_LEN_FLASH_ATTENTION_PACKED_QKV": _THRESHOLD,
    "ORT_MLAS_QKGEMM_S8_APPROX_VNNI": _NUMERICS,
    "ORT_RUNNING_UNIT_TESTS": "switches meant for ONNX Runtime's own tests",
    "ORT_TRANSFORMER_OPTIONS": _NUMERICS,
    "ORT_USE_MLAS_Q4_GEMM_MOE": _NUMERICS,
    "OV_CPU_MAX_ISA": "instruction sets that OpenVINO may use",
    "XQA_FORCE_MULTI_BLOCK": _ATTENTION,
}
"""Each name with its reason. A variable that is missing here can hide a stale choice; one that
is here without need costs a search."""

PREFIXES: Final[Mapping[str, str]] = {
    "ORT_QMOE_": "kernels and thresholds of quantized mixtures of experts",
    "ORT_TENSORRT_": "options of the TensorRT provider where the session names none",
    "ORT_MOE_": "kernels of mixtures of experts",
}


def read_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables of the list that are set, by name."""
    return {
        name: environment[name]
        for name in sorted(environment)
        if name in VARIABLES or name.startswith(tuple(PREFIXES))
    }
