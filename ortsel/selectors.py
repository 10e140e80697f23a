"""The process's selectors: one for each policy and store, shared by all sessions."""

import os
import threading
from typing import Final

from ortsel.fork import starts_over
from ortsel.selection_config import DEFAULT_STORE
from ortsel.selector import Selector
from ortsel.store import Store, open_store
from ortsel.store.search_log import search_log
from ortsel.store.server_url import is_server_url
from spec.policy import Policy


class _Selectors:
    """The selectors, and the process's one place for searches."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.searching = threading.Lock()
        self.by_policy_and_place: dict[tuple[Policy, str | None, tuple[str, ...]], Selector] = {}
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


def selector_for(policy: Policy, store: str | None, trusted_keys: tuple[str, ...] = ()) -> Selector:
    """Return the selector for a policy and a store (a path, "default", or None for memory only).

    Two sessions with equal policies, stores and `trusted_keys` share decisions, and never search at
    once.
    """
    place = store
    if store is not None and store != DEFAULT_STORE and not is_server_url(store):
        place = os.path.abspath(store)
    with _selectors.lock:
        known = _selectors.by_policy_and_place
        selector = known.get((policy, place, trusted_keys))
        if selector is None:
            found = _trusting(open_store(place), place, trusted_keys)
            selector = Selector(policy, found, searches=search_log(place))
            known[policy, place, trusted_keys] = selector
        return selector


def _trusting(store: Store, place: str | None, trusted_keys: tuple[str, ...]) -> Store:
    """Return a store that gives what these keys signed; the same store where there are none."""
    if not trusted_keys:
        return store
    from ortsel.bundle import PublicKey
    from ortsel.bundle.kept_bundles import KeptBundles
    from ortsel.bundle.trusting_store import TrustingStore

    keys = [PublicKey(key) for key in trusted_keys]
    return TrustingStore(store, KeptBundles.of(place), keys)


def forget_all() -> None:
    """Close every store and start over, as a new process would."""
    with _selectors.lock:
        for selector in _selectors.by_policy_and_place.values():
            selector.store.close()
        _selectors.by_policy_and_place.clear()
