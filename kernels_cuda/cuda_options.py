"""Options of the CUDA execution provider.

Every name is in the strings of onnxruntime-gpu 1.31.1.
"""

from typing import Final

from kernels_cuda.provider_option import (
    Numerics,
    OptionTable,
    OptionType,
    Owner,
    ProviderOption,
)

CUDA: Final = "CUDAExecutionProvider"

_T, _N, _O = OptionType, Numerics, Owner

CUDA_OPTIONS: Final = OptionTable(
    CUDA,
    "onnxruntime core/providers/cuda/cuda_execution_provider_info.h at 89b01b406c (2026-08-22)",
    (
        ProviderOption("device_id", _T.INTEGER, "0", _O.USER),
        ProviderOption(
            "gpu_mem_limit",
            _T.BYTES,
            "",
            _O.USER,
            effect="too low runs out of memory or grows the arena again and again",
        ),
        ProviderOption(
            "arena_extend_strategy",
            _T.CHOICE,
            "kNextPowerOfTwo",
            _O.USER,
            effect="memory and warm-up only",
            choices=("kNextPowerOfTwo", "kSameAsRequested"),
        ),
        ProviderOption(
            "cudnn_conv_algo_search",
            _T.CHOICE,
            "EXHAUSTIVE",
            _O.TUNER,
            _N.MAYBE,
            "convolutions; EXHAUSTIVE makes the first run of each shape slow",
            ("EXHAUSTIVE", "HEURISTIC", "DEFAULT"),
        ),
        ProviderOption(
            "cudnn_conv_use_max_workspace",
            _T.BOOLEAN,
            "1",
            _O.TUNER,
            _N.MAYBE,
            "convolutions; 0 limits their workspace to 32 MB",
        ),
        ProviderOption(
            "cudnn_conv1d_pad_to_nc1d",
            _T.BOOLEAN,
            "0",
            _O.TUNER,
            _N.MAYBE,
            "1-D convolutions padded on the other axis",
        ),
        ProviderOption(
            "fuse_conv_bias",
            _T.BOOLEAN,
            "0",
            _O.TUNER,
            _N.MAYBE,
            "convolution and bias in one kernel, compiled at the first run",
        ),
        ProviderOption(
            "prefer_nhwc",
            _T.BOOLEAN,
            "0",
            _O.TUNER,
            _N.MAYBE,
            "convolutions with channels last, for tensor cores; fails in a build without them",
        ),
        ProviderOption(
            "use_tf32",
            _T.BOOLEAN,
            "1",
            _O.TUNER,
            _N.CHANGED,
            "float32 products with 10 bits of mantissa from compute capability 8.0 on",
        ),
        ProviderOption(
            "enable_cudnn",
            _T.BOOLEAN,
            "1",
            _O.USER,
            _N.MAYBE,
            "operators that need cuDNN fail without it",
        ),
        ProviderOption(
            "enable_cuda_graph",
            _T.BOOLEAN,
            "0",
            _O.SERVING,
            effect="no launch overhead; needs fixed addresses, every node on CUDA, no branches; "
            "captures at the third run",
        ),
        ProviderOption(
            "use_ep_level_unified_stream", _T.BOOLEAN, "0", _O.TUNER, effect="one stream for all"
        ),
        ProviderOption(
            "do_copy_in_default_stream",
            _T.BOOLEAN,
            "1",
            _O.USER,
            effect="0 may overlap copies with work, at the risk of a race",
        ),
        ProviderOption("user_compute_stream", _T.POINTER, "", _O.USER),
        ProviderOption("has_user_compute_stream", _T.BOOLEAN, "0", _O.USER),
        ProviderOption("gpu_external_alloc", _T.POINTER, "", _O.USER),
        ProviderOption("gpu_external_free", _T.POINTER, "", _O.USER),
        ProviderOption("gpu_external_empty_cache", _T.POINTER, "", _O.USER),
        ProviderOption(
            "tunable_op_enable",
            _T.BOOLEAN,
            "0",
            _O.TUNER,
            _N.MAYBE,
            "uses tuned products (MatMul, Gemm) and group normalisation",
        ),
        ProviderOption(
            "tunable_op_tuning_enable",
            _T.BOOLEAN,
            "0",
            _O.TUNER,
            _N.MAYBE,
            "tunes them at their first run",
        ),
        ProviderOption("tunable_op_max_tuning_duration_ms", _T.INTEGER, "0", _O.TUNER),
        ProviderOption(
            "sdpa_kernel",
            _T.INTEGER,
            "0",
            _O.TUNER,
            _N.MAYBE,
            "bits of the attention kernels that may run; 0 leaves it to the environment",
        ),
        ProviderOption(
            "enable_skip_layer_norm_strict_mode",
            _T.BOOLEAN,
            "0",
            _O.USER,
            effect="accepted and ignored: sums are always in float32",
        ),
    ),
)
