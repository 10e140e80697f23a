"""Harnesses that answer one kind of question wrongly."""

import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from conformance.adapters.harness import serve
from conformance.adapters.in_process import Main
from conformance.codec import ratio_json
from conformance.implementations.python import ReferenceHarness
from conformance.implementations.python.reference_harness import reference_answer
from conformance.vectors.questions import REFUSED
from conformance.zoo.wrong import Wrong
from spec.canonical_json import Json, digest

Members: TypeAlias = Mapping[str, Json]
Fault: TypeAlias = Callable[[Members], Json]
ROUNDING: Final = 1000


def _answering(kind: str, fault: Fault) -> Main:
    def answer(function: str, given: Json) -> Json:
        if function != kind or not isinstance(given, Mapping):
            return reference_answer(function, given)
        return fault(given)

    def main(lines: Iterator[str], write: Callable[[str], object]) -> None:
        serve(ReferenceHarness(answer=answer), lines, write)

    return main


def _asked_otherwise(kind: str, change: Callable[[Members], Members]) -> Main:
    """Return a harness that hears another question than was asked."""
    return _answering(kind, lambda given: reference_answer(kind, change(given)))


def _answered_otherwise(kind: str, change: Callable[[dict[str, Json]], Json]) -> Main:
    """Return a harness that changes a right answer; what must be refused is refused."""

    def fault(given: Members) -> Json:
        right = reference_answer(kind, given)
        if right == REFUSED or not isinstance(right, dict):
            return right
        return change(right)

    return _answering(kind, fault)


def _ratios(given: Members) -> list[Fraction]:
    pairs = given["ratios"]
    assert isinstance(pairs, list), "as the schema says"
    return [Fraction(int(str(over)), int(str(under))) for over, under in map(_pair, pairs)]


def _pair(json_pair: Json) -> tuple[Json, Json]:
    assert isinstance(json_pair, list), "as the schema says"
    over, under = json_pair
    return over, under


def _upper_median(given: Members) -> Json:
    right = reference_answer("spread", given)
    ratios = sorted(_ratios(given)) if isinstance(right, dict) and right != REFUSED else []
    if not isinstance(right, dict) or not ratios:
        return right
    return {**right, "median": ratio_json(ratios[len(ratios) // 2])}


def _rounded(right: dict[str, Json]) -> Json:
    over, under = _pair(right["median"])
    exact = Fraction(int(str(over)), int(str(under)))
    return {**right, "median": ratio_json(Fraction(round(exact * ROUNDING), ROUNDING))}


def _any_number(given: Members) -> Json:
    """Take what Python's parser takes: floats, NaN, infinities."""
    right = reference_answer("canonical-json", given)
    if right != REFUSED:
        return right
    try:
        value = json.loads(str(given["text"]))
    except (ValueError, RecursionError):
        return right
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return {"canonical": text, "digest": digest(text)}


def _by_code_point(given: Members) -> Json:
    right = reference_answer("canonical-json", given)
    if right == REFUSED:
        return right
    value = json.loads(str(given["text"]))
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {"canonical": text, "digest": digest(text)}


def _escaped(given: Members) -> Json:
    right = reference_answer("canonical-json", given)
    if right == REFUSED:
        return right
    value = json.loads(str(given["text"]))
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return {"canonical": text, "digest": digest(text)}


def _problem_part(name: str, value: Json) -> Callable[[Members], Members]:
    def change(given: Members) -> Members:
        problem = given.get("problem")
        if not isinstance(problem, Mapping):
            return given
        return {**given, "problem": {**problem, name: value}}

    return change


def _sum_of_first(given: Members) -> Json:
    right = reference_answer("block-ratio", given)
    candidates, references = given.get("candidate_ns"), given.get("reference_ns")
    if right == REFUSED or not isinstance(candidates, list) or not isinstance(references, list):
        return right
    pairs = zip(candidates, references, strict=True)
    ratios = [Fraction(int(str(one)), int(str(other))) for one, other in pairs]
    return {"ratio": ratio_json(sum(ratios, Fraction(0)) / len(ratios))}


def _fresh_at_the_end(given: Members) -> Json:
    right = reference_answer("record-freshness", given)
    if not isinstance(right, dict) or right == REFUSED:
        return right
    age_s, lifetime_s = int(str(right["age_s"])), int(str(right["lifetime_s"]))
    return {**right, "fresh": right["fresh"] is True or age_s == lifetime_s}


def _fresh_from_the_future(given: Members) -> Json:
    right = reference_answer("record-freshness", given)
    if not isinstance(right, dict) or right == REFUSED:
        return right
    return {**right, "fresh": right["fresh"] is True or int(str(right["age_s"])) < 0}


def _backwards(right: dict[str, Json]) -> Json:
    order = right["order"]
    assert isinstance(order, list), "as the schema says"
    return {**right, "order": order[::-1]}


def _by_hash(right: dict[str, Json]) -> Json:
    order = right["order"]
    assert isinstance(order, list), "as the schema says"
    return {**right, "order": sorted(order, key=lambda one: digest(json.dumps(one)))}


def _never_mirrored(right: dict[str, Json]) -> Json:
    del right
    return {"order": ["reference", "candidate", "candidate", "reference"]}


def _alternating(right: dict[str, Json]) -> Json:
    del right
    return {"order": ["reference", "candidate", "reference", "candidate"]}


def _no_minimum(given: Members) -> Members:
    return {**given, "min_speedup": [1, 1]}


def _first_verdict_only(right: dict[str, Json]) -> Json:
    verdicts = right["verdicts"]
    assert isinstance(verdicts, list), "as the schema says"
    return {"verdicts": [{"type": "holds"} for _ in verdicts]}


def _never_banned(right: dict[str, Json]) -> Json:
    replies = right["replies"]
    assert isinstance(replies, list), "as the schema says"
    return {
        "replies": [
            {**one, "banned": False} if isinstance(one, dict) and "banned" in one else one
            for one in replies
        ]
    }


def _accepts_all(given: Members) -> Json:
    del given
    return {"accepted": True}


EVIDENCE: Final = ("evidence/*",)
KEYS: Final = ("keys/*",)

QUESTION_FAULTS: Final = (
    Wrong(
        "median-of-even-count",
        "takes the upper of the two middle values",
        ("S13", "E4"),
        EVIDENCE,
        _answering("spread", _upper_median),
    ),
    Wrong(
        "rounded-median",
        "keeps three decimals of a median",
        ("S13", "E4"),
        EVIDENCE,
        _answered_otherwise("spread", _rounded),
    ),
    Wrong(
        "mean-of-ratios",
        "averages the ratios of a block instead of dividing the sums",
        ("E3", "S13"),
        EVIDENCE,
        _answering("block-ratio", _sum_of_first),
    ),
    Wrong(
        "one-order",
        "never lets the candidate run first",
        ("E3", "S13"),
        EVIDENCE,
        _answered_otherwise("block-order", _never_mirrored),
    ),
    Wrong(
        "alternates",
        "measures reference and candidate in turns, so that a drift has a side",
        ("E3", "S13"),
        EVIDENCE,
        _answered_otherwise("block-order", _alternating),
    ),
    Wrong(
        "no-minimum",
        "calls faster what is faster at all",
        ("S7", "E4"),
        EVIDENCE,
        _asked_otherwise("assess", _no_minimum),
    ),
    Wrong(
        "accepts-nan",
        "writes floats and NaN into keys",
        ("S1",),
        KEYS,
        _answering("canonical-json", _any_number),
    ),
    Wrong(
        "by-code-point",
        "sorts members by code point, not by UTF-16 unit",
        ("S1", "S13"),
        KEYS,
        _answering("canonical-json", _by_code_point),
    ),
    Wrong(
        "escapes-unicode",
        "writes every character outside ASCII as an escape",
        ("S1", "S13"),
        KEYS,
        _answering("canonical-json", _escaped),
    ),
    Wrong(
        "key-without-workload",
        "leaves shapes and element types out of the key",
        ("K1", "K3", "K4"),
        KEYS,
        _asked_otherwise("cache-key", _problem_part("workload", {"any": 1})),
    ),
    Wrong(
        "key-without-model",
        "leaves the model out of the key",
        ("K1", "K3", "K4"),
        KEYS,
        _asked_otherwise("cache-key", _problem_part("model", "")),
    ),
    Wrong(
        "key-without-lower-level",
        "leaves what a pipeline rests on out of its key",
        ("S12",),
        KEYS,
        _asked_otherwise("cache-key", _problem_part("lower_level", "")),
    ),
    Wrong(
        "ttl-off-by-one",
        "takes a record of exactly its lifetime for fresh",
        ("S3", "S5"),
        ("records/*",),
        _answering("record-freshness", _fresh_at_the_end),
    ),
    Wrong(
        "trusts-the-future",
        "takes a record from the future for fresh",
        ("S5", "S3"),
        ("records/*",),
        _answering("record-freshness", _fresh_from_the_future),
    ),
    Wrong(
        "never-degrades",
        "never finds a served choice degraded",
        ("S10",),
        ("regression/*",),
        _answered_otherwise("watch", _first_verdict_only),
    ),
    Wrong(
        "forgets-bans",
        "says that nothing is banned",
        ("S9", "S10"),
        ("regression/*",),
        _answered_otherwise("incidents", _never_banned),
    ),
    Wrong(
        "ranks-backwards",
        "tries the worst kernel first",
        ("R12", "R13", "R10", "R11"),
        ("ranking/*",),
        _answered_otherwise("rank", _backwards),
    ),
    Wrong(
        "order-by-hash",
        "lets a hash decide the order of kernels",
        ("R12", "R13", "R10", "R11"),
        ("ranking/*",),
        _answered_otherwise("rank", _by_hash),
    ),
)
