"""The numbered rules that vectors can test, and those that only a running system shows.

The numbers are those of `spec/README.md`, which states each rule in full.
"""

from types import MappingProxyType
from typing import Final

RULES: Final = MappingProxyType(
    {
        "S1": "inputs: counts, names, indexes, empty parts, sizes; the first broken one is named",
        "S2": "the order in which answers are tried",
        "S3": "memory hit: fresh, verified, and the winner may still be served",
        "S4": "busy: same key, same environment or too many searches; nothing waits",
        "S5": "stored record: validated once in this process before it is trusted",
        "S6": "exploration: the reference first, then each candidate, within limits",
        "S7": "promotion: faster by the minimum speed-up, past the noise, verified; else reference",
        "S8": "failure has kinds, and each lasts as long as it should; only measured is stored",
        "S9": "invalidation and bans; the reference cannot be banned",
        "S10": "regression: paired and checked observations only, valid under peeking",
        "S11": "bounded memory: first in, first out, with everything that belongs to a key",
        "S12": "scopes: a pipeline's key holds the fingerprint of what it rests on",
        "S13": "determinism: same events, same result, whole nanoseconds, exact medians",
        "K1": "the named parts that make a key",
        "K2": "canonical JSON: one text for one value, and no floating-point numbers",
        "K3": "the digest of a key",
        "K4": "the policy's part of a key",
        "K5": "a record is data within its ranges, and lives for a stated time",
        "E3": "balanced pairs: a block is reference-candidate-candidate-reference or its mirror",
        "E4": "two decision rules, exact",
        "E5": "identical plans are not promoted; the rate is shared by a search's candidates",
        "E9": "blocks from two states of a machine are mixed, not pooled into one median",
        "E7": "a check states on how many feeds, and whether they were real",
        "C1": "hardware: a device is a value whose facts agree",
        "C2": "attention input: a call is a value whose shapes agree",
        "C3": "build: version, kernels and switches are a value whose facts agree",
        "C4": "configuration: limits that leave backends out",
        "C5": "options: what `sdpa_kernel` and the environment leave on",
        "C6": "placement: which provider takes the node",
        "C7": "every backend can run the call, or the first rule that it breaks says why not",
        "C8": "the runtime's own choice, and the least change that reaches a backend",
        "C9": "keys of advice and measurements are complete",
        "C10": "bytes and operations follow exactly from the shapes",
        "C11": "only enough measurements of exactly this workload count",
        "C12": "measurements overrule once they include the favourite; confidence from samples",
        "C13": "rules of thumb and the order by objective",
        "C14": "wishes: debug and the preferred backend, before any ranking",
        "R1": "a kernel's description is a value whose facts agree",
        "R2": "the registry: one name space, order of id, one default per place",
        "R3": "every unmet constraint is named",
        "R4": "the term of execution time",
        "R5": "the term of memory",
        "R6": "the term of cache efficiency",
        "R7": "the term of history",
        "R8": "a true half-life",
        "R9": "the term of switching",
        "R10": "weights sum to 1; the score is the weighted sum",
        "R11": "exploration: what was tried least gets a bonus",
        "R12": "order: by priority, the default first among equals, then by id",
        "R13": "without enough confidence the default comes first",
        "R14": "usage: exact moments, retention, capacity",
        "R15": "a benchmark result holds only what was measured",
        "R16": "hindsight: regret against the best measured",
        "R17": "statistics of selections",
    }
)
"""Rule and what it is about."""

ELSEWHERE: Final = MappingProxyType(
    {
        "E1": "what a timing includes can only be seen where kernels run",
        "E2": "sessions that disturb each other need sessions",
        "E6": "outputs are compared by the shell, not by the selector",
        "E8": "which provider took how many nodes needs a built session",
        **{f"L{number}": "predictions are floats inside a predictor" for number in range(1, 10)},
    }
)
"""Rules without vectors, and why."""

SIDES: Final = ("holds", "breaks")
"""A vector shows a rule from one side: its condition is met, or it isn't, and what follows."""
