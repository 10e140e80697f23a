"""Answers worked out by hand, by id: each must be found in the vector's expected answer.

The working is in the vector's comment. Members that are left out were not worked out.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from conformance.vectors.second_route.plain import Plain

EMPTY_LIST_SHA256: Final = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
"""Of the two bytes []; published in many places."""

WORKED: Final[Mapping[str, Plain]] = MappingProxyType(
    {
        "capability/work/one-by-one": {"visible_pairs": 1, "needed_flops": 37},
        "capability/work/full-square": {"visible_pairs": 16, "needed_flops": 592},
        "capability/work/causal-square": {
            "visible_pairs": 10,
            "needed_flops": 370,
            "executed_flops": 592,
        },
        "capability/work/causal-square-skipped": {"executed_flops": 370},
        "capability/work/window": {"visible_pairs": 7},
        "capability/work/window-of-one": {"visible_pairs": 4},
        "capability/work/window-without-causality": {"visible_pairs": 13},
        "capability/work/more-keys-bottom-right": {"visible_pairs": 9},
        "capability/work/more-keys-top-left": {"visible_pairs": 3},
        "capability/work/more-queries-bottom-right": {"visible_pairs": 3},
        "capability/work/more-queries-top-left": {"visible_pairs": 9},
        "capability/work/past-of-onnx": {"visible_pairs": 9},
        "capability/work/ragged": {"visible_pairs": 13, "needed_flops": 481},
        "capability/work/wide-values": {"needed_flops": 477},
        # 1024 tokens * 8 heads * 64 * 2 bytes for queries, as much for the output, twice that for
        # keys and values: 4194304, and the mask.
        "capability/memory/mask-key-lengths": {"operand_bytes": 4_194_312},
        "capability/memory/mask-key-lengths-and-starts": {"operand_bytes": 4_194_336},
        "capability/memory/mask-padding": {"operand_bytes": 4_198_400},
        "capability/memory/mask-boolean": {"operand_bytes": 4_718_592},
        "capability/memory/mask-additive": {"operand_bytes": 5_242_880},
        "capability/advice/overlapping": {"order": {"0": {"confidence": [7, 10]}}},
        "capability/advice/against-math": {"order": {"0": {"expected_speedup": [4, 1]}}},
        "evidence/block/half": {"ratio": [1, 2]},
        "evidence/block/sum-of-times": {"ratio": [8, 11]},
        "evidence/block/drift-cancels": {"ratio": [1, 1]},
        "evidence/spread/two": {"median": [3, 4], "relative_mad": [1, 3]},
        "evidence/spread/four": {"median": [3, 1], "relative_mad": [1, 2]},
        "evidence/spread/thirds-and-sevenths": {"median": [3, 10], "relative_mad": [1, 21]},
        "evidence/spread/even-count-of-unlike": {"median": [5, 12]},
        "evidence/anytime/seven-wins": {"verdict": "undecided"},
        "evidence/anytime/eight-wins": {"verdict": "faster", "blocks": 8},
        "evidence/anytime/clearly-slower": {"verdict": "not-faster", "blocks": 5},
        "evidence/anytime/two-wins-at-a-quarter": {"verdict": "undecided"},
        "evidence/anytime/three-wins-at-a-quarter": {"verdict": "faster", "blocks": 3},
        "evidence/anytime/exactly-at-the-threshold": {"verdict": "faster", "blocks": 2},
        "evidence/anytime/just-under-the-threshold": {"verdict": "undecided"},
        "evidence/median-mad/dispersion-at-the-limit": {
            "verdict": "faster",
            "dispersion": [1, 10],
        },
        "evidence/median-mad/dispersion-over-the-limit": {
            "verdict": "too-noisy",
            "dispersion": [51, 500],
        },
        "keys/canonical/rfc-8785-literals": {"canonical": '{"literals":[null,true,false]}'},
        "keys/canonical/rfc-8785-string": {
            "canonical": '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"',
        },
        "keys/canonical/rfc-8785-sorting": {
            "canonical": (
                '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":'
                '"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign","\U0001f600":'
                '"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
            ),
        },
        "keys/canonical/empty-array": {"canonical": "[]", "digest": EMPTY_LIST_SHA256},
        "ranking/half-life/half": {"share": [17, 24]},
        "ranking/half-life/one-and-a-half": {"share": [17, 48]},
        "ranking/half-life/a-third": {"share": [43, 54]},
        "ranking/half-life/two": {"share": [1, 4]},
        "ranking/scaling/linear": {"latency_ns": 234},
        "ranking/scaling/quadratic": {"latency_ns": 225},
        "ranking/scaling/logarithmic": {"latency_ns": 275},
        "ranking/scaling/exponential-between": {"latency_ns": 142},
        "ranking/usage/two": {
            "mean_ns": [3, 2],
            "variance_ns2": [1, 4],
            "rounded_mean_ns": 2,
            "rounded_deviation_ns": 1,
        },
        "ranking/usage/three": {"mean_ns": [7, 3], "variance_ns2": [14, 9]},
        "ranking/usage/at-the-end-of-retention": {"recency": [1, 256]},
        "ranking/hindsight/ppm-rounded-up": {"regret": [1, 3], "regret_ppm": 333_334},
        "ranking/hindsight/at-the-margin": {"regret": [1, 20], "accurate": True},
        "ranking/doubt/four-successes": {"confidence": [4, 5], "chosen_by": "score"},
        "ranking/doubt/three-successes": {"chosen_by": "default"},
        "ranking/terms/old-success": {"order": {"0": {"terms": {"history": [3, 4]}}}},
        "ranking/terms/mixed-history": {"order": {"0": {"terms": {"history": [2, 3]}}}},
        "ranking/terms/cache-below": {"order": {"0": {"terms": {"cache_efficiency": [2, 5]}}}},
        "ranking/statistics/judged": {"accuracy": [1, 2]},
        "records/freshness/stale": {"age_s": 1000, "lifetime_s": 1000, "fresh": False},
        "regression/anytime/fourteen-slower": {"verdicts": {"13": {"type": "holds"}}},
        "regression/anytime/fifteen-slower": {
            "verdicts": {"14": {"type": "degraded", "ratio": [3, 2], "observations": 15}},
        },
        "regression/anytime/one-is-not-enough": {"verdicts": {"0": {"type": "holds"}}},
        "regression/anytime/two-are": {"verdicts": {"1": {"type": "degraded"}}},
        "regression/incidents/recurrence-at-the-limit": {
            "replies": {
                "1": {"consequence": {"type": "ban", "until_ns": 1150}},
                "3": {"banned": True},
                "4": {"banned": False},
            },
        },
    }
)


def differs(worked: Plain, expected: Plain, path: str = "expected") -> str:
    """Return where an expected answer differs from what was worked out; empty if nowhere.

    An object with numbers for names looks at those places of an array.
    """
    if not isinstance(worked, Mapping):
        wanted = list(worked) if isinstance(worked, (list, tuple)) else worked
        found = list(expected.values()) if isinstance(expected, Mapping) else expected
        return "" if wanted == found else f"{path} is {expected}, by hand {worked}"
    for name, one in worked.items():
        inner: Plain
        if isinstance(expected, Mapping):
            inner = expected.get(name)
        elif isinstance(expected, (list, tuple)) and int(name) < len(expected):
            inner = expected[int(name)]
        else:
            return f"{path} has no {name}"
        found_at = differs(one, inner, f"{path}.{name}")
        if found_at:
            return found_at
    return ""
