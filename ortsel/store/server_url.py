"""URLs of database servers as the place of a store, and what may be shown of them.

A URL may carry a password, so nothing but its scheme, hosts and database ever appears in a message,
a log or a representation. The driver's own words are searched for secrets before they are repeated.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from ortsel.errors import MissingPackageError, UsageError

SCHEMES: Final = ("postgresql://", "postgres://")
_NEED: Final = "postgresql://[user[:password]@][host][:port][,...][/database][?option=value&...]"
_HIDDEN: Final = "***"
_MAX_SHOWN: Final = 300
_LEAST_SECRET: Final = 3
"""Characters. Hiding every occurrence of a shorter text would only tell that it is one."""


def is_server_url(place: str) -> bool:
    """Say whether a place is a server rather than a path."""
    return place.lower().startswith(SCHEMES)


def check_server_url(place: str) -> None:
    """Raise `UsageError` for a URL that nobody could connect to.

    Raises `MissingPackageError` where the driver is not installed. The URL's secrets are in
    neither.
    """
    if find_spec("psycopg") is None:
        raise MissingPackageError("a store on a PostgreSQL server", "psycopg", "postgres")
    import psycopg

    try:
        psycopg.conninfo.conninfo_to_dict(place)
    except psycopg.Error:
        raise UsageError("store", shown(place), _NEED) from None  # its message quotes the URL


def shown(place: str) -> str:
    """Return what may be shown of a place: a path as it is, of a URL no user, password, option."""
    if not is_server_url(place):
        return place
    scheme, _, rest = place.partition("://")
    rest, _, options = rest.partition("?")
    # A password may hold "/", "@" and "?" that should have been escaped.
    rest = _HIDDEN if "@" in options else rest.rpartition("@")[2]
    return f"{scheme.lower()}://{ascii(rest)[1:-1][:_MAX_SHOWN]}"


def without_secrets(text: str, place: str) -> str:
    """Return the first line of a message, with whatever of a URL is secret taken out."""
    line = next(iter(text.strip().splitlines()), "")
    for secret in sorted(set(_secrets(place)), key=len, reverse=True):
        line = line.replace(secret, _HIDDEN)
    return ascii(line)[1:-1][:_MAX_SHOWN]


def _secrets(place: str) -> Iterator[str]:
    rest = place.partition("://")[2]
    user_info = rest.rpartition("@")[0]
    found = [place, user_info, user_info.partition(":")[2]]
    try:
        query = urlsplit(place).query
    except ValueError:
        query = rest.partition("?")[2]
    found.extend(value for name, value in parse_qsl(query) if "pass" in name.lower())
    found.extend(part.partition("=")[2] for part in query.split("&") if "pass" in part.lower())
    for secret in found:
        for one in (secret, unquote(secret)):
            if len(one) >= _LEAST_SECRET:
                yield one
