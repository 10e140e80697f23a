"""One search: a session that tunes inside its first call, and what came of it."""

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen

from ortsel.cli.errors import FeedsRejectedError, ModelRejectedError, UnusableFileError
from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.feeds import Feeds
from ortsel.cli.one_line import one_line
from ortsel.cli.store_argument import StorePlace, shown_place, store_place
from ortsel.errors import OrtselError, UsageError
from ortsel.explain import WorkloadExplanation
from ortsel.load import BACK_TO_BACK
from ortsel.progress import Progress
from ortsel.selection_config import DEFAULT_STORE, Candidates, SelectionConfig, SelectionMode
from ortsel.store.errors import NoPlaceError, StoreError
from ortsel.store.place import direct_store
from ortsel.verification.tolerance import BY_TYPE, Tolerance
from spec.decision import Source
from spec.policy import Policy
from spec.record import Record

if TYPE_CHECKING:
    from ortsel.session import InferenceSession

REFERENCE: Final = "reference"
DECIDING: Final = frozenset({Source.TUNED.value, Source.MEMORY.value, Source.STORED.value})
"""Answers that rest on a measurement. Every other one is a way of not deciding."""

_FATAL: Final = 4
"""ONNX Runtime's severity; what it raises is printed once, by us."""


@frozen
class SearchOptions:
    """What may be set for one search."""

    store: StorePlace | None = None
    """None is the user's cache folder."""
    budget_s: float = 30.0
    seed: int = 0
    min_speedup: Fraction | None = None
    providers: tuple[str, ...] = ()
    threads: int | None = None
    bound: bool = False
    """Call through bound buffers, as `run_with_iobinding` does."""
    gap_s: float = 0.0
    """From the end of a call to the begin of the next; 0 is back to back."""
    tolerance: Tolerance = BY_TYPE
    """How far outputs may be from the reference's."""
    synthetic: bool = False
    """Whether the inputs are made up, so that what is verified on them is provisional."""
    candidates: Candidates = None
    """Plans to try, or what makes them; None is ortsel's own catalogue."""
    provider_options: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Options of each provider, in the order of `providers`; empty where none has any."""

    def place(self) -> StorePlace | None:
        """Return the store's place; None where this user has no cache folder."""
        try:
            return store_place(self.store)
        except NoPlaceError:
            return None

    def selection(
        self, mode: SelectionMode, progress: Callable[[Progress], None] | None = None
    ) -> SelectionConfig:
        """Return the configuration of a session in this mode."""
        policy = Policy()
        if self.min_speedup is not None:
            policy = evolve(policy, min_speedup=self.min_speedup)
        return SelectionConfig(
            mode=mode,
            store=DEFAULT_STORE if self.store is None else str(store_place(self.store)),
            budget_s=self.budget_s,
            policy=policy,
            seed=self.seed,
            load=self.gap_s * 1000 if self.gap_s else BACK_TO_BACK,
            tolerance=self.tolerance,
            candidates=self.candidates,
            synthetic_feeds=self.synthetic,
            progress=progress,
        )


@frozen
class SearchResult:
    """What one search ended with."""

    explanation: WorkloadExplanation
    record: Record | None
    """What the store holds for the decision, read back from it; None for nothing."""
    place: str | None
    """The store's, as it may be shown."""

    @property
    def decided(self) -> bool:
        """Whether there is a decision, be it for the reference."""
        return self.explanation.source in DECIDING

    @property
    def serves_reference(self) -> bool:
        """Whether plain ONNX Runtime's session stays."""
        return self.explanation.plan == REFERENCE

    @property
    def exit_code(self) -> ExitCode:
        """What the command ends with."""
        return ExitCode.DECIDED if self.decided else ExitCode.UNDECIDED


def check_model_file(path: Path) -> None:
    """Raise `UnusableFileError` unless there is a file to load."""
    if not path.exists():
        raise UnusableFileError("MODEL", str(path), "there is no such file")
    if not path.is_file():
        raise UnusableFileError("MODEL", str(path), "it is not a file")
    if not os.access(path, os.R_OK):
        raise UnusableFileError("MODEL", str(path), "it may not be read")


def check_providers(providers: Sequence[str]) -> None:
    """Raise `UsageError` for a provider that this ONNX Runtime does not have.

    A session would run on the CPU instead, and the decision would carry the wrong name.
    """
    import onnxruntime

    available = onnxruntime.get_available_providers()
    for provider in providers:
        if provider not in available:
            raise UsageError("--provider", repr(provider), f"one of {', '.join(available)}")
    if len(set(providers)) != len(providers):
        raise UsageError("--provider", ", ".join(providers), "each provider once")


def open_session(
    path: Path,
    options: SearchOptions,
    mode: SelectionMode,
    progress: Callable[[Progress], None] | None = None,
) -> "InferenceSession":
    """Return a session for a model. Raises `ModelRejectedError` when there can be none."""
    import onnxruntime

    import ortsel

    onnxruntime.set_default_logger_severity(_FATAL)
    session_options = ortsel.SessionOptions()
    if options.threads is not None:
        session_options.intra_op_num_threads = options.threads
    try:
        return ortsel.InferenceSession(
            str(path),
            session_options if options.threads is not None else None,
            list(options.providers) or None,
            [dict(one) for one in options.provider_options] or None,
            selection=options.selection(mode, progress),
        )
    except OrtselError:
        raise
    except Exception as error:
        if not is_runtime_error(error):
            raise
        raise ModelRejectedError(str(path), one_line(str(error))) from error


def is_runtime_error(error: Exception) -> bool:
    """Whether an exception comes out of ONNX Runtime. Anything else is a defect."""
    module = type(error).__module__
    own = module.startswith("onnxruntime")
    return own or isinstance(error, (RuntimeError, MemoryError, OSError, ValueError))


def search(
    session: "InferenceSession", path: Path, feeds: Feeds, options: SearchOptions
) -> SearchResult:
    """Run the first call of a session that tunes, and return what came of it.

    Raises `FeedsRejectedError` when the model itself does not run with these inputs.
    """
    try:
        _call(session, feeds, options)
    except (OrtselError, BrokenPipeError):
        raise
    except Exception as error:
        if not is_runtime_error(error):
            raise
        made = "made-up inputs" if feeds.synthetic else f"the inputs of {feeds.source}"
        raise FeedsRejectedError(
            str(path), one_line(f"{made} {feeds.words()}"), one_line(str(error))
        ) from error
    return read_result(session, options)


def read_result(session: "InferenceSession", options: SearchOptions) -> SearchResult:
    """Return what a session decided last, with the record that the store holds for it."""
    explained = session.explain()
    if explained.workloads:
        explanation = explained.workloads[-1]
    else:
        reason = explained.not_tuned or "the call could not be described"
        explanation = WorkloadExplanation.kept("", reason)
    place = options.place()
    address = None if place is None else shown_place(place)
    return SearchResult(explanation, _read_back(place, explanation.key), address)


def _call(session: "InferenceSession", feeds: Feeds, options: SearchOptions) -> None:
    if not options.bound:
        session.run(None, dict(feeds.arrays))
        return
    binding: Any = session.io_binding()
    for name, array in feeds.arrays.items():
        if array.dtype.kind == "O":
            raise UsageError("--bound", f"the text input {name}", "inputs that can be bound")
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)


def _read_back(place: StorePlace | None, key: str) -> Record | None:
    """Return the record that another process would find."""
    if place is None or not key:
        return None
    store = direct_store(place)
    try:
        return store.load(key)
    except StoreError:
        return None
    finally:
        store.close()
