"""From what a store holds to what a report says."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from ortsel.report.contents import Contents, Model, Search, Shape, Slowdown, Withdrawal
from ortsel.report.evidence import Evidence
from ortsel.report.question import Place, Question, axis_words, distinguishing_axes, question_of
from ortsel.store.explanation import differing_parts, parse_key_text
from ortsel.store.search_log import Searched, Withdrawn
from spec.record import Record

LEAST_SLOWDOWN: Final = Fraction(3, 100)
"""Changes below this are no finding, however small the spread: they are within what a search
needs to prefer one plan to another."""
MOST_SHAPES: Final = 500
"""Shapes of all models together; of more, those decided last."""


@frozen
class _Known:
    record: Record | None = None
    searches: tuple[Search, ...] = ()
    withdrawals: tuple[Withdrawal, ...] = ()


def compile_contents(
    evidence: Evidence,
    names: Mapping[str, str],
    axes: Mapping[str, Mapping[Place, str]] | None = None,
) -> Contents:
    """Return what a report says. `names` gives models' names by their digests.

    `axes` gives what models call the axes of their inputs, by the same digests.
    """
    known = _by_question(evidence)
    newest = sorted(known, key=lambda one: _shape(one, "", known[one]).created_s, reverse=True)
    kept = set(newest[:MOST_SHAPES])
    by_model: dict[str, list[Question]] = {}
    for question in known:
        if question in kept:
            by_model.setdefault(question.model, []).append(question)
    models = [
        _model(digest, names.get(digest, ""), questions, known, (axes or {}).get(digest, {}))
        for digest, questions in by_model.items()
    ]
    models.sort(key=lambda model: (not model.name, model.name, -len(model.shapes), model.digest))
    left_out = evidence.left_out + len(known) - len(kept)
    return Contents(tuple(models), evidence.problems, left_out)


def _by_question(evidence: Evidence) -> dict[Question, _Known]:
    texts: dict[str, str] = {}
    for stored in evidence.records:
        texts.setdefault(stored.record.key, stored.key_text)
    for logged in evidence.entries:
        if isinstance(logged.entry, Searched) and logged.key_text:
            texts[logged.entry.report.key] = logged.key_text
    questions = {key: question_of(key, text) for key, text in texts.items()}
    known: dict[Question, _Known] = {}
    for stored in evidence.records:
        question = questions[stored.record.key]
        one = known.get(question, _Known())
        if one.record is None or one.record.created_s <= stored.record.created_s:
            known[question] = evolve(one, record=stored.record)
    for logged in evidence.entries:
        match logged.entry:
            case Searched(created_s, report, considered):
                question = questions.get(report.key) or question_of(report.key, "")
                one = known.get(question, _Known())
                search = Search(created_s, report.key, logged.key_text, report, considered)
                known[question] = evolve(one, searches=(*one.searches, search))
            case Withdrawn(created_s, key, plan, reason):
                question = questions.get(key) or question_of(key, "")
                one = known.get(question, _Known())
                withdrawal = Withdrawal(created_s, plan, reason)
                known[question] = evolve(one, withdrawals=(*one.withdrawals, withdrawal))
    return known


def _model(
    digest: str,
    name: str,
    questions: Sequence[Question],
    known: Mapping[Question, _Known],
    axes: Mapping[Place, str],
) -> Model:
    ordered = sorted(questions, key=_order)
    labels = _labels(ordered, axes)
    shapes = [
        _shape(question, label, known[question])
        for question, label in zip(ordered, labels, strict=True)
    ]
    return Model(digest, name, tuple(shapes))


def _shape(question: Question, label: str, known: _Known) -> Shape:
    searches = tuple(sorted(known.searches, key=lambda search: search.created_s))
    return Shape(question, label, known.record, searches, known.withdrawals, _slowdowns(searches))


def _slowdowns(searches: Sequence[Search]) -> tuple[Slowdown, ...]:
    """Return the searches that found less advantage than the one before them.

    The spreads, as parts of their ratios, are added: what two searches disagree on by less than
    both are unsure of is no finding.
    """
    found = []
    for before, now in pairwise(searches):
        lost = now.winner_ratio / before.winner_ratio - 1
        unsure = before.winner_dispersion + now.winner_dispersion
        if lost > max(unsure, LEAST_SLOWDOWN):
            changed = differing_parts(parse_key_text(before.key_text), parse_key_text(now.key_text))
            found.append(
                Slowdown(
                    now.created_s, before.winner_ratio, now.winner_ratio,
                    before.report.winner, now.report.winner, changed,
                )
            )  # fmt: skip
    return tuple(found)


def _order(question: Question) -> tuple[object, ...]:
    sizes = sorted((place, size) for place, size in question.sizes().items())
    return (
        tuple(place for place, _ in sizes),
        tuple(size for _, size in sizes),
        question.calling,
        question.load,
        question.settings,
        question.machine,
        question.key,
    )


def _labels(questions: Sequence[Question], names: Mapping[Place, str]) -> list[str]:
    """Return a short label for each question: the sizes that differ, and what else does."""
    axes = distinguishing_axes(questions)
    labels = []
    for question in questions:
        sizes = question.sizes()
        words = [f"{axis_words(axis, names)} = {sizes[axis[0]]}" for axis in axes]
        labels.append(", ".join(words) or question.words())
    for facet in ("calling", "load", "machine_words", "outputs"):
        labels = _told_apart(labels, [str(getattr(one, facet)) for one in questions])
    return _numbered(labels)


def _told_apart(labels: Sequence[str], facets: Sequence[str]) -> list[str]:
    """Add a facet to labels that occur more than once, where the facet differs between them."""
    facets_of: dict[str, set[str]] = {}
    for label, facet in zip(labels, facets, strict=True):
        facets_of.setdefault(label, set()).add(facet)
    return [
        f"{label}, {facet}" if len(facets_of[label]) > 1 and facet else label
        for label, facet in zip(labels, facets, strict=True)
    ]


def _numbered(labels: Iterable[str]) -> list[str]:
    listed = list(labels)
    seen: dict[str, int] = {}
    result = []
    for label in listed:
        seen[label] = seen.get(label, 0) + 1
        again = listed.count(label) > 1
        result.append(f"{label} ({seen[label]})" if again else label)
    return result
