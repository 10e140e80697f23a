"""Reading `onnxruntime.SessionOptions` into a value, and building it back.

ONNX Runtime's object can neither be copied nor listed: plain attributes can be read, configuration
entries only by name, and overrides, initialisers and custom operators not at all. What was set
through `ortsel.SessionOptions` is recorded and complete. For an object of ONNX Runtime's own class
the readable part is taken; whatever cannot be read can only make a plan's outputs differ from the
session's own, which the check before serving rejects, or make the trial fail, which keeps the
reference.
"""

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ortsel.plan import Attribute, SessionSettings

if TYPE_CHECKING:
    import onnxruntime

SIDE_EFFECTS: Final = frozenset(
    {"enable_profiling", "optimized_model_filepath", "profile_file_prefix"}
)
"""Attributes that write files. They belong to the user's own session alone, once."""

NOT_COPIED: Final = frozenset({"log_severity_level", "log_verbosity_level", "logid"})
"""Attributes that change what is logged, never what is computed."""

CONFIG_NAMES: Final = (
    "ep.enable_weightless",
    "ep.share_ep_contexts",
    "ep.stop_share_ep_contexts",
    "mlas.disable_kleidiai",
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
    "mlas.nchwc_depthwise_sliding",
    "mlas.nchwc_pointwise_conv_max_input_channel_batch",
    "mlas.qnbit.force_fp32",
    "mlas.use_lut_gemm",
    "optimization.disable_specified_optimizers",
    "optimization.enable_cast_chain_elimination",
    "optimization.enable_gelu_approximation",
    "optimization.minimal_build_optimizations",
    "session.allow_released_opsets_only",
    "session.debug_layout_transformation",
    "session.disable_aot_function_inlining",
    "session.disable_cpu_ep_fallback",
    "session.disable_double_qdq_remover",
    "session.disable_model_compile",
    "session.disable_prepacking",
    "session.disable_quant_qdq",
    "session.dynamic_block_base",
    "session.enable_quant_qdq_cleanup",
    "session.force_spinning_stop",
    "session.gqa_value_layout",
    "session.graph_optimizations_loop_level",
    "session.inter_op.allow_spinning",
    "session.intra_op.allow_spinning",
    "session.intra_op.spin_backoff_max",
    "session.intra_op.spin_duration_us",
    "session.intra_op_thread_affinities",
    "session.layer_assignment_settings",
    "session.load_model_format",
    "session.model_external_initializers_file_folder_path",
    "session.name_based_layer_assignment",
    "session.prepack.enable_parallel",
    "session.qdq_matmulnbits_accuracy_level",
    "session.qdqisint8allowed",
    "session.save_external_prepacked_constant_initializers",
    "session.set_denormal_as_zero",
    "session.strict_shape_type_inference",
    "session.use_device_allocator_for_initializers",
    "session.use_env_allocators",
    "session.use_ort_model_bytes_directly",
    "session.use_ort_model_bytes_for_initializers",
    "session.x64quantprecision",
)
"""Configuration entries that are looked for in an object of ONNX Runtime's own class."""


def plain_attributes(options: "onnxruntime.SessionOptions") -> dict[str, Attribute]:
    """Return the plain attributes of an options object, enumerations as their number."""
    found: dict[str, Attribute] = {}
    for name, member in vars(_native_class()).items():
        if name.startswith("_") or not isinstance(member, property):
            continue
        value = getattr(options, name)
        if isinstance(value, (bool, int, str)):
            found[name] = value
        elif isinstance(value, Enum) or hasattr(value, "value"):
            found[name] = int(value.value)
    return found


def read_settings(
    options: "onnxruntime.SessionOptions | None", known_config: Iterable[str] = CONFIG_NAMES
) -> SessionSettings:
    """Return what can be read from an options object (None: ONNX Runtime's defaults)."""
    if options is None:
        return SessionSettings()
    recorded = getattr(options, "recorded_settings", None)
    extra = recorded() if callable(recorded) else SessionSettings()
    defaults = plain_attributes(_native_class()())
    attributes = {
        name: value
        for name, value in plain_attributes(options).items()
        if value != defaults[name] and name not in SIDE_EFFECTS | NOT_COPIED
    }
    config = dict(extra.config)
    for name in known_config:
        if name not in config and (value := _config_entry(options, name)) is not None:
            config[name] = value
    return SessionSettings(
        tuple(attributes.items()),
        tuple(config.items()),
        extra.free_dimensions,
        extra.free_denotations,
        extra.custom_op_libraries,
    )


def build_options(settings: SessionSettings) -> "onnxruntime.SessionOptions":
    """Return a new options object of ONNX Runtime's own class that holds `settings`."""
    options = _native_class()()
    for name, value in settings.attributes:
        kind = type(getattr(options, name))
        setattr(options, name, value if kind in (bool, int, str) else kind(value))
    for name, entry in settings.config:
        options.add_session_config_entry(name, entry)
    for name, size in settings.free_dimensions:
        options.add_free_dimension_override_by_name(name, size)
    for name, size in settings.free_denotations:
        options.add_free_dimension_override_by_denotation(name, size)
    for library in settings.custom_op_libraries:
        options.register_custom_ops_library(library)
    return options


def _native_class() -> Any:
    import onnxruntime

    return onnxruntime.SessionOptions


def _config_entry(options: Any, name: str) -> str | None:
    try:
        return str(options.get_session_config_entry(name))
    except RuntimeError:  # ONNX Runtime's way to say that the entry was never set
        return None
