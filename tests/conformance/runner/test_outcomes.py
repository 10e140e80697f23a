"""Every outcome that a vector can have, and what each means for the run."""

from collections.abc import Callable, Iterator

from conformance.adapters import serve
from conformance.implementations.python import ReferenceHarness
from conformance.protocol import Capability, Level, Limits, Stage, Style
from conformance.runner import Outcome, Run, run
from conformance.zoo import ZOO
from tests.conformance.runner.samples import (
    concurrent_script,
    declaring,
    opening,
    question,
    refused_question,
    tuned_script,
    wrong_question,
)


def fates(run_: Run) -> dict[str, Outcome]:
    return {result.id: result.outcome for result in run_.results}


def test_a_right_implementation_passes_questions_and_scripts_in_both_styles() -> None:
    done = run(opening(), (question(), refused_question(), tuned_script(), concurrent_script()))
    assert set(fates(done).values()) == {Outcome.PASSED}
    assert done.is_green
    assert done.goodbye is None
    for style in Style:
        alone = run(opening(), (tuned_script(),), style=style)
        assert alone.is_green, style


def test_a_wrong_answer_fails_and_shows_what_was_asked_expected_and_got() -> None:
    done = run(opening(), (question(), wrong_question()), repeat=lambda name: f"again {name}")
    assert list(fates(done).values()) == [Outcome.PASSED, Outcome.FAILED]
    failed = done.results[1]
    assert failed.rules == ("S1",)
    assert failed.repeat == "again keys/sample/wrong"
    assert failed.disagreement is not None
    assert "[2,1]" in str(failed.disagreement.sent)
    assert failed.disagreement.expected == {"type": "returned", "value": {"canonical": "[]"}}
    assert failed.disagreement.got != failed.disagreement.expected
    assert not done.is_green
    assert done.red == ("1 failed",)


def test_what_must_be_refused_fails_when_it_is_answered() -> None:
    (lenient,) = [one for one in ZOO if one.name == "accepts-nan"]
    done = run(opening(lenient.main), (refused_question(),))
    (result,) = done.results
    assert result.outcome is Outcome.FAILED
    assert result.disagreement is not None
    assert result.disagreement.expected == {"type": "refused", "refusal": "invalid-value"}


def test_a_wrong_step_is_named_with_its_place_and_style() -> None:
    (cold,) = [one for one in ZOO if one.name == "warms-up-once-more"]
    done = run(opening(cold.main), (tuned_script(),), style=Style.STEPPING)
    (result,) = done.results
    assert result.disagreement is not None
    assert result.disagreement.style is Style.STEPPING
    assert result.disagreement.step == 2


def test_a_known_failure_that_fails_is_green() -> None:
    known = {"keys/sample/wrong": "our arrays are strings"}
    done = run(opening(), (question(), wrong_question()), known)
    assert fates(done)["keys/sample/wrong"] is Outcome.FAILED_AS_EXPECTED
    assert done.results[1].reason == "our arrays are strings"
    assert done.is_green


def test_a_known_failure_that_passes_is_red() -> None:
    done = run(opening(), (question(),), {"keys/sample/array": "not yet"})
    assert fates(done) == {"keys/sample/array": Outcome.UNEXPECTEDLY_PASSED}
    assert done.red == ("1 unexpectedly passed",)


def test_a_known_failure_does_not_excuse_a_crash() -> None:
    (crash,) = [one for one in ZOO if one.name == "crash"]
    done = run(opening(crash.main), (question(),), {"keys/sample/array": "not yet"})
    assert fates(done) == {"keys/sample/array": Outcome.COULD_NOT_RUN}
    assert not done.is_green


def test_what_was_not_declared_is_not_applicable_and_says_why() -> None:
    main = declaring((Level.KEYS, Level.SELECTION), (Capability.CALLING,))
    done = run(opening(main), (question(), tuned_script(), concurrent_script()))
    assert list(fates(done).values()) == [
        Outcome.PASSED,
        Outcome.PASSED,
        Outcome.NOT_APPLICABLE,
    ]
    assert "stepping" in done.results[2].reason
    assert done.is_green
    done = run(opening(declaring((Level.EVIDENCE,), ())), (question(), question("evidence/x/y")))
    assert done.results[0].reason == "level keys is not declared"
    assert done.results[1].outcome is Outcome.PASSED


def test_concurrency_must_be_declared() -> None:
    main = declaring((Level.SELECTION,), (Capability.STEPPING,))
    done = run(opening(main), (tuned_script(), concurrent_script()))
    assert list(fates(done).values()) == [Outcome.PASSED, Outcome.NOT_APPLICABLE]
    assert "concurrency" in done.results[1].reason


def test_a_run_that_shows_nothing_is_red() -> None:
    assert not run(opening(), ()).is_green
    done = run(opening(declaring((), ())), (question(),))
    assert done.count(Outcome.NOT_APPLICABLE) == 1
    assert "nothing was run" in done.red[0]


def test_after_a_crash_the_next_vector_gets_a_new_process() -> None:
    starts = [0]

    def fragile(lines: Iterator[str], write: Callable[[str], object]) -> None:
        starts[0] += 1
        if starts[0] == 1:
            raise RuntimeError("first time")
        serve(ReferenceHarness(), lines, write)

    done = run(opening(fragile), (question("keys/a/1"), question("keys/a/2")))
    assert list(fates(done).values()) == [Outcome.COULD_NOT_RUN, Outcome.PASSED]
    assert starts == [2]
    assert done.results[0].broken is not None
    assert done.results[0].broken.stage is Stage.CRASH


def test_a_silent_implementation_is_given_up_after_three_time_limits() -> None:
    (silence,) = [one for one in ZOO if one.name == "silence"]
    vectors = tuple(question(f"keys/a/{number}") for number in range(50))
    done = run(opening(silence.main, Limits(answer_s=0.05)), vectors)
    assert done.count(Outcome.COULD_NOT_RUN) == 50
    assert "given up" in done.results[3].reason
    assert done.results[3].broken is not None
    assert not done.results[2].reason
    assert list(done.broken_by_stage()) == [Stage.TIME_LIMIT]


def test_a_bad_end_is_red_though_every_vector_passed() -> None:
    (bad,) = [one for one in ZOO if one.name == "after-goodbye"]
    done = run(opening(bad.main), (question(),))
    assert done.count(Outcome.PASSED) == 1
    assert done.goodbye is not None
    assert not done.is_green
