"""A third opinion on two answers: which of them is nearer to the model in double precision.

It decides nothing: the reference is right by definition. It tells whoever reads the rejection
whether the candidate is worse or only different. Computed in a child process, since ONNX's
evaluator is slow and takes memory. Run as
`python -m ortsel.trial.third_opinion MODEL FEED REFERENCE CANDIDATE`.
"""

import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Final

from ortsel.trial.errors import TrialsUnavailableError
from ortsel.trial.interpreter import worker_command, worker_environment
from ortsel.trial.limits import SECOND_NS
from ortsel.trial.values import read_values
from ortsel.verification.double_precision import (
    NoDoublePrecisionError,
    distance,
    outputs_in_double,
)

MODULE: Final = "ortsel.trial.third_opinion"
LIMIT_S: Final = 60
MAX_MODEL_BYTES: Final = 512 * 2**20
ORT_MAGIC: Final = b"ORTM"


def third_opinion(
    model: Path, feed: Path, reference: Path, candidate: Path, deadline_ns: int
) -> str:
    """Return in words which of two answers to a feed is nearer, or why nobody can say.

    Takes at most `LIMIT_S`, and not beyond `deadline_ns` on the monotonic clock. Raises nothing.
    """
    left_s = min(float(LIMIT_S), (deadline_ns - time.monotonic_ns()) / SECOND_NS)
    if left_s <= 0:
        return "none, no time is left"
    arguments = [str(path) for path in (model, feed, reference, candidate)]
    try:
        command = [*worker_command(module=MODULE), *arguments]
        with tempfile.TemporaryFile() as log:
            child = subprocess.run(
                command,
                env=worker_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                timeout=left_s,
                check=False,
                start_new_session=True,
            )
    except subprocess.TimeoutExpired:
        return f"none, ONNX's evaluator took more than {left_s:.1f} s"
    except (OSError, TrialsUnavailableError) as error:
        return f"none, no process could be started: {error}"
    lines = child.stdout.decode(errors="replace").strip().splitlines()
    if child.returncode or not lines:
        return f"none, the process ended with status {child.returncode}"
    return lines[-1]


def opinion(model: Path, feed: Path, reference: Path, candidate: Path) -> str:
    """Return the opinion, computed in this process."""
    import onnx

    decode_error: type[Exception] = import_module("google.protobuf.message").DecodeError
    with model.open("rb") as file:
        if file.read(8)[4:8] == ORT_MAGIC:
            return "none, the model is in ONNX Runtime's own format"
    if (size := model.stat().st_size) > MAX_MODEL_BYTES:
        return f"none, got a model of {size} bytes, need at most {MAX_MODEL_BYTES}"
    ours, theirs = read_values(reference), read_values(candidate)
    try:
        truth = outputs_in_double(onnx.load(model), read_values(feed), list(ours))
    except (NoDoublePrecisionError, decode_error) as error:
        return f"none, {error}"
    off = [
        max(distance(true, side[name]) for true, name in zip(truth, ours, strict=True))
        for side in (ours, theirs)
    ]
    nearer = "the reference is nearer" if off[0] < off[1] else "the candidate is nearer"
    if off[0] == off[1]:
        nearer = "both are as near"
    return (
        f"{nearer} to the model in double precision, the reference being off by {off[0]:.2g} and "
        f"the candidate by {off[1]:.2g}"
    )


def main(arguments: list[str]) -> int:
    """Print the opinion, one line."""
    model, feed, reference, candidate = map(Path, arguments)
    sys.stdout.write(f"{opinion(model, feed, reference, candidate)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
