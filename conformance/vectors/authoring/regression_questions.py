"""Questions about watching a served choice (S9, S10)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.authoring.scenario import (
    SECOND,
)
from conformance.vectors.questions.regression import (
    INCIDENTS,
    WATCH,
    Degradation,
    Incident,
    Life,
    Move,
    Pair,
    Question,
    Watch,
)
from conformance.vectors.vector import Vector
from spec import (
    AnytimeValidRegression,
    IncidentPolicy,
    WindowMedian,
)
from spec.canonical_json import Json
from spec.regression import RegressionRule

WINDOW: Final = WindowMedian(pairs=3)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups "window", "anytime", "incidents" and "limits"."""
    return (
        *_window(),
        *_anytime(),
        *_incidents(),
        *_limits(),
    )


def _pairs(ratios: Sequence[tuple[int, int]]) -> tuple[Pair, ...]:
    return tuple(Pair(reference_ns, selected_ns) for selected_ns, reference_ns in ratios)


def _watch(
    name: str,
    comment: str,
    rule: RegressionRule,
    ratios: Sequence[tuple[int, int]],
    *,
    degraded: bool,
    flags: str = "usual",
) -> Vector:
    asked = Watch(rule, _pairs(ratios))
    return question(
        f"regression/{name}",
        WATCH,
        asked,
        comment,
        holds="" if degraded else "S10",
        breaks="S10" if degraded else "",
        flags=flags,
    )


def _window() -> tuple[Vector, ...]:
    over, under, same = (3, 2), (1, 2), (1, 1)
    nine = WindowMedian()
    even = WindowMedian(pairs=4)
    strict = WindowMedian(pairs=1)
    loose = WindowMedian(pairs=3, ratio=Fraction(11, 10))
    return (
        _watch("window/not-full", "Eight pairs of nine judge nothing.", nine, [over] * 8,
               degraded=False, flags="boundary"),
        _watch("window/just-full", "The ninth does.", nine, [over] * 9, degraded=True,
               flags="boundary"),
        _watch("window/equal", "A median of exactly 1 is not over 1.", nine, [same] * 9,
               degraded=False, flags="boundary ties"),
        _watch("window/half-of-nine", "Four slow, five fast: holds. One more slow: degraded.",
               nine, [over] * 4 + [under] * 5 + [over] * 1, degraded=True, flags="boundary"),
        _watch("window/slides", "Nine fast ones, then slow ones: degraded by the fifth.", nine,
               [under] * 9 + [over] * 5, degraded=True, flags="peeking"),
        _watch("window/even-count", "1/2, 1/2, 3/2, 8/5: the middle two are 1/2 and 3/2, their "
               "mean is 1, not over 1.", even, [(1, 2), (1, 2), (3, 2), (8, 5)], degraded=False,
               flags="even-count exact"),
        _watch("window/even-count-over", "501/1000 in place of a half: the mean is 2001/2000.",
               even, [(1, 2), (501, 1000), (3, 2), (8, 5)], degraded=True,
               flags="even-count exact boundary"),
        _watch("window/of-one", "A window of one pair: the first slow one.", strict,
               [under, same, over, over], degraded=True, flags="boundary"),
        _watch("window/limit-met", "11/10 against a limit of 11/10.", loose, [(11, 10)] * 4,
               degraded=False, flags="boundary exact"),
        _watch("window/limit-exceeded", "1100001/1000000 against 11/10.", loose,
               [(1_100_001, 1_000_000)] * 3, degraded=True, flags="boundary exact"),
        _watch("window/starts-anew", "After degrading the window is empty: two slow pairs more "
               "are not enough, the third is.", WINDOW, [over] * 6, degraded=True),
        _watch("window/thirds", "1/3 + 1/3 + 4/3: exact thirds in any order.", WINDOW,
               [(1, 3), (4, 3), (1, 3), (4, 3)], degraded=True, flags="exact order"),
        _watch("window/nothing", "No pairs.", WINDOW, [], degraded=False, flags="empty"),
        _watch("window/one-outlier", "A pair a thousand times slower than the rest.", WINDOW,
               [under, (1000, 1), under, under], degraded=False, flags="noise"),
    )  # fmt: skip


def _anytime() -> tuple[Vector, ...]:
    default = AnytimeValidRegression()
    quick = AnytimeValidRegression(false_alarm_rate=Fraction(1, 2), horizon=1)
    limit = AnytimeValidRegression(ratio=Fraction(11, 10), horizon=4)
    over, under, same = (3, 2), (1, 2), (1, 1)
    return (
        _watch("anytime/fourteen-slower", "At the default 14 slower pairs in a row are not "
               "enough.", default, [over] * 14, degraded=False, flags="boundary peeking"),
        _watch("anytime/fifteen-slower", "The 15th is.", default, [over] * 15, degraded=True,
               flags="boundary peeking"),
        _watch("anytime/after-a-long-time", "However long it held before: 40 faster pairs, then "
               "slower ones.", default, [under] * 40 + [over] * 15, degraded=True,
               flags="peeking"),
        _watch("anytime/alternating", "Every other pair slower, 60 of them: chance.", default,
               [over, under] * 30, degraded=False, flags="noise peeking"),
        _watch("anytime/equal", "Ratios of exactly 1 are not over 1.", default, [same] * 30,
               degraded=False, flags="boundary ties"),
        _watch("anytime/one-is-not-enough", "Horizon 1, rate 1/2: wealth 29/16 after one, and "
               "the threshold is 2.", quick, [over], degraded=False, flags="boundary exact"),
        _watch("anytime/two-are", "The second slower pair.", quick, [over, over], degraded=True,
               flags="boundary exact"),
        _watch("anytime/rounded-down", "Wealth is held in units of 2**-32 and rounded down after "
               "every pair; odd thirds of faster and slower pairs.", limit,
               [(6, 5), (1, 1), (1, 1), (6, 5), (1, 1), (6, 5), (1, 1), (1, 1), (6, 5)] * 4,
               degraded=False, flags="exact"),
        _watch("anytime/limit-met", "11/10 against a limit of 11/10.", limit, [(11, 10)] * 12,
               degraded=False, flags="boundary exact"),
        _watch("anytime/limit-exceeded", "11/10 and a millionth.", limit,
               [(1_100_001, 1_000_000)] * 12, degraded=True, flags="boundary exact"),
        _watch("anytime/starts-anew", "After an alarm everything starts anew.", quick,
               [over] * 6, degraded=True),
        _watch("anytime/ratio-of-the-last-nine", "The ratio that is told is the median of the "
               "last nine pairs.", default,
               [(2 + place, 1) for place in range(15)], degraded=True, flags="usual"),
        raw_question(
            "regression/anytime/zero-time", WATCH.name,
            {"rule": {"type": "window-median", "pairs": 3, "ratio": [1, 1]},
             "pairs": [{"reference_ns": 0, "selected_ns": 1}]},
            "A time of 0 ns compares with nothing.", breaks="S10", flags="boundary types"),
    )  # fmt: skip


def _incidents() -> tuple[Vector, ...]:
    policy = IncidentPolicy(recurrence_ns=100, ban_ns=50)

    def life(
        name: str, comment: str, *incidents: Incident, breaks: bool, flags: str = "bans"
    ) -> Vector:
        return question(
            f"regression/incidents/{name}",
            INCIDENTS,
            Life(policy, incidents),
            comment,
            holds="" if breaks else "S9 S10",
            breaks="S9 S10" if breaks else "",
            flags=flags,
        )

    return (
        life("first", "The first costs the record only.", Degradation(1000), Question(1000),
             breaks=False),
        life("recurrence-at-the-limit", "100 ns later, and 100 is the limit: a ban of 50.",
             Degradation(1000), Degradation(1100), Question(1100), Question(1149),
             Question(1150), breaks=True, flags="bans boundary clock"),
        life("recurrence-too-late", "101 ns later.", Degradation(1000), Degradation(1101),
             Question(1101), breaks=False, flags="bans boundary clock"),
        life("recurrence-at-once", "At the same moment: 0 ns later recurs.", Degradation(1000),
             Degradation(1000), Question(1000), breaks=True, flags="bans boundary clock"),
        life("during-the-ban", "A degradation during a ban renews it.", Degradation(1000),
             Degradation(1010), Degradation(1059), Question(1100), Question(1109), breaks=True,
             flags="bans boundary clock"),
        life("clean-slate", "A ban served is a clean slate: the next one only demotes.",
             Degradation(1000), Degradation(1010), Degradation(1060), Question(1060),
             breaks=False, flags="bans boundary clock"),
        life("slate-then-recurrence", "And the one after that bans again.", Degradation(1000),
             Degradation(1010), Degradation(1060), Degradation(1160), Question(1209),
             Question(1210), breaks=True, flags="bans boundary clock"),
        life("clock-went-back", "A moment before the last comes from another clock: no "
             "recurrence.", Degradation(1000), Degradation(999), Question(999), breaks=False,
             flags="bans boundary clock"),
        life("before-the-ban", "A ban does not cover the time before it began.",
             Degradation(1000), Degradation(1010), Question(1009), Question(1010), breaks=True,
             flags="bans boundary clock"),
        life("another-environment", "Incidents of another environment are gone.", Move("a"),
             Degradation(1000), Degradation(1010), Question(1020), Move("b"), Question(1020),
             breaks=True, flags="bans"),
        life("same-environment", "The same environment keeps them.", Move("a"),
             Degradation(1000), Degradation(1010), Move("a"), Question(1020), breaks=True,
             flags="bans"),
        life("never", "Nothing happened, nothing is banned.", Question(0), Question(10**18),
             breaks=False, flags="bans empty"),
    )  # fmt: skip


def _limits() -> tuple[Vector, ...]:
    def accepts(name: str, word: str, value: Json, *, accepted: bool) -> Vector:
        return raw_question(
            f"regression/limits/{name}",
            "accepts",
            {"type": word, "value": value},
            "A field at its edge." if accepted else "A field over its edge.",
            holds="S10" if accepted else "",
            breaks="" if accepted else "S10",
            flags="boundary policy",
        )

    return (
        accepts("window-one", "window-median", {"pairs": 1}, accepted=True),
        accepts("window-none", "window-median", {"pairs": 0}, accepted=False),
        accepts("window-largest", "window-median", {"pairs": 4096}, accepted=True),
        accepts("window-too-large", "window-median", {"pairs": 4097}, accepted=False),
        accepts("ratio-half", "window-median", {"ratio": [1, 2]}, accepted=False),
        accepts("ratio-over-half", "window-median", {"ratio": [501, 1000]}, accepted=True),
        accepts("ratio-hundred", "window-median", {"ratio": [100, 1]}, accepted=False),
        accepts("rate-zero", "anytime-valid-regression", {"false_alarm_rate": [0, 1]},
                accepted=False),
        accepts("rate-one", "anytime-valid-regression", {"false_alarm_rate": [1, 1]},
                accepted=False),
        accepts("rate-between", "anytime-valid-regression", {"false_alarm_rate": [999, 1000]},
                accepted=True),
        accepts("horizon-none", "anytime-valid-regression", {"horizon": 0}, accepted=False),
        accepts("horizon-largest", "anytime-valid-regression", {"horizon": 2**32},
                accepted=True),
        accepts("horizon-too-large", "anytime-valid-regression", {"horizon": 2**32 + 1},
                accepted=False),
        accepts("recurrence-none", "incident-policy", {"recurrence_ns": 0}, accepted=False),
        accepts("ban-none", "incident-policy", {"ban_ns": 0}, accepted=False),
        accepts("ban-shortest", "incident-policy", {"ban_ns": 1}, accepted=True),
        accepts("ban-a-leap-year", "incident-policy", {"ban_ns": str(366 * 86_400 * SECOND)},
                accepted=True),
        accepts("ban-too-long", "incident-policy", {"ban_ns": str(366 * 86_400 * SECOND + 1)},
                accepted=False),
    )  # fmt: skip
