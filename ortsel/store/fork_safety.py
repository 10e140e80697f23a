"""Objects that hold locks or files and must survive `os.fork`.

Before a fork they finish what they do and close their files, since SQLite keeps locks per process
and a child that inherits an open database would believe to hold locks that it does not. In the
child they get new locks, since the threads that may have held the old ones are gone.
"""

import os
from typing import Final, Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """Something that takes part in a fork."""

    def before_fork(self) -> None:
        """Finish, close, and let nothing begin until the fork is over."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Go on with new locks and nothing open."""


_MEMBERS: Final[WeakSet[ForkAware]] = WeakSet()
_STOPPED: Final[list[ForkAware]] = []


def take_part_in_forks(member: ForkAware) -> None:
    """Call the three methods of `member` around every fork, for as long as it lives."""
    _MEMBERS.add(member)


def _before() -> None:
    for member in list(_MEMBERS):
        member.before_fork()
        _STOPPED.append(member)


def _in_parent() -> None:
    for member in _STOPPED:
        member.after_fork_in_parent()
    _STOPPED.clear()


def _in_child() -> None:
    for member in list(_MEMBERS):
        member.after_fork_in_child()
    _STOPPED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
