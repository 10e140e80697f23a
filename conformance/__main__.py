"""`python -m conformance`: run the vectors, or look for disagreements at random."""

import argparse
import sys
from collections.abc import Callable

from conformance.fuzzing.command_line import add_fuzz_parser
from conformance.runner.command_line import add_run_parser


def main(words: list[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser("python -m conformance", description=__doc__)
    subparsers = parser.add_subparsers(required=True)
    add_run_parser(subparsers)
    add_fuzz_parser(subparsers)
    arguments = parser.parse_args(words)
    go: Callable[[argparse.Namespace], int] = arguments.go
    return go(arguments)


if __name__ == "__main__":
    sys.exit(main())
