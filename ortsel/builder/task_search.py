"""The search behind one task, in the process that was started for it."""

from collections.abc import Callable, Collection
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from attrs import define, field

from ortsel.builder.ep_context import compile_winner
from ortsel.builder.families import Families
from ortsel.builder.layout import CACHES_NAME, VARIANTS_NAME
from ortsel.builder.sample_feeds import read_samples
from ortsel.builder.task import Outcome, Status, Task, Warmed
from ortsel.builder.tolerances import tolerance_of
from ortsel.candidates import REFERENCE, CandidateFacts
from ortsel.cli.feeds import Feeds, make_feeds
from ortsel.cli.model_inputs import read_inputs
from ortsel.cli.one_line import one_line
from ortsel.cli.search import SearchOptions, SearchResult, open_session, search
from ortsel.errors import OrtselError
from ortsel.plan import Plan
from ortsel.progress import Progress
from ortsel.provider_caches import with_caches
from ortsel.selection_config import SelectionMode
from ortsel.session_builder import build_session

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
        made = [*_written(task, plan, folder, before), *_missing_cache(plan, folder)]
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
        gap_s=task.gap_ms / 1000,
        tolerance=tolerance_of(task.tolerance),
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


def _files(folder: Path) -> dict[Path, tuple[int, int, int]]:
    """Return what was made for the deployment so far, with what changes when it is written anew."""
    made = (path for name in (CACHES_NAME, VARIANTS_NAME) for path in (folder / name).rglob("*"))
    found = {}
    for path in made:
        if path.is_file():
            status = path.stat()
            found[path] = (status.st_mtime_ns, status.st_ino, status.st_size)
    return found


def _written(task: Task, plan: Plan, folder: Path, before: Collection[Path]) -> list[Warmed]:
    """Return what the search left for the deployment, and remove what will not serve there."""
    now = _files(folder)
    made = [path for path in sorted(now) if path not in before]
    unused = _unused(task, plan, folder) if any(_is_cache(path, folder) for path in made) else ""
    found: list[Warmed] = []
    for path in made:
        inside = path.relative_to(folder).as_posix()
        if not _is_cache(path, folder):
            found.append(Warmed("graph-variant", inside, "for the plan that serves"))
        elif unused:
            path.unlink(missing_ok=True)
            found.append(Warmed("provider-cache", "", unused))
        else:
            found.append(Warmed("provider-cache", inside, "for the plan that serves"))
    return found


def _unused(task: Task, plan: Plan, folder: Path) -> str:
    """Load the plan once more; return why its cache is of no use, empty where it was used."""
    before = _files(folder)
    try:
        session = build_session(task.model, with_caches(plan, folder / CACHES_NAME))
    except Exception as error:  # noqa: BLE001
        # A provider may raise anything over a file that it wrote itself.
        return one_line(f"the plan does not load from it: {error}", 300)
    del session
    after = _files(folder)
    if any(after.get(path) != status for path, status in before.items()):
        return "the provider compiled anew and wrote it again when the plan was loaded once more"
    return ""


def _is_cache(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder / CACHES_NAME)


def _missing_cache(plan: Plan, folder: Path) -> list[Warmed]:
    """Say why a provider that can keep compiled models left none for the reference."""
    if plan.name != REFERENCE or with_caches(plan, folder / CACHES_NAME) is plan:
        return []
    reason = (
        "the reference is plain ONNX Runtime's session: its cache is where the options of its "
        "provider put it"
    )
    return [Warmed("provider-cache", "", reason)]
