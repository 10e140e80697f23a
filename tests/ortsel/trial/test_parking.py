"""Waiting until the threads of this process sleep (E2)."""

import hashlib
import threading

import pytest

from ortsel.trial.parking import park

LIMIT_NS = 200_000_000


def test_a_process_whose_threads_sleep_is_parked() -> None:
    release = threading.Event()
    sleeper = threading.Thread(target=release.wait)
    sleeper.start()
    try:
        assert any(park(LIMIT_NS)[1] for _ in range(5))
    finally:
        release.set()
        sleeper.join()


@pytest.mark.slow
def test_a_process_with_a_thread_that_never_sleeps_is_not_parked() -> None:
    done = threading.Event()
    block = b"x" * (1 << 22)

    def spin() -> None:
        while not done.is_set():
            hashlib.sha256(block)  # without Python's lock, as a pool's thread

    spinner = threading.Thread(target=spin)
    spinner.start()
    try:
        park_ns, parked = park(LIMIT_NS)
    finally:
        done.set()
        spinner.join()
    assert not parked
    assert park_ns > LIMIT_NS
