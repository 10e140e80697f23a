"""Keeping Ray's own threads from printing on the stdout of whoever drives a build.

Ray reports lost workers there, whatever its logging is set to, and so would spoil a JSON document.
The build reports them itself.
"""

import sys
import threading
from typing import Any, Final, TextIO

RAYS: Final = "ray_"
"""What the names of Ray's threads begin with."""


class QuietStdout:
    """Passes everything on to a stream, except what Ray's threads write."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, unless a thread of Ray's asks."""
        if threading.current_thread().name.startswith(RAYS):
            return len(text)
        return self._stream.write(text)

    def install(self) -> None:
        """Take the place of the stream."""
        stdout: Any = self
        sys.stdout = stdout

    def remove(self) -> None:
        """Give the place back, unless somebody else has taken it since."""
        if sys.stdout is self:
            sys.stdout = self._stream
