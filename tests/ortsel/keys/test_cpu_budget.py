"""The budget, from files as Linux writes them and from this process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ortsel.environment import CpuBudget, read_cpu_budget, thread_budget
from ortsel.environment.cpu_budget import read_quota_millicpus

ROOT = Path(__file__).parents[3]
V2 = "30 24 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"
V1 = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"


def _write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _version_2(root: Path, group: str, **limits: str) -> None:
    _write(root, **{"proc/self/cgroup": f"0::{group}\n", "proc/self/mountinfo": V2})
    for folder, limit in limits.items():
        _write(root, **{f"sys/fs/cgroup/{folder}/cpu.max": limit})


@pytest.mark.parametrize(
    ("limit", "quota"),
    [
        ("max 100000\n", None),
        ("150000 100000\n", 1500),
        ("100000 100000\n", 1000),
        ("25000 100000\n", 250),
        ("1 100000\n", 1),
        ("100000\n", None),
        ("0 0\n", None),
        ("many 100000\n", None),
        ("", None),
    ],
)
def test_the_quota_of_version_2(tmp_path: Path, limit: str, quota: int | None) -> None:
    _version_2(tmp_path, "/a", a=limit)
    assert read_quota_millicpus(tmp_path) == quota


def test_a_group_obeys_the_groups_above_it(tmp_path: Path) -> None:
    limits = {"": "300000 100000", "a": "200000 100000", "a/b": "max 100000", "c": "1 100000"}
    _version_2(tmp_path, "/a/b", **limits)
    assert read_quota_millicpus(tmp_path) == 2000


def test_in_a_namespace_of_its_own_a_container_sees_its_limit_at_the_root(tmp_path: Path) -> None:
    _version_2(tmp_path, "/", **{".": "120000 100000"})
    assert read_quota_millicpus(tmp_path) == 1200


@pytest.mark.parametrize("group", ["/../../elsewhere", "/docker/never/mounted"])
def test_a_group_outside_what_is_mounted_falls_back_to_the_mount(
    tmp_path: Path, group: str
) -> None:
    _version_2(tmp_path, group, **{".": "120000 100000"})
    assert read_quota_millicpus(tmp_path) == 1200


@pytest.mark.parametrize(
    ("quota", "period", "expected"),
    [("-1", "100000", None), ("150000", "100000", 1500), ("50000", "10000", 5000), ("5", "", None)],
)
def test_the_quota_of_version_1(
    tmp_path: Path, quota: str, period: str, expected: int | None
) -> None:
    group = "sys/fs/cgroup/cpu,cpuacct/a"
    _write(
        tmp_path,
        **{
            "proc/self/cgroup": "4:memory:/m\n3:cpuacct,cpu:/a\n1:name=systemd:/s\n0::/u\n",
            "proc/self/mountinfo": V1,
            f"{group}/cpu.cfs_quota_us": quota,
            f"{group}/cpu.cfs_period_us": period,
        },
    )
    assert read_quota_millicpus(tmp_path) == expected


def test_a_mount_that_begins_at_the_container_s_group_is_understood(tmp_path: Path) -> None:
    mount = "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
    _write(
        tmp_path,
        **{
            "proc/self/cgroup": "3:cpu:/docker/abc/inner\n",
            "proc/self/mountinfo": mount,
            "sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us": "70000",
            "sys/fs/cgroup/cpu/inner/cpu.cfs_period_us": "100000",
        },
    )
    assert read_quota_millicpus(tmp_path) == 700


def test_both_versions_at_once_count_both(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{
            "proc/self/cgroup": "3:cpu:/\n0::/\n",
            "proc/self/mountinfo": V1 + V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified "),
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/unified/cpu.max": "200000 100000",
        },
    )
    assert read_quota_millicpus(tmp_path) == 2000


def test_a_mount_point_with_a_space_is_understood(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{
            "proc/self/cgroup": "0::/a\n",
            "proc/self/mountinfo": V2.replace("/sys/fs/cgroup ", "/my\\040groups "),
            "my groups/a/cpu.max": "200000 100000",
        },
    )
    assert read_quota_millicpus(tmp_path) == 2000


def test_a_system_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert read_quota_millicpus(tmp_path) is None
    _write(tmp_path, **{"proc/self/mountinfo": "nonsense\n1 2 - \n", "proc/self/cgroup": "x\n::"})
    assert read_quota_millicpus(tmp_path) is None


@pytest.mark.parametrize(
    ("affinity", "quota", "threads"),
    [(8, None, 8), (8, 2000, 2), (2, 8000, 2), (8, 1500, 2), (8, 250, 1), (1, None, 1)],
)
def test_threads_are_the_least_of_affinity_and_quota(
    affinity: int, quota: int | None, threads: int
) -> None:
    assert CpuBudget(affinity, affinity, quota).threads == threads


def test_cpus_that_share_a_core_are_one_core(tmp_path: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    assert read_cpu_budget(tmp_path / "silent").cores == len(cpus)
    for cpu in cpus:
        name = f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        _write(tmp_path, **{name: "0-99\n"})
    assert read_cpu_budget(tmp_path).cores == 1


def test_a_process_that_is_bound_to_one_cpu_has_a_budget_of_one() -> None:
    cpu = min(os.sched_getaffinity(0))
    program = (
        f"import os; os.sched_setaffinity(0, {{{cpu}}})\n"
        "from ortsel.environment import read_cpu_budget, thread_budget\n"
        "print(thread_budget(), read_cpu_budget().affinity)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1 1\n"
    assert thread_budget() <= len(os.sched_getaffinity(0))
