"""Building a graph variant in a child process, for a session that serves it.

Rewriting imports heavy libraries and may crash; the serving process only loads the finished file.
Run as `python -m ortsel.trial.variant_child VARIANT MODEL TARGET`.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.trial.errors import TrialFailedError
from ortsel.trial.interpreter import worker_command, worker_environment
from ortsel.trial.limits import SECOND_NS, never
from spec.failure import Failure, FailureKind

MODULE: Final = "ortsel.trial.variant_child"
LIMIT_S: Final = 600
"""A rewrite of a large model takes minutes; longer is a hang."""
LOOK_S: Final = 0.05
"""How often the parent looks at the clock."""


def build_variant_in_child(
    variant: str,
    model: Path,
    target: Path,
    deadline_ns: int | None = None,
    stop_asked: Callable[[], bool] = never,
) -> None:
    """Write the variant of `model` to `target`, by `deadline_ns` on the monotonic clock.

    Ends the child early when `stop_asked` says so. Raises `TrialFailedError` (unsupported when it
    is refused, transient when it takes too long or is stopped) and `TrialsUnavailableError` where
    no child can be started.
    """
    arguments = (variant, str(model), str(target))
    ended = run_module(MODULE, arguments, deadline_ns, stop_asked)
    if ended.code is None:
        what = f"variant not built in {ended.took_ns / SECOND_NS:.1f} s"
        raise TrialFailedError(variant, Failure(FailureKind.TRANSIENT, "timeout", what))
    if ended.code or not target.exists():
        failure = Failure(FailureKind.UNSUPPORTED, "variant-refused", ended.last_words())
        raise TrialFailedError(variant, failure)


@frozen
class Ended:
    """How a child ended that runs a module."""

    code: int | None
    """Exit status; None where it was ended early."""
    lines: tuple[str, ...]
    """What it printed."""
    took_ns: int

    def last_words(self) -> str:
        """Return the last line that it printed, or its exit status."""
        return self.lines[-1] if self.lines else f"exit status {self.code}"


def run_module(
    module: str,
    arguments: Sequence[str],
    deadline_ns: int | None = None,
    stop_asked: Callable[[], bool] = never,
) -> Ended:
    """Run a module in a child process until it ends, the deadline, or `stop_asked` says so.

    Raises `TrialsUnavailableError` where no child can be started.
    """
    started_ns = time.monotonic_ns()
    ends_ns = started_ns + LIMIT_S * SECOND_NS
    ends_ns = ends_ns if deadline_ns is None else min(ends_ns, deadline_ns)
    command = [*worker_command()[:-1], module, *arguments]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command,
            env=worker_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as child,
    ):
        try:
            code = _end_of(child, ends_ns, stop_asked)
        finally:
            child.kill()
        log.seek(0)
        lines = log.read().decode(errors="replace").strip().splitlines()
    return Ended(code, tuple(lines), time.monotonic_ns() - started_ns)


def _end_of(
    child: "subprocess.Popen[bytes]", ends_ns: int, stop_asked: Callable[[], bool]
) -> int | None:
    """Return the exit status, or None when it must end before it has."""
    while True:
        left_s = (ends_ns - time.monotonic_ns()) / SECOND_NS
        try:
            return child.wait(max(0.0, min(LOOK_S, left_s)))
        except subprocess.TimeoutExpired:
            if left_s <= 0 or stop_asked():
                return None


def main(arguments: list[str]) -> int:
    """Build in this process; refusals go to stderr, one line."""
    from ortsel.errors import OrtselError
    from ortsel.graph_variants import build_variant

    variant, model, target = arguments
    try:
        build_variant(variant, Path(model), Path(target))
    except OrtselError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
