"""Options of the TensorRT execution provider.

Every name is in the strings of onnxruntime-gpu 1.31.1. TensorRT's own switch for TF32 is never
cleared by the provider, so that an engine without reduced precision is still not exact in float32
on devices that have TF32.
"""

from typing import Final

from kernels_cuda.provider_option import (
    Numerics,
    OptionTable,
    OptionType,
    Owner,
    ProviderOption,
)

TENSORRT: Final = "TensorrtExecutionProvider"

_T, _N, _O = OptionType, Numerics, Owner


def _switch(
    name: str,
    owner: Owner,
    effect: str = "",
    *,
    numerics: Numerics = Numerics.SAME,
    default: str = "0",
) -> ProviderOption:
    return ProviderOption(name, OptionType.BOOLEAN, default, owner, numerics, effect)


_ENGINE_CACHE_TRAP = (
    "an engine is not keyed by every option: another precision or profile needs another path"
)

TENSORRT_OPTIONS: Final = OptionTable(
    TENSORRT,
    "onnxruntime core/providers/tensorrt/tensorrt_execution_provider_info.h at 89b01b406c "
    "(2026-08-22)",
    (
        ProviderOption("device_id", _T.INTEGER, "0", _O.USER),
        ProviderOption("user_compute_stream", _T.POINTER, "", _O.USER),
        ProviderOption("has_user_compute_stream", _T.BOOLEAN, "0", _O.USER),
        _switch("trt_fp16_enable", _O.TUNER, "half precision", numerics=_N.CHANGED),
        _switch("trt_bf16_enable", _O.TUNER, "bfloat16", numerics=_N.CHANGED),
        _switch("trt_int8_enable", _O.USER, "8-bit integers; needs ranges", numerics=_N.CHANGED),
        ProviderOption("trt_int8_calibration_table_name", _T.PATH, "", _O.USER, _N.CHANGED),
        _switch("trt_int8_use_native_calibration_table", _O.USER, numerics=_N.CHANGED),
        _switch(
            "trt_layer_norm_fp32_fallback",
            _O.TUNER,
            "normalisation stays in float32 in a half-precision engine",
            numerics=_N.CHANGED,
        ),
        ProviderOption(
            "trt_builder_optimization_level",
            _T.INTEGER,
            "3",
            _O.TUNER,
            _N.MAYBE,
            "0 to 5: longer builds, faster engines",
        ),
        ProviderOption("trt_auxiliary_streams", _T.INTEGER, "-1", _O.TUNER),
        _switch(
            "trt_sparsity_enable",
            _O.TUNER,
            "2:4 sparse kernels; changes numbers of weights that were not pruned for it",
            numerics=_N.MAYBE,
        ),
        ProviderOption("trt_tactic_sources", _T.TEXT, "", _O.USER, _N.MAYBE),
        _switch("trt_build_heuristics_enable", _O.USER, "deprecated", numerics=_N.MAYBE),
        ProviderOption(
            "trt_max_workspace_size", _T.BYTES, "0", _O.USER, _N.MAYBE, "0 is all there is"
        ),
        _switch("trt_force_sequential_engine_build", _O.USER),
        ProviderOption("trt_preview_features", _T.TEXT, "", _O.USER, _N.MAYBE),
        ProviderOption("trt_max_partition_iterations", _T.INTEGER, "1000", _O.USER),
        ProviderOption("trt_min_subgraph_size", _T.INTEGER, "1", _O.TUNER, _N.MAYBE),
        ProviderOption(
            "trt_op_types_to_exclude",
            _T.TEXT,
            "",
            _O.USER,
            _N.MAYBE,
            "these operators run on CUDA or the CPU",
        ),
        _switch("trt_dla_enable", _O.USER, numerics=_N.CHANGED),
        ProviderOption("trt_dla_core", _T.INTEGER, "0", _O.USER),
        _switch("trt_engine_cache_enable", _O.TUNER, _ENGINE_CACHE_TRAP),
        ProviderOption("trt_engine_cache_path", _T.PATH, "", _O.TUNER, effect=_ENGINE_CACHE_TRAP),
        ProviderOption("trt_engine_cache_prefix", _T.TEXT, "", _O.TUNER),
        _switch("trt_timing_cache_enable", _O.TUNER, "shorter builds"),
        ProviderOption("trt_timing_cache_path", _T.PATH, "", _O.TUNER),
        _switch("trt_force_timing_cache", _O.USER),
        _switch("trt_engine_hw_compatible", _O.USER, "engines for other devices, slower"),
        ProviderOption(
            "trt_profile_min_shapes",
            _T.SHAPES,
            "",
            _O.TUNER,
            effect="all three or none; without them an open shape builds the engine during a run",
        ),
        ProviderOption("trt_profile_opt_shapes", _T.SHAPES, "", _O.TUNER),
        ProviderOption("trt_profile_max_shapes", _T.SHAPES, "", _O.TUNER),
        _switch("trt_cuda_graph_enable", _O.SERVING, "no launch overhead; fixed addresses"),
        _switch("trt_context_memory_sharing_enable", _O.TUNER, "less memory"),
        _switch("trt_dump_ep_context_model", _O.USER),
        ProviderOption("trt_ep_context_file_path", _T.PATH, "", _O.USER),
        ProviderOption("trt_ep_context_embed_mode", _T.INTEGER, "0", _O.USER),
        _switch("trt_weight_stripped_engine_enable", _O.USER),
        ProviderOption("trt_onnx_model_folder_path", _T.PATH, "", _O.USER),
        _switch("trt_dump_subgraphs", _O.USER),
        _switch("trt_detailed_build_log", _O.USER),
        ProviderOption("trt_extra_plugin_lib_paths", _T.PATH, "", _O.USER, _N.MAYBE),
        _switch("trt_engine_decryption_enable", _O.USER),
        ProviderOption("trt_engine_decryption_lib_path", _T.PATH, "", _O.USER),
        _switch("trt_load_user_initializer", _O.USER),
        ProviderOption("trt_onnx_bytestream", _T.POINTER, "", _O.USER),
        ProviderOption("trt_onnx_bytestream_size", _T.BYTES, "0", _O.USER),
        ProviderOption("trt_external_data_bytestream", _T.POINTER, "", _O.USER),
        ProviderOption("trt_external_data_bytestream_size", _T.BYTES, "0", _O.USER),
    ),
)
