"""Questions about canonical JSON and keys (K1 to K4)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from attrs import evolve

from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions.keys import CACHE_KEY, CANONICAL, KeyOf, Text
from conformance.vectors.vector import Vector
from spec.candidate import Candidate
from spec.canonical_json import Json
from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.median_mad import MedianMad
from spec.policy import Mode, Policy
from spec.problem import Problem, Scope
from spec.regression import AnytimeValidRegression, WindowMedian

MEDIAN: Final = MedianMad(samples=3, max_relative_mad=Fraction(1, 10))
POLICY: Final = Policy(evidence=MEDIAN, regression=WindowMedian())
PROBLEM: Final = Problem(
    Scope.OPERATOR,
    "softmax",
    {"x": {"shape": [8, 128], "type": "float32"}, "calls": "numpy"},
    {"runtime": "1.32.0", "device": "cpu", "threads": 2},
    model="sha256:0f",
    options={"intra": 2},
)
CANDIDATES: Final = (Candidate("reference"), Candidate("fast"), Candidate("slow"))


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups "canonical" and "parts"."""
    return (*_canonical(), *_refused(), *_parts(), *_policies())


def _canonical() -> tuple[Vector, ...]:
    def text(name: str, comment: str, written: str, flags: str = "usual") -> Vector:
        return question(f"keys/canonical/{name}", CANONICAL, Text(written), comment,
                        holds="K2 K3 S13", flags=flags)  # fmt: skip

    return (
        text("null", "null.", "null"),
        text("true", "true.", "true"),
        text("false", "false.", "false"),
        text("zero", "0.", "0", "boundary"),
        text("negative-zero", "-0 is an integer here, and it is 0.", "-0", "boundary"),
        text("negative", "-1.", "-1"),
        text("largest", "2**53 - 1.", "9007199254740991", "boundary"),
        text("smallest", "-(2**53 - 1).", "-9007199254740991", "boundary"),
        text("empty-string", "No characters.", '""', "empty"),
        text("empty-array", "No items.", "[ ]", "empty"),
        text("empty-object", "No members.", "{ }", "empty"),
        text("white-space", "White space between tokens goes.", ' { "a" : [ 1 , 2 ] }\n'),
        text("white-space-in-strings", "White space inside strings stays.", '" a\\tb "'),
        text("members-sorted", "Members in order of their names.", '{"b":1,"a":2,"B":3,"":4}',
             "order"),
        text("members-sorted-deeply", "On every level.", '{"b":{"d":1,"c":2},"a":[{"y":1,"x":2}]}',
             "order"),
        text("items-not-sorted", "Arrays keep their order.", "[3,1,2]", "order"),
        text("digits-sort-as-text", '"10" comes before "9".', '{"9":1,"10":2}', "order"),
        text("quote-and-backslash", "The two characters that must be escaped.",
             '"\\"\\\\"', "unicode"),
        text("slash", "A slash is not escaped.", '"\\/"', "unicode"),
        text("short-escapes", "Backspace, tab, line feed, form feed, carriage return.",
             '"\\b\\t\\n\\f\\r"', "unicode"),
        text("control-characters", "All others below U+0020 in lower-case hexadecimal.",
             '"\\u0000\\u0001\\u001F\\u000B"', "unicode"),
        text("delete", "U+007F is written as it is.", '"\\u007f"', "unicode"),
        text("latin", "Written as it is, in UTF-8.", '"\\u00e9"', "unicode"),
        text("euro", "Three bytes.", '"\\u20ac"', "unicode"),
        text("line-separator", "U+2028 is written as it is.", '"\\u2028"', "unicode"),
        text("emoji", "A surrogate pair is one character of four bytes.", '"\\ud83d\\ude00"',
             "unicode"),
        text("not-normalised", "e and a combining accent stay two characters.", '"e\\u0301"',
             "unicode"),
        text("rfc-8785-sorting", "The example of RFC 8785, section 3.2.3, without its numbers: "
             "carriage return, 1, U+0080, U+00F6, U+20AC, U+1F600, U+FB33.",
             '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With '
             'Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control",'
             '"\\u00f6":"Latin Small Letter O With Diaeresis"}', "unicode order"),
        text("sorted-by-utf-16", "U+1F600 is written with the unit D83D, which comes before "
             "FB33: by code point it would come behind.", '{"\\ufb33":1,"\\ud83d\\ude00":2}',
             "unicode order"),
        text("rfc-8785-literals", "The literals of RFC 8785, section 3.2.2.",
             '{"literals":[null,true,false]}'),
        text("rfc-8785-string", "The string of RFC 8785, section 3.2.2: euro, dollar, U+000F, "
             'line feed, A, apostrophe, B, quote, backslash, backslash, quote, slash.',
             '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"', "unicode"),
        text("deepest", "64 arrays around a number.", "[" * 64 + "1" + "]" * 64, "boundary"),
        text("array-of-everything", "Every kind of value in one.",
             '[null,true,false,0,-7,"x",[],{},{"a":[]}]'),
    )  # fmt: skip


def _refused() -> tuple[Vector, ...]:
    def text(name: str, comment: str, written: str, flags: str = "types") -> Vector:
        return question(f"keys/canonical/{name}", CANONICAL, Text(written), comment,
                        breaks="K2 K3 S1", flags=flags)  # fmt: skip

    return (
        text("fraction", "1.5: printed in two ways by two languages.", "1.5"),
        text("whole-fraction", "1.0 is a floating-point number.", "1.0"),
        text("exponent", "1e3 is one too.", "1e3"),
        text("negative-zero-fraction", "-0.0.", "-0.0"),
        text("too-large", "2**53.", "9007199254740992", "boundary types"),
        text("too-small", "-(2**53).", "-9007199254740992", "boundary types"),
        text("huge", "A number of 40 digits.", "1" * 40, "large types"),
        text("nan", "Not a number, in some dialects.", "NaN"),
        text("infinity", "Infinity, in some dialects.", "[Infinity]"),
        text("fraction-inside", "Anywhere inside.", '{"a":[{"b":0.1}]}'),
        text("high-surrogate-alone", "Half a character is none.", '"\\ud83d"', "unicode"),
        text("low-surrogate-alone", "The other half.", '"\\ude00"', "unicode"),
        text("surrogate-in-a-name", "Half a character in a member's name.", '{"\\ud83d":1}',
             "unicode"),
        text("too-deep", "65 arrays around a number.", "[" * 65 + "1" + "]" * 65, "boundary"),
        text("nothing", "No value at all.", "", "empty"),
        text("two-values", "One too many.", "1 2"),
        text("trailing-comma", "Not JSON.", "[1,]"),
        text("single-quotes", "Not JSON.", "'a'"),
    )  # fmt: skip


def _key(
    name: str,
    comment: str,
    *,
    problem: Problem = PROBLEM,
    candidates: Sequence[Candidate] = CANDIDATES,
    reference: int = 0,
    policy: Policy = POLICY,
    holds: str = "K1 K3",
    breaks: str = "",
    flags: str = "usual",
) -> Vector:
    asked = KeyOf(problem, tuple(candidates), reference, policy)
    return question(f"keys/parts/{name}", CACHE_KEY, asked, comment, holds=holds, breaks=breaks,
                    flags=flags)  # fmt: skip


def _parts() -> tuple[Vector, ...]:
    sized = (Candidate("reference", 5), Candidate("fast", None), Candidate("slow", 0, "too old"))
    return (
        _key("usual", "Every part named, members sorted."),
        _key("another-operation", "The operation is a part.",
             problem=evolve(PROBLEM, operation="attention")),
        _key("another-model", "The model's content is a part.",
             problem=evolve(PROBLEM, model="sha256:10")),
        _key("another-workload", "The workload is a part.",
             problem=evolve(PROBLEM, workload={"x": {"shape": [8, 129], "type": "float32"}})),
        _key("another-environment", "The environment is a part.",
             problem=evolve(PROBLEM, environment={"device": "gpu"})),
        _key("other-options", "The caller's options are a part.",
             problem=evolve(PROBLEM, options={"intra": 3})),
        _key("scope-fused-graph", "The scope is a part.", holds="K1 S12",
             problem=evolve(PROBLEM, scope=Scope.FUSED_GRAPH)),
        _key("scope-pipeline", "A pipeline rests on lower-level decisions.", holds="K1 S12",
             problem=evolve(PROBLEM, scope=Scope.PIPELINE, lower_level="ab" * 32)),
        _key("lower-level-changed", "Another fingerprint, another key.", breaks="S12", holds="K1",
             problem=evolve(PROBLEM, scope=Scope.PIPELINE, lower_level="cd" * 32)),
        _key("persistence-is-no-part", "Whether it may be stored is not asked.",
             problem=evolve(PROBLEM, persistent=False)),
        _key("candidates-reordered", "Names are sorted: a better ranking costs no hit.",
             candidates=(CANDIDATES[2], CANDIDATES[0], CANDIDATES[1]), reference=1,
             flags="order"),
        _key("candidates-sized", "Workspaces and eligibility are no part.", candidates=sized,
             flags="workspace"),
        _key("one-candidate-less", "The set of candidates is a part.",
             candidates=CANDIDATES[:2]),
        _key("another-reference", "Which one is the reference is a part.", reference=1),
        _key("names-sorted-by-code-point", "U+FB33 comes before U+1F600 by code point (UTF-16 "
             "has them the other way): candidate names are items, not member names.",
             candidates=(Candidate("\U0001f600"), Candidate("\ufb33"), Candidate("a")),
             flags="unicode order"),
        _key("names-with-quotes", "A name cannot run into its neighbour.",
             candidates=(Candidate('a","b'), Candidate("a"), Candidate("b"))),
        _reordered(),
        _key("number-is-not-text", "2 and \"2\" are two values.",
             problem=evolve(PROBLEM, options={"intra": "2"}), flags="types"),
        _key("true-is-not-one", "true and 1 are two values.",
             problem=evolve(PROBLEM, workload={"causal": True}), flags="types"),
        _key("one-is-not-true", "1 and true are two values.",
             problem=evolve(PROBLEM, workload={"causal": 1}), flags="types"),
        _key("empty-model", "An absent part is an empty one, never a missing member.",
             problem=evolve(PROBLEM, model="", options=""), flags="empty"),
        _key("unicode-everywhere", "Text outside ASCII is written as it is.",
             problem=evolve(PROBLEM, operation="caf\u00e9", environment="\u20ac"),
             flags="unicode"),
        _key("number-too-large", "2**53 has no canonical form.", holds="", breaks="K1 K2 S1",
             problem=evolve(PROBLEM, workload=2**53), flags="boundary"),
    )  # fmt: skip


def _reordered() -> Vector:
    """The problem's members stand in another order; only plain JSON can show that."""
    asked = CACHE_KEY.question.encode(KeyOf(PROBLEM, CANDIDATES, 0, POLICY))
    assert isinstance(asked, dict), "values with fields are objects"
    problem = asked["problem"]
    assert isinstance(problem, dict), "values with fields are objects"
    environment: Json = {"threads": 2, "runtime": "1.32.0", "device": "cpu"}
    workload: Json = {"x": {"type": "float32", "shape": [8, 128]}, "calls": "numpy"}
    problem = {**problem, "environment": environment, "workload": workload}
    return raw_question("keys/parts/members-reordered", CACHE_KEY.name,
                        {**asked, "problem": problem},
                        "Members of a part in another order: the same key.", holds="K1 K2 S13",
                        flags="order")  # fmt: skip


def _policies() -> tuple[Vector, ...]:
    anytime = AnytimeValid()
    return (
        _key("policy-anytime-valid", "The rule of evidence is a part, with its fields.",
             policy=evolve(POLICY, evidence=anytime), holds="K1 K4", flags="policy"),
        _key("policy-another-rate", "Each field of it.",
             policy=evolve(POLICY, evidence=evolve(anytime, false_promotion_rate=Fraction(1, 50))),
             holds="K1 K4", flags="policy"),
        _key("policy-more-samples", "Each field of the other rule.",
             policy=evolve(POLICY, evidence=evolve(MEDIAN, samples=5)),
             holds="K1 K4", flags="policy"),
        _key("policy-minimum-speed-up", "The minimum speed-up, as a pair.",
             policy=evolve(POLICY, min_speedup=Fraction(6, 5)),
             holds="K1 K4", flags="policy exact"),
        _key("policy-minimum-of-one", "1 is [1, 1].",
             policy=evolve(POLICY, min_speedup=Fraction(1)),
             holds="K1 K4", flags="policy boundary"),
        _key("policy-tolerance", "The name of the comparison.",
             policy=evolve(POLICY, tolerance="tight"), holds="K1 K4", flags="policy"),
        _key("policy-reuse", "For how many calls a decision is made.",
             policy=evolve(POLICY, reuse=1), holds="K1 K4", flags="policy"),
        _key("policy-waived", "Whether validation is asked for.",
             policy=evolve(POLICY, require_validation=False), holds="K1 K4", flags="policy"),
        _key("policy-budgets-are-no-part", "Budgets, capacities, modes, lifetimes and seeds change "
             "when a decision is made, not whether it holds.",
             policy=evolve(POLICY, mode=Mode.CACHE_ONLY, budget_ns=1, capacity=1, seed=9,
                           warmups=5, max_candidates=2, max_parallel=3, reports=0, ttl_s=1,
                           retry_after_s=1, max_workspace_bytes=10), breaks="K4",
             flags="policy"),
        _key("policy-regression-is-no-part", "How a decision is watched does not change it.",
             policy=evolve(POLICY, regression=AnytimeValidRegression()), breaks="K4",
             flags="policy"),
    )  # fmt: skip
