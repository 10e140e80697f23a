"""How much memory a child may take: what this process's container leaves, not what the host has."""

from pathlib import Path
from typing import Final

import psutil

_CGROUPS: Final = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_memory_bytes() -> int:
    """Return the memory that can be taken without swapping or meeting the container's limit."""
    available = int(psutil.virtual_memory().available)
    for limit_file, usage_file in _CGROUPS:
        limit, usage = _number(Path(limit_file)), _number(Path(usage_file))
        if limit is not None and usage is not None:
            available = min(available, max(0, limit - usage))
    return available


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
