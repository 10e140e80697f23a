"""Keys: the canonical JSON of named parts, hashed.

Two problems share a key only if every part is equal. Parts are named, so no two can run together,
and the candidate set is sorted by name, so that a better ranking does not cost a hit.
"""

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from spec.candidate import Candidate, CandidateSet
from spec.canonical_json import Json, canonical, digest
from spec.errors import InvalidValue
from spec.policy import Policy
from spec.problem import Problem

KEY_SCHEMA: Final = 1
MAX_KEY_BYTES: Final = 384 * 1024
"""Longest canonical text, in bytes of UTF-8 (S1)."""


@frozen
class CacheKey:
    """One key, as text that explains and as the hash that is looked up."""

    text: str
    """Canonical JSON of the named parts."""
    digest: str
    """Lower-case hexadecimal SHA-256 of `text`."""


def key_parts(
    problem: Problem, candidates: Sequence[Candidate], reference: int, policy: Policy
) -> dict[str, Json]:
    """Return the named parts of the key. `reference` is an index into `candidates`."""
    return {
        "candidates": sorted(candidate.name for candidate in candidates),
        "environment": problem.environment,
        "lower_level": problem.lower_level,
        "model": problem.model,
        "operation": problem.operation,
        "options": problem.options,
        "policy": policy.key_part(),
        "reference": candidates[reference].name,
        "schema": KEY_SCHEMA,
        "scope": problem.scope.value,
        "workload": problem.workload,
    }


def cache_key(
    problem: Problem, candidates: Sequence[Candidate], reference: int, policy: Policy
) -> CacheKey:
    """Return the key of a problem: the canonical text of `key_parts` and its hash.

    The text is put together from texts that the problem and the policy remember, since a key is
    made for every request. Raises `InvalidValue` when a part is not canonical JSON, or when
    `reference` is no index into `candidates`.
    """
    if type(reference) is not int or not 0 <= reference < len(candidates):
        need = f"an index below {len(candidates)}"
        raise InvalidValue("reference", repr(reference), need, "S1")
    names = CandidateSet.of(candidates).names_text
    reference_name = canonical(candidates[reference].name)
    text = (
        f'{{"candidates":{names},{problem.middle_text},"policy":{policy.key_text},'
        f'"reference":{reference_name},"schema":{KEY_SCHEMA},{problem.last_text}}}'
    )
    return CacheKey(text, digest(text))
