"""What can be wrong with a bundle or a key. Whatever it is, nothing was imported or written."""

from attrs import frozen

from ortsel.errors import OrtselError


class BundleError(OrtselError):
    """Base of everything that refuses a bundle."""


@frozen
class CorruptBundleError(BundleError):
    """The bundle breaks its format, or two parts of it contradict each other."""

    place: str
    """Where, such as "records[3].winner"."""
    got: str
    need: str

    def __str__(self) -> str:
        return f"bundle: {self.place}: got {self.got}, need {self.need}"


@frozen
class OversizedBundleError(BundleError):
    """The bundle is larger than what is read or written."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"bundle: got {self.got}, need {self.need}"


@frozen
class NewerBundleError(BundleError):
    """Written by a later version of ortsel."""

    part: str
    got: int
    need: int

    def __str__(self) -> str:
        return f"bundle: {self.part} {self.got}, this version knows up to {self.need}"


@frozen
class DamagedBundleError(BundleError):
    """The bytes are not those that were written."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"bundle: its SHA-256 is {self.got}, its last line says {self.need}"


@frozen
class WrongSignatureError(BundleError):
    """The signature does not belong to these bytes and this key."""

    public_key: str

    def __str__(self) -> str:
        return f"bundle: the signature is not that of the key {self.public_key} over this content"


@frozen
class UnsignedBundleError(BundleError):
    """A signature is required and there is none."""

    trusted: tuple[str, ...]

    def __str__(self) -> str:
        return f"bundle: got no signature, need one by {_either(self.trusted)}"


@frozen
class UntrustedBundleError(BundleError):
    """The signature is right, but its key is none of those that are trusted."""

    public_key: str
    trusted: tuple[str, ...]

    def __str__(self) -> str:
        return f"bundle: got a signature by {self.public_key}, need one by {_either(self.trusted)}"


@frozen
class UnusableKeyError(BundleError):
    """What was given as a key is none."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"key: got {self.got}, need {self.need}"


def _either(keys: tuple[str, ...]) -> str:
    return " or ".join(keys)
