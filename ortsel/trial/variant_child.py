"""Building a graph variant in a child process, for a session that serves it.

Rewriting imports heavy libraries and may crash; the serving process only loads the finished file.
Run as `python -m ortsel.trial.variant_child VARIANT MODEL TARGET`.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from ortsel.trial.errors import TrialFailedError
from ortsel.trial.interpreter import worker_command, worker_environment
from spec.failure import Failure, FailureKind

MODULE: Final = "ortsel.trial.variant_child"
LIMIT_S: Final = 600
"""A rewrite of a large model takes minutes; longer is a hang."""


def build_variant_in_child(
    variant: str, model: Path, target: Path, deadline_ns: int | None = None
) -> None:
    """Write the variant of `model` to `target`, by `deadline_ns` on the monotonic clock.

    Raises `TrialFailedError` (unsupported when it is refused, transient when it takes too long) and
    `TrialsUnavailableError` where no child can be started.
    """
    limit_s: float = LIMIT_S
    if deadline_ns is not None:
        limit_s = max(0.0, min(limit_s, (deadline_ns - time.monotonic_ns()) / 1e9))
    command = [*worker_command()[:-1], MODULE, variant, str(model), str(target)]
    try:
        result = subprocess.run(
            command,
            env=worker_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        failure = Failure(FailureKind.TRANSIENT, "timeout", f"variant not built in {limit_s:.1f} s")
        raise TrialFailedError(variant, failure) from error
    if result.returncode or not target.exists():
        last = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise TrialFailedError(variant, Failure(FailureKind.UNSUPPORTED, "variant-refused", last))


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
