"""Plans for one shape alone: a session that is told the sizes that a model leaves open.

ONNX Runtime then computes shapes while it loads and folds what depends on them, which gains where a
model computes with shapes between short operators. OpenVINO compiles for fixed sizes. Such a
session takes no other shape; so the plan names the shapes, is offered for them alone, and a call of
other shapes is looked up apart. Dimensions that have a name are overridden by it. For others there
is OpenVINO's own option `reshape_input`, which not every model takes; a trial finds out.
"""

from collections.abc import Iterator
from typing import Final

from attrs import evolve, frozen

from ortsel.candidates.cpu_settings import Level, level, may_use_threads
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.model_traits import ModelTraits
from ortsel.candidates.openvino import OPENVINO, openvino_candidates
from ortsel.candidates.search_space import LeftOut
from ortsel.candidates.shape_labels import label, sizes_text
from ortsel.plan import Plan, Shapes

SHAPE_OPERATORS: Final = ("Shape", "Size")
"""Where none is in a model, nothing is left to compute once its shapes are known."""


UNNAMED: Final = "unnamed-dimension"
RESHAPE: Final = "reshape_input"
"""OpenVINO's option with the shapes of inputs, such as "x[1,3],y[4]"."""


@frozen
class OpenSizes:
    """The sizes of what a model leaves open, for one call."""

    by_name: tuple[tuple[str, int], ...]
    """Of named dimensions that the user did not override, sorted."""

    @property
    def label(self) -> str:
        """The sizes, short enough for a name."""
        return label([f"{name}={size}" for name, size in self.by_name])


@frozen
class NotStatic:
    """Why no session can be told all sizes."""

    rule: str
    reason: str


def open_sizes(model: ModelTraits, reference: Plan, shapes: Shapes) -> OpenSizes | NotStatic:
    """Return the sizes that a call gives to the model's open dimensions."""
    if model.inputs is None:
        return NotStatic("unknown-shapes", "the model's inputs are not known")
    given = dict(shapes)
    overridden = dict(reference.settings.free_dimensions)
    sizes: dict[str, int] = {}
    for name, dimensions in model.inputs:
        actual = given.get(name)
        if actual is None or len(actual) != len(dimensions):
            return NotStatic("unknown-shapes", f"the shape of {name} is not known")
        for dimension, size in zip(dimensions, actual, strict=True):
            if isinstance(dimension, int) or dimension in overridden:
                continue
            if dimension is None:
                return NotStatic(UNNAMED, f"{name} has one without a name")
            if sizes.setdefault(dimension, size) != size:
                reason = f"{dimension} is both {sizes[dimension]} and {size}"
                return NotStatic("no-gain", reason)
            if not size:
                return NotStatic("no-gain", f"{name} is empty")
    return OpenSizes(tuple(sorted(sizes.items())))


def static_shape_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return plans for the call's shapes alone, where the model leaves any open."""
    if not facts.shapes or facts.model.dynamic_shapes is False:
        return ()
    if reference.settings.free_denotations:
        return (LeftOut("cpu:static", "users-choice", "the user overrides dimensions by kind"),)
    found = open_sizes(facts.model, reference, facts.shapes)
    if isinstance(found, NotStatic):
        left_out = LeftOut("cpu:static", found.rule, found.reason)
        if found.rule != UNNAMED:
            return (left_out,)
        return (left_out, *_reshaped_by_openvino(reference, facts))
    if not found.by_name:
        return ()
    return (_on_cpu(reference, facts, found), *_on_openvino(reference, facts, found))


def _on_cpu(reference: Plan, facts: CandidateFacts, sizes: OpenSizes) -> Plan | LeftOut:
    name = f"cpu:static{sizes.label}"
    if level(reference) < Level.BASIC:
        return LeftOut(name, "same-as-reference", "the session's level folds nothing")
    if not facts.model.may_contain(*SHAPE_OPERATORS):
        return LeftOut(name, "no-gain", "the model computes nothing with shapes")
    return derive(
        _told(reference, sizes),
        name,
        shapes=facts.shapes,
        notes="for these sizes alone: what depends on shapes is computed while loading",
    )


def _on_openvino(reference: Plan, facts: CandidateFacts, sizes: OpenSizes) -> Iterator[Plan]:
    """Yield OpenVINO's plans for these sizes alone."""
    for plan in _for_latency(reference, facts):
        yield derive(
            _told(plan, sizes),
            f"{plan.name},static{sizes.label}",
            shapes=facts.shapes,
            notes=f"{plan.notes}, compiled for these sizes alone",
        )


def _for_latency(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return OpenVINO's plans for latency: its own number of threads, and one.

    Throughput comes from several calls under way, mostly of several shapes. As many threads as
    there are differ little from its own number, and every compilation costs a search seconds.
    """
    plans = tuple(
        plan
        for plan in openvino_candidates(reference, facts)
        if isinstance(plan, Plan) and plan.name.startswith("openvino:latency")
    )
    most = may_use_threads(reference, facts)
    if most > 1 and any(plan.name == "openvino:latency" for plan in plans):
        return tuple(plan for plan in plans if not plan.name.endswith(f"threads={most}"))
    return plans


def _reshaped_by_openvino(reference: Plan, facts: CandidateFacts) -> Iterator[Plan]:
    """Yield OpenVINO's plans for latency with the shapes of all inputs as an option of its own."""
    shapes = [(name, sizes) for name, sizes in facts.shapes if sizes]
    if any(0 in sizes or set(name) & set("[],") for name, sizes in shapes):
        return
    text = ",".join(f"{name}[{','.join(map(str, sizes))}]" for name, sizes in shapes)
    for plan in _for_latency(reference, facts):
        providers = tuple(
            evolve(one, options=tuple(({RESHAPE: text} | dict(one.options)).items()))
            if one.name == OPENVINO
            else one
            for one in plan.providers or ()
        )
        yield derive(
            plan,
            f"{plan.name},static{label(sizes_text(facts.shapes))}",
            providers=providers,
            shapes=facts.shapes,
            notes=f"{plan.notes}, reshaped to these sizes alone",
        )


def _told(plan: Plan, sizes: OpenSizes) -> Plan:
    """Return a plan whose session is told the sizes."""
    free = dict(plan.settings.free_dimensions) | dict(sizes.by_name)
    return evolve(plan, settings=evolve(plan.settings, free_dimensions=tuple(free.items())))
