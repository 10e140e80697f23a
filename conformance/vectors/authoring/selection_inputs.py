"""Scripts about what a request must be (S1)."""

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import CANDIDATES, POLICY, SOFTMAX, Scenario
from conformance.vectors.vector import Vector
from spec import Candidate, Mode, Problem
from spec.canonical_json import Json
from spec.keys import MAX_KEY_BYTES, cache_key

CACHE_ONLY: Final = evolve(POLICY, mode=Mode.CACHE_ONLY)
UNSAVED: Final = evolve(SOFTMAX, persistent=False)
LARGEST: Final = 4096


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the group "inputs"."""
    return (*_candidates(), *_names(), *_parts(), *_references(), *_sizes(), *_first())


def _asked(
    name: str,
    comment: str,
    answer: str,
    *,
    problem: Problem = UNSAVED,
    candidates: Sequence[Candidate] = CANDIDATES,
    reference: int = 0,
    flags: str = "boundary",
    max_workspace_bytes: int | None = None,
) -> Vector:
    policy = evolve(CACHE_ONLY, max_workspace_bytes=max_workspace_bytes)
    scenario = Scenario(policy)
    scenario.ask(problem, candidates, reference)
    refused = answer.startswith("invalid")
    return scenario.vector(
        f"selection/inputs/{name}",
        comment,
        answer,
        holds="" if refused else "S1",
        breaks="S1" if refused else "",
        flags=flags,
    )


def _candidates() -> tuple[Vector, ...]:
    return (
        _asked("no-candidates", "Nothing to choose from.", "invalid no-candidates",
               candidates=(), flags="empty"),
        _asked("one-candidate", "One candidate, the reference, is the fewest allowed.",
               "cache-miss reference", candidates=CANDIDATES[:1]),
        _asked("most-candidates", "4096 candidates are the most allowed.", "cache-miss k0",
               candidates=_many(LARGEST), flags="boundary large"),
        _asked("too-many-candidates", "4097 candidates are one too many.",
               "invalid too-many-candidates", candidates=_many(LARGEST + 1),
               flags="boundary large"),
        _asked("reference-before-first", "Index -1 counts from no end.", "invalid reference-index",
               reference=-1),
        _asked("reference-first", "Index 0 of three.", "cache-miss reference"),
        _asked("reference-last", "Index 2 of three.", "cache-miss slow", reference=2),
        _asked("reference-behind-last", "Index 3 of three.", "invalid reference-index",
               reference=3),
    )  # fmt: skip


def _many(count: int) -> tuple[Candidate, ...]:
    return tuple(Candidate(f"k{place}") for place in range(count))


def _named(name: str) -> tuple[Candidate, ...]:
    return (CANDIDATES[0], Candidate(name))


def _names() -> tuple[Vector, ...]:
    return (
        _asked("empty-name", "A candidate without a name.", "invalid empty-name",
               candidates=_named(""), flags="empty"),
        _asked("duplicate-name", "Two candidates of one name could not be told apart later.",
               "invalid duplicate-name", candidates=(*CANDIDATES, Candidate("fast")),
               flags="ties"),
        _asked("names-differ-in-case", "Names are compared character by character.",
               "cache-miss reference", candidates=(*CANDIDATES, Candidate("FAST")),
               flags="unicode"),
        _asked("names-not-normalised", "e with accent, as one character and as two: two names.",
               "cache-miss reference",
               candidates=(*CANDIDATES, Candidate("caf\u00e9"), Candidate("cafe\u0301")),
               flags="unicode"),
        _asked("longest-name", "4096 bytes are the most allowed.", "cache-miss reference",
               candidates=_named("n" * LARGEST)),
        _asked("name-too-long", "4097 bytes are one too many.", "invalid name-too-long",
               candidates=_named("n" * (LARGEST + 1))),
        _asked("longest-name-in-utf-8", "2048 characters of 2 bytes each: 4096 bytes.",
               "cache-miss reference", candidates=_named("\u00e9" * 2048),
               flags="boundary unicode"),
        _asked("name-too-long-in-utf-8",
               "1366 characters of 3 bytes each are 4098 bytes: bytes count, not characters.",
               "invalid name-too-long", candidates=_named("\u20ac" * 1366),
               flags="boundary unicode"),
        _asked("name-too-long-in-utf-16",
               "1025 characters outside the basic plane: 4 bytes of UTF-8 each make 4100.",
               "invalid name-too-long", candidates=_named("\U0001f680" * 1025),
               flags="boundary unicode"),
    )  # fmt: skip


def _parts() -> tuple[Vector, ...]:
    empties: tuple[tuple[str, Json], ...] = (
        ("text", ""),
        ("object", {}),
        ("array", []),
        ("null", None),
    )
    found = [
        _asked("empty-operation", "No operation.", "invalid empty-operation",
               problem=evolve(UNSAVED, operation=""), flags="empty"),
        _asked("zero-is-not-empty", "The number 0 is a workload: only nothing is empty.",
               "cache-miss reference", problem=evolve(UNSAVED, workload=0), flags="empty"),
        _asked("false-is-not-empty", "false is an environment.", "cache-miss reference",
               problem=evolve(UNSAVED, environment=False), flags="empty"),
        _asked("empty-model-and-options", "Model and options may be empty.",
               "cache-miss reference", problem=evolve(UNSAVED, model="", options={}),
               flags="empty"),
    ]  # fmt: skip
    for word, value in empties:
        found.append(
            _asked(f"empty-environment-{word}", "No environment: any plan might fit.",
                   "invalid empty-environment", problem=evolve(UNSAVED, environment=value),
                   flags="empty")
        )  # fmt: skip
        found.append(
            _asked(f"empty-workload-{word}", "No workload.", "invalid empty-workload",
                   problem=evolve(UNSAVED, workload=value), flags="empty")
        )  # fmt: skip
    return tuple(found)


def _references() -> tuple[Vector, ...]:
    def sized(size: int | None) -> tuple[Candidate, ...]:
        return (Candidate("reference", size), Candidate("fast"))

    return (
        _asked("reference-fits-exactly", "100 bytes under a limit of 100.", "cache-miss reference",
               candidates=sized(100), max_workspace_bytes=100, flags="boundary workspace"),
        _asked("reference-too-big", "101 bytes under a limit of 100.", "invalid reference-unfit",
               candidates=sized(101), max_workspace_bytes=100, flags="boundary workspace"),
        _asked("reference-of-unknown-size", "Under a limit, what nobody knows does not fit.",
               "invalid reference-unfit", candidates=sized(None), max_workspace_bytes=100,
               flags="workspace"),
        _asked("reference-of-unknown-size-without-limit", "Without a limit everything fits.",
               "cache-miss reference", candidates=sized(None), flags="workspace"),
        _asked("reference-under-a-limit-of-nothing", "0 bytes under a limit of 0.",
               "cache-miss reference", candidates=sized(0), max_workspace_bytes=0,
               flags="boundary workspace"),
        _asked("reference-ineligible", "The reference must be able to run.",
               "invalid reference-unfit",
               candidates=(Candidate("reference", ineligible="no such device"), CANDIDATES[1]),
               flags="types"),
        _asked("candidate-too-big", "Only the reference must fit: others are passed over.",
               "cache-miss reference", candidates=(Candidate("reference"), Candidate("big", 101)),
               max_workspace_bytes=100, flags="workspace"),
    )  # fmt: skip


def _sizes() -> tuple[Vector, ...]:
    base = evolve(UNSAVED, workload="x")
    used = len(cache_key(base, CANDIDATES, 0, CACHE_ONLY).text) - 1
    room = MAX_KEY_BYTES - used

    def nested(levels: int) -> Json:
        value: Json = 1
        for _ in range(levels):
            value = [value]
        return value

    return (
        _asked("longest-key", "A canonical key of exactly 384 KiB.", "cache-miss reference",
               problem=evolve(base, workload="x" * room), flags="boundary large"),
        _asked("key-too-long", "A canonical key of 384 KiB and one byte.", "invalid key-too-long",
               problem=evolve(base, workload="x" * (room + 1)), flags="boundary large"),
        _asked("key-too-long-in-utf-8", "Bytes count: as many characters of 2 bytes are too many.",
               "invalid key-too-long", problem=evolve(base, workload="\u00e9" * room),
               flags="boundary large unicode"),
        _asked("largest-number", "2**53 - 1 is the largest whole number of a key.",
               "cache-miss reference", problem=evolve(UNSAVED, workload=2**53 - 1)),
        _asked("number-too-large", "2**53: a double could not tell it from its neighbour.",
               "invalid not-canonical", problem=evolve(UNSAVED, workload=2**53)),
        _asked("number-too-small", "-(2**53).", "invalid not-canonical",
               problem=evolve(UNSAVED, workload=-(2**53))),
        _asked("deepest-nesting", "64 arrays around a number.", "cache-miss reference",
               problem=evolve(UNSAVED, workload=nested(64))),
        _asked("nesting-too-deep", "65 arrays around a number.", "invalid not-canonical",
               problem=evolve(UNSAVED, workload=nested(65))),
    )  # fmt: skip


def _first() -> tuple[Vector, ...]:
    """The first broken rule is named: counts, parts, names, reference, key."""
    nameless = evolve(UNSAVED, operation="")
    return (
        _asked("candidates-before-parts", "No candidates and no operation: the former is named.",
               "invalid no-candidates", problem=nameless, candidates=(), flags="order"),
        _asked("index-before-parts", "A wrong index and no operation: the former is named.",
               "invalid reference-index", problem=nameless, reference=9, flags="order"),
        _asked("operation-before-environment", "Neither operation nor environment.",
               "invalid empty-operation", problem=evolve(nameless, environment=""), flags="order"),
        _asked("environment-before-workload", "Neither environment nor workload.",
               "invalid empty-environment",
               problem=evolve(UNSAVED, environment="", workload=""), flags="order"),
        _asked("parts-before-names", "No workload and an empty name: the former is named.",
               "invalid empty-workload", problem=evolve(UNSAVED, workload=""),
               candidates=_named(""), flags="order"),
        _asked("empty-name-before-duplicates", "An empty name behind two equal ones.",
               "invalid empty-name",
               candidates=(CANDIDATES[0], CANDIDATES[0], Candidate("")), flags="order"),
        _asked("too-long-name-before-empty-name", "Of empty and too long names the first in "
               "order is named.", "invalid name-too-long",
               candidates=(CANDIDATES[0], Candidate("n" * (LARGEST + 1)), Candidate("")),
               flags="order"),
        _asked("names-before-reference", "Two equal names, and a reference that is ineligible.",
               "invalid duplicate-name",
               candidates=(Candidate("a", ineligible="old"), Candidate("a")), flags="order"),
        _asked("reference-before-key", "An ineligible reference, and a number no key can hold.",
               "invalid reference-unfit",
               candidates=(Candidate("a", ineligible="old"), Candidate("b")),
               problem=evolve(UNSAVED, workload=2**53), flags="order"),
    )  # fmt: skip
