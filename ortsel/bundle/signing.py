"""Ed25519 signatures, through the package `cryptography` of the extra `signing`.

Keys are those that `openssl genpkey -algorithm ed25519` writes: PEM files. A public key may also be
given as its 32 bytes in hexadecimal, which is how it is shown everywhere.
"""

import re
from importlib.util import find_spec
from typing import Final

from attrs import field, frozen

from ortsel.bundle.errors import UnusableKeyError, WrongSignatureError
from ortsel.errors import MissingPackageError

ALGORITHM: Final = "ed25519"
CONTEXT: Final = b"ortsel bundle 1\n"
"""Stands before what is signed, so that no signature made for something else counts here."""
MAX_KEY_FILE_BYTES: Final = 16 * 1024
_PUBLIC: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE: Final = re.compile(r"[0-9a-f]{128}", re.ASCII)
_NEED_PUBLIC: Final = "64 hexadecimal digits or a PEM file with an Ed25519 public key"
_NEED_PRIVATE: Final = "a PEM file with an Ed25519 private key that no password protects"


def _hexadecimal(_: object, __: object, value: str) -> None:
    if not isinstance(value, str) or _PUBLIC.fullmatch(value) is None:
        raise UnusableKeyError(repr(value)[:80], _NEED_PUBLIC)


@frozen
class PublicKey:
    """Who may have signed. Raises `UnusableKeyError` for anything but lower-case hexadecimal."""

    text: str = field(validator=_hexadecimal)

    @classmethod
    def read(cls, data: bytes) -> "PublicKey":
        """Return the key of a PEM file, or of one that holds hexadecimal digits."""
        need_signing()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        text = data[:MAX_KEY_FILE_BYTES].decode("ascii", "replace").strip()
        if _PUBLIC.fullmatch(text.lower()):
            return cls(text.lower())
        try:
            key = load_pem_public_key(data[:MAX_KEY_FILE_BYTES])
        except (ValueError, UnsupportedAlgorithm) as error:
            raise UnusableKeyError("something else", _NEED_PUBLIC) from error
        if not isinstance(key, Ed25519PublicKey):
            raise UnusableKeyError("a key of another kind", _NEED_PUBLIC)
        return cls(key.public_bytes_raw().hex())

    def check(self, payload: bytes, signature: str) -> None:
        """Raise `WrongSignatureError` unless this key signed these bytes."""
        need_signing()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if _SIGNATURE.fullmatch(signature) is None:
            raise WrongSignatureError(self.text)
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.text))
            key.verify(bytes.fromhex(signature), CONTEXT + payload)
        except (InvalidSignature, ValueError) as error:
            raise WrongSignatureError(self.text) from error

    def pem(self) -> bytes:
        """Return the key as a PEM file."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.text))
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@frozen
class SigningKey:
    """A private key. Never printed."""

    _seed: bytes = field(repr=False)

    @classmethod
    def read(cls, data: bytes) -> "SigningKey":
        """Return the key of a PEM file. Raises `UnusableKeyError`."""
        need_signing()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(data[:MAX_KEY_FILE_BYTES], password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise UnusableKeyError("something else", _NEED_PRIVATE) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise UnusableKeyError("a key of another kind", _NEED_PRIVATE)
        return cls(key.private_bytes_raw())

    @property
    def public(self) -> PublicKey:
        """The key that others check with."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        private = Ed25519PrivateKey.from_private_bytes(self._seed)
        return PublicKey(private.public_key().public_bytes_raw().hex())

    def sign(self, payload: bytes) -> str:
        """Return the signature in hexadecimal; the same for the same bytes and key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed).sign(CONTEXT + payload).hex()

    def pem(self) -> bytes:
        """Return the key as a PEM file, which whoever has it can sign with."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = Ed25519PrivateKey.from_private_bytes(self._seed)
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def generate_key() -> SigningKey:
    """Return a new key. Raises `MissingPackageError` without the package."""
    need_signing()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return SigningKey(Ed25519PrivateKey.generate().private_bytes_raw())


def need_signing() -> None:
    """Raise `MissingPackageError` where signatures can't be made or checked."""
    if find_spec("cryptography") is None:
        raise MissingPackageError("signing", "cryptography", "signing")
