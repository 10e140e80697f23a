"""`python -m conformance fuzz`: search, print finding and speed, save a candidate vector."""

import argparse
import sys
from pathlib import Path
from typing import Final

from conformance.adapters.process import Process
from conformance.fuzzing.candidate import candidate_vector, write_candidate
from conformance.fuzzing.finding import Finding, HypothesisMissingError
from conformance.fuzzing.search import Search, fuzz, spec_alone
from conformance.protocol.conversation import Conversation
from conformance.protocol.fault import ConversationError
from conformance.protocol.message import Style
from conformance.runner.command_line import GREEN, RED, USAGE, add_limit_arguments, limits_of
from conformance.runner.result import CaseResult, Outcome
from conformance.runner.text_report import result_lines
from conformance.vectors.vector import Vector

DEFAULT_EXAMPLES: Final = 500


def add_fuzz_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "fuzz", help="play random scripts side by side with the reference model"
    )
    parser.add_argument("--seed", type=int, default=0, help="same seed, same scripts (%(default)s)")
    parser.add_argument(
        "--examples", type=int, default=DEFAULT_EXAMPLES, help="how many scripts (%(default)s)"
    )
    styles = [style.value for style in Style]
    parser.add_argument("--style", choices=styles, default=Style.STEPPING.value)
    parser.add_argument(
        "--save", type=Path, default=Path(), metavar="FOLDER", help="where candidate vectors go"
    )
    parser.add_argument(
        "--spec-alone",
        action="store_true",
        help="start no implementation; measure the reference model's side",
    )
    add_limit_arguments(parser, command="*")
    parser.set_defaults(go=fuzz_command)


def fuzz_command(arguments: argparse.Namespace) -> int:
    """Search, report, and return the exit status: 0 nothing found, 1 found, 2 could not search."""
    style, command = Style(arguments.style), list(arguments.command)
    if bool(command) == bool(arguments.spec_alone):
        sys.stderr.write("got neither or both, need --spec-alone or a command after --\n")
        return USAGE
    try:
        limits = limits_of(arguments)
        if arguments.spec_alone:
            search = spec_alone(arguments.seed, arguments.examples, style)
        else:
            search = fuzz(
                lambda: Conversation(Process(command, limits)),
                arguments.seed,
                arguments.examples,
                style,
            )
    except (HypothesisMissingError, ConversationError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return USAGE
    status = GREEN
    if search.finding is not None:
        vector = candidate_vector(search.finding, style, search.seed)
        path = arguments.save / f"{vector.id.replace('/', '-')}.json"
        write_candidate(path, vector)
        sys.stdout.write(finding_text(search.finding, vector, path))
        status = RED
    elif command and not search.applicable:
        sys.stdout.write("nothing was compared: no script applies to what is declared\n")
        status = RED
    sys.stdout.write(summary(search, is_alone=not command))
    return status


def finding_text(finding: Finding, vector: Vector, path: Path) -> str:
    """Return the finding for people."""
    broken = finding.broken
    outcome = Outcome.FAILED if broken is None else Outcome.COULD_NOT_RUN
    repeat = f"python -m conformance run --vectors {path} -- COMMAND"
    result = CaseResult(vector.id, vector.rules, outcome, "", finding.disagreement, broken, repeat)
    lines = [f"smallest disagreement, {finding.size} steps, saved as {path}", *result_lines(result)]
    return "\n".join(lines) + "\n"


def summary(search: Search, *, is_alone: bool) -> str:
    """Return the figures in one line, with what repeats the search."""
    what = "the reference model alone" if is_alone else f"{search.applicable} compared"
    found = "one disagreement" if search.finding is not None else "no disagreement"
    return (
        f"seed {search.seed}, {search.style.value} style: {search.examples} examples "
        f"({what}), {search.selections} selections in {search.elapsed_s:.2f} s: "
        f"{search.examples_per_s:.0f} examples and {search.selections_per_s:.0f} selections "
        f"per second; {found}\n"
    )
