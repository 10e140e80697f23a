"""JSON and values: there and back, and nothing else gets through."""

import json
from fractions import Fraction

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from conformance.codec import PROBLEM as PROBLEM_CODEC
from conformance.codec import (
    CodecError,
    codec_of,
    decode_candidates,
    decode_decision,
    decode_effects,
    decode_event,
    decode_evidence_rule,
    decode_policy,
    decode_problem,
    decode_record,
    decode_result,
    encode_candidates,
    encode_decision,
    encode_effects,
    encode_event,
    encode_policy,
    encode_problem,
    encode_record,
    encode_result,
    plain,
    ratio_json,
    whole_json,
    without_words,
)
from conformance.codec.encoding import encoded
from spec import (
    Answer,
    AnytimeValid,
    AnytimeValidRegression,
    Candidate,
    Decision,
    Failure,
    FailureKind,
    LoadRecord,
    Measure,
    MedianMad,
    Moment,
    Policy,
    Problem,
    Purpose,
    Record,
    RemoveRecord,
    Requested,
    SaveRecord,
    Scope,
    Source,
    TrialFailed,
    Validate,
    WindowMedian,
)
from spec.canonical_json import Json
from spec.capability import PRESETS, Hardware

NOW = Moment(5, 7)
PROBLEM = Problem(Scope.PIPELINE, "encoder", {"rows": [1, {"x": None}]}, {"device": "cpu"})
CANDIDATES = (Candidate("a"), Candidate("b", None, "too old"))
RECORD = Record("k", Scope.OPERATOR, "b", "a", 9, 10, 5, Fraction(1, 2), Fraction(0), 3, True)
DECISION = Decision(1, 0, "b", Source.TUNED, True, Fraction(1, 2), "k", "words")
FAILURE = Failure(FailureKind.DEVICE, "device-lost", "words")


def test_values_come_back_as_they_were() -> None:
    assert decode_problem(encode_problem(PROBLEM)) == PROBLEM
    assert decode_candidates(encode_candidates(CANDIDATES)) == CANDIDATES
    assert decode_record(encode_record(RECORD)) == RECORD
    assert decode_decision(encode_decision(DECISION)) == DECISION
    event = Requested(1, NOW, PROBLEM, CANDIDATES, 0, nested=True)
    assert decode_event(encode_event(event)) == event
    failed = TrialFailed(2, NOW, FAILURE)
    assert decode_event(encode_event(failed)) == failed


def test_effects_come_back_in_order() -> None:
    effects = (
        LoadRecord(1, "k"),
        Measure(1, 0, Purpose.PAIRED, 2**60),
        Validate(1, 0, 1, 5),
        SaveRecord(RECORD),
        RemoveRecord("k"),
        Answer(1, DECISION),
        Answer(2, FAILURE),
    )
    assert decode_effects(encode_effects(effects)) == effects


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy(evidence=AnytimeValid(), regression=WindowMedian(), max_workspace_bytes=5),
        Policy(regression=AnytimeValidRegression(), min_speedup=Fraction(7, 3), seed=2**53 - 1),
    ],
)
def test_policies_come_back_with_their_rules(policy: Policy) -> None:
    assert decode_policy(encode_policy(policy)) == policy


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_devices_come_back(name: str) -> None:
    codec = codec_of(Hardware)
    assert codec.decode(codec.encode(PRESETS[name])) == PRESETS[name]


@given(st.integers(), st.integers(1))
def test_rationals_come_back_whatever_their_size(over: int, under: int) -> None:
    @frozen
    class One:
        ratio: Fraction

    value = One(Fraction(over, under))
    codec = codec_of(One)
    assert codec.decode(codec.encode(value)) == value
    for part in ratio_json(value.ratio):
        assert isinstance(part, str) == (part == whole_json(int(part)) and abs(int(part)) >= 2**53)


def test_members_with_a_default_may_be_left_out_and_others_not() -> None:
    assert decode_policy({}) == Policy()
    with pytest.raises(CodecError, match=r"\$\.ratio: got nothing"):
        decode_record({"key": "k"} | _without(encode_record(RECORD), "ratio"))


def _without(value: Json, name: str) -> dict[str, Json]:
    assert isinstance(value, dict)
    return {key: one for key, one in value.items() if key != name}


def _with(value: Json, **changes: Json) -> Json:
    assert isinstance(value, dict)
    return {**value, **changes}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (_with(encode_record(RECORD), blocks=json.loads("1.0")), "$.blocks"),
        (_with(encode_record(RECORD), blocks=True), "$.blocks"),
        (_with(encode_record(RECORD), blocks="3"), "$.blocks"),
        (_with(encode_record(RECORD), blocks=-1), "$.blocks"),
        (_with(encode_record(RECORD), ratio=[2, 4]), "$.ratio"),
        (_with(encode_record(RECORD), ratio=[1, 0]), "$.ratio"),
        (_with(encode_record(RECORD), ratio=[1, 2, 3]), "$.ratio"),
        (_with(encode_record(RECORD), ratio="12"), "$.ratio"),
        (_with(encode_record(RECORD), ratio=[1, "2"]), "$.ratio[1]"),
        (_with(encode_record(RECORD), verified=1), "$.verified"),
        (_with(encode_record(RECORD), verified=None), "$.verified"),
        (_with(encode_record(RECORD), scope="graph"), "$.scope"),
        (_with(encode_record(RECORD), scope=1), "$.scope"),
        (_with(encode_record(RECORD), winner=""), "$.winner"),
        (_with(encode_record(RECORD), odd=1), "$.odd"),
        ([], "$"),
        (None, "$"),
    ],
)
def test_what_is_no_record_is_refused_with_the_place(value: Json, path: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode_record(value)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: got ")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"type": "odd"}, "$.type"),
        ({}, "$.type"),
        ("measured", "$"),
        ({"type": "measured", "request": 1, "latency_ns": 5}, "$.now"),
        (
            {"type": "measured", "request": 1, "latency_ns": 5, "now": {"monotonic_ns": 1}},
            "$.now.wall_s",
        ),
        (
            {
                "type": "measured",
                "request": 1,
                "latency_ns": 5,
                "now": {"monotonic_ns": -1, "wall_s": 1},
            },
            "$.now.monotonic_ns",
        ),
    ],
)
def test_what_is_no_event_is_refused_with_the_place(value: Json, path: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode_event(value)
    assert caught.value.path == path


def test_items_are_named_by_their_place() -> None:
    with pytest.raises(CodecError) as caught:
        decode_candidates([{"name": "a"}, {"name": 5}])
    assert caught.value.path == "$[1].name"


def test_a_set_has_no_member_twice() -> None:
    codec = codec_of(Hardware)
    twice = _with(codec.encode(PRESETS["t4"]), native_types=["float32", "float32"])
    with pytest.raises(CodecError, match="no item twice"):
        codec.decode(twice)


def test_a_union_is_told_by_its_type_and_a_single_class_by_none() -> None:
    told: Json = {"type": "median-mad", "samples": 3, "max_relative_mad": [1, 9]}
    assert decode_evidence_rule(told) == MedianMad(3, Fraction(1, 9))
    with pytest.raises(CodecError, match="anytime-valid"):
        decode_evidence_rule({"samples": 3})
    with pytest.raises(CodecError, match=r"\$\.type"):
        decode_policy({"type": "policy"})


def test_no_floating_point_number_gets_in_or_out() -> None:
    with pytest.raises(CodecError, match=r"\$\.workload\.x\[0\]: got float"):
        decode_problem(_with(encode_problem(PROBLEM), workload=json.loads('{"x": [1.5]}')))
    with pytest.raises(CodecError, match="float"):
        plain({"x": float("nan")})


def test_words_for_people_are_left_out_of_comparisons_wherever_they_stand() -> None:
    told = encode_effects((Answer(1, DECISION), Answer(2, FAILURE)))
    untold = encode_effects(
        (Answer(1, evolve(DECISION, reason="")), Answer(2, evolve(FAILURE, detail="other")))
    )
    assert told != untold
    assert without_words(told) == without_words(untold)
    assert without_words(told) != without_words(encode_effects((Answer(1, DECISION),)))
    assert decode_effects(without_words(told)), "what is left can still be read"


def test_a_result_is_a_decision_or_a_failure() -> None:
    for result in (DECISION, FAILURE):
        assert decode_result(encode_result(result)) == result


def test_a_value_of_another_type_has_no_json() -> None:
    with pytest.raises(CodecError, match=r"\$: got"):
        encoded(PROBLEM_CODEC.shape, RECORD, "$")


def test_a_type_without_a_json_form_is_an_error_of_the_program() -> None:
    @frozen
    class Odd:
        place: complex

    with pytest.raises(TypeError, match="no JSON form"):
        codec_of(Odd)
