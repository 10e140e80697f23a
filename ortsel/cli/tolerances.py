"""`--tolerance`: how far outputs may be, in the words of a build's spec."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ortsel.builder.tolerances import BY_TYPE, NEED, tolerance_of
from ortsel.errors import UsageError
from ortsel.verification.tolerance import Tolerance

_Command = TypeVar("_Command", bound=Callable[..., Any])


def tolerance_argument(text: str) -> Tolerance:
    """Read an option's value; what is wrong with it becomes the option's error."""
    try:
        return tolerance_of(text.strip())
    except UsageError as error:
        message = f"got {error.got}, need {error.need}"
        raise click.BadParameter(message) from error


def tolerance_option(command: _Command) -> _Command:
    """Add `--tolerance`."""
    return click.option(
        "--tolerance",
        type=tolerance_argument,
        metavar="TOLERANCE",
        default=BY_TYPE,
        show_default=True,
        help=f"How far outputs may be: {NEED}, such as cosine=0.99.",
    )(command)
