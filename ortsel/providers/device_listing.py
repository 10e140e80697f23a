"""The devices that a library's provider offers on this machine.

A library that nobody has registered yet is loaded in a child process first: it may crash, and the
serving process needs nothing of it before one of its plans has won.
"""

import json
import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from ortsel.providers.library_search import content_of
from ortsel.providers.plugin import Plugin, PluginDevice, PluginLibrary, PluginLibraryError
from ortsel.providers.registration import (
    ensure_registered,
    library_path,
    registered_by_user,
    registered_for_plans,
)

MODULE: Final = "ortsel.providers.device_listing"
LIMIT_S: Final = 60
MARK: Final = "ortsel-devices:"
"""Begins the line that counts; a library may print too."""

logger: Final = logging.getLogger("ortsel.providers")


def registered_plugins() -> tuple[Plugin, ...]:
    """Return the libraries that the user registered in this process, with their devices.

    A registration past ortsel is known where ONNX Runtime tells the file; its name there is not,
    and the provider's stands for it.
    """
    import onnxruntime

    by_path = {path: name for name, path in registered_by_user().items()}
    ours = registered_for_plans()
    groups: dict[str, list[Any]] = {}
    for entry in onnxruntime.get_ep_devices():
        path = library_path(entry)
        if path and path not in ours:
            groups.setdefault(path, []).append(entry)
    return tuple(
        Plugin(
            PluginLibrary(by_path.get(path, str(entries[0].ep_name)), path, content_of(path)),
            _devices(entries),
        )
        for path, entries in sorted(groups.items())
    )


def plugin_of(library: PluginLibrary) -> Plugin:
    """Return a library with its devices, found in a child process.

    Raises `PluginLibraryError` where it does not load, crashes, hangs, or offers no device.
    """
    devices = _listed(library.registration, library.path, library.content)
    return Plugin(library, devices)


@lru_cache(maxsize=64)
def _listed(registration: str, path: str, content: str) -> tuple[PluginDevice, ...]:
    from ortsel.trial.interpreter import worker_command, worker_environment

    command = [*worker_command()[:-1], MODULE, registration, path, content]
    try:
        result = subprocess.run(
            command,
            env=worker_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        need = f"its devices within {LIMIT_S} s"
        raise PluginLibraryError(path, "no answer", need) from None
    lines = [line for line in result.stdout.splitlines() if line.startswith(MARK)]
    if not lines:
        got = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise PluginLibraryError(path, got, "a library that loads")
    import cattrs

    found = cattrs.structure(json.loads(lines[-1][len(MARK) :]), tuple[PluginDevice, ...])
    if not found:
        raise PluginLibraryError(path, "no device on this machine", "at least one")
    return found


def plugins_at(places: Iterable[PluginLibrary]) -> tuple[Plugin, ...]:
    """Return the libraries that can be used here; each other one costs itself and a log entry."""
    found = []
    for library in places:
        try:
            found.append(plugin_of(library))
        except PluginLibraryError as error:
            logger.warning("ortsel: no plan on it: %s", error)
    return tuple(found)


def find_device(device: PluginDevice) -> Any:
    """Return ONNX Runtime's own device for ours. Raises `PluginLibraryError` without one."""
    import onnxruntime

    alike = [
        entry
        for entry in onnxruntime.get_ep_devices()
        if _identity(entry) == (device.provider, device.vendor, device.kind, device.hardware)
    ]
    if len(alike) <= device.position:
        need = f"{device.position + 1} alike"
        raise PluginLibraryError(device.provider, f"{len(alike)} of {device.label}", need)
    return alike[device.position]


def _identity(entry: Any) -> tuple[str, str, str, str]:
    hardware = entry.device
    return (
        str(entry.ep_name),
        str(entry.ep_vendor),
        str(hardware.type).rpartition(".")[2],
        f"{hardware.vendor_id}:{hardware.device_id}",
    )


def _devices(entries: Iterable[Any]) -> tuple[PluginDevice, ...]:
    seen: Counter[tuple[str, str, str, str]] = Counter()
    found = []
    for entry in entries:
        identity = _identity(entry)
        version = str(dict(entry.ep_metadata).get("version", ""))
        found.append(PluginDevice(*identity, seen[identity], version))
        seen[identity] += 1
    return tuple(found)


def main(arguments: Sequence[str]) -> None:
    """Register one library in this process and print its devices."""
    import cattrs
    import onnxruntime

    registration, path, content = arguments
    before = Counter(_identity(entry) for entry in onnxruntime.get_ep_devices())
    try:
        ensure_registered(PluginLibrary(registration, path, content))
    except PluginLibraryError as error:
        sys.exit(str(error.got))
    new = []
    for entry in onnxruntime.get_ep_devices():
        if before[_identity(entry)]:
            before[_identity(entry)] -= 1
        else:
            new.append(entry)
    sys.stdout.write(f"\n{MARK}{json.dumps(cattrs.unstructure(_devices(new)))}\n")
    sys.stdout.flush()
    os._exit(0)  # unloading a foreign library may crash, and the answer is given


if __name__ == "__main__":
    main(sys.argv[1:])
