"""What a user may set about selection: one frozen value, given as `selection=`."""

import os
import re
from collections.abc import Callable, Sequence
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import Attribute, evolve, field, frozen

from ortsel.errors import MissingPackageError, UsageError
from ortsel.load import ONE_AFTER_ANOTHER, Load, as_load
from ortsel.plan import Plan
from ortsel.providers.library_search import library_of
from ortsel.providers.plugin import PluginLibrary
from ortsel.shape_buckets import ShapeBuckets, as_buckets
from ortsel.store.server_url import check_server_url, is_server_url, shown
from ortsel.verification.tolerance import BY_TYPE, Tolerance, as_tolerance
from spec.policy import SECOND_NS, Mode, Policy

if TYPE_CHECKING:
    from ortsel.candidates import CandidateFacts
    from ortsel.progress import Progress

DAY_S: Final = 86_400
DEFAULT_STORE: Final = "default"
"""The platform's cache folder."""

Candidates: TypeAlias = "Sequence[Plan] | Callable[[CandidateFacts], Sequence[Plan]] | None"


class SelectionMode(Enum):
    """When a session may measure, and what it does meanwhile."""

    BACKGROUND = "background"
    """Answer with the reference at once; decide and tune when the process is idle; then switch."""
    BLOCKING = "blocking"
    """Tune inside the first call of a shape; that call takes up to `budget_s` longer."""
    CACHE_ONLY = "cache-only"
    """Serve decisions that the store holds; never measure."""
    DISABLED = "disabled"
    """Plain ONNX Runtime."""


_POLICY_MODES: Final = {
    SelectionMode.BACKGROUND: Mode.EXPLORE,
    SelectionMode.BLOCKING: Mode.EXPLORE,
    SelectionMode.CACHE_ONLY: Mode.CACHE_ONLY,
    SelectionMode.DISABLED: Mode.DISABLED,
}


def _mode(value: "str | SelectionMode") -> SelectionMode:
    try:
        return SelectionMode(value)
    except ValueError as error:
        known = ", ".join(repr(mode.value) for mode in SelectionMode)
        raise UsageError("mode", repr(value), f"one of {known}") from error


def _budget(_: object, __: object, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= DAY_S:
        raise UsageError("budget_s", repr(value), "a number of seconds above 0, at most 86400")


def _seed(_: object, __: object, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise UsageError("seed", repr(value), "an integer from 0 to 2**53 - 1")


def _max_shapes(_: object, __: object, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**20:
        raise UsageError("max_shapes", repr(value), "an integer from 1 to 2**20")


def _whole(low: int, high: int) -> "Callable[[object, Attribute[int], int], None]":
    def check(_: object, attribute: "Attribute[int]", value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise UsageError(attribute.name, repr(value), f"an integer from {low} to {high}")

    return check


def _seconds(low: float, high: float) -> "Callable[[object, Attribute[float], float], None]":
    def check(_: object, attribute: "Attribute[float]", value: float) -> None:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            need = f"a number of seconds from {low:g} to {high:g}"
            raise UsageError(attribute.name, repr(value), need)

    return check


def _share(_: object, attribute: "Attribute[float]", value: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise UsageError(attribute.name, repr(value), "a number from 0 to 1")


def _names(value: "Sequence[str]") -> tuple[str, ...]:
    names = isinstance(value, Sequence) and not isinstance(value, str)
    if not names or not all(isinstance(name, str) for name in value):
        raise UsageError("workload_values", repr(value), "a sequence of input names")
    return tuple(value)


def _policy(_: object, __: object, value: Policy) -> None:
    if not isinstance(value, Policy):
        raise UsageError("policy", repr(value), "a spec.policy.Policy")


def _store(value: "str | os.PathLike[str] | None") -> str | None:
    if value is None:
        return None
    need = "a path without NUL characters as text, a postgresql:// URL, or None for no file"
    try:
        place = os.fspath(value)
    except TypeError as error:
        raise UsageError("store", repr(value), need) from error
    if not isinstance(place, str) or not place or "\0" in place:
        raise UsageError("store", repr(value if not isinstance(place, str) else shown(place)), need)
    if is_server_url(place):
        check_server_url(place)
    return place


def _shown(place: str | None) -> str:
    return repr(place if place is None else shown(place))


def _candidates(_: object, __: object, value: Candidates) -> None:
    plans = isinstance(value, Sequence) and all(isinstance(plan, Plan) for plan in value)
    if value is not None and not callable(value) and not plans:
        raise UsageError("candidates", repr(value), "None, plans, or a function that makes plans")


def _libraries(
    value: "Sequence[str | os.PathLike[str] | PluginLibrary]",
) -> tuple[PluginLibrary, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        need = "a sequence of packages, paths of libraries, or ortsel.PluginLibrary"
        raise UsageError("plugins", repr(value), need)
    found: list[PluginLibrary] = []
    for place in value:
        if not isinstance(place, (str, os.PathLike, PluginLibrary)):
            raise UsageError("plugins", repr(place), "a package, a path or an ortsel.PluginLibrary")
        found.append(place if isinstance(place, PluginLibrary) else library_of(place))
    return tuple(found)


def _yes_or_no(_: object, attribute: "Attribute[bool]", value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(attribute.name, repr(value), "True or False")


def _yes_no_or_none(_: object, attribute: "Attribute[bool | None]", value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise UsageError(attribute.name, repr(value), "True, False or None")


def _trusted(value: "Sequence[str]") -> tuple[str, ...]:
    need = "a sequence of Ed25519 public keys, 64 hexadecimal digits each"
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UsageError("trusted_keys", repr(value), need)
    if value and find_spec("cryptography") is None:
        raise MissingPackageError("trusted_keys", "cryptography", "signing")
    for key in value:
        if not isinstance(key, str) or _PUBLIC_KEY.fullmatch(key) is None:
            raise UsageError("trusted_keys", repr(key)[:80], need)
    return tuple(sorted({key.lower() for key in value}))


_PUBLIC_KEY: Final = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII)


def _listener(_: object, __: object, value: "Callable[[Progress], None] | None") -> None:
    if value is not None and not callable(value):
        raise UsageError("progress", repr(value), "None or a function of a Progress")


@frozen
class SelectionConfig:
    """How a session selects. Raises `UsageError` for a value outside its range."""

    mode: SelectionMode = field(default=SelectionMode.BACKGROUND, converter=_mode)
    """A mode or its word: "background", "blocking", "cache-only", "disabled"."""
    store: str | None = field(default=DEFAULT_STORE, converter=_store, repr=_shown)
    """Path of the store's file, or "postgresql://..." for one on a server; "default" is the
    platform's cache folder; None keeps decisions in memory only."""
    budget_s: float = field(default=30.0, validator=_budget)
    """Wall-clock seconds for one search."""
    policy: Policy = field(factory=Policy, validator=_policy)
    """Thresholds and rules. Its mode, budget, seed and tolerance are taken from this value
    instead."""
    tolerance: Tolerance = field(default=BY_TYPE, converter=as_tolerance)
    """How far outputs may be from the reference's. "by-type" is a bound for each element type,
    "exact" equality, "close" a multiple of the bound. A `Bound`, or a metric (`Cosine`, `TopOne`,
    `RelativeL2`, `MetricFunction`), which also lets plans be tried that are lossy by nature. Or a
    mapping from names of outputs to these, the others being compared by type."""
    third_opinion: bool = field(default=False, validator=_yes_or_no)
    """Whether a rejection says which side is nearer to what ONNX's own evaluator computes in
    double precision. It takes time of the search, and decides nothing."""
    candidates: Candidates = field(default=None, validator=_candidates)
    """Plans to try besides the reference, or a function that makes them from facts about the
    machine and the model; None is ortsel's own catalogue."""
    plugins: tuple[PluginLibrary, ...] = field(default=(), converter=_libraries)
    """Execution providers' libraries to try besides those that are registered: names of installed
    packages, paths of shared libraries, or `ortsel.PluginLibrary`."""
    operator_scope: bool | None = field(default=None, validator=_yes_no_or_none)
    """Whether attention is decided by itself before the whole model is, on what was cut out of it:
    what loses there is not tried on the whole. None does so where it is sure to pay, True wherever
    it can be done, False never."""
    seed: int = field(default=0, validator=_seed)
    """Source of the order of measurements."""
    load: Load = field(default=ONE_AFTER_ANOTHER, converter=as_load)
    """How calls follow each other in production: "back-to-back", or the gap between two calls in
    milliseconds, from 1 to 10 000. Plans are timed that way, since the winner may differ; part of
    the key."""
    max_shapes: int = field(default=256, validator=_max_shapes)
    """How many shapes one session remembers a choice for; the first in leaves first."""
    shape_buckets: ShapeBuckets | None = field(default=None, converter=as_buckets)
    """Which shapes share one decision; None is each exact shape for itself. Boundaries by input
    name and axis, such as `{"ids": {1: (32, 64, 128)}}`: a size belongs to the smallest boundary
    that is not less than it; beyond the last it stays exact. Or a function of an input's name and
    shape that returns the shape that names its bucket. The member that is searched for first, in
    the background the most used one, is measured for all; each exact shape is verified on a call of
    its own before a plan serves it."""
    workload_values: tuple[str, ...] = field(default=(), converter=_names)
    """Inputs whose values change the work (loop counts, lengths): calls with other values are other
    workloads. Integers and booleans of at most 64 elements. Bound runs are not tuned then."""
    idle_s: float = field(default=0.5, validator=_seconds(0.01, DAY_S))
    """How long no session of the process may have been asked anything before background work
    begins or goes on. Longer leaves bursts alone; with steadier traffic than this, nothing is ever
    tuned in the background."""
    min_uses: int = field(default=2, validator=_whole(1, 2**30))
    """Calls of a shape before it is tuned in the background. A stored decision is looked for at the
    first."""
    max_tuned_shapes: int = field(default=16, validator=_whole(0, 2**20))
    """How many searches one session may have made in the background; the most used shape first."""
    session_budget_s: float = field(default=300.0, validator=_seconds(0, 365 * DAY_S))
    """Seconds that one session may spend on background work in all, waiting left out."""
    process_budget_s: float = field(default=1800.0, validator=_seconds(0, 365 * DAY_S))
    """Seconds of background work in the process, of all sessions, after which this session adds
    none."""
    snapshot_bytes: int = field(default=256 * 2**20, validator=_whole(0, 2**53 - 1))
    """Most bytes of inputs that are copied and held at a time for background work, over all
    sessions of the process. A call with more is not tuned in the background."""
    keep_feeds: bool = field(default=True, validator=_yes_or_no)
    """Whether a call's inputs and results may be copied once its plan serves, to be looked at when
    the process is idle. False keeps nothing, so that served plans are neither checked nor watched;
    a search still holds one call's inputs while it lasts."""
    shadow_share: float = field(default=0.01, validator=_share)
    """Part of the time that checks of served results against the reference may take, for each
    shape. The first calls after a promotion are checked (1, 2, 4, 8, ...), later ones every
    `shadow_every_s`; 0 checks nothing."""
    shadow_every_s: float = field(default=300.0, validator=_seconds(0.01, 365 * DAY_S))
    """Longest time between two checks of a shape that is called, idle moments permitting."""
    watch_every_s: float = field(default=900.0, validator=_seconds(0, 365 * DAY_S))
    """Seconds from a promotion to the first paired timing of the plan with the reference, in child
    processes. Each round that finds it still faster doubles the time to the next, up to 16 times
    this; 0 times nothing. Never in mode "cache-only"."""
    synthetic_feeds: bool = field(default=False, validator=_yes_or_no)
    """Whether the inputs are made up rather than really sent. What is verified on them alone is
    provisional: it is verified again, on real ones, before it serves."""
    progress: "Callable[[Progress], None] | None" = field(
        default=None, eq=False, validator=_listener
    )
    """Called during a search, from the thread that searches."""
    trusted_keys: tuple[str, ...] = field(default=(), converter=_trusted)
    """Ed25519 public keys, 64 hexadecimal digits each. Where there are any, an imported decision is
    used only if one of them signed the bundle it came in; what was measured here needs none."""

    def effective_policy(self) -> Policy:
        """The policy with this value's mode, budget, seed and tolerance."""
        return evolve(
            self.policy,
            mode=_POLICY_MODES[self.mode],
            budget_ns=max(1, round(self.budget_s * SECOND_NS)),
            seed=self.seed,
            tolerance=self.tolerance.key_text(),
        )


def as_config(value: "SelectionConfig | None") -> SelectionConfig:
    """Return the configuration that the keyword `selection` stands for; None is the process's own.

    Raises `UsageError` for anything else, and for an environment variable with a bad value.
    """
    from ortsel.selection_environment import process_selection, unless_switched_off

    if value is None:
        return unless_switched_off(process_selection())
    if not isinstance(value, SelectionConfig):
        raise UsageError("selection", repr(value), "an ortsel.SelectionConfig or None")
    return unless_switched_off(value)
