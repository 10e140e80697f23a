"""Questions about canonical JSON and keys (S1, section "keys")."""

import json
from typing import Final

from attrs import frozen

from conformance.vectors.questions.kind import kind
from spec.candidate import Candidate
from spec.canonical_json import Json, canonical, digest
from spec.errors import InvalidValue
from spec.keys import cache_key
from spec.policy import Policy
from spec.problem import Problem


@frozen
class Text:
    """JSON as text, since only text can hold what must be refused."""

    text: str


@frozen
class Canonical:
    """The one text of a value, and its SHA-256 in lower-case hexadecimal."""

    canonical: str
    digest: str


@frozen
class KeyOf:
    """A request's parts that make its key."""

    problem: Problem
    candidates: tuple[Candidate, ...]
    reference: int
    policy: Policy


def _canonical_json(asked: Text) -> Canonical:
    try:
        value: Json = json.loads(asked.text)
    except (ValueError, RecursionError) as error:
        raise InvalidValue("text", repr(asked.text), "JSON", "S1") from error
    text = canonical(value)
    return Canonical(text, digest(text))


def _cache_key(asked: KeyOf) -> Canonical:
    key = cache_key(asked.problem, asked.candidates, asked.reference, asked.policy)
    return Canonical(key.text, key.digest)


CANONICAL: Final = kind("canonical-json", Text, Canonical, _canonical_json)
CACHE_KEY: Final = kind("cache-key", KeyOf, Canonical, _cache_key)
KINDS: Final = (CANONICAL, CACHE_KEY)
