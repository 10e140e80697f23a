"""A drop-in `onnxruntime.InferenceSession` that serves the fastest verified way to run a model.

`import ortsel as ort` gives every name that `onnxruntime` has, its `__version__` included;
`InferenceSession`, `SessionOptions` and `IOBinding` are ortsel's own subclasses. ONNX Runtime
itself is imported at the first use of a name that needs it.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ortsel.advise import advise_attention
    from ortsel.builder import build
    from ortsel.errors import MissingPackageError, OrtselError, UsageError
    from ortsel.explain import Explanation
    from ortsel.graph_variants.rewrite_function import rewrite_variant
    from ortsel.installation import install, uninstall
    from ortsel.io_binding import IOBinding
    from ortsel.model_file import model_file_variant
    from ortsel.plan import Plan, Provider, SessionSettings
    from ortsel.providers.ep_selector import EpSelector
    from ortsel.providers.plugin import PluginLibrary, PluginLibraryError
    from ortsel.providers.registration import (
        register_execution_provider_library,
        unregister_execution_provider_library,
    )
    from ortsel.selection_config import SelectionConfig, SelectionMode
    from ortsel.session import InferenceSession
    from ortsel.session_options import SessionOptions
    from ortsel.verification.element_types import Bound
    from ortsel.verification.metrics import Cosine, MetricFunction, RelativeL2, TopOne
    from ortsel.verification.tolerance import Tolerance

if find_spec("onnxruntime") is None:
    from ortsel.errors import MissingPackageError

    raise MissingPackageError("ortsel", "onnxruntime", "cpu", ("gpu", "openvino"))
_spec = find_spec("spec")
if _spec is None or find_spec("spec.canonical_json") is None:
    _place = None if _spec is None else _spec.origin or _spec.submodule_search_locations
    _message = (
        f"ortsel needs its own package 'spec', but Python finds {_place}: rename or move that"
    )
    raise ImportError(_message, name="spec")

_OWN = {
    "Bound": "ortsel.verification.element_types",
    "Cosine": "ortsel.verification.metrics",
    "EpSelector": "ortsel.providers.ep_selector",
    "Explanation": "ortsel.explain",
    "IOBinding": "ortsel.io_binding",
    "InferenceSession": "ortsel.session",
    "MissingPackageError": "ortsel.errors",
    "OrtselError": "ortsel.errors",
    "MetricFunction": "ortsel.verification.metrics",
    "Plan": "ortsel.plan",
    "PluginLibrary": "ortsel.providers.plugin",
    "PluginLibraryError": "ortsel.providers.plugin",
    "Provider": "ortsel.plan",
    "RelativeL2": "ortsel.verification.metrics",
    "SelectionConfig": "ortsel.selection_config",
    "SelectionMode": "ortsel.selection_config",
    "SessionOptions": "ortsel.session_options",
    "SessionSettings": "ortsel.plan",
    "UsageError": "ortsel.errors",
    "Tolerance": "ortsel.verification.tolerance",
    "TopOne": "ortsel.verification.metrics",
    "advise_attention": "ortsel.advise",
    "build": "ortsel.builder",
    "install": "ortsel.installation",
    "model_file_variant": "ortsel.model_file",
    "register_execution_provider_library": "ortsel.providers.registration",
    "rewrite_variant": "ortsel.graph_variants.rewrite_function",
    "uninstall": "ortsel.installation",
    "unregister_execution_provider_library": "ortsel.providers.registration",
}

if TYPE_CHECKING:
    __all__ = [
        "Bound",
        "Cosine",
        "EpSelector",
        "Explanation",
        "IOBinding",
        "InferenceSession",
        "MetricFunction",
        "MissingPackageError",
        "OrtselError",
        "Plan",
        "PluginLibrary",
        "PluginLibraryError",
        "Provider",
        "RelativeL2",
        "SelectionConfig",
        "SelectionMode",
        "SessionOptions",
        "SessionSettings",
        "Tolerance",
        "TopOne",
        "UsageError",
        "advise_attention",
        "build",
        "install",
        "model_file_variant",
        "register_execution_provider_library",
        "rewrite_variant",
        "uninstall",
        "unregister_execution_provider_library",
    ]


def __getattr__(name: str) -> Any:
    value: Any
    if name in _OWN:
        value = getattr(import_module(_OWN[name]), name)
    elif name == "__all__":  # what a star brings: a program's `from onnxruntime import *` too
        return [name for name in __dir__() if not name.startswith("_")]
    elif name.startswith("__") and name != "__version__":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    else:
        runtime = import_module("onnxruntime")
        try:
            value = getattr(runtime, name)
        except AttributeError as error:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(_OWN) | set(dir(import_module("onnxruntime"))))
