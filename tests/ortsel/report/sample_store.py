"""A store with two models, five shapes, searches months apart, and hostile names."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final

from attrs import evolve

from ortsel.store import SqliteStore
from ortsel.store.search_log import Searched, SearchLog, Withdrawn
from spec.canonical_json import Json, canonical, digest
from spec.problem import Scope
from spec.record import Record
from spec.report import CandidateReport, Outcome, TrialReport

DAY_S: Final = 86_400
NOW_S: Final = 1_790_000_000
HOSTILE: Final = "<script>alert(1)</script>"
HOSTILE_REASON: Final = '"><img src=x onerror=alert(2)> {{ 7 * 7 }} $\\frac{x}{$ \u202eevil\x1b[31m'


def key_of(model: str, batch: int, sequence: int, runtime: str = "1.32.0") -> tuple[str, str]:
    """Return the digest and the text of a key as the engine writes them."""
    parts: Mapping[str, Json] = {
        "environment": {
            "cpu": {"identity": ["model name: AMD EPYC 7763"], "instructions": []},
            "nvidia": None,
            "onnxruntime": {"version": runtime},
            "threads": {"affinity": 8, "cores": 8, "quota_millicpus": None, "threads": 8},
        },
        "model": model,
        "options": {"candidates": "", "reference": {"settings": {}}},
        "workload": {
            "calling": "numpy",
            "inputs": {
                name: {
                    "layout": "contiguous", "shape": [batch, sequence], "type": "tensor(int64)",
                }
                for name in ("attention_mask", "input_ids")
            },
            "load": "alone",
            "outputs": ["logits"],
        },
    }  # fmt: skip
    text = canonical(parts)
    return digest(text), text


def report(key: str, scale: int, winner: Fraction, name: str = "cpu:threads=4") -> TrialReport:
    """Return a search in which everything happens that can."""
    line = CandidateReport
    return TrialReport(
        key,
        Scope.PIPELINE,
        "onnx-model",
        name,
        31_400_000_000,
        False,
        (
            line("reference", Outcome.REFERENCE, 0, Fraction(1), Fraction(0), True,
                 4 * scale, 3 * scale),
            line(name, Outcome.PROMOTED, 24, winner, Fraction(3, 200), True, 3 * scale,
                 round(3 * scale * winner), 2, 21_500_000_000),
            line("variant=attention-fused", Outcome.FASTER, 31, winner * Fraction(97, 100),
                 Fraction(1, 50), True, 6 * scale, None, 1, 3_100_000_000,
                 reason="not best by more than the noise"),
            line("openvino:CPU", Outcome.FAILED, 6, Fraction(1, 4), Fraction(1, 40), False,
                 90 * scale, None,
                 reason="wrong-output: logits: 17 of 2048 values differ, by up to 0.31"),
            line("cpu:spin=off", Outcome.NOT_FASTER, 9, Fraction(21, 20), Fraction(1, 50), False,
                 5 * scale, None, reason="ratio 1.05"),
            line("cpu:threads=2", Outcome.NOISY, 64, Fraction(9, 10), Fraction(1, 5), False,
                 5 * scale, None, reason="the blocks disagree"),
            line("cpu:level=basic", Outcome.SKIPPED, 3, Fraction(8, 5), Fraction(1, 10), False,
                 None, None, reason="undecided when its share of the time budget ended"),
            line("cpu:level=disabled", Outcome.SKIPPED, reason="the search's time budget ended"),
            line(HOSTILE, Outcome.FAILED, reason=HOSTILE_REASON),
            line("cuda:tf32", Outcome.INELIGIBLE,
                 reason="CUDAExecutionProvider is not in this build"),
        ),
    )  # fmt: skip


def record_of(searched: TrialReport, created_s: int) -> Record:
    """Return the decision that such a search leaves."""
    winner = next(one for one in searched.candidates if one.name == searched.winner)
    reference = searched.candidates[0]
    assert winner.ratio is not None
    assert winner.dispersion is not None
    assert winner.median_ns is not None
    assert reference.median_ns is not None
    return Record(
        searched.key, Scope.PIPELINE, searched.winner, "reference", created_s,
        reference_ns=reference.median_ns, winner_ns=winner.median_ns, ratio=winner.ratio,
        dispersion=winner.dispersion, blocks=winner.blocks, verified=True, feeds=2,
    )  # fmt: skip


def fill(path: Path) -> dict[str, Record]:
    """Write the store and its log; return its records by key."""
    store, log = SqliteStore(path), SearchLog(path.with_name(path.name + ".searches"))
    records = {}
    model = digest("first")
    for batch, sequence, ratio, name in (
        (1, 16, Fraction(11, 20), "cpu:threads=1"),
        (1, 128, Fraction(17, 25), "cpu:threads=4"),
        (4, 16, Fraction(4, 5), "cpu:threads=4"),
        (4, 128, Fraction(23, 25), "variant=attention-chunked"),
    ):
        key, text = key_of(model, batch, sequence)
        found = report(key, 1_234_567 * batch * sequence // 8, ratio, name)
        if (batch, sequence) == (1, 128):
            old_key, old_text = key_of(model, batch, sequence, "1.31.0")
            for days, before in ((210, Fraction(1, 2)), (120, Fraction(51, 100))):
                old = report(old_key, 1_234_567 * 16, before, name)
                log.save(Searched(NOW_S - days * DAY_S, old), old_text)
            log.save(
                Withdrawn(
                    NOW_S - 60 * DAY_S, old_key, name, "outputs differ from the reference's: logits"
                ),
                "",
            )
        log.save(Searched(NOW_S - batch * DAY_S, found), text)
        records[key] = record_of(found, NOW_S - batch * DAY_S)
        store.save(records[key], text)
    other = digest("second")
    key, text = key_of(other, 2, 2)
    alone = evolve(
        record_of(report(key, 5_000, Fraction(1, 2)), NOW_S), winner="reference",
        winner_ns=15_000, ratio=Fraction(1), dispersion=Fraction(0), blocks=0, feeds=0,
    )  # fmt: skip
    store.save(alone, text)
    records[key] = alone
    store.close()
    return records
