"""Reading a model file for a rewrite or a search."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import frozen

from ortsel.errors import OrtselError

if TYPE_CHECKING:
    import onnx_ir as ir

ORT_IDENTIFIER: Final = b"ORTM"


@frozen
class UnreadableModelError(OrtselError):
    """The file can't be read as an ONNX model. ONNX Runtime may run it all the same."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def load_model(path: Path) -> "ir.Model":
    """Return the model in a file; weights stay where they are until they are needed.

    Raises `UnreadableModelError` for ONNX Runtime's own format and for whatever onnx-ir refuses.
    """
    import onnx_ir as ir

    with path.open("rb") as file:
        if file.read(8)[4:] == ORT_IDENTIFIER:
            raise UnreadableModelError(str(path), "the model is in ONNX Runtime's own format")
    try:
        return ir.load(path)
    except Exception as error:
        cause = error.__cause__ or error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise UnreadableModelError(str(path), f"the model can't be read: {cause!r}") from error
