"""What ends and errors mean, and how long a measurement is."""

import signal
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ortsel.trial.child import (
    ChildConfusedError,
    ChildCutError,
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildTooBigError,
)
from ortsel.trial.failures import failure_of_end, failure_of_error
from ortsel.trial.limits import TrialLimits
from ortsel.trial.messages import Failed
from ortsel.trial.rig import calls_for
from spec.failure import FailureKind

UNSUPPORTED, TRANSIENT, CRASHED, DEVICE = (
    FailureKind.UNSUPPORTED,
    FailureKind.TRANSIENT,
    FailureKind.CRASHED,
    FailureKind.DEVICE,
)


@pytest.mark.parametrize(
    ("failed", "kind", "code"),
    [
        (Failed("build", "Fail", "no kernel"), UNSUPPORTED, "build-failed"),
        (Failed("run", "InvalidArgument", "rank"), UNSUPPORTED, "run-failed"),
        (Failed("variant", "VariantRefusedError", "no"), UNSUPPORTED, "variant-refused"),
        (Failed("build", "PlanUnavailableError", "no"), UNSUPPORTED, "provider-unavailable"),
        (Failed("run", "MemoryError", ""), TRANSIENT, "out-of-memory"),
        (Failed("run", "RuntimeException", "std::bad_alloc"), TRANSIENT, "out-of-memory"),
        (Failed("run", "Fail", "CUDA failure 2: out of memory"), TRANSIENT, "out-of-memory"),
        (
            Failed("run", "Fail", "Failed to allocate memory for requested buffer of size 7"),
            TRANSIENT,
            "out-of-memory",
        ),
        (
            Failed("run", "Fail", "CUDA failure 700: an illegal memory access was encountered"),
            DEVICE,
            "device-lost",
        ),
        (
            Failed("run", "Fail", "CUDA failure 719: unspecified launch failure"),
            DEVICE,
            "device-lost",
        ),
        (Failed("build", "Fail", "DXGI_ERROR_DEVICE_REMOVED"), DEVICE, "device-lost"),
    ],
)
def test_an_error_in_a_living_child_has_a_kind(
    failed: Failed, kind: FailureKind, code: str
) -> None:
    failure = failure_of_error(failed)
    assert (failure.kind, failure.code) == (kind, code)
    assert failed.text in failure.detail


@pytest.mark.parametrize(
    ("error", "kind", "code", "words"),
    [
        (ChildDiedError("oops", -signal.SIGABRT), CRASHED, "abort", "oops"),
        (ChildDiedError("", -signal.SIGSEGV), CRASHED, "signal-11", "signal 11"),
        (ChildDiedError("oops", 1), CRASHED, "exit-1", "oops"),
        (ChildDiedError("", 0), CRASHED, "exit-0", "exit code 0"),
        (ChildDiedError("", -signal.SIGKILL), TRANSIENT, "out-of-memory", "SIGKILL"),
        (
            ChildDiedError("what():  std::bad_alloc", -signal.SIGABRT),
            TRANSIENT,
            "out-of-memory",
            "bad_alloc",
        ),
        (ChildDiedError("device-side assert", -signal.SIGABRT), DEVICE, "device-lost", "assert"),
        (ChildTooBigError("", 11, 10), TRANSIENT, "out-of-memory", "11 bytes"),
        (ChildCutError("", 1_500_000_000), TRANSIENT, "timeout", "after 1.500 s"),
        (
            ChildHungError("oops", 2_000_000_000),
            CRASHED,
            "hang",
            "within 2.000 s; last printed: oops",
        ),
        (ChildConfusedError("", "no JSON"), CRASHED, "protocol", "no JSON"),
    ],
)
def test_the_end_of_a_child_has_a_kind(
    error: ChildError, kind: FailureKind, code: str, words: str
) -> None:
    failure = failure_of_end(error)
    assert (failure.kind, failure.code) == (kind, code)
    assert words in failure.detail


@given(st.integers(1, 10**12))
def test_a_measurement_is_neither_too_short_nor_too_long(latency_ns: int) -> None:
    limits = TrialLimits()
    calls = calls_for(latency_ns, limits)
    assert calls >= 1
    length_ns = calls * latency_ns
    assert calls == 1 or length_ns <= limits.measurement_most_ns
    long_enough = length_ns >= limits.measurement_least_ns and calls >= limits.calls_least
    no_room = (calls + 1) * latency_ns > limits.measurement_most_ns
    assert long_enough or no_room
    assert calls <= limits.calls_least or (calls - 1) * latency_ns < limits.measurement_least_ns


def test_an_unknown_latency_asks_for_few_calls() -> None:
    limits = TrialLimits()
    assert calls_for(None, limits) == calls_for(0, limits) == limits.calls_least
    assert calls_for(1_000, limits) == 20_000
    assert calls_for(100_000_000, limits) == 2
    assert calls_for(10**10, limits) == 1


@pytest.mark.parametrize(
    "build",
    [
        lambda: TrialLimits(measurement_least_ns=0),
        lambda: TrialLimits(memory_share=0.0),
        lambda: TrialLimits(memory_share=1.5),
        lambda: TrialLimits(niceness=20),
        lambda: TrialLimits(reference_looks=2),
    ],
)
def test_limits_without_meaning_are_refused(build: Callable[[], TrialLimits]) -> None:
    with pytest.raises(ValueError, match="must be"):
        build()
