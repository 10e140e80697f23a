"""Ages as people write them: "12h", "30d", "8w"."""

import re
from typing import Final

import click

_UNITS: Final = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE: Final = re.compile(r"(\d{1,5})([hdw])", re.ASCII)


def parse_age(text: str) -> int:
    """Return an age in seconds. Raises `ValueError` for anything but hours, days or weeks."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        message = f"{text!r} is not an age such as 12h, 30d or 8w"
        raise ValueError(message)
    return int(match[1]) * _UNITS[match[2]]


def age_argument(text: str) -> int:
    """Read an option's value; what is wrong with it becomes the option's error."""
    try:
        return parse_age(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
