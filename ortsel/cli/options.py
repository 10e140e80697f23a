"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ortsel.cli.durations import duration_argument, gap_argument
from ortsel.cli.store_argument import store_argument

_Command = TypeVar("_Command", bound=Callable[..., Any])


def budget_option(default: str) -> Callable[[_Command], _Command]:
    """Return what adds `--budget` with a default such as "30s"."""
    return click.option(
        "--budget",
        type=duration_argument,
        metavar="TIME",
        default=default,
        show_default=True,
        help="Longest time to search: 30, 45s, 2m, 1m30s.",
    )


def gap_option(command: _Command) -> _Command:
    """Add `--gap`."""
    return click.option(
        "--gap",
        type=gap_argument,
        metavar="TIME",
        default="0",
        help="Time between two calls in production, such as 50ms.  [default: none]",
    )(command)


def store_option(command: _Command) -> _Command:
    """Add `--store`."""
    return click.option(
        "--store",
        type=store_argument,
        metavar="PLACE",
        help="Where decisions are kept: a SQLite file, or postgresql://... for a server.  "
        "[default: a file in your cache folder]",
    )(command)


def json_option(command: _Command) -> _Command:
    """Add `--json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON document on stdout, and nothing else.",
    )(command)


def seed_option(command: _Command) -> _Command:
    """Add `--seed`."""
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**53 - 1),
        default=0,
        show_default=True,
        help="Source of made-up inputs and of the order of measurements.",
    )(command)
