"""Questions about stored records: what one is, and how long it holds (S5, S8)."""

from fractions import Fraction
from typing import Final

from attrs import evolve

from conformance.codec import RECORD
from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions import records
from conformance.vectors.questions.records import Aged
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.moment import Moment
from spec.problem import Scope
from spec.record import CLOCK_SKEW_S, Record

FRESHNESS: Final = records.KINDS[0]
BASE: Final = Record(
    key="ab" * 32,
    scope=Scope.OPERATOR,
    winner="fast",
    reference="reference",
    created_s=1_700_000_000,
    reference_ns=1000,
    winner_ns=500,
    ratio=Fraction(1, 2),
    dispersion=Fraction(1, 100),
    blocks=8,
    verified=True,
    feeds=2,
)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups "form" and "freshness"."""
    return (*_form(), *_freshness())


def _form() -> tuple[Vector, ...]:
    full = dict(_object(RECORD.encode(BASE)))

    def accepts(name: str, comment: str, change: dict[str, Json], *, accepted: bool) -> Vector:
        value: Json = {**full, **change}
        return raw_question(f"records/form/{name}", "accepts",
                            {"type": "record", "value": value}, comment,
                            holds="K5 S8" if accepted else "", breaks="" if accepted else "K5 S8",
                            flags="boundary types trust")  # fmt: skip

    def without(name: str, member: str, comment: str, *, accepted: bool) -> Vector:
        value: Json = {name: one for name, one in full.items() if name != member}
        return raw_question(f"records/form/{name}", "accepts",
                            {"type": "record", "value": value}, comment,
                            holds="K5 S8" if accepted else "", breaks="" if accepted else "K5 S8",
                            flags="types trust")  # fmt: skip

    return (
        accepts("usual", "A record as it is saved.", {}, accepted=True),
        accepts("reference-won", "The reference against itself.",
                {"winner": "reference", "ratio": [1, 1], "blocks": 0}, accepted=True),
        accepts("no-key", "A record without a key.", {"key": ""}, accepted=False),
        accepts("no-winner", "Nobody won.", {"winner": ""}, accepted=False),
        accepts("no-reference", "Against nothing.", {"reference": ""}, accepted=False),
        accepts("unknown-scope", "A scope of tomorrow.", {"scope": "cluster"}, accepted=False),
        accepts("ratio-zero", "No time at all.", {"ratio": [0, 1]}, accepted=False),
        accepts("ratio-negative", "Less than none.", {"ratio": [-1, 2]}, accepted=False),
        accepts("ratio-not-reduced", "2/4 is written 1/2.", {"ratio": [2, 4]}, accepted=False),
        accepts("ratio-over-nothing", "A denominator of 0.", {"ratio": [1, 0]}, accepted=False),
        accepts("ratio-as-text", "A ratio in words.", {"ratio": "1/2"}, accepted=False),
        accepts("ratio-above-one", "Slower than the reference: a record may say so, nobody "
                "believes it.", {"ratio": [3, 2]}, accepted=True),
        accepts("dispersion-zero", "Blocks that agree.", {"dispersion": [0, 1]}, accepted=True),
        accepts("dispersion-negative", "Less than agreeing.", {"dispersion": [-1, 100]},
                accepted=False),
        accepts("winner-took-no-time", "0 ns.", {"winner_ns": 0}, accepted=False),
        accepts("winner-took-one-nanosecond", "1 ns.", {"winner_ns": 1}, accepted=True),
        accepts("reference-took-no-time", "0 ns.", {"reference_ns": 0}, accepted=False),
        accepts("blocks-negative", "Fewer blocks than none.", {"blocks": -1}, accepted=False),
        accepts("blocks-none", "A guess is a record that nobody believes.", {"blocks": 0},
                accepted=True),
        accepts("created-in-1970", "Second 0.", {"created_s": 0}, accepted=True),
        accepts("created-before-1970", "Second -1.", {"created_s": -1}, accepted=False),
        accepts("feeds-negative", "Fewer feeds than none.", {"feeds": -1}, accepted=False),
        accepts("verified-as-number", "1 is not true.", {"verified": 1}, accepted=False),
        accepts("time-as-text", "A number in words.", {"winner_ns": "500"}, accepted=False),
        accepts("time-as-long-text", "A number too long for a double is written as text.",
                {"winner_ns": str(2**53)}, accepted=True),
        accepts("time-as-padded-text", "But in its shortest form.",
                {"winner_ns": "0" + str(2**53)}, accepted=False),
        accepts("null-time", "null is no time.", {"winner_ns": None}, accepted=False),
        accepts("unknown-origin", "An origin of tomorrow.", {"origin": "cloud"},
                accepted=False),
        accepts("imported", "A shipped record.", {"origin": "imported"}, accepted=True),
        accepts("unknown-member", "A member of tomorrow: not understood, not believed.",
                {"confidence": 1}, accepted=False),
        without("without-ratio", "ratio", "Evidence is missing.", accepted=False),
        without("without-verified", "verified", "Whether it was verified is missing.",
                accepted=False),
        without("without-origin", "origin", "The origin has a default.", accepted=True),
        raw_question("records/form/not-an-object", "accepts", {"type": "record", "value": []},
                     "A list.", breaks="K5 S8", flags="types"),
    )  # fmt: skip


def _object(json: Json) -> dict[str, Json]:
    assert isinstance(json, dict), "a record is an object"
    return json


def _freshness() -> tuple[Vector, ...]:
    ttl_s, retry_s = 1000, 50

    def aged(
        name: str,
        comment: str,
        age_s: int,
        *,
        fresh: bool,
        complete: bool = True,
        retry_after_s: int = retry_s,
    ) -> Vector:
        record = evolve(BASE, complete=complete)
        # The monotonic clock says nothing about records: it is another number every time.
        now = Moment(7_777_777 + abs(age_s), BASE.created_s + age_s)
        return question(f"records/freshness/{name}", FRESHNESS,
                        Aged(record, now, ttl_s, retry_after_s), comment,
                        holds="K5 S5" if fresh else "", breaks="" if fresh else "K5 S5",
                        flags="boundary clock")  # fmt: skip

    skew = CLOCK_SKEW_S
    return (
        aged("new", "Made this second.", 0, fresh=True),
        aged("one-second", "One second old.", 1, fresh=True),
        aged("last-second", "999 of 1000 s.", 999, fresh=True),
        aged("stale", "1000 of 1000 s.", 1000, fresh=False),
        aged("long-stale", "Thirty years.", 10**9, fresh=False),
        aged("future-within-skew", "300 s ahead of this clock.", -skew, fresh=True),
        aged("future-beyond-skew", "301 s ahead.", -skew - 1, fresh=False),
        aged("far-future", "Fifty years ahead.", -BASE.created_s + 1, fresh=False),
        aged("incomplete-new", "An incomplete search, made this second.", 0, fresh=True,
             complete=False),
        aged("incomplete-last-second", "49 of 50 s.", 49, fresh=True, complete=False),
        aged("incomplete-stale", "50 of 50 s.", 50, fresh=False, complete=False),
        aged("incomplete-retry-over-ttl", "retry_after_s of 5000 s does not outlast ttl_s: "
             "1000 of 1000 s.", 1000, fresh=False, complete=False, retry_after_s=5000),
        aged("incomplete-retry-over-ttl-fresh", "999 of 1000 s.", 999, fresh=True,
             complete=False, retry_after_s=5000),
        aged("incomplete-future", "300 s ahead.", -skew, fresh=True, complete=False),
        aged("complete-ignores-retry", "51 s old and complete.", 51, fresh=True),
    )  # fmt: skip
