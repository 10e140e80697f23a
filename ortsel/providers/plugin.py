"""A provider's library and its devices, as values."""

from attrs import field, frozen

from ortsel.errors import OrtselError
from spec.canonical_json import Json


@frozen
class PluginLibraryError(OrtselError):
    """A provider's library cannot be used."""

    library: str
    """Path or package."""
    got: str
    need: str

    def __str__(self) -> str:
        return f"provider library {self.library}: got {self.got}, need {self.need}"


@frozen
class PluginLibrary:
    """A shared library that holds an execution provider."""

    registration: str
    """Name under which it is registered; some providers take it as their own name."""
    path: str = field(eq=False)
    content: str
    """SHA-256 of the file, hexadecimal: what decisions about it are bound to."""

    def parts(self) -> Json:
        """Return the library as named parts of a key; where it lies changes nothing."""
        return {"content": self.content, "registration": self.registration}


@frozen
class PluginDevice:
    """One device that a library's provider offers."""

    provider: str
    """The provider's name in ONNX Runtime."""
    vendor: str
    kind: str
    """ "CPU", "GPU" or "NPU"."""
    hardware: str
    """Number of the vendor and of the model, as "4318:9019"."""
    position: int = 0
    """Among devices that are alike in everything above."""
    version: str = field(default="", eq=False)
    """As the library states it; empty if it does not."""

    @property
    def label(self) -> str:
        """Name for people and for plans."""
        several = f"#{self.position + 1}" if self.position else ""
        return f"{self.provider}@{self.kind.lower()}{several}"

    def parts(self) -> Json:
        """Return the device as named parts of a key."""
        return {"hardware": self.hardware, "kind": self.kind, "position": self.position}


@frozen
class Plugin:
    """A library with the devices that it offers on this machine."""

    library: PluginLibrary
    devices: tuple[PluginDevice, ...]
