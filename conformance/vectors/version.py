"""Which version of the rules the vectors test."""

from typing import Final

SPEC_VERSION: Final = "2.1"
"""Goes up when an answer changes. Adding rules, or vectors for them, does not change it."""
