"""What loading a model left behind goes back to the system, where that is worth it."""

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ortsel.free_memory import LEAST_BYTES, MOST_TIMES, give_back_free_memory

MIB = 2**20
BLOCK_BYTES = 100_000
LEFT_BYTES = 64 * MIB

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only glibc keeps free memory that it can be asked to give back",
)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def leftovers() -> Iterator[None]:
    """Free memory between blocks that are in use, which nothing gives back by itself."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    blocks = [library.malloc(BLOCK_BYTES) for _ in range(2 * LEFT_BYTES // BLOCK_BYTES)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK_BYTES)
    for block in blocks[::2]:
        library.free(block)
    yield
    for block in blocks[1::2]:
        library.free(block)
    library.malloc_trim(0)


@pytest.mark.usefixtures("leftovers")
def test_what_a_large_model_left_goes_back() -> None:
    before = _resident_bytes()
    give_back_free_memory(before)
    assert before - _resident_bytes() > LEFT_BYTES // 2


@pytest.mark.usefixtures("leftovers")
def test_a_small_model_and_a_small_part_of_a_large_process_change_nothing() -> None:
    before = _resident_bytes()
    assert before > MOST_TIMES * LEAST_BYTES, "pointless unless this process is a large one"
    give_back_free_memory(LEAST_BYTES - 1)
    give_back_free_memory(LEAST_BYTES)
    assert abs(before - _resident_bytes()) < LEFT_BYTES // 4
