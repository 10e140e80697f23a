"""Reading `onnxruntime.SessionOptions` into a value, and building it back.

ONNX Runtime's object can neither be copied nor listed: plain attributes can be read, configuration
entries only by name, and overrides, initialisers and custom operators not at all. What was set
through `ortsel.SessionOptions` is recorded and complete; a session whose options are of ONNX
Runtime's own class is never tuned.
"""

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from ortsel.native_class import native_class
from ortsel.plan import Attribute, SessionSettings

if TYPE_CHECKING:
    import onnxruntime

    from ortsel.session_options import SessionOptions

SIDE_EFFECTS: Final = frozenset(
    {"enable_profiling", "optimized_model_filepath", "profile_file_prefix"}
)
"""Attributes that write files. They belong to the user's own session alone, once."""

SIDE_EFFECT_ENTRIES: Final = frozenset(
    {
        "ep.context_embed_mode",
        "ep.context_enable",
        "ep.context_file_path",
        "ep.context_model_external_initializers_file_name",
        "ep.context_node_name_prefix",
        "session.collect_node_memory_stats_to_file",
        "session.debug_output_dir",
        "session.optimized_model_external_initializers_file_name",
        "session.optimized_model_external_initializers_min_size_in_bytes",
        "session.save_model_format",
    }
)
"""Configuration entries that write files, likewise."""

NOT_COPIED: Final = frozenset({"log_severity_level", "log_verbosity_level", "logid"})
"""Attributes that change what is logged, never what is computed."""


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


def read_settings(options: "SessionOptions | None") -> SessionSettings:
    """Return what an options object holds, side effects left out; None is ONNX Runtime's own."""
    if options is None:
        return SessionSettings()
    recorded = options.recorded_settings()
    defaults = plain_attributes(_native_class()())
    attributes = {
        name: value
        for name, value in plain_attributes(options).items()
        if value != defaults[name] and name not in SIDE_EFFECTS | NOT_COPIED
    }
    config = {name: value for name, value in recorded.config if name not in SIDE_EFFECT_ENTRIES}
    return evolve(recorded, attributes=tuple(attributes.items()), config=tuple(config.items()))


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
    return native_class("SessionOptions")
