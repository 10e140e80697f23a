"""A few vectors of known content, so that these tests don't depend on the suite's own."""

from collections.abc import Callable, Iterator

from attrs import evolve

from conformance.adapters import InProcess, serve
from conformance.adapters.in_process import Main
from conformance.fuzzing.candidate import script_of
from conformance.fuzzing.drawing import WORLD_BYTES, policy_of
from conformance.fuzzing.plan import Action, Ask, Asked, Plan
from conformance.fuzzing.play import played
from conformance.implementations.python import ReferenceHarness
from conformance.implementations.python.reference_harness import reference_answer
from conformance.protocol import Capability, Conversation, Level, Limits, Style, Welcome
from conformance.vectors.questions import REFUSED
from conformance.vectors.vector import Question, Script, Vector
from spec.candidate import Candidate
from spec.canonical_json import Json
from spec.problem import Problem, Scope

LIMITS = Limits(answer_s=2.0)
TEXT: Json = {"text": "[2,1]"}


def question(name: str = "keys/sample/array", text: Json = TEXT) -> Vector:
    """A question with the reference model's answer."""
    answer = reference_answer("canonical-json", text)
    body = Question("canonical-json", text, answer)
    return Vector(name, "", ("S1",), (), (), body)


def refused_question() -> Vector:
    """A question that must be refused."""
    text: Json = {"text": "[1.5]"}
    vector = question("keys/sample/float", text)
    assert isinstance(vector.body, Question)
    assert vector.body.expected == REFUSED, "pointless unless it is refused"
    return vector


def wrong_question(name: str = "keys/sample/wrong") -> Vector:
    """A vector whose answer nobody gives."""
    return Vector(name, "", ("S1",), (), (), Question("canonical-json", TEXT, {"canonical": "[]"}))


def script(
    *actions: Action, style: Style = Style.STEPPING, name: str = "selection/sample/script"
) -> Vector:
    """A script that the reference model played."""
    asked = Asked(
        Problem(Scope.OPERATOR, "softmax", {"rows": 1}, {"device": "cpu"}),
        (Candidate("a"), Candidate("b")),
        0,
    )
    plan = Plan(policy_of(bytes(WORLD_BYTES)), (asked,), (200_000, 100_000, 1, 1), (0,), actions)
    plan = evolve(plan, policy=evolve(plan.policy, reports=0))
    body = script_of(played(plan, style), ("stepping", "calling"))
    return Vector(name, "", ("S6", "S7"), (), (), body)


def tuned_script() -> Vector:
    """One search that ends in a promotion, and a hit."""
    vector = script(Ask(0, times=2))
    assert isinstance(vector.body, Script)
    assert "tuned" in str(vector.body.steps[-2]), "pointless unless it was tuned"
    assert "'memory'" in str(vector.body.steps[-1]), "pointless unless it hits"
    return vector


def concurrent_script() -> Vector:
    """Two requests at a time."""
    return script(Ask(0, patience=1), Ask(0, patience=0), name="selection/sample/concurrent")


def right(lines: Iterator[str], write: Callable[[str], object]) -> None:
    """The reference model as a harness."""
    serve(ReferenceHarness(), lines, write)


class Declaring(ReferenceHarness):
    """The reference model under another declaration."""

    def __init__(self, levels: tuple[Level, ...], capabilities: tuple[Capability, ...]) -> None:
        super().__init__()
        self.declared = (levels, capabilities)

    def welcome(self) -> Welcome:
        levels, capabilities = self.declared
        return evolve(super().welcome(), levels=levels, capabilities=capabilities)


def declaring(levels: tuple[Level, ...], capabilities: tuple[Capability, ...]) -> Main:
    """The reference model as a harness that declares less."""

    def main(lines: Iterator[str], write: Callable[[str], object]) -> None:
        serve(Declaring(levels, capabilities), lines, write)

    return main


def opening(main: Main = right, limits: Limits = LIMITS) -> Callable[[], Conversation]:
    """What starts a harness in this process."""
    return lambda: Conversation(InProcess(main, limits))
