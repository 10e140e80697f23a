"""Questions about blocks, medians and verdicts (E3 to E5, S13)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from conformance.codec import ratio_json
from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions.evidence import (
    ASSESS,
    ORDER,
    RATIO,
    SPREAD,
    BlockNumber,
    Case,
    Ratios,
)
from conformance.vectors.vector import Vector
from spec.canonical_json import Json
from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.block import Block
from spec.evidence.median_mad import MedianMad

M: Final = Fraction(103, 100)
ONE: Final = Fraction(1)
FAST, SLOW, SAME = Fraction(1, 2), Fraction(3, 2), Fraction(1)
KEY: Final = "0123456789abcdef" * 4
HALF: Final = AnytimeValid(
    false_promotion_rate=Fraction(1, 4),
    false_rejection_rate=Fraction(1, 4),
    min_blocks=1,
    max_blocks=6,
)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the area."""
    groups = (_blocks, _orders, _spreads, _median_mad, _anytime, _beside_a_rival, _rules)
    return tuple(vector for group in groups for vector in group())


def _blocks() -> tuple[Vector, ...]:
    def block(
        name: str, comment: str, reference: tuple[int, int], candidate: tuple[int, int]
    ) -> Vector:
        asked = Block(reference, candidate, 0)
        return question(f"evidence/block/{name}", RATIO, asked, comment, holds="E3",
                        flags="exact")  # fmt: skip

    def refused(name: str, comment: str, reference: Json, candidate: Json) -> Vector:
        asked: Json = {"reference_ns": reference, "candidate_ns": candidate, "started_ns": 0}
        return raw_question(f"evidence/block/{name}", RATIO.name, asked, comment, breaks="E3",
                            flags="boundary types")  # fmt: skip

    return (
        block("half", "(500 + 500) / (1000 + 1000) = 1/2.", (1000, 1000), (500, 500)),
        block("sum-of-times", "(3 + 5) / (7 + 4) = 8/11: sums are divided, not quotients "
              "averaged.", (7, 4), (3, 5)),
        block("drift-cancels", "Times that grow by 10 with every run, R C C R: 110 + 120 over "
              "100 + 130 = 1.", (100, 130), (110, 120)),
        block("one-nanosecond", "1 ns is the shortest time: (1 + 1) / (1 + 1) = 1.", (1, 1),
              (1, 1)),
        block("large", "(2^60 + 1) / 2^61: no double holds it.", (2**60, 2**60),
              (2**59, 2**59 + 1)),
        block("a-third", "(1 + 1) / (3 + 3) = 1/3.", (3, 3), (1, 1)),
        refused("zero-candidate", "A time of 0 ns is a clock too coarse.", [1, 1], [1, 0]),
        refused("zero-reference", "A time of 0 ns would divide.", [0, 1], [1, 1]),
        refused("negative", "A time under 0 ns.", [1, 1], [1, -1]),
        refused("three-runs", "Two runs per side, not three.", [1, 1], [1, 1, 1]),
        refused("one-run", "Two runs per side, not one.", [1], [1, 1]),
    )  # fmt: skip


def _orders() -> tuple[Vector, ...]:
    def order(name: str, comment: str, seed: int, key: str, candidate: str, block: int) -> Vector:
        asked = BlockNumber(seed, key, candidate, block)
        return question(f"evidence/order/{name}", ORDER, asked, comment, holds="E3 S13",
                        flags="order")  # fmt: skip

    blocks = tuple(
        order(f"block-{block}", f"Seed 0, candidate fast, block {block}.", 0, KEY, "fast", block)
        for block in range(8)
    )
    return (
        *blocks,
        order("another-seed", "Seed 1.", 1, KEY, "fast", 0),
        order("largest-seed", "Seed 2**53 - 1.", 2**53 - 1, KEY, "fast", 0),
        order("another-candidate", "Another name, another coin.", 0, KEY, "slow", 0),
        order("another-key", "Another key.", 0, "f" * 64, "fast", 0),
        order("unicode", "Names are hashed as UTF-8: 5 bytes for 4 characters.", 0, KEY,
              "caf\u00e9", 0),
        order("lengths-keep-parts-apart", "Key ab and candidate c.", 0, "ab", "c", 0),
        order("lengths-keep-parts-apart-twin", "Key a and candidate bc: other bytes.", 0, "a",
              "bc", 0),
        order("block-4095", "The last block that any rule allows.", 0, KEY, "fast", 4095),
        raw_question("evidence/order/negative-block", ORDER.name,
                     {"seed": 0, "key": KEY, "candidate": "fast", "block": -1},
                     "Blocks are numbered from 0.", breaks="E3", flags="boundary"),
    )  # fmt: skip


def _spreads() -> tuple[Vector, ...]:
    def spread(name: str, comment: str, *ratios: Fraction, flags: str = "exact") -> Vector:
        return question(f"evidence/spread/{name}", SPREAD, Ratios(ratios), comment,
                        holds="S13 E3", flags=flags)  # fmt: skip

    def f(over: int, under: int = 1) -> Fraction:
        return Fraction(over, under)

    return (
        spread("one", "One value is its own median; it deviates by 0.", f(3, 4)),
        spread("two", "1/2 and 1: the mean is 3/4, both deviate by 1/4, relative 1/3.", f(1, 2),
               f(1), flags="even-count"),
        spread("three", "1/2, 3/4, 1: median 3/4, deviations 1/4, 0, 1/4, relative 1/3.",
               f(1), f(1, 2), f(3, 4)),
        spread("four", "1, 2, 4, 8: median 3, deviations 2, 1, 1, 5, their median 3/2, relative "
               "1/2.", f(8), f(1), f(4), f(2), flags="even-count"),
        spread("equal", "Five equal values.", *[f(7, 9)] * 5, flags="ties"),
        spread("order-does-not-matter", "5, 1, 3, 2, 4.", f(5), f(1), f(3), f(2), f(4),
               flags="order"),
        spread("order-does-not-matter-twin", "1, 2, 3, 4, 5.", f(1), f(2), f(3), f(4), f(5),
               flags="order"),
        spread("thirds-and-sevenths", "1/3, 2/7, 3/10: in order 2/7, 3/10, 1/3; the median is "
               "3/10, deviations 1/70, 0, 1/30, their median 1/70, relative 1/21.", f(1, 3),
               f(2, 7), f(3, 10)),
        spread("close-neighbours", "10^9/(10^9+1) and (10^9-1)/10^9 differ by 10^-18: no double "
               "tells them apart.", f(10**9, 10**9 + 1), f(10**9 - 1, 10**9), f(1)),
        spread("outlier", "One value of a million among five.", f(1), f(10**6), f(1, 2), f(2, 3),
               f(3, 4), flags="noise"),
        spread("large-and-small", "From 1/(2^53) to 2^53.", f(1, 2**53), f(2**53), f(1)),
        spread("even-count-of-unlike", "1/3 and 1/2 in the middle: 5/12.", f(1, 5), f(1, 3),
               f(1, 2), f(2), flags="even-count"),
        spread("even-deviations", "Deviations of an even count are averaged as well.", f(1),
               f(3, 2), f(2), f(4), f(5), f(9), flags="even-count"),
        spread("many", "Nine ratios as a trial gives them.", *(
            f(1000 + 7 * place % 13, 1003 - place) for place in range(9))),
        raw_question("evidence/spread/none", SPREAD.name, {"ratios": []},
                     "Of nothing there is no median.", breaks="S13", flags="empty"),
        raw_question("evidence/spread/zero-median", SPREAD.name,
                     {"ratios": [[0, 1], [0, 1], [1, 1]]},
                     "A median of 0 divides nothing.", breaks="S13", flags="boundary"),
        raw_question("evidence/spread/not-in-lowest-terms", SPREAD.name, {"ratios": [[2, 4]]},
                     "A rational has one form: lowest terms.", breaks="S13", flags="types"),
        raw_question("evidence/spread/negative-denominator", SPREAD.name, {"ratios": [[1, -2]]},
                     "A rational has one form: a positive denominator.", breaks="S13",
                     flags="types"),
    )  # fmt: skip


def _case(
    name: str,
    comment: str,
    rule: MedianMad | AnytimeValid,
    ratios: Sequence[Fraction],
    min_speedup: Fraction = M,
    to_beat: Fraction | None = None,
    *,
    holds: str = "E4",
    breaks: str = "",
    flags: str = "usual",
) -> Vector:
    asked = Case(rule, tuple(ratios), min_speedup, to_beat)
    return question(f"evidence/{name}", ASSESS, asked, comment, holds=holds, breaks=breaks,
                    flags=flags)  # fmt: skip


def _median_mad() -> tuple[Vector, ...]:
    three = MedianMad(samples=3, max_relative_mad=Fraction(1, 10))
    four = MedianMad(samples=4, max_relative_mad=Fraction(1, 10))
    nine = MedianMad()
    at = Fraction(100, 103)
    over = Fraction(1_000_001, 1_030_000)

    def f(over: int, under: int) -> Fraction:
        return Fraction(over, under)

    return (
        _case("median-mad/nothing", "No blocks: undecided, with neither ratio nor dispersion.",
              nine, [], breaks="E4", holds="", flags="empty"),
        _case("median-mad/not-enough", "Eight of nine blocks: undecided.", nine, [FAST] * 8,
              holds="", breaks="E4", flags="boundary"),
        _case("median-mad/enough", "Nine blocks at 1/2.", nine, [FAST] * 9, flags="boundary"),
        _case("median-mad/at-the-minimum", "Median 100/103 with a minimum of 103/100: enough.",
              three, [at] * 3, flags="boundary exact"),
        _case("median-mad/over-the-minimum", "A millionth over it: not faster.", three,
              [over] * 3, holds="", breaks="E4", flags="boundary exact"),
        _case("median-mad/no-minimum", "min_speedup 1 and a median of 1: the rule says faster "
              "(promotion still keeps the reference).", three, [SAME] * 3, ONE,
              flags="boundary ties"),
        _case("median-mad/dispersion-at-the-limit", "9/20, 1/2, 11/20: deviation 1/20 of 1/2 is "
              "1/10.", three, [f(9, 20), f(1, 2), f(11, 20)], flags="boundary exact noise"),
        _case("median-mad/dispersion-over-the-limit", "449/1000, 1/2, 551/1000: 51/500.", three,
              [f(449, 1000), f(1, 2), f(551, 1000)], holds="", breaks="E4",
              flags="boundary exact noise"),
        _case("median-mad/noisy-and-slow", "Too noisy comes before not faster.", three,
              [f(1, 1), f(2, 1), f(3, 1)], holds="", breaks="E4", flags="noise"),
        _case("median-mad/one-outlier", "1/2, 1/2 and 50.", three, [FAST, FAST, f(50, 1)],
              flags="noise"),
        _case("median-mad/even-samples", "95/100, 96/100, 98/100, 99/100: the median is 97/100, "
              "which is under 100/103.", four, [f(95, 100), f(96, 100), f(98, 100), f(99, 100)],
              flags="even-count exact"),
        _case("median-mad/later-blocks-do-not-count", "Three at 1/2, then ten at 2.", three,
              [FAST] * 3 + [f(2, 1)] * 10, flags="peeking"),
        _case("median-mad/later-blocks-do-not-save", "Three at 1, then ten at 1/2.", three,
              [SAME] * 3 + [FAST] * 10, holds="", breaks="E4", flags="peeking"),
        _case("median-mad/identical", "Nine ratios around 1.", nine,
              [f(1000 + 3 * (place % 5) - 6, 1000) for place in range(9)], holds="E5",
              breaks="E4", flags="aa noise"),
        _case("median-mad/not-identical", "Nine ratios around 9/10.", nine,
              [f(900 + 3 * (place % 5) - 6, 1000) for place in range(9)], holds="E4",
              breaks="E5", flags="noise"),
        _case("median-mad/first-block-slow", "The first block still pays the warm-up.", nine,
              [f(2, 1)] + [FAST] * 8, flags="noise"),
    )  # fmt: skip


def _anytime() -> tuple[Vector, ...]:
    default = AnytimeValid()
    kept, missed = Fraction(100, 103), Fraction(1_000_001, 1_030_000)
    almost = Fraction(99, 100)
    return (
        _case("anytime/nothing", "No blocks: undecided.", default, [], holds="", breaks="E4",
              flags="empty"),
        _case("anytime/seven-wins", "W(7,0) = (3/2)^7/4 + (7/4)^7/4 + 2^7/2 = 80.8 < 100.",
              default, [FAST] * 7, holds="", breaks="E4", flags="boundary peeking"),
        _case("anytime/eight-wins", "W(8,0) = (3/2)^8/4 + (7/4)^8/4 + 2^8/2 = 156.4 >= 100.",
              default, [FAST] * 8, flags="boundary peeking"),
        _case("anytime/one-loss", "Nine wins and a loss: the stake of 1 is gone with it.",
              default, [FAST] * 4 + [SLOW] + [FAST] * 5, holds="", breaks="E4",
              flags="boundary peeking"),
        _case("anytime/one-loss-made-good", "A loss costs about four wins more.", default,
              [FAST] * 4 + [SLOW] + [FAST] * 12, flags="peeking"),
        _case("anytime/before-min-blocks", "Four straight losses are no verdict before block 5.",
              default, [SLOW] * 4, holds="", breaks="E4", flags="boundary"),
        _case("anytime/clearly-slower", "Six blocks over 1/m: W(5,0) = 22 >= 20 already.",
              default, [SLOW] * 6, holds="", breaks="E4", flags="peeking"),
        _case("anytime/exactly-one-is-a-loss", "A ratio of 1 is no win.", default, [SAME] * 9,
              holds="E5", breaks="E4", flags="ties aa"),
        _case("anytime/at-the-minimum", "100/103 is a win for, and a loss for the bet against.",
              default, [kept] * 8, flags="boundary exact"),
        _case("anytime/just-over-the-minimum", "A millionth over 100/103: every block is a win "
              "for and a win against; the bet against ends it at block 5.", default,
              [missed] * 8, holds="", breaks="E4", flags="boundary exact"),
        _case("anytime/faster-but-not-by-enough", "99/100 in every block.", default,
              [almost] * 64, holds="", breaks="E4", flags="peeking"),
        _case("anytime/median-on-the-edge", "Half the blocks at 9/10, half at 1 - 10^-6 with "
              "min_speedup 1: all are wins.", default,
              [Fraction(9, 10), Fraction(999_999, 1_000_000)] * 4, ONE, flags="even-count exact"),
        _case("anytime/even-median-exactly-at-the-target", "min_speedup 2: 1/4 and 3/4 average "
              "to exactly 1/2.", AnytimeValid(false_promotion_rate=Fraction(1, 3),
              false_rejection_rate=Fraction(1, 100), min_blocks=2, max_blocks=8),
              [Fraction(1, 4), Fraction(3, 4)], Fraction(2), flags="even-count boundary exact"),
        _case("anytime/even-median-over-the-target", "1/4 and 751/1000 do not.", AnytimeValid(
              false_promotion_rate=Fraction(1, 3), false_rejection_rate=Fraction(1, 100),
              min_blocks=2, max_blocks=8),
              [Fraction(1, 4), Fraction(751, 1000)], Fraction(2), holds="", breaks="E4",
              flags="even-count boundary exact"),
        _case("anytime/too-noisy", "So many losses that even winning the rest would not do.",
              default, [SLOW, FAST] * 24, ONE, holds="", breaks="E4", flags="noise peeking"),
        _case("anytime/two-wins-at-a-quarter", "Rate 1/4: W(2,0) = 3 + 21/64 < 4.", HALF,
              [FAST] * 2, holds="", breaks="E4", flags="boundary exact"),
        _case("anytime/three-wins-at-a-quarter", "W(3,0) = 6 + 47/256 >= 4.", HALF, [FAST] * 3,
              flags="boundary exact"),
        _case("anytime/last-block", "At max_blocks doubt is final.", HALF,
              [Fraction(99, 100), FAST, Fraction(99, 100), FAST, Fraction(99, 100), FAST],
              Fraction(3, 2), holds="", breaks="E4", flags="boundary peeking"),
        _case("anytime/later-blocks-do-not-count", "Eight wins, then fifty losses: the verdict "
              "stands.", default, [FAST] * 8 + [SLOW] * 50, flags="peeking"),
        _case("anytime/later-blocks-do-not-save", "Six losses, then fifty wins.", default,
              [SLOW] * 6 + [FAST] * 50, holds="", breaks="E4", flags="peeking"),
        _case("anytime/identical", "Ratios just over and just under 1 in turn.", default,
              [Fraction(1001, 1000), Fraction(999, 1000)] * 20, holds="E5", breaks="E4",
              flags="aa noise"),
        _case("anytime/identical-without-minimum", "The same with min_speedup 1.", default,
              [Fraction(1001, 1000), Fraction(999, 1000)] * 32, ONE, holds="E5", breaks="E4",
              flags="aa noise"),
        _case("anytime/outlier", "A block a thousand times slower weighs as one loss.", default,
              [FAST] * 6 + [Fraction(1000)] + [FAST] * 6, flags="noise"),
        _case("anytime/order-of-wins", "The same blocks in another order end at another block.",
              default, [SLOW] + [FAST] * 14, flags="order peeking"),
        _case("anytime/exactly-at-the-threshold", "Rate 64/213: W(2,0) = 213/64 is exactly "
              "1/rate, which suffices.", AnytimeValid(false_promotion_rate=Fraction(64, 213),
              false_rejection_rate=Fraction(1, 100), min_blocks=1, max_blocks=8), [FAST] * 2,
              flags="boundary exact"),
        _case("anytime/just-under-the-threshold", "Rate 63/213 = 21/71: 71/21 is more than "
              "213/64.", AnytimeValid(false_promotion_rate=Fraction(21, 71),
              false_rejection_rate=Fraction(1, 100), min_blocks=1, max_blocks=8), [FAST] * 2,
              holds="", breaks="E4", flags="boundary exact"),
    )  # fmt: skip


def _beside_a_rival() -> tuple[Vector, ...]:
    default, third = AnytimeValid(), Fraction(1, 3)
    return (
        _case("anytime/slower-than-the-rival", "1/2 where 1/3 is to be beaten: five blocks over it "
              "end what eight would have called faster.", default, [FAST] * 8, M, third, holds="",
              breaks="E4", flags="peeking"),
        _case("anytime/as-fast-as-the-rival", "A ratio that is exactly the rival's keeps up.",
              default, [third] * 8, M, third, flags="boundary ties"),
        _case("anytime/a-hair-behind-the-rival", "A millionth over it does not.", default,
              [Fraction(333_334, 1_000_000)] * 8, M, third, holds="", breaks="E4",
              flags="boundary exact"),
        _case("anytime/rival-behind-the-minimum", "A ratio to beat over 1/m asks for nothing more.",
              default, [FAST] * 8, M, ONE),
        _case("anytime/faster-before-the-rival-tells", "Faster is looked at first: three wins at "
              "1/4 decide in the block in which the rival would have.", AnytimeValid(
              false_promotion_rate=Fraction(1, 4), false_rejection_rate=Fraction(1, 4),
              min_blocks=3, max_blocks=6), [FAST] * 3, M, third, flags="boundary order"),
        _case("median-mad/no-eye-for-rivals", "Median-MAD looks once, at the minimum alone.",
              MedianMad(samples=3), [FAST] * 3, M, third),
    )  # fmt: skip


def _rules() -> tuple[Vector, ...]:
    def accepts(name: str, word: str, value: Json, comment: str, *, accepted: bool) -> Vector:
        return raw_question(f"evidence/rules/{name}", "accepts", {"type": word, "value": value},
                            comment, holds="E4" if accepted else "",
                            breaks="" if accepted else "E4", flags="boundary policy")  # fmt: skip

    def refused(name: str, comment: str, ratios: Json, min_speedup: Json) -> Vector:
        rule: Json = {"type": "median-mad", "samples": 3, "max_relative_mad": [1, 10]}
        return raw_question(f"evidence/rules/{name}", ASSESS.name,
                            {"rule": rule, "ratios": ratios, "min_speedup": min_speedup},
                            comment, breaks="E4", flags="boundary types")  # fmt: skip

    hundredth = ratio_json(Fraction(1, 100))
    return (
        accepts("samples-two", "median-mad", {"samples": 2}, "Two samples say nothing.",
                accepted=False),
        accepts("samples-three", "median-mad", {"samples": 3}, "Three do.", accepted=True),
        accepts("samples-largest", "median-mad", {"samples": 4096}, "The most.", accepted=True),
        accepts("samples-too-many", "median-mad", {"samples": 4097}, "One more.",
                accepted=False),
        accepts("mad-zero", "median-mad", {"max_relative_mad": [0, 1]}, "Nothing would pass.",
                accepted=False),
        accepts("mad-tiny", "median-mad", {"max_relative_mad": [1, 2**53 - 1]}, "Just over 0.",
                accepted=True),
        accepts("mad-one", "median-mad", {"max_relative_mad": [1, 1]}, "Anything would pass.",
                accepted=False),
        accepts("rate-zero", "anytime-valid", {"false_promotion_rate": [0, 1]},
                "Nothing could be promoted.", accepted=False),
        accepts("rate-one", "anytime-valid", {"false_promotion_rate": [1, 1]},
                "Everything might.", accepted=False),
        accepts("eight-blocks-carry-one-in-a-hundred", "anytime-valid",
                {"false_promotion_rate": hundredth, "max_blocks": 8}, "W(8,0) = 156.4.",
                accepted=True),
        accepts("seven-blocks-do-not", "anytime-valid",
                {"false_promotion_rate": hundredth, "max_blocks": 7}, "W(7,0) = 80.8.",
                accepted=False),
        accepts("min-over-max", "anytime-valid", {"min_blocks": 65, "max_blocks": 64},
                "No trial could end before its last block.", accepted=False),
        accepts("min-equals-max", "anytime-valid", {"min_blocks": 64, "max_blocks": 64},
                "One look at the end.", accepted=True),
        accepts("min-none", "anytime-valid", {"min_blocks": 0}, "At least one block.",
                accepted=False),
        raw_question("evidence/rules/rival-of-zero", ASSESS.name,
                     {"rule": {"type": "median-mad", "samples": 3}, "ratios": [[1, 2]],
                      "min_speedup": [103, 100], "to_beat": [0, 1]},
                     "No plan takes no time, a rival neither.", breaks="E4",
                     flags="boundary types"),
        refused("ratio-zero", "A ratio of times is positive.", [[0, 1]], [103, 100]),
        refused("ratio-negative", "A ratio under 0.", [[-1, 2]], [103, 100]),
        refused("minimum-under-one", "A minimum speed-up under 1 promotes slower plans.",
                [[1, 2]], [99, 100]),
    )  # fmt: skip
