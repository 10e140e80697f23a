"""The search behind one task, in the process that was started for it."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from attrs import define, field

from ortsel.builder.ep_context import compile_winner
from ortsel.builder.families import Families
from ortsel.builder.layout import CACHES_NAME, VARIANTS_NAME
from ortsel.builder.sample_feeds import read_samples
from ortsel.builder.task import Outcome, Status, Task, Warmed
from ortsel.candidates import REFERENCE, CandidateFacts
from ortsel.cli.feeds import Feeds, make_feeds
from ortsel.cli.model_inputs import read_inputs
from ortsel.cli.one_line import one_line
from ortsel.cli.search import SearchOptions, SearchResult, open_session, search
from ortsel.errors import OrtselError
from ortsel.plan import Plan
from ortsel.progress import Progress
from ortsel.selection_config import SelectionMode

Warm: TypeAlias = Callable[[Path], tuple[Warmed, ...]]


@define(eq=False)
class _Heard:
    """The candidates of some families, and what they were, for after the search."""

    families: Families
    plans: dict[str, Plan] = field(factory=dict)

    def __call__(self, facts: CandidateFacts) -> tuple[Plan, ...]:
        plans = self.families(facts)
        self.plans = {plan.name: plan for plan in plans} | {REFERENCE: facts.reference}
        return plans


def search_task(
    task: Task, store: Path, listen: Callable[[Progress], None]
) -> tuple[Outcome, Warm]:
    """Return what a search ended with, and what makes the rest that a deployment needs."""
    heard = _Heard(Families(task.families))
    before = _files(store.parent)
    try:
        result, feeds = _search(task, store, heard, listen)
    except OrtselError as error:
        reason = one_line(str(error))
        return Outcome(task.id, Status.FAILED, reason), lambda _: ()
    del feeds

    def warm(folder: Path) -> tuple[Warmed, ...]:
        plan = heard.plans.get(result.explanation.plan)
        if plan is None:
            return ()
        made = [*_written(folder, before), *_missing_cache(plan, folder)]
        if task.ep_context:
            made.append(compile_winner(Path(task.model), plan, folder, task.id))
        return tuple(made)

    return _outcome(task, result), warm


def _search(
    task: Task, store: Path, heard: _Heard, listen: Callable[[Progress], None]
) -> tuple[SearchResult, Feeds]:
    options = SearchOptions(
        store=store,
        budget_s=task.budget_s,
        seed=task.seed,
        min_speedup=Fraction(task.min_speedup) if task.min_speedup else None,
        providers=tuple(provider.name for provider in task.providers),
        provider_options=tuple(provider.options for provider in task.providers),
        threads=task.threads,
        bound=task.bound,
        synthetic=task.samples is None,
        candidates=heard,
    )
    path = Path(task.model)
    session = open_session(path, options, SelectionMode.BLOCKING, listen)
    inputs = read_inputs(session.get_inputs())
    if task.samples is None:
        feeds = make_feeds(inputs, task.shapes, task.fills, task.seed)
    else:
        replaceable = read_inputs(session.get_overridable_initializers())
        feeds = read_samples(task.samples, inputs, replaceable)
    return search(session, path, feeds, options), feeds


def _outcome(task: Task, result: SearchResult) -> Outcome:
    explanation, record = result.explanation, result.record
    alone = len(explanation.candidates) == 1
    kept = result.decided and (record is not None or alone)
    reason = explanation.reason
    if result.decided and alone:
        reason = "there is no candidate besides the reference"
    elif result.decided and record is None:
        reason = f"decided, but the store does not hold it: {reason}"
    ratio = explanation.ratio
    return Outcome(
        task.id,
        Status.DECIDED if kept else Status.UNDECIDED,
        one_line(reason),
        plan=explanation.plan if kept else "",
        serves_reference=result.serves_reference,
        source=explanation.source,
        verified=explanation.verified,
        provisional=record is not None and record.provisional,
        complete=alone or (record is not None and record.complete),
        ratio=None if ratio is None or result.serves_reference else float(ratio),
        key="" if record is None else explanation.key,
        candidates=tuple(
            {name: value for name, value in row.items() if name != "workload"}
            for row in explanation.candidate_rows()
        ),
    )


def _files(folder: Path) -> frozenset[Path]:
    made = (path for name in (CACHES_NAME, VARIANTS_NAME) for path in (folder / name).rglob("*"))
    return frozenset(path for path in made if path.is_file())


def _written(folder: Path, before: frozenset[Path]) -> list[Warmed]:
    kinds = {CACHES_NAME: "provider-cache", VARIANTS_NAME: "graph-variant"}
    found: list[Warmed] = []
    for path in sorted(_files(folder) - before):
        inside = path.relative_to(folder)
        found.append(Warmed(kinds[inside.parts[0]], inside.as_posix(), "for the plan that serves"))
    return found


def _missing_cache(plan: Plan, folder: Path) -> list[Warmed]:
    """Say why a provider that can keep compiled models left none."""
    if plan.name == REFERENCE and plan.providers is not None:
        from ortsel.provider_caches import with_caches

        if with_caches(plan, folder / CACHES_NAME) is not plan:
            reason = (
                "the reference is plain ONNX Runtime's session: its cache is where the options of "
                "its provider put it"
            )
            return [Warmed("provider-cache", "", reason)]
    return []
