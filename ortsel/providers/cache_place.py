"""Where providers keep what they compile: a place in a plan that means a folder of this machine.

A plan is part of a key, and a folder of the user's must not be: the same decision holds where the
home directory is another. The place becomes a folder when the session is built.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

PLACE: Final = "{ortsel-cache}"


def option_values(options: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return provider options with places turned into folders, which are made."""
    return {name: _folder(value) if value.startswith(PLACE) else value for name, value in options}


def _folder(value: str) -> str:
    from platformdirs import user_cache_path

    folder = Path(f"{user_cache_path('ortsel')}{value.removeprefix(PLACE)}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(folder)
