"""Giving memory that is free inside the process back to the system.

ONNX Runtime parses a model on the heap, and glibc keeps many of those pages when it is done. A plan
is built in another thread, from another heap, and would come on top of them.
"""

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any, Final

LEAST_BYTES: Final = 16 * 2**20
"""Smaller models leave too little behind."""
MOST_TIMES: Final = 8
"""A process that holds more than so many times the model is left alone: the model is a small part
of it, and a large heap takes long, under the allocator's locks: 0.1 to 0.3 ms for each MiB that
goes back."""


def give_back_free_memory(model_bytes: int) -> None:
    """Return free pages of the heap to the system, after loading a model of that size.

    Meant for the thread that loaded it, before its session is asked anything: threads that allocate
    meanwhile may wait. Does nothing where the C library cannot (only glibc can).
    """
    if model_bytes < LEAST_BYTES or _resident_bytes() > MOST_TIMES * model_bytes:
        return
    trim = _trim()
    if trim is not None:
        trim(0)


def _resident_bytes() -> int:
    """Return what of this process is in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


@functools.cache
def _trim() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:  # an interpreter without dynamic linking
        return None
