"""Decisions as one file that travels: written from a store, checked whole, read into another.

A bundle is two lines of text. Nothing in it is executed, unpacked, or used as a path.
"""

from ortsel.bundle.bundle import Bundle
from ortsel.bundle.errors import BundleError
from ortsel.bundle.file import read_bundle, write_bundle
from ortsel.bundle.importing import Imported, import_bundle
from ortsel.bundle.signing import PublicKey, SigningKey, generate_key

__all__ = [
    "Bundle",
    "BundleError",
    "Imported",
    "PublicKey",
    "SigningKey",
    "generate_key",
    "import_bundle",
    "read_bundle",
    "write_bundle",
]
