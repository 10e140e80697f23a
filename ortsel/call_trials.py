"""The trials of one search, for one call: child processes first, this process last."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, assert_never

from attrs import evolve, frozen

from ortsel.load import ONE_AFTER_ANOTHER, Load
from ortsel.loaded_model import LoadedModel
from ortsel.model_file import check_model_file, model_file
from ortsel.plan import Plan
from ortsel.plan_session import build_plan_session
from ortsel.progress import Progress, Stage
from ortsel.provider_caches import with_caches
from ortsel.scratch_folder import ScratchFolder
from ortsel.session_builder import CPU
from ortsel.trial.calling import WayOfCalling
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS, TrialLimits, never
from ortsel.trial.rig import RUNS_OF_A_BLOCK, CannotVerify, Rig, SessionDescription, Verified
from ortsel.trial.screening import LEAST_LOOKED_AT, Screened, Undisturbed, screen
from ortsel.trial.spreading import pause_before_block_ns
from ortsel.trial.variant_child import build_variant_in_child
from ortsel.variant_cache import VariantCache, VariantMissingError
from ortsel.verification.comparison import Different, Equal, Incomparable, compare
from ortsel.verification.tolerance import BY_TYPE, Tolerance
from spec.canonical_json import Json
from spec.engine.effect import Purpose
from spec.engine.exploration import TURN_SHARES
from spec.evidence.block import Block
from spec.evidence.machine_states import InState, by_state
from spec.failure import Failure, FailureKind
from spec.record import Origin, Record

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime

    Feed = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]

ORT_MAGIC: Final = b"ORTM"
"""Bytes 4 to 8 of a model in ONNX Runtime's own format."""

STOP_LOOK_NS: Final = 100 * MILLISECOND_NS
"""How often a wait looks whether anybody still wants the search."""

HANG_SHARE: Final = 8
"""A single call that takes this part of a whole search's budget hangs, for all that matters."""

FATAL: Final = 4
"""ONNX Runtime's level of messages at which a session says nothing before its process ends."""


@frozen
class Call:
    """One call of the user's, complete enough to repeat it."""

    feed: "Feed"
    output_names: tuple[str, ...]
    """Outputs asked for, in order."""
    calling: WayOfCalling
    reference_outputs: Callable[[], Sequence[Any]]
    """Gives what the reference returned for it."""
    workload: Json = None
    """The part of its key, where the arrays no longer show it; None where they do."""


@frozen
class Subject:
    """What is tried: one model and the plans for it."""

    model: LoadedModel
    plans: tuple[Plan, ...]
    """The reference first."""
    session_of: "Callable[[Plan], onnxruntime.InferenceSession | None]"
    """Gives the session that serves a plan in this process already, if there is one."""
    budget_ns: int
    synthetic_feeds: bool
    """Nobody sent the feeds: what is verified on them is provisional."""
    progress: Callable[[Progress], None] | None
    may_build_variants: bool
    """Whether a graph variant may be built now, which takes seconds."""
    variants: VariantCache
    caches: Path | None = None
    """Where providers keep compiled models; None, or no such folder, is nowhere."""
    niceness: int = 0
    """Of the children."""
    stop_asked: Callable[[], bool] = never
    """Whether nobody wants the search any more."""
    tolerance: Tolerance = BY_TYPE
    """How far outputs may be from the reference's."""
    third_opinion: bool = False
    """Whether a rejection says which side is nearer to ONNX's own evaluator."""
    load: Load = ONE_AFTER_ANOTHER
    """How calls follow each other while they are timed."""
    built: tuple[tuple[str, Path], ...] = ()
    """Model files of graph variants that were built for this search already."""


class CallTrials:
    """The trials of one search. Child processes are started at the first need."""

    def __init__(self, subject: Subject, call: Call) -> None:
        self._subject = subject
        self._call = call
        self._stored: Record | None = None
        self._checked: dict[int, onnxruntime.InferenceSession] = {}
        self._resources = ExitStack()
        self._started_ns = time.monotonic_ns()
        self._measurements = 0
        self._block: list[tuple[int, int]] = []
        """Candidate and time of the paired measurements of the block under way."""
        self._block_began_ns = 0
        self._blocks: dict[str, list[Block]] = {}
        """Of every candidate so far, by name."""
        self._reference_ns: list[int] = []
        self._rig_started = False
        self._seen: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    @cached_property
    def _scratch(self) -> Path:
        return self._resources.enter_context(ScratchFolder("ortsel-")).path

    @cached_property
    def _model_path(self) -> Path:
        model = self._subject.model.source
        if isinstance(model, Path):
            return model
        path = self._scratch / ("model.ort" if model[4:8] == ORT_MAGIC else "model.onnx")
        path.write_bytes(model)
        return path

    @cached_property
    def _rig(self) -> Rig:
        rig = Rig(
            self._model_path,
            self._subject.plans[0],
            [self._call.feed],
            self._call.output_names,
            calling=self._call.calling,
            tolerance=self._subject.tolerance,
            third_opinion=self._subject.third_opinion,
            scratch=self._scratch,
            outer_scratch=self._scratch,
            limits=_limits(self._subject),
            synthetic_feeds=self._subject.synthetic_feeds,
            load=self._subject.load,
            variant_models=self._models_at_hand(),
        )
        self._rig_started = True
        return self._resources.enter_context(rig)

    def _models_at_hand(self) -> dict[str, Path]:
        """Return the models of variants that no child needs to build, by variant."""
        subject = self._subject
        files = dict(subject.built) | {
            plan.variant: file for plan in subject.plans if (file := model_file(plan)) is not None
        }
        if not subject.may_build_variants:
            for plan in subject.plans:
                kept = self._kept_variant(plan)
                if kept is not None:
                    files[plan.variant] = kept
        return files

    def _kept_variant(self, plan: Plan) -> Path | None:
        """Return the file of a plan's variant, if it was built before."""
        if not plan.variant or model_file(plan) is not None:
            return None
        content = self._subject.model.content().digest
        return self._subject.variants.find(content, plan.variant)

    @property
    def scratch(self) -> Path:
        """A folder for files of this search, gone when it ends."""
        return self._scratch

    @property
    def model_path(self) -> Path:
        """The file of the model; one in `scratch` where the session got bytes."""
        return self._model_path

    def offer(self, plans: tuple[Plan, ...]) -> None:
        """Go on with other candidates, the reference being the same, before any was asked for."""
        assert plans[0] == self._subject.plans[0], "one search, one reference"
        assert not self._checked, "positions would mean other plans"
        self._subject = evolve(self._subject, plans=plans)
        self._seen.clear()

    def screen(self, left_ns: Callable[[], int], undisturbed: Undisturbed) -> Screened:
        """Look shortly at every candidate that runs on the processor alone, before any trial.

        Empty where few candidates are to be looked at, and under a load with gaps, where looks take
        as long as trials. Raises what `undisturbed` does, and `TrialsUnavailableError`.
        """
        subject = self._subject
        looked_at = looked_at_shortly(subject.plans)
        if len(looked_at) < LEAST_LOOKED_AT or subject.load.gap_ns:
            return Screened()
        # What needs no variant first: that takes a moment, and building a variant takes seconds.
        looked_at.sort(key=lambda index: bool(subject.plans[index].variant))
        places = {subject.plans[index].name: index for index in looked_at}
        return screen(
            [subject.plans[index] for index in looked_at],
            self._rig,
            left_ns,
            lambda: time.monotonic_ns() + left_ns(),
            undisturbed,
            lambda plan: self._tell(Stage.SCREENING, places[plan.name]),
        )

    def turns(self, left_ns: int) -> int | None:
        """Return how many candidates may have a turn, so that each has time for a verdict.

        None where nothing has shown yet how long that takes. Most turns end early, so a turn may
        take some fair shares of the time.
        """
        if not self._rig_started or not self._rig.opening_ns:
            return None
        turn_ns = self._rig.turn_ns()
        if any(plan.variant and self._rig.variant_path(plan) is None for plan in self._candidates):
            turn_ns += self._rig.opening_ns  # rewriting imports about as much again
        return max(1, TURN_SHARES * left_ns // turn_ns)

    @property
    def _candidates(self) -> tuple[Plan, ...]:
        return self._subject.plans[1:]

    def reference_session(self, deadline_ns: int) -> SessionDescription:
        """Describe the reference's session in its child, which the search then goes on with.

        Raises `TrialFailedError`.
        """
        return self._rig.opened(self._plan(0), deadline_ns)

    def record_loaded(self, record: Record) -> None:
        """Remember that the next validation decides about a stored record."""
        self._stored = record

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        """Time one candidate in its child process."""
        self._stored = None
        self._tell(Stage.WARMING if purpose is Purpose.WARMUP else Stage.MEASURING, candidate)
        self._measurements += 1
        if purpose is not Purpose.PAIRED:
            self._block = []
            return self._rig.measure(self._plan(candidate), purpose, deadline_ns)
        if not self._block:
            self._spread(deadline_ns)
            self._block_began_ns = time.monotonic_ns()
        time_ns = self._rig.measure(self._plan(candidate), purpose, deadline_ns)
        if candidate == 0:
            self._reference_ns.append(time_ns)
        self._block.append((candidate, time_ns))
        if len(self._block) == RUNS_OF_A_BLOCK:
            self._keep_block()
        return time_ns

    def _keep_block(self) -> None:
        measured, self._block = self._block, []
        other = next((candidate for candidate, _ in measured if candidate), 0)
        ours, theirs = (
            tuple(time_ns for candidate, time_ns in measured if candidate == side)
            for side in (0, other)
        )
        if other and len(ours) == len(theirs) and min(*ours, *theirs) > 0:
            block = Block((ours[0], ours[1]), (theirs[0], theirs[1]), self._block_began_ns)
            self._blocks.setdefault(self._subject.plans[other].name, []).append(block)

    def restart(self) -> None:
        """End the processes; whoever is measured next runs in a new one."""
        self._rig.restart()

    def by_state(self) -> tuple[tuple[str, tuple[InState, ...]], ...]:
        """Return what each state of the machine said of each candidate that met two of them."""
        found = ((name, by_state(blocks)) for name, blocks in self._blocks.items())
        return tuple((name, states) for name, states in found if len(states) > 1)

    def _spread(self, deadline_ns: int) -> None:
        """Wait before a block where the machine was seen in two states; end it when stopped."""
        until_ns = time.monotonic_ns()
        until_ns += pause_before_block_ns(self._reference_ns, deadline_ns - until_ns)
        while (left_ns := until_ns - time.monotonic_ns()) > 0 and not self._subject.stop_asked():
            time.sleep(min(left_ns, STOP_LOOK_NS) / SECOND_NS)

    def disturbed(self) -> tuple[tuple[str, int], ...]:
        """Return how many scored measurements of each plan were disturbed, and so taken again."""
        return tuple(sorted(self._rig.disturbed.items())) if self._rig_started else ()

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        """Compare a candidate with the reference.

        A stored plan that was measured on this machine survived its child process then, and is
        checked on the caller's own feed in this process at once; every other plan meets the
        reference in child processes first. Raises `VariantMissingError` rather than build a graph
        variant where none may be built now.
        """
        del reference
        self._tell(Stage.VALIDATING, candidate)
        stored, self._stored = self._stored, None
        if stored is not None and stored.origin is Origin.LOCAL:
            self.check_here(candidate, deadline_ns)
            return Verified(1, self._subject.synthetic_feeds)
        plan = self._plan(candidate)
        rewrites = plan.variant and model_file(plan) is None
        may_build = self._subject.may_build_variants
        if rewrites and not may_build and self._kept_variant(plan) is None:
            raise VariantMissingError(plan.variant)
        return self._rig.validate(plan, deadline_ns)

    def check_here(
        self, candidate: int, deadline_ns: int | None = None
    ) -> "onnxruntime.InferenceSession":
        """Return the session of a plan, built in this process and equal on the call that asked.

        Raises `TrialFailedError`: unsupported when it cannot be built, rejected when it differs.
        Raises `VariantMissingError` when its graph variant is not there and must not be built now,
        `ModelChangedError` when the model's files are not what the session loaded.
        """
        if candidate in self._checked:
            return self._checked[candidate]
        self._tell(Stage.CHECKING, candidate)
        plan = self._plan(candidate)
        session = self._subject.session_of(plan) or self._build(plan, deadline_ns)
        self._subject.model.content()
        call = self._call
        try:
            outputs = session.run(list(call.output_names), dict(call.feed))
        except Exception as error:
            failure = Failure(FailureKind.CRASHED, "failed-in-process", str(error))
            raise TrialFailedError(plan.name, failure) from error
        verdict = compare(
            call.reference_outputs(), outputs, call.output_names, self._subject.tolerance
        )
        match verdict:
            case Equal():
                self._checked[candidate] = session
                return session
            case Different():
                failure = Failure(FailureKind.REJECTED, "different", verdict.what)
            case Incomparable():
                failure = Failure(FailureKind.UNSUPPORTED, "unverifiable", verdict.reason)
            case _:
                assert_never(verdict)
        raise TrialFailedError(plan.name, failure)

    def _build(self, plan: Plan, deadline_ns: int | None) -> "onnxruntime.InferenceSession":
        try:
            return self._built(self._variant_model(plan, deadline_ns), plan)
        except (TrialFailedError, VariantMissingError):
            raise
        except Exception as error:
            failure = Failure(FailureKind.UNSUPPORTED, "not-built-in-process", str(error))
            raise TrialFailedError(plan.name, failure) from error

    def _built(self, model: Path | bytes, plan: Plan) -> "onnxruntime.InferenceSession":
        """Return the session of a plan; an unusable cache costs its gain, not the plan.

        It logs nothing: what ONNX Runtime says about the model the reference has said, at the level
        that the caller chose, and what a failed run says it says when it repeats the call.
        """
        plan = evolve(plan, settings=plan.settings.with_attribute("log_severity_level", FATAL))
        cached = with_caches(plan, self._subject.caches)
        if cached is not plan:
            with suppress(Exception):
                return build_plan_session(model, cached, self._scratch)
        scratch = None
        with suppress(OSError):  # a file system that nobody may write to has served so far
            scratch = self._scratch
        return build_plan_session(model, plan, scratch)

    def _plan(self, candidate: int) -> Plan:
        plan = self._subject.plans[candidate]
        if candidate not in self._seen and (file := model_file(plan)) is not None:
            check_model_file(plan, file, self._subject.model.memory)
        self._seen.add(candidate)
        return plan

    def _variant_model(self, plan: Plan, deadline_ns: int | None) -> Path | bytes:
        """Return the model that a plan loads. What was built once is used again."""
        subject = self._subject
        if not plan.variant:
            return subject.model.source
        if (file := model_file(plan)) is not None:
            return file
        if not subject.may_build_variants:
            if (kept := self._kept_variant(plan)) is None:
                raise VariantMissingError(plan.variant)
            return kept
        content = subject.model.content().digest
        if self._rig_started and (built := self._rig.variant_path(plan)) is not None:
            subject.variants.keep(content, plan.variant, built)
            return built
        if (kept := subject.variants.find(content, plan.variant)) is not None:
            return kept
        target = self._scratch / f"{len(self._checked)}-variant.onnx"
        build_variant_in_child(
            plan.variant, self._model_path, target, deadline_ns, subject.stop_asked
        )
        subject.variants.keep(content, plan.variant, target)
        return target

    def _tell(self, stage: Stage, candidate: int) -> None:
        listener = self._subject.progress
        if listener is None:
            return
        plans = self._subject.plans
        listener(
            Progress(
                stage,
                plans[candidate].name,
                candidate,
                len(plans),
                self._measurements,
                time.monotonic_ns() - self._started_ns,
                self._subject.budget_ns,
            )
        )


def looked_at_shortly(plans: Sequence[Plan]) -> list[int]:
    """Return the positions of candidates that nothing but ONNX Runtime's own processor kernels run.

    They share a child without danger; a file of the user's own is checked before its trial.
    """
    return [
        index
        for index, plan in enumerate(plans)
        if index and model_file(plan) is None and _on_cpu_alone(plan)
    ]


def _on_cpu_alone(plan: Plan) -> bool:
    return all(
        provider.name == CPU and provider.device is None and provider.library is None
        for provider in plan.providers or ()
    )


def _limits(subject: Subject) -> TrialLimits:
    """Return limits under which a hanging call is found within the budget, and so remembered.

    Left to the search's own deadline it would only be cut, and hang again in the next search.
    """
    ordinary = TrialLimits()
    call_ns = max(SECOND_NS, subject.budget_ns // HANG_SHARE)
    return TrialLimits(
        # Many short blocks decide sooner than few long ones: the rule counts blocks.
        calls_least=1,
        first_call_ns=min(ordinary.first_call_ns, call_ns),
        call_ns=min(ordinary.call_ns, call_ns),
        niceness=subject.niceness,
        stop_asked=subject.stop_asked,
    )
