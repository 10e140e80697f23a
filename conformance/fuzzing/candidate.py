"""A played script as a vector, and a finding as a file that the runner takes."""

import json
from pathlib import Path
from typing import Final

from conformance.codec import (
    encode_effects,
    encode_event,
    encode_moment,
    encode_policy,
    plain,
    without_words,
)
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.play import Play, PlayedStep, Refused, Saw, Took
from conformance.protocol.message import Sight, Style
from conformance.runner.suspicion import suspected_rules
from conformance.vectors.vector import Happens, Looked, Script, Step, Vector
from conformance.vectors.vector import Refused as RefusedStep
from conformance.vectors.version import SPEC_VERSION
from spec.canonical_json import Json, digest

GROUP: Final = "found"
FLAG: Final = "random"
FLAG_REASON: Final = "found by a random search, not yet understood by a person"


def script_of(play: Play, styles: tuple[str, ...], steps: int | None = None) -> Script:
    """Return the JSON form of the first steps of a play; of all without a number."""
    kept = play.steps if steps is None else play.steps[:steps]
    return Script(encode_policy(play.plan.policy), tuple(map(_step, kept)), styles, ())


def candidate_vector(finding: Finding, style: Style, seed: int) -> Vector:
    """Return a finding as a vector, cut behind the step in dispute.

    Its rules are those that such a step is about; a person has to confirm them.
    """
    script = script_of(finding.play, (style.value,), finding.size)
    steps = [_step_json(step) for step in script.steps]
    text = json.dumps([script.policy, steps], sort_keys=True)
    found = finding.disagreement
    rules = () if found is None else suspected_rules(found.expected, found.got)
    return Vector(
        f"selection/{GROUP}/{digest(text)[:16]}",
        f"Smallest disagreement of a search with seed {seed}, {style.value} style.",
        rules,
        (),
        (FLAG,),
        script,
    )


def write_candidate(path: Path, vector: Vector) -> None:
    """Write one vector as a file of vectors."""
    assert isinstance(vector.body, Script), "only scripts are found"
    document: Json = {
        "area": vector.area,
        "group": vector.group,
        "spec_version": SPEC_VERSION,
        "flags": {FLAG: FLAG_REASON},
        "vectors": [
            {
                "id": vector.id,
                "comment": vector.comment,
                "rules": {"holds": list(vector.holds), "breaks": list(vector.breaks)},
                "flags": list(vector.flags),
                "kind": vector.kind,
                "styles": list(vector.body.styles),
                "answers": list(vector.body.answers),
                "policy": vector.body.policy,
                "steps": [_step_json(step) for step in vector.body.steps],
            }
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def _step(step: PlayedStep) -> Step:
    match step:
        case Took():
            effects = without_words(encode_effects(step.effects))
            return Happens(encode_event(step.event), effects)
        case Refused():
            return RefusedStep(encode_event(step.event), step.refused)
        case Saw():
            now = encode_moment(step.now) if step.sight is Sight.FINGERPRINT else None
            return Looked(step.sight.value, now, without_words(plain(step.value)))


def _step_json(step: Step) -> Json:
    match step:
        case Happens():
            return {"event": step.event, "effects": step.effects}
        case RefusedStep():
            return {"event": step.event, "refused": step.refused}
        case Looked():
            return {"look": step.look, "now": step.now, "expected": step.expected}
