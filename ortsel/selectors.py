"""The process's selectors: one for each policy and store, shared by all sessions."""

import os
import threading

from ortsel.selection_config import DEFAULT_STORE
from ortsel.selector import Selector
from ortsel.store import open_store
from spec.policy import Policy

_selectors: dict[tuple[Policy, str | None], Selector] = {}
_lock = threading.Lock()


def selector_for(policy: Policy, store: str | None) -> Selector:
    """Return the selector for a policy and a store (a path, "default", or None for memory only).

    Two sessions with equal policies and stores share decisions, and never search at once.
    """
    place = store if store in (None, DEFAULT_STORE) else os.path.abspath(store)
    with _lock:
        selector = _selectors.get((policy, place))
        if selector is None:
            selector = Selector(policy, open_store(place))
            _selectors[policy, place] = selector
        return selector


def forget_all() -> None:
    """Close every store and start over, as a new process would."""
    with _lock:
        for selector in _selectors.values():
            selector.store.close()
        _selectors.clear()


def _after_fork_in_child() -> None:
    """Locks that another thread of the parent held, and searches that run there, are not ours."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for selector in _selectors.values():
        selector.forget_process()


os.register_at_fork(after_in_child=_after_fork_in_child)
