"""The calling style: an engine that decides in one blocking call and asks back for what it needs.

It is a thin driver over the step machine: each effect is one question, its answer the next event.
An engine written the other way round, with the calls in its control flow, talks the same way.
"""

from collections.abc import Callable

from conformance.adapters.harness import Ask
from conformance.protocol.message import Done, Told
from spec.decision import Decision
from spec.engine.effect import Answer, Effect, RemoveRecord, SaveRecord
from spec.engine.event import Event, Requested, StoreFailed
from spec.engine.protocol import ProtocolError
from spec.failure import Failure

Feed = Callable[[Event], tuple[Effect, ...]]
"""Takes an event into the machine and returns what follows."""


def select(feed: Feed, request: Requested, ask: Ask) -> Decision | Failure:
    """Return the decision, asking one question at a time."""
    effects = feed(request)
    while True:
        event: Event | None = None
        for effect in effects:
            if isinstance(effect, Answer):
                return effect.result
            event = _asked(feed, effect, ask)
        if event is None:
            got = f"effects {effects}"
            raise ProtocolError(got, "an answer, or something to wait for")
        effects = feed(event)


def tell(feed: Feed, event: Told, ask: Ask) -> None:
    """Take note of what became known about a decision."""
    for effect in feed(event):
        _asked(feed, effect, ask)


def _asked(feed: Feed, effect: Effect, ask: Ask) -> Event | None:
    """Ask for one effect; return its outcome where the machine waits for one."""
    assert not isinstance(effect, Answer), "an answer is no question"
    outcome = ask(effect)
    if isinstance(effect, (SaveRecord, RemoveRecord)):
        match outcome:
            case StoreFailed():
                feed(outcome)
            case Done():
                pass
            case _:
                got = type(outcome).__name__
                raise ProtocolError(got, "done or store-failed")
        return None
    if isinstance(outcome, (Done, StoreFailed)):
        raise ProtocolError(type(outcome).__name__, "an outcome of what was asked")
    return outcome
