"""Whether an execution provider loads and takes nodes, tried in a process of its own.

ONNX Runtime says why a provider does not load on its log only, and goes on with the CPU. A provider
whose libraries are wrong may also end the process that tries it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from attrs import frozen

TIMEOUT_S: Final = 60.0
MAX_LINES: Final = 8
_MAX_LINE: Final = 1000
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
        return _failed(name, _why(log, reported), log)
    return ProviderCheck(name, in_build=True, loaded=True, nodes=nodes, reason="", log=log)


def _failed(name: str, reason: str, log: tuple[str, ...]) -> ProviderCheck:
    return ProviderCheck(name, in_build=True, loaded=False, nodes=None, reason=reason, log=log)


_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX: Final = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \[[^\]]*\]\s*")
"""Time, severity and source line of what ONNX Runtime logs."""
_LIBRARY: Final = re.compile(r"Failed to load library (\S+) with error: (.+)")


def _lines(output: bytes) -> tuple[str, ...]:
    """Return the last lines without colours, times and sources, and without any line twice."""
    text = _COLOUR.sub("", output.decode("utf-8", "replace"))
    lines = (_PREFIX.sub("", line.strip())[:_MAX_LINE] for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))[-MAX_LINES:]


def _why(log: tuple[str, ...], reported: list[str]) -> str:
    """Return the line of a log that names a library which cannot be loaded, or else the last."""
    for line in log:
        if found := _LIBRARY.search(line):
            return f"{found[1].rpartition('/')[2]} needs {found[2]}"
    return log[-1] if log else f"the session runs on {', '.join(reported)}"


def _answer(output: bytes) -> tuple[list[str], int | None, str] | None:
    """Return what the process said: providers of the session, nodes, error."""
    try:
        reported, nodes, error = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError, TypeError):
        return None
    return [str(one) for one in reported], None if nodes is None else int(nodes), str(error)
