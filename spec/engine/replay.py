"""The same events give the same state (S13)."""

from collections.abc import Iterable

from spec.engine.event import Event
from spec.engine.state import State, initial_state
from spec.engine.step import step
from spec.policy import Policy


def replay(policy: Policy, events: Iterable[Event]) -> State:
    """Return the state that a log of events leads to. Raises what `step` raises."""
    state = initial_state(policy)
    for event in events:
        state = step(state, event).state
    return state
