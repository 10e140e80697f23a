"""What a store says about one model and shape, found without running or measuring anything."""

import json
import time
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import frozen

from ortsel.call_trials import Call
from ortsel.cli.feeds import Feeds
from ortsel.cli.remembered_hashes import hashes_beside
from ortsel.cli.search import SearchOptions
from ortsel.cli.store_argument import store_place
from ortsel.cli.stored_decisions import StoredDecision
from ortsel.loaded_model import LoadedModel
from ortsel.random_operators import random_operators
from ortsel.reference_plan import reference_plan
from ortsel.selection_config import SelectionMode
from ortsel.selectors import selector_for
from ortsel.session_tuner import SessionTuner
from ortsel.store import DirectStore, direct_store
from ortsel.store.errors import CorruptRecordError, NewerRecordError
from ortsel.store.store import Nearest
from ortsel.trial.calling import Calling
from spec.keys import CacheKey, cache_key, key_parts
from spec.moment import Moment
from spec.policy import Policy
from spec.record import Record

if TYPE_CHECKING:
    from ortsel.session import InferenceSession
    from ortsel.session_options import SessionOptions


class Verdict(Enum):
    """What a session would make of the store."""

    DECIDED = "decided"
    """There is a decision that serves, once it is verified in the process that serves."""
    STALE = "stale"
    """There is one, and it is too old."""
    MISS = "miss"
    """There is none for this key."""
    UNREADABLE = "unreadable"
    """There is one that cannot be read: a miss."""
    NEVER = "never"
    """The reference serves whatever the store holds."""


@frozen
class Lookup:
    """One question to the store, and the answer."""

    verdict: Verdict
    reason: str
    workload: str
    key: str
    parts: Mapping[str, object]
    record: Record | None
    nearest: Nearest | None
    differing: tuple[tuple[str, object, object], ...]
    """Parts in which the nearest record's key differs: name, here, there."""
    place: str
    """Of the store, as it may be shown."""

    @property
    def nearest_decision(self) -> StoredDecision | None:
        """The record whose key differs least, on a miss."""
        found = None if self.nearest is None else self.nearest.stored
        return None if found is None else StoredDecision(found.record, found.key_text)


def look_up(
    session: "InferenceSession", path: Path, feeds: Feeds, options: SearchOptions
) -> Lookup:
    """Return what a session with these options and calls would find. Raises `StoreError`."""
    config = options.selection(SelectionMode.CACHE_ONLY)
    selector = selector_for(config.effective_policy(), None)
    reference = reference_plan(
        session.get_providers(),
        list(options.providers) or None,
        None,
        _session_options(options),
        (),
    )
    model = LoadedModel.of(path, time.time_ns(), hashes_beside(options.store))
    tuner = SessionTuner(model, reference, config, selector)
    outputs = tuple(output.name for output in session.get_outputs())
    calling = Calling.BOUND_CPU if options.bound else Calling.NUMPY
    call = Call(dict(feeds.arrays), outputs, calling, tuple)
    store = direct_store(store_place(options.store))
    try:
        question = tuner.question(call, store)
        problem, candidates = question.problem, question.candidates
        key = cache_key(problem, candidates, 0, selector.policy)
        parts = json.loads(key.text)
        never = _never(path, parts)
        record, trouble = _load(store, key)
        nearest = None
        if record is None:
            nearest = store.nearest(key_parts(problem, candidates, 0, selector.policy))
    finally:
        store.close()
    verdict, reason = (
        (Verdict.NEVER, never) if never else _verdict(record, trouble, selector.policy)
    )
    differing = () if nearest is None else _differing(parts, nearest)
    return Lookup(
        verdict,
        reason,
        tuner.describe(call),
        key.digest,
        parts,
        record,
        nearest,
        differing,
        store.address,
    )


def _session_options(options: SearchOptions) -> "SessionOptions | None":
    import ortsel

    if options.threads is None:
        return None
    made = ortsel.SessionOptions()
    made.intra_op_num_threads = options.threads
    return made


def _load(store: DirectStore, key: CacheKey) -> tuple[Record | None, str]:
    try:
        return store.load(key.digest), ""
    except (CorruptRecordError, NewerRecordError) as error:
        return None, str(error)


def _never(path: Path, parts: Mapping[str, object]) -> str:
    drawing = random_operators(path)
    if drawing:
        return f"the model draws random numbers ({', '.join(drawing)})"
    environment = parts.get("environment")
    unknown = environment.get("unknown") if isinstance(environment, dict) else None
    if unknown:
        return f"this environment cannot be told from others: {', '.join(map(str, unknown))}"
    return ""


def _verdict(record: Record | None, trouble: str, policy: Policy) -> tuple[Verdict, str]:
    if trouble:
        return Verdict.UNREADABLE, f"the stored decision cannot be read: {trouble}"
    if record is None:
        return Verdict.MISS, "no stored decision for this key"
    now = Moment(0, int(time.time()))
    if record.is_from_the_future(now):
        return Verdict.STALE, "the stored decision is dated ahead of this clock"
    if not record.is_fresh(now, policy.ttl_s, policy.retry_after_s):
        days = record.lifetime_s(policy.ttl_s, policy.retry_after_s) / _DAY_S
        return Verdict.STALE, f"the stored decision is older than the {days:g} days it holds for"
    if record.winner == record.reference:
        return Verdict.DECIDED, "no candidate was faster beyond the noise and verified"
    return Verdict.DECIDED, "faster beyond the noise, and verified equal"


_DAY_S: Final = 86_400


def _differing(
    parts: Mapping[str, object], nearest: Nearest
) -> tuple[tuple[str, object, object], ...]:
    there = StoredDecision(nearest.stored.record, nearest.stored.key_text).parts
    return tuple((name, _part(parts, name), _part(there, name)) for name in nearest.differing)


def _part(parts: Mapping[str, object], name: str) -> object:
    """Return the part with a dotted name; names of inputs may hold dots themselves."""
    if name in parts:
        return parts[name]
    for outer, inner in parts.items():
        if name.startswith(f"{outer}.") and isinstance(inner, dict):
            return _part(inner, name.removeprefix(f"{outer}."))
    return None
