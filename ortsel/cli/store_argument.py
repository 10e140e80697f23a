"""`--store`: a file, or a database server."""

from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from ortsel.store.place import default_path
from ortsel.store.server_url import check_server_url, is_server_url, shown

StorePlace: TypeAlias = Path | str
"""A path is a file, a text is the URL of a server. A URL may hold a password: see `shown_place`."""


class _StoreArgument(click.Path):
    """Turns a URL of a server into itself, and anything else into a path."""

    name = "store"

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> StorePlace:
        """Return the place. Raises `UsageError` for a URL that nobody could connect to."""
        if isinstance(value, str) and is_server_url(value):
            check_server_url(value)
            return value
        path = super().convert(value, param, ctx)
        return path if isinstance(path, Path) else Path(str(path))


store_argument: Final = _StoreArgument()


def store_place(store: StorePlace | None) -> StorePlace:
    """Return the place that `--store` names. Raises `NoPlaceError` without a cache folder."""
    if store is None:
        return default_path()
    return store.absolute() if isinstance(store, Path) else store


def shown_place(place: StorePlace) -> str:
    """Return what may be shown of a place: of a URL neither user nor password."""
    return shown(str(place))
