"""`onnxruntime.SessionOptions` that remembers what cannot be read back."""

from typing import Any, Final

import onnxruntime

from ortsel.plan import SessionSettings


class SessionOptions(onnxruntime.SessionOptions):
    """ONNX Runtime's session options, every setting recorded so that plans can keep it.

    Used wherever ONNX Runtime's own class is. What a child process could not be given (initialisers
    in memory, callbacks, devices) makes a session that is never tuned, and says so.
    """

    __slots__ = ("_config", "_free_denotations", "_free_dimensions", "_libraries", "_not_portable")

    def __init__(self) -> None:
        super().__init__()
        self._config: dict[str, str] = {}
        self._free_dimensions: dict[str, int] = {}
        self._free_denotations: dict[str, int] = {}
        self._libraries: list[str] = []
        self._not_portable: list[str] = []

    def recorded_settings(self) -> SessionSettings:
        """Return what was set through methods that ONNX Runtime gives no way to read."""
        return SessionSettings(
            config=tuple(self._config.items()),
            free_dimensions=tuple(self._free_dimensions.items()),
            free_denotations=tuple(self._free_denotations.items()),
            custom_op_libraries=tuple(self._libraries),
        )

    def not_portable(self) -> tuple[str, ...]:
        """Return the methods whose effect no other process could be given."""
        return tuple(self._not_portable)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set a configuration entry."""
        super().add_session_config_entry(key, value)
        self._config[_text(key)] = _text(value)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix a symbolic dimension by its name."""
        super().add_free_dimension_override_by_name(name, size)
        self._free_dimensions[_text(name)] = int(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Fix a symbolic dimension by its denotation."""
        super().add_free_dimension_override_by_denotation(denotation, size)
        self._free_denotations[_text(denotation)] = int(size)

    def register_custom_ops_library(self, path: str) -> None:
        """Load custom operators from a shared library."""
        super().register_custom_ops_library(path)
        self._libraries.append(_text(path))


def _text(value: "str | bytes") -> str:
    """Return what ONNX Runtime took as text, be it in bytes or NumPy's text, as plain text."""
    return value.decode() if isinstance(value, bytes) else str(value)


READ_ONLY: Final = frozenset({"get_session_config_entry", "has_providers"})
"""Methods that change nothing."""


def pass_through_the_rest(own: type, native: type) -> None:
    """Make every method that `own` knows nothing of mark its options as not portable.

    That holds for what a later ONNX Runtime adds too: what is not recorded is never guessed.
    """
    for name in dir(native):
        known = name.startswith("_") or name in READ_ONLY or name in vars(own)
        if not known and callable(getattr(native, name)):
            setattr(own, name, _passed_through(native, name))


def _passed_through(native: type, name: str) -> Any:
    call = getattr(native, name)

    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = call(self, *arguments, **keywords)
        self._not_portable.append(name)
        return result

    method.__name__ = name
    method.__doc__ = call.__doc__
    return method


pass_through_the_rest(SessionOptions, onnxruntime.SessionOptions)
