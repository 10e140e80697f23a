"""ONNX Runtime's own classes, whatever stands under their names in `onnxruntime` at the moment."""

from typing import Any, Final

replaced: Final[dict[str, Any]] = {}
"""The classes that `ortsel.install` put its own in place of, by name. Written by that alone."""


def native_class(name: str) -> Any:
    """Return ONNX Runtime's class of that name. Plans are built of it: they select nothing."""
    import onnxruntime

    return replaced[name] if name in replaced else getattr(onnxruntime, name)
