"""`python -m conformance run`: arguments in, reports and exit status out."""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Final

from conformance.adapters.process import Process
from conformance.codec import CodecError
from conformance.protocol.conversation import Conversation
from conformance.protocol.message import Level, Style
from conformance.protocol.transport import DEFAULT_ANSWER_S, DEFAULT_LINE_BYTES, Limits
from conformance.runner.choice import NothingChosenError, chosen
from conformance.runner.file_report import badge, json_report, junit_xml
from conformance.runner.known_failures import (
    NO_KNOWN_FAILURES,
    KnownFailuresError,
    read_known_failures,
)
from conformance.runner.run import run
from conformance.runner.text_report import text_report
from conformance.vectors import load
from conformance.vectors.layout import vectors_of as read_vectors
from conformance.vectors.vector import Vector
from spec.canonical_json import Json

GREEN: Final = 0
RED: Final = 1
USAGE: Final = 2
"""What argparse exits with; here also for a list of known failures that can't be."""


def add_limit_arguments(parser: argparse.ArgumentParser, command: str = "+") -> None:
    """Add what every subcommand that starts an implementation takes."""
    parser.add_argument(
        "--time-limit",
        type=float,
        default=DEFAULT_ANSWER_S,
        metavar="SECONDS",
        help="for one answer (%(default)g)",
    )
    parser.add_argument(
        "--size-limit",
        type=int,
        default=DEFAULT_LINE_BYTES,
        metavar="BYTES",
        help="for one line of an answer (%(default)s)",
    )
    parser.add_argument("command", nargs=command, help="the implementation, after --")


def add_run_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="run the vectors against an implementation")
    levels = [level.value for level in Level]
    parser.add_argument(
        "--level", action="append", choices=levels, default=[], help="only this; may be repeated"
    )
    parser.add_argument(
        "--area",
        action="append",
        default=[],
        help="same as --level: a level's vectors are its area",
    )
    parser.add_argument(
        "--id",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only vectors whose whole id matches this shell pattern; may be repeated",
    )
    parser.add_argument("--style", choices=[style.value for style in Style], help="only this one")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="a file of vectors to run")
    parser.add_argument("--known-failures", type=Path, metavar="FILE", help="id and reason a line")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything")
    parser.add_argument("--badge", type=Path, metavar="FILE", help="write a badge's JSON")
    add_limit_arguments(parser)
    parser.set_defaults(go=run_command)


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the limits that were asked for. Raises `ValueError` for one that is not positive."""
    return Limits(float(arguments.time_limit), int(arguments.size_limit))


def run_command(arguments: argparse.Namespace) -> int:
    """Run, report, and return the exit status: 0 green, 1 red, 2 for arguments that can't be."""
    try:
        limits = limits_of(arguments)
        vectors = wanted_vectors(arguments.vectors)
        known = NO_KNOWN_FAILURES
        if arguments.known_failures is not None:
            ids = frozenset(vector.id for vector in vectors)
            known = read_known_failures(arguments.known_failures, ids)
        kept = chosen(vectors, [*arguments.level, *arguments.area], arguments.id)
    except NothingChosenError as error:
        sys.stderr.write(f"RED: {error}\n")
        return RED
    except (KnownFailuresError, CodecError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return USAGE
    style = None if arguments.style is None else Style(arguments.style)
    command: list[str] = arguments.command

    def opening() -> Conversation:
        return Conversation(Process(command, limits))

    def repeat(name: str) -> str:
        return repeat_command(name, arguments)

    outcome = run(opening, kept, known, style, repeat)
    sys.stdout.write(text_report(outcome))
    if arguments.junit is not None:
        arguments.junit.write_text(junit_xml(outcome), "utf-8")
    if arguments.json is not None:
        _write_json(arguments.json, json_report(outcome))
    if arguments.badge is not None:
        _write_json(arguments.badge, badge(outcome))
    return GREEN if outcome.is_green else RED


def wanted_vectors(path: Path | None) -> tuple[Vector, ...]:
    """Return the suite's vectors, or those of a file."""
    return load() if path is None else read_vectors(path.name, path.read_text("utf-8"))


def repeat_command(name: str, arguments: argparse.Namespace) -> str:
    """Return the command line that runs one vector as it was run."""
    words = ["python", "-m", "conformance", "run", "--id", _as_pattern(name)]
    if arguments.vectors is not None:
        words += ["--vectors", str(arguments.vectors)]
    if arguments.style is not None:
        words += ["--style", arguments.style]
    if arguments.time_limit != DEFAULT_ANSWER_S:
        words += ["--time-limit", f"{arguments.time_limit:g}"]
    return shlex.join([*words, "--", *arguments.command])


def _as_pattern(name: str) -> str:
    return "".join(f"[{one}]" if one in "[*?" else one for one in name)


def _write_json(path: Path, value: Json) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
