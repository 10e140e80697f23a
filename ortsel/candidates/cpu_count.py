"""How many CPUs this process may really use.

The machine's count says little in a container: an affinity mask takes CPUs away, a control-group
quota takes time away, and threads beyond either only wait for each other.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

CGROUP_ROOT = Path("/sys/fs/cgroup")


def read_thread_budget(cgroup_root: Path = CGROUP_ROOT) -> int:
    """Return the least of affinity and quota in whole CPUs, at least 1."""
    has_mask = hasattr(os, "sched_getaffinity")  # macOS and Windows offer none to read
    cpus = len(os.sched_getaffinity(0)) if has_mask else os.cpu_count() or 1
    quota = read_quota(cgroup_root)
    return max(1, cpus if quota is None else min(cpus, quota))


def read_quota(cgroup_root: Path) -> int | None:
    """Return the control group's CPU time per wall-clock time, rounded up; None without a limit.

    A share of a CPU counts as one: a process can't have fewer threads.
    """
    unified = _words(cgroup_root / "cpu.max")
    if unified is not None:
        return _ceiling(*unified) if len(unified) == len(("quota", "period")) else None
    quota = _words(cgroup_root / "cpu" / "cpu.cfs_quota_us")
    period = _words(cgroup_root / "cpu" / "cpu.cfs_period_us")
    return _ceiling(quota[0], period[0]) if quota and period else None


def read_physical_cores() -> int | None:
    """Return the machine's physical cores, None where the system does not tell."""
    psutil: Any = import_module("psutil")
    cores = psutil.cpu_count(logical=False)
    return cores if isinstance(cores, int) and cores > 0 else None


def _words(path: Path) -> list[str] | None:
    try:
        return path.read_text("ascii").split()
    except (OSError, UnicodeDecodeError):
        return None


def _ceiling(quota: str, period: str) -> int | None:
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:  # "max" and "-1"
        return None
    return max(1, -(-int(quota) // int(period)))
