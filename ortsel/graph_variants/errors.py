"""Why a variant could not be built."""

from attrs import frozen

from ortsel.errors import OrtselError


@frozen
class UnknownVariantError(OrtselError):
    """No variant has this name."""

    got: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        known = ", ".join(self.known)
        return f"graph variant: got {self.got!r}, need one of {known}, or several joined by +"


@frozen
class VariantRefusedError(OrtselError):
    """The variant does not apply to this model or would not be equal to it. Nothing was written."""

    variant: str
    reason: str

    def __str__(self) -> str:
        return f"graph variant {self.variant}: {self.reason}"
