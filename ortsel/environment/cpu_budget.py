"""How much CPU this process may use: the affinity mask and the quota of its control groups.

Both are part of the key, since the fastest thread count follows them. The control group's memory
limit is not: it changes no kernel, only whether a plan fits, and one that doesn't fails its trial
here, for now, whatever was decided elsewhere.
"""

import os
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from attrs import frozen

ROOT: Final = Path("/")


@frozen
class CpuBudget:
    """The CPUs of a process."""

    affinity: int
    """Logical CPUs that its threads may run on."""
    cores: int
    """Physical cores among these; as many as `affinity` where the system does not tell."""
    quota_millicpus: int | None
    """Least quota of its control groups in thousandths of a CPU; None where nothing limits it."""

    @property
    def threads(self) -> int:
        """Threads that can run at once: a started CPU counts, since half of one still needs one."""
        if self.quota_millicpus is None:
            return self.affinity
        return max(1, min(self.affinity, -(-self.quota_millicpus // 1000)))


def thread_budget() -> int:
    """Return the number of threads that can run at once in this process now."""
    return read_cpu_budget().threads


def read_cpu_budget(root: Path = ROOT) -> CpuBudget:
    """Return the budget as it is now; `root` stands for the root of the file system."""
    cpus = _affinity()
    return CpuBudget(len(cpus), _cores(cpus, root), read_quota_millicpus(root))


def read_quota_millicpus(root: Path = ROOT) -> int | None:
    """Return the least CPU quota of this process's control groups, of version 1 and version 2.

    A group obeys its own limit and those of all groups above it, as far as they can be seen from
    here. None where there is no limit or nothing to read one from.
    """
    quotas = [
        quota
        for folder, top in _groups(root)
        for group in _upwards(folder, top)
        if (quota := _quota(group)) is not None
    ]
    return min(quotas, default=None)


def _affinity() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


@lru_cache(maxsize=8)
def _cores(cpus: frozenset[int], root: Path) -> int:
    cores = set()
    for cpu in cpus:
        path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        siblings = _read(path)
        cores.add(siblings or f"alone {cpu}")
    return len(cores)


def _groups(root: Path) -> list[tuple[Path, Path]]:
    """Give the folder of each group that can limit the CPU, and the mount point it lies under."""
    paths = _group_paths(_read(root / "proc/self/cgroup"))
    found = []
    for line in _read(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < _MOUNT_FIELDS or len(kind) < _KIND_FIELDS:
            continue
        if kind[0] == "cgroup2":
            path = paths.get("")
        elif kind[0] == "cgroup" and "cpu" in kind[2].split(","):
            path = paths.get("cpu")
        else:
            continue
        mount = root / _unescaped(fields[4]).lstrip("/")
        found.append((mount / _below(path or "/", _unescaped(fields[3])), mount))
    return found


_MOUNT_FIELDS: Final = 6
_KIND_FIELDS: Final = 3


def _group_paths(text: str) -> dict[str, str]:
    """Return the path of the process's group by controller; "" is version 2."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, separator, path = rest.partition(":")
        if separator:
            for controller in controllers.split(","):
                paths[controller] = path
    return paths


def _below(path: str, mounted: str) -> str:
    """Return a group's path relative to the part of the hierarchy that is mounted.

    In a container the mount may begin below the root, at the container's own group, or the group's
    path may lead out of it ("/.."); then the mount itself is the best that can be seen.
    """
    try:
        below = PurePosixPath(path).relative_to(mounted)
    except ValueError:
        return ""
    return "" if ".." in below.parts else str(below)


def _upwards(folder: Path, top: Path) -> list[Path]:
    return [group for group in (folder, *folder.parents) if group == top or top in group.parents]


def _quota(group: Path) -> int | None:
    words = _read(group / "cpu.max").split() or [
        *_read(group / "cpu.cfs_quota_us").split(),
        *_read(group / "cpu.cfs_period_us").split(),
    ]
    match words:
        case [quota, period] if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            return max(1, int(quota) * 1000 // int(period))
        case _:  # "max" and "-1" are no limit
            return None


def _unescaped(text: str) -> str:
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        text = text.replace(f"\\{code}", character)
    return text


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
