"""Typed JSON: the one form in which values cross between implementations.

`encode_x(value)` writes every member; `decode_x(json)` refuses what it does not know with a
`CodecError` that carries the path. Rationals are pairs, and nothing is a floating-point number. The
table of forms is in `conformance.codec.shape`.
"""

from conformance.codec.codecs import (
    BLOCK,
    CANDIDATE,
    CANDIDATES,
    CONSEQUENCE,
    DECISION,
    EFFECT,
    EFFECTS,
    EVENT,
    EVIDENCE_RULE,
    FAILURE,
    INCIDENT_POLICY,
    MOMENT,
    POLICY,
    PROBLEM,
    RECORD,
    REGRESSION_RULE,
    REGRESSION_VERDICT,
    REPORT,
    RESULT,
    SIDES,
    STATISTICS,
    VERDICT,
    WORDS,
    Codec,
    Result,
    codec_of,
    without_words,
)
from conformance.codec.encoding import plain, ratio_json, whole_json
from conformance.codec.error import CodecError
from conformance.codec.json_schema import json_schema

encode_problem, decode_problem = PROBLEM.encode, PROBLEM.decode
encode_candidate, decode_candidate = CANDIDATE.encode, CANDIDATE.decode
encode_candidates, decode_candidates = CANDIDATES.encode, CANDIDATES.decode
encode_policy, decode_policy = POLICY.encode, POLICY.decode
encode_moment, decode_moment = MOMENT.encode, MOMENT.decode
encode_record, decode_record = RECORD.encode, RECORD.decode
encode_decision, decode_decision = DECISION.encode, DECISION.decode
encode_failure, decode_failure = FAILURE.encode, FAILURE.decode
encode_result, decode_result = RESULT.encode, RESULT.decode
encode_event, decode_event = EVENT.encode, EVENT.decode
encode_effect, decode_effect = EFFECT.encode, EFFECT.decode
encode_effects, decode_effects = EFFECTS.encode, EFFECTS.decode
encode_report, decode_report = REPORT.encode, REPORT.decode
encode_statistics, decode_statistics = STATISTICS.encode, STATISTICS.decode
encode_evidence_rule, decode_evidence_rule = EVIDENCE_RULE.encode, EVIDENCE_RULE.decode
encode_verdict, decode_verdict = VERDICT.encode, VERDICT.decode
encode_block, decode_block = BLOCK.encode, BLOCK.decode
encode_sides, decode_sides = SIDES.encode, SIDES.decode
encode_regression_rule, decode_regression_rule = REGRESSION_RULE.encode, REGRESSION_RULE.decode
encode_regression_verdict, decode_regression_verdict = (
    REGRESSION_VERDICT.encode,
    REGRESSION_VERDICT.decode,
)
encode_incident_policy, decode_incident_policy = INCIDENT_POLICY.encode, INCIDENT_POLICY.decode
encode_consequence, decode_consequence = CONSEQUENCE.encode, CONSEQUENCE.decode

__all__ = [
    "BLOCK",
    "CANDIDATE",
    "CANDIDATES",
    "CONSEQUENCE",
    "DECISION",
    "EFFECT",
    "EFFECTS",
    "EVENT",
    "EVIDENCE_RULE",
    "FAILURE",
    "INCIDENT_POLICY",
    "MOMENT",
    "POLICY",
    "PROBLEM",
    "RECORD",
    "REGRESSION_RULE",
    "REGRESSION_VERDICT",
    "REPORT",
    "RESULT",
    "SIDES",
    "STATISTICS",
    "VERDICT",
    "WORDS",
    "Codec",
    "CodecError",
    "Result",
    "codec_of",
    "decode_block",
    "decode_candidate",
    "decode_candidates",
    "decode_consequence",
    "decode_decision",
    "decode_effect",
    "decode_effects",
    "decode_event",
    "decode_evidence_rule",
    "decode_failure",
    "decode_incident_policy",
    "decode_moment",
    "decode_policy",
    "decode_problem",
    "decode_record",
    "decode_regression_rule",
    "decode_regression_verdict",
    "decode_report",
    "decode_result",
    "decode_sides",
    "decode_statistics",
    "decode_verdict",
    "encode_block",
    "encode_candidate",
    "encode_candidates",
    "encode_consequence",
    "encode_decision",
    "encode_effect",
    "encode_effects",
    "encode_event",
    "encode_evidence_rule",
    "encode_failure",
    "encode_incident_policy",
    "encode_moment",
    "encode_policy",
    "encode_problem",
    "encode_record",
    "encode_regression_rule",
    "encode_regression_verdict",
    "encode_report",
    "encode_result",
    "encode_sides",
    "encode_statistics",
    "encode_verdict",
    "json_schema",
    "plain",
    "ratio_json",
    "whole_json",
    "without_words",
]
