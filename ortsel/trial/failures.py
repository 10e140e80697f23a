"""What a child's end or error means for the future (rule S8).

ONNX Runtime has no error types of its own for running out of memory or losing a device: its text is
all there is, so it is read here and nowhere else.
"""

import re
import signal
from typing import Final

from ortsel.trial.child import (
    ChildConfusedError,
    ChildCutError,
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildNotStartedError,
    ChildTooBigError,
)
from ortsel.trial.messages import Failed
from spec.failure import Failure, FailureKind

_OUT_OF_MEMORY: Final = re.compile(
    r"bad[ _]alloc|out of memory|Failed to allocate memory|Cannot allocate memory"
    r"|cannot allocate memory in static TLS|ALLOC_FAILED|MemoryError|not enough memory",
    re.IGNORECASE,
)

_DEVICE_LOST: Final = re.compile(
    r"illegal memory access|illegal instruction was encountered|unspecified launch failure"
    r"|device-side assert|misaligned address|uncorrectable ECC|hardware stack error"
    r"|cudaError(IllegalAddress|LaunchFailure|Assert|ECCUncorrectable|HardwareStackError|DevicesUnavailable)"
    r"|CUDA_ERROR_(ILLEGAL_ADDRESS|LAUNCH_FAILED|ASSERT|ECC_UNCORRECTABLE)|device (is )?lost"
    r"|DEVICE_REMOVED|DEVICE_HUNG|fallen off the bus",
    re.IGNORECASE,
)


def failure_of_error(failed: Failed) -> Failure:
    """Return what an exception in a living child means."""
    detail = f"{failed.error}: {failed.text}"
    if _DEVICE_LOST.search(detail):
        return Failure(FailureKind.DEVICE, "device-lost", detail)
    if failed.error == "MemoryError" or _OUT_OF_MEMORY.search(failed.text):
        return Failure(FailureKind.TRANSIENT, "out-of-memory", detail)
    if failed.error == "OSError" and "No space left" in failed.text:
        return Failure(FailureKind.TRANSIENT, "no-space", detail)
    if failed.error == "PlanUnavailableError":
        return Failure(FailureKind.UNSUPPORTED, "provider-unavailable", failed.text)
    if failed.error == "VariantRefusedError":
        return Failure(FailureKind.UNSUPPORTED, "variant-refused", failed.text)
    return Failure(FailureKind.UNSUPPORTED, f"{failed.stage}-failed", detail)


def failure_of_end(error: ChildError) -> Failure:
    """Return what the end of a child means."""
    printed = f"; last printed: {error.log}" if error.log else ""
    if isinstance(error, ChildTooBigError):
        detail = f"{error.resident_bytes} bytes resident, at most {error.limit_bytes} allowed"
        return Failure(FailureKind.TRANSIENT, "out-of-memory", detail)
    if isinstance(error, ChildNotStartedError):
        return Failure(FailureKind.TRANSIENT, "no-process", error.reason)
    if isinstance(error, ChildCutError):
        detail = f"cut by the deadline after {error.waited_ns / 1e9:.3f} s"
        return Failure(FailureKind.TRANSIENT, "timeout", detail)
    if isinstance(error, ChildHungError):
        detail = f"no answer within {error.limit_ns / 1e9:.3f} s"
        return Failure(FailureKind.CRASHED, "hang", detail + printed)
    if isinstance(error, ChildConfusedError):
        return Failure(FailureKind.CRASHED, "protocol", error.reason + printed)
    assert isinstance(error, ChildDiedError)
    return _failure_of_death(error, printed)


def _failure_of_death(error: ChildDiedError, printed: str) -> Failure:
    code = error.exit_code
    if _DEVICE_LOST.search(error.log):
        return Failure(FailureKind.DEVICE, "device-lost", f"exit code {code}{printed}")
    if -code == int(getattr(signal, "SIGKILL", 9)):
        detail = "killed from outside (SIGKILL), as the kernel does when memory runs out"
        return Failure(FailureKind.TRANSIENT, "out-of-memory", detail + printed)
    if code < 0 and _OUT_OF_MEMORY.search(error.log):
        return Failure(FailureKind.TRANSIENT, "out-of-memory", f"signal {-code}{printed}")
    if -code == int(signal.SIGABRT):
        return Failure(FailureKind.CRASHED, "abort", f"ended by SIGABRT{printed}")
    if code < 0:
        return Failure(FailureKind.CRASHED, f"signal-{-code}", f"ended by signal {-code}{printed}")
    return Failure(FailureKind.CRASHED, f"exit-{code}", f"ended with exit code {code}{printed}")
