"""What a forked child must not inherit: locks that nobody will release, searches of the parent.

Sessions are another matter. ONNX Runtime's threads do not survive a fork, and destroying a session
whose threads are gone crashes, so plans of the parent are dropped from use and never destroyed. The
reference is whatever plain ONNX Runtime's session is after a fork.
"""

import ctypes
import os
import weakref
from typing import Any, Final, Protocol


class Forkable(Protocol):
    """Something that starts over in a forked child."""

    def after_fork_in_child(self) -> None:
        """Replace locks, forget what belonged to the parent."""
        ...


_known: Final[dict[int, weakref.ref[Any]]] = {}


def starts_over(subject: Forkable) -> None:
    """Have `after_fork_in_child` called on `subject` in every forked child, as long as it lives."""
    identity = id(subject)
    _known[identity] = weakref.ref(subject, lambda _: _known.pop(identity, None))


def keep_for_ever(subject: object) -> None:
    """Keep an object from being destroyed in this process, its interpreter's end included.

    A list would be emptied then. What nobody gives back is a reference more.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(subject))


def _in_child() -> None:
    for reference in list(_known.values()):
        subject = reference()
        if subject is not None:
            subject.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
