"""What the exit code of a command says."""

from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """Exit codes of every command. Code 1 is Python's: a defect of ortsel, with a traceback."""

    DECIDED = 0
    """There is a decision; that the reference stays is one."""
    OUTPUT_LOST = 1
    """Whoever read the output went away."""
    USAGE = 2
    """What was asked for cannot be done as asked; one line says what to change."""
    UNDECIDED = 3
    """The model runs, but nothing could be decided; the output says why."""
    ATTENTION = 4
    """`ortsel doctor` or `ortsel cache verify` found something that needs attention."""
    NOT_EXECUTABLE = 126
    """`ortsel exec`: the program is there, and cannot be started."""
    NOT_FOUND = 127
    """`ortsel exec`: there is no such program."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C. A search that was under way left nothing behind."""


EXIT_CODES_HELP: Final = """\b
Exit codes:
  0    a decision was made or found (also when the reference stays)
  2    usage: a missing file, a bad shape, an unknown input, a model that
       ONNX Runtime rejects; one line on stderr says what
  3    no decision was possible; the output says why
  4    something needs attention (doctor, cache verify)
  130  interrupted
"""

ATTENTION_HELP: Final = """\b
Exit codes:
  0    all is well
  2    usage; one line on stderr says what
  4    something needs attention; the output says what
"""
