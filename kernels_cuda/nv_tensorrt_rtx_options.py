"""Options of the NvTensorRTRTX execution provider.

It is not in the onnxruntime-gpu wheel; an application registers it as a plugin library. It can't be
combined with the TensorRT provider, and has no switch for precision: an engine computes in the
model's own types.
"""

from typing import Final

from kernels_cuda.provider_option import OptionTable, OptionType, Owner, ProviderOption

NV_TENSORRT_RTX: Final = "NvTensorRTRTXExecutionProvider"

_T, _O = OptionType, Owner

NV_TENSORRT_RTX_OPTIONS: Final = OptionTable(
    NV_TENSORRT_RTX,
    "onnxruntime core/providers/nv_tensorrt_rtx/nv_provider_options.h at 89b01b406c (2026-08-22)",
    (
        ProviderOption("device_id", _T.INTEGER, "0", _O.USER),
        ProviderOption("user_compute_stream", _T.POINTER, "", _O.USER),
        ProviderOption("has_user_compute_stream", _T.BOOLEAN, "0", _O.USER),
        ProviderOption("user_aux_stream_array", _T.POINTER, "", _O.USER),
        ProviderOption("nv_length_aux_stream_array", _T.INTEGER, "0", _O.USER),
        ProviderOption("nv_max_workspace_size", _T.BYTES, "0", _O.USER),
        ProviderOption("nv_max_shared_mem_size", _T.BYTES, "0", _O.USER),
        ProviderOption("nv_dump_subgraphs", _T.BOOLEAN, "0", _O.USER),
        ProviderOption("nv_detailed_build_log", _T.BOOLEAN, "0", _O.USER),
        ProviderOption(
            "nv_profile_min_shapes", _T.SHAPES, "", _O.TUNER, effect="all three profiles or none"
        ),
        ProviderOption("nv_profile_opt_shapes", _T.SHAPES, "", _O.TUNER),
        ProviderOption("nv_profile_max_shapes", _T.SHAPES, "", _O.TUNER),
        ProviderOption(
            "nv_multi_profile_enable",
            _T.BOOLEAN,
            "0",
            _O.TUNER,
            effect="several profiles, chosen by the run option nv_profile_index",
        ),
        ProviderOption("nv_use_external_data_initializer", _T.BOOLEAN, "0", _O.USER),
        ProviderOption(
            "nv_runtime_cache_path", _T.PATH, "", _O.TUNER, effect="shorter compilation at load"
        ),
        ProviderOption(
            "enable_cuda_graph",
            _T.BOOLEAN,
            "1",
            _O.SERVING,
            effect="no launch overhead; needs fixed addresses",
        ),
    ),
)
