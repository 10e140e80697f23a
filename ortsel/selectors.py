"""The process's selectors: one for each policy and store, shared by all sessions."""

import os
import threading
from typing import Final

from ortsel.fork import starts_over
from ortsel.selection_config import DEFAULT_STORE
from ortsel.selector import Selector
from ortsel.store import open_store
from ortsel.store.search_log import search_log
from spec.policy import Policy


class _Selectors:
    """The selectors, and the process's one place for searches."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.searching = threading.Lock()
        self.by_policy_and_place: dict[tuple[Policy, str | None], Selector] = {}
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """The locks may be held by threads that the child does not have."""
        self.lock = threading.Lock()
        self.searching = threading.Lock()


_selectors: Final = _Selectors()


def searching() -> threading.Lock:
    """Return the lock that the one search of this process holds.

    Searches share the machine, whatever their policy. Nobody waits for it.
    """
    return _selectors.searching


def selector_for(policy: Policy, store: str | None) -> Selector:
    """Return the selector for a policy and a store (a path, "default", or None for memory only).

    Two sessions with equal policies and stores share decisions, and never search at once.
    """
    place = store if store in (None, DEFAULT_STORE) else os.path.abspath(store)
    with _selectors.lock:
        known = _selectors.by_policy_and_place
        selector = known.get((policy, place))
        if selector is None:
            selector = known[policy, place] = Selector(
                policy, open_store(place), searches=search_log(place)
            )
        return selector


def forget_all() -> None:
    """Close every store and start over, as a new process would."""
    with _selectors.lock:
        for selector in _selectors.by_policy_and_place.values():
            selector.store.close()
        _selectors.by_policy_and_place.clear()
