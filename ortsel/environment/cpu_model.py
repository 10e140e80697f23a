"""Which CPU this is, as far as kernels can tell."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from attrs import frozen

_IDENTITY: Final = (
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
    "cpu",
    "isa",
    "uarch",
)
_INSTRUCTIONS: Final = re.compile(
    r"sse\w*|ssse3|avx\w*|fma\w*|f16c|bmi\d|amx\w*|popcnt|abm|movbe|gfni|vaes|vpclmulqdq|sha_ni"
)
"""x86 flags that compilers and kernels ask for. Others come and go with kernels and microcode."""


@frozen
class CpuModel:
    """Identity and instruction sets."""

    identity: tuple[str, ...]
    """Sorted lines such as "model name: AMD EPYC"; several models where the cores differ."""
    instructions: tuple[str, ...]
    """Sorted names; empty where the system doesn't tell and the identity says it all."""


def read_cpu_model(root: Path = Path("/")) -> CpuModel | None:
    """Return the CPU, or None where it cannot be told. `root` is the root of the file system."""
    if sys.platform == "darwin":
        return _from_sysctl()
    found = _from_cpuinfo(root / "proc/cpuinfo")
    if found is None and os.name == "nt":
        name = os.environ.get("PROCESSOR_IDENTIFIER", platform.processor())
        found = CpuModel((f"processor: {name}",), ()) if name else None
    return found


def parse_cpuinfo(lines: Iterable[str]) -> CpuModel | None:
    """Return what the lines of Linux's /proc/cpuinfo say, or None where they say nothing.

    On x86 only the first CPU is read: the others have the same name, and on a large machine the
    kernel takes long to describe them all. On Arm cores differ, and all are read.
    """
    identity: set[str] = set()
    instructions: set[str] = set()
    for line in lines:
        name, separator, value = (part.strip() for part in line.partition(":"))
        if not separator:
            if "flags" in instructions:
                break
            continue
        if name in _IDENTITY:
            identity.add(f"{name}: {value}")
        elif name == "flags":
            instructions.update(flag for flag in value.split() if _INSTRUCTIONS.fullmatch(flag))
            instructions.add("flags")
        elif name == "Features":
            instructions.update(value.split())
    instructions.discard("flags")
    return CpuModel(tuple(sorted(identity)), tuple(sorted(instructions))) if identity else None


def _from_cpuinfo(path: Path) -> CpuModel | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return parse_cpuinfo(lines)
    except OSError:
        return None


def _from_sysctl() -> CpuModel | None:
    command = ["/usr/sbin/sysctl", "machdep.cpu.brand_string", "hw.optional"]
    try:
        text = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    pairs = [line.partition(": ") for line in text.splitlines()]
    identity = tuple(value for name, _, value in pairs if name == "machdep.cpu.brand_string")
    features = sorted(
        name for name, _, value in pairs if name.startswith("hw.opt") and value == "1"
    )
    return CpuModel(identity, tuple(features)) if identity else None
