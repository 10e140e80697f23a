"""How a key names the decisions about attention alone that it rests on."""

from typing import Final

OPERATORS: Final = "operators"
"""Member of a key's options with the keys of these decisions, sorted."""
