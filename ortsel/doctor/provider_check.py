"""Whether an execution provider loads and takes nodes, tried in a process of its own.

ONNX Runtime says why a provider does not load on its log only, and goes on with the CPU. A provider
whose libraries are wrong may also end the process that tries it.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from attrs import frozen

TIMEOUT_S: Final = 60.0
MAX_LINES: Final = 8
_MAX_LINE: Final = 400
_MODULE: Final = "ortsel.doctor.provider_probe"


@frozen
class ProviderCheck:
    """What became of a session that asked for one provider."""

    name: str
    in_build: bool
    """Whether this build of ONNX Runtime lists it."""
    loaded: bool
    nodes: int | None
    """Nodes that it took of a small model; None where ONNX Runtime does not say."""
    reason: str
    """Why it is not loaded; empty where it is."""
    log: tuple[str, ...] = ()
    """What ONNX Runtime logged meanwhile."""


def check_provider(
    name: str, available: tuple[str, ...], environment: Mapping[str, str] | None = None
) -> ProviderCheck:
    """Try one provider on a small matrix product, with ONNX Runtime's default options."""
    if name not in available:
        reason = f"this build of ONNX Runtime has {', '.join(available)} only"
        return ProviderCheck(name, in_build=False, loaded=False, nodes=None, reason=reason)
    command = [sys.executable, "-m", _MODULE, name]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return _failed(name, f"it was not ready after {TIMEOUT_S:g} s", ())
    except OSError as error:
        return _failed(name, f"no process could be started: {error}", ())
    log = _lines(done.stderr)
    answer = _answer(done.stdout)
    if answer is None:
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        return _failed(name, f"the process that tried it ended with {ended}", log)
    reported, nodes, trouble = answer
    if trouble:
        return _failed(name, trouble, log)
    if name not in reported:
        return _failed(name, log[-1] if log else f"the session runs on {reported}", log)
    return ProviderCheck(name, in_build=True, loaded=True, nodes=nodes, reason="", log=log)


def _failed(name: str, reason: str, log: tuple[str, ...]) -> ProviderCheck:
    return ProviderCheck(name, in_build=True, loaded=False, nodes=None, reason=reason, log=log)


def _lines(output: bytes) -> tuple[str, ...]:
    """Return the last lines, without colours and without the same line twice."""
    text = output.decode("utf-8", "replace").replace("\x1b[0m", "").replace("\x1b[1;31m", "")
    lines = (line.strip()[:_MAX_LINE] for line in text.replace("\x1b[0;93m", "").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))[-MAX_LINES:]


def _answer(output: bytes) -> tuple[list[str], int | None, str] | None:
    """Return what the process said: providers of the session, nodes, error."""
    try:
        reported, nodes, error = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError, TypeError):
        return None
    return [str(one) for one in reported], None if nodes is None else int(nodes), str(error)
