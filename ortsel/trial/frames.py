"""Messages between a rig and its child: a length, then that many bytes of JSON."""

import json
import struct
from typing import IO, Final

from attrs import frozen

from ortsel.errors import OrtselError

MAGIC: Final = b"\x00ortsel-trial-1\n"
"""First bytes of a worker. What the interpreter's start-up printed before them is skipped. It ends
as no part of it begins, so that no noise before it can hide its beginning."""

MOST_NOISE_BYTES: Final = 1 << 16
MOST_FRAME_BYTES: Final = 8 << 20
"""A message holds names and numbers, never tensors. More is a broken peer."""

_LENGTH: Final = struct.Struct(">I")


@frozen
class FrameError(OrtselError):
    """The stream is not one of frames."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"trial message: got {self.got}, need {self.need}"


def write_frame(stream: IO[bytes], message: object) -> None:
    """Write one message and flush. Raises `FrameError` when it is too long."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > MOST_FRAME_BYTES:
        raise FrameError(got=f"{len(body)} bytes", need=f"at most {MOST_FRAME_BYTES}")
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> object | None:
    """Return the next message, or None at a clean end. Raises `FrameError` for anything else."""
    head = _read_exactly(stream, _LENGTH.size)
    if not head:
        return None
    if len(head) < _LENGTH.size:
        raise FrameError("an end within a length", "a whole frame")
    (length,) = _LENGTH.unpack(head)
    if length > MOST_FRAME_BYTES:
        raise FrameError(got=f"a frame of {length} bytes", need=f"at most {MOST_FRAME_BYTES}")
    body = _read_exactly(stream, length)
    if len(body) < length:
        raise FrameError(got=f"{len(body)} bytes and the end", need=f"{length} bytes")
    try:
        message: object = json.loads(body)
    except ValueError as error:
        raise FrameError("a body that is no JSON", "JSON") from error
    return message


def skip_to_magic(stream: IO[bytes]) -> None:
    """Read up to and including `MAGIC`. Raises `FrameError` when it does not come."""
    seen = b""
    while not seen.endswith(MAGIC):
        byte = stream.read(1)
        if not byte or len(seen) >= MOST_NOISE_BYTES:
            raise FrameError(got=f"{len(seen)} bytes without a greeting", need="a greeting")
        seen += byte


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = stream.read(count - len(parts))
        if not part:
            break
        parts += part
    return parts
