"""What a report says, as plain values for other programs."""

from fractions import Fraction

from ortsel.report.contents import Contents, Search, Shape
from ortsel.report.page import summary
from ortsel.report.shown_text import MOST, as_float

SCHEMA = 1


def report_document(contents: Contents) -> dict[str, object]:
    """Return the contents of a report as plain values."""
    return {
        "schema": SCHEMA,
        "summary": summary(contents),
        "problems": list(contents.problems),
        "left_out": contents.left_out,
        "models": [
            {
                "digest": model.digest,
                "name": model.name or None,
                "shapes": [_shape(shape) for shape in model.shapes],
            }
            for model in contents.models
        ],
    }


def _shape(shape: Shape) -> dict[str, object]:
    record, regret = shape.record, shape.regret
    return {
        "label": shape.label,
        "inputs": [
            {"name": one.name, "type": one.element, "shape": list(one.shape)}
            for one in shape.question.inputs
        ],
        "calling": shape.question.calling,
        "machine": shape.question.machine_words,
        "decision": None
        if record is None
        else {
            "key": record.key,
            "plan": record.winner,
            "serves_reference": shape.serves_reference,
            "reference_ns": record.reference_ns,
            "winner_ns": record.winner_ns,
            "ratio": as_float(record.ratio),
            "ratio_exact": str(record.ratio),
            "noise": _number(record.dispersion),
            "verified": record.verified,
            "created_s": record.created_s,
        },
        "regret": None
        if regret is None
        else {
            "ratio": as_float(regret.ratio),
            "spread": _number(regret.spread),
            "best": regret.best,
        },
        "searches": [_search(search) for search in shape.searches],
        "slowdowns": [
            {
                "created_s": one.created_s,
                "before": as_float(one.before),
                "now": as_float(one.now),
                "changed": list(one.changed),
            }
            for one in shape.slowdowns
        ],
        "withdrawals": [
            {"created_s": one.created_s, "plan": one.plan, "reason": one.reason}
            for one in shape.withdrawals
        ],
    }


def _search(search: Search) -> dict[str, object]:
    considered = search.considered
    placed = {} if considered is None else dict(considered.placed)
    return {
        "created_s": search.created_s,
        "key": search.key,
        "winner": search.report.winner,
        "elapsed_s": search.report.elapsed_ns / 1e9,
        "counts": search.counts(),
        "left_out_by_rule": {} if considered is None else dict(considered.left_out),
        "candidates": [
            {
                "name": one.name,
                "outcome": one.outcome.value,
                "ratio": _number(one.ratio),
                "noise": _number(one.dispersion),
                "blocks": one.blocks,
                "states": one.states,
                "window_s": one.window_ns / 1e9,
                "verified": one.verified,
                "first_ns": one.first_ns,
                "median_ns": one.median_ns,
                "reason": one.reason,
                "placed": placed.get(one.name, ""),
            }
            for one in search.report.candidates
        ],
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(min(value, Fraction(MOST)))
