"""From a spec to tasks: every workload in a fixed order, checked against the models themselves."""

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from ortsel.builder.build_spec import BuildSpec, ModelSpec, ShapeChoice
from ortsel.builder.families import Families
from ortsel.builder.layout import STORE_NAME
from ortsel.builder.sample_feeds import find_samples, read_samples
from ortsel.builder.spec_errors import BuildSpecError, SpecProblem
from ortsel.builder.task import Samples, Task, task_id
from ortsel.builder.tolerances import BY_TYPE
from ortsel.candidates import CandidateFacts, candidate_plans
from ortsel.cli.errors import OpenDimensionsError, UnusableFileError
from ortsel.cli.model_inputs import ModelInput, read_inputs
from ortsel.cli.one_line import one_line
from ortsel.cli.search import is_runtime_error
from ortsel.cli.shapes import ShapeArgument, resolve_shapes
from ortsel.content_memory import ContentMemory, content_memory
from ortsel.environment import read_environment
from ortsel.errors import UsageError
from ortsel.model_content import UnknownContentError, content_hash
from ortsel.providers.plugin import PluginLibraryError
from ortsel.reference_plan import reference_plan
from spec.canonical_json import Json, canonical, digest

MOST_WORKLOADS: Final = 10_000
_FATAL: Final = 4
"""ONNX Runtime's severity; what it raises is a problem of the spec, and printed once."""
_CHUNK: Final = 1 << 20


@frozen
class _Model:
    """What one model wants to be fed, and what it is."""

    content: str
    candidates: str
    """Digest of the plans that a search would try. Another release has others, and another key."""
    inputs: tuple[ModelInput, ...]
    replaceable: tuple[ModelInput, ...]


def plan_tasks(spec: BuildSpec) -> tuple[Task, ...]:
    """Return a task for every workload: models in the spec's order, then its shapes or samples.

    Workloads that are equal in everything are done once. Raises `BuildSpecError` with every
    problem that loading the models and samples shows.
    """
    _check_count(spec)
    planner = _Planner(content_memory(str(spec.output / STORE_NAME)))
    tasks = [task for model in spec.models for task in planner.tasks(model)]
    if planner.problems:
        ordered = sorted(planner.problems, key=lambda problem: problem.line)
        raise BuildSpecError(spec.source, tuple(ordered))
    return tuple({task.id: task for task in tasks}.values())


def _check_count(spec: BuildSpec) -> None:
    total = 0
    for model in spec.models:
        count = math.prod(len(choice.sizes) for choice in model.shapes)
        total += count
        if total > MOST_WORKLOADS:
            factors = " x ".join(str(len(choice.sizes)) for choice in model.shapes)
            got = f"{factors} = {count} combinations, {total} workloads so far"
            need = f"at most {MOST_WORKLOADS} workloads"
            problem = SpecProblem(model.line, f"{model.place}.shapes", got, need)
            raise BuildSpecError(spec.source, (problem,))


@define
class _Planner:
    """Makes tasks, and notes what is wrong."""

    _memory: ContentMemory
    problems: list[SpecProblem] = field(factory=list)
    _environment: Json = field(factory=lambda: digest(canonical(read_environment().parts())))

    def wrong(self, line: int, place: str, got: str, need: str) -> None:
        problem = SpecProblem(line, place, one_line(got), one_line(need))
        if problem not in self.problems:
            self.problems.append(problem)

    def tasks(self, spec: ModelSpec) -> Iterator[Task]:
        model = self.model(spec)
        samples = () if spec.feeds is None else self.samples(spec, spec.feeds)
        if model is None:
            return
        if spec.feeds is not None:
            yield from self.sampled(spec, model, samples)
        else:
            yield from self.shaped(spec, model)

    def model(self, spec: ModelSpec) -> _Model | None:
        place = f"{spec.place}.path"
        if not spec.path.is_file():
            got = f"{spec.name}, which {'is no file' if spec.path.exists() else 'does not exist'}"
            self.wrong(spec.line, place, got, "the file of a model")
            return None
        if not self.providers(spec):
            return None
        try:
            session = _plain_session(spec)
        except Exception as error:
            if not is_runtime_error(error):
                raise
            need = "a model that ONNX Runtime loads"
            self.wrong(spec.line, place, f"{spec.name}: {error}", need)
            return None
        inputs = read_inputs(session.get_inputs())
        replaceable = read_inputs(session.get_overridable_initializers())
        try:
            content = content_hash(spec.path, memory=self._memory).digest
            candidates = _candidates_digest(spec, session.get_providers())
        except (UnknownContentError, PluginLibraryError) as error:
            self.wrong(spec.line, place, f"{spec.name}: {error}", "a model that can be tuned")
            return None
        return _Model(content, candidates, inputs, replaceable)

    def providers(self, spec: ModelSpec) -> bool:
        import onnxruntime

        available = onnxruntime.get_available_providers()
        missing = [one.name for one in spec.settings.providers if one.name not in available]
        for name in missing:
            need = f"one that this ONNX Runtime has: {', '.join(available)}"
            self.wrong(spec.line, f"{spec.place}.providers", repr(name), need)
        return not missing

    def samples(self, spec: ModelSpec, path: Path) -> tuple[Samples, ...]:
        try:
            return find_samples(path)
        except UnusableFileError as error:
            got = f"{error.path}: {error.reason}"
            self.wrong(spec.line, f"{spec.place}.feeds", got, "samples")
            return ()

    def sampled(self, spec: ModelSpec, model: _Model, found: Sequence[Samples]) -> Iterator[Task]:
        place = f"{spec.place}.feeds"
        for samples in found:
            try:
                feeds = read_samples(samples, model.inputs, model.replaceable)
            except UnusableFileError as error:
                need = "arrays that the model takes"
                self.wrong(spec.line, place, f"{error.path}: {error.reason}", need)
                continue
            except UsageError as error:
                self.wrong(spec.line, place, error.got, error.need)
                continue
            shapes = {name: array.shape for name, array in feeds.arrays.items()}
            yield _task(spec, model, self._environment, shapes, samples)

    def shaped(self, spec: ModelSpec, model: _Model) -> Iterator[Task]:
        for sizes in itertools.product(*(choice.sizes for choice in spec.shapes)):
            chosen = zip(spec.shapes, sizes, strict=True)
            arguments = [
                ShapeArgument(choice.name, size, f"{choice.name}={'x'.join(map(str, size))}")
                for choice, size in chosen
            ]
            try:
                shapes = resolve_shapes(model.inputs, arguments, spec.name)
            except UsageError as error:
                where = _named(spec.shapes, error.got)
                place = f"{spec.place}.shapes" if where is None else where.place
                self.wrong(where.line if where else spec.line, place, error.got, error.need)
                continue
            except OpenDimensionsError as error:
                place = f"{spec.place}.shapes"
                need = f"a size for each of {error.missing} ({error.declared})"
                self.wrong(spec.line, place, "sizes for fewer than all open dimensions", need)
                continue
            if not self.fills(spec, model):
                return
            yield _task(spec, model, self._environment, shapes, None)

    def fills(self, spec: ModelSpec, model: _Model) -> bool:
        names = [one.name for one in model.inputs]
        unknown = [name for name, _ in spec.fills if name not in names]
        for name in unknown:
            need = f"an input of the model ({', '.join(names)})"
            self.wrong(spec.line, f"{spec.place}.fill.{name}", repr(name), need)
        return not unknown


def _plain_session(spec: ModelSpec) -> Any:
    """Return a session that only says what the model is: no optimisation, no threads."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(_FATAL)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    providers = spec.settings.providers
    return onnxruntime.InferenceSession(
        str(spec.path),
        options,
        [provider.name for provider in providers] or None,
        [dict(provider.options) for provider in providers] or None,
    )


def _candidates_digest(spec: ModelSpec, reported: Sequence[str]) -> str:
    from ortsel.session_options import SessionOptions

    settings = spec.settings
    options = SessionOptions()
    if settings.threads is not None:
        options.intra_op_num_threads = settings.threads
    reference = reference_plan(
        reported,
        [provider.name for provider in settings.providers] or None,
        [dict(provider.options) for provider in settings.providers] or None,
        options,
        (),
    )
    facts = CandidateFacts.read(spec.path, reference)
    plans = candidate_plans(reference, facts, Families(settings.families))
    return digest(canonical([{plan.name: plan.parts()} for plan in plans]))


def _named(shapes: Sequence[ShapeChoice], message: str) -> ShapeChoice | None:
    """Return the choice that a message speaks of, when it is plain which one."""
    found = [one for one in shapes if f"{one.name}=" in message or repr(one.name) in message]
    return found[0] if len(found) == 1 else None


def _task(
    spec: ModelSpec,
    model: _Model,
    environment: Json,
    shapes: Mapping[str, Sequence[int]],
    samples: Samples | None,
) -> Task:
    settings = spec.settings
    whole = {name: tuple(shape) for name, shape in shapes.items()}
    speedup = settings.min_speedup
    parts: dict[str, Json] = {
        "bound": settings.bound,
        "budget_ms": round(settings.budget_s * 1000),
        "candidates": model.candidates,
        "environment": environment,
        "ep_context": settings.ep_context,
        "fills": dict(spec.fills),
        "min_speedup": None if speedup is None else [speedup.numerator, speedup.denominator],
        "model": model.content,
        "providers": [[one.name, dict(one.options)] for one in settings.providers],
        "samples": None if samples is None else _samples_digest(samples),
        "seed": settings.seed,
        "shapes": {name: list(shape) for name, shape in whole.items()},
        "threads": settings.threads,
    }
    if settings.gap_ms:
        parts["gap_ms"] = settings.gap_ms
    if settings.tolerance != BY_TYPE:
        parts["tolerance"] = settings.tolerance
    return Task(
        task_id(parts),
        str(spec.path.absolute()),
        spec.name,
        whole,
        samples,
        spec.fills,
        settings.seed,
        settings.budget_s,
        "" if speedup is None else str(speedup),
        settings.providers,
        settings.threads,
        settings.bound,
        settings.gap_ms,
        settings.tolerance,
        settings.families,
        settings.ep_context,
    )


def _samples_digest(samples: Samples) -> Json:
    if samples.npz:
        return _file_digest(Path(samples.npz))
    return {name: _file_digest(Path(file)) for name, file in samples.npy.items()}


def _file_digest(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()
