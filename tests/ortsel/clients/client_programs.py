"""A program that uses packages which run ONNX models, and knows nothing of ortsel.

`python client_programs.py [--badly-set] [--repeated] CLIENT ...` prints as JSON what each package
answered, and what there is to know of the sessions that did.
"""

import gc
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

KEPT: list[Any] = []
"""What holds the sessions, so that they can be looked at in the end."""


def magika() -> Any:
    """What kind of file some bytes are; feeds nested lists."""
    from magika import Magika

    KEPT.append(reader := Magika())
    contents = [
        Path(__file__).read_bytes(),
        b"{" + b'"name": [1, 2, 3], ' * 40 + b'"end": null}',
        b"<html><body>" + b"<p>a paragraph</p>\n" * 40 + b"</body></html>",
    ]
    found = [reader.identify_bytes(content) for content in contents]
    return [[str(one.output.label), float(one.score)] for one in found]


def pyfrspell(words: Sequence[str] = ("chevaux", "mangeaient", "belles")) -> Any:
    """The dictionary form of French words, letter by letter."""
    from pyfrspell import FrSpell

    KEPT.append(speller := FrSpell())
    found = [speller.lemma(word) for word in words]
    return [[one["lemma"], one["wordType"], one["confidence"]] for one in found]


def text2tashkeel(
    texts: Sequence[str] = ("بسم الله الرحمن الرحيم", "السلام عليكم"),
) -> Any:
    """Vowel marks on Arabic text; every sentence is another shape."""
    from text2tashkeel import Diacritizer

    KEPT.append(writer := Diacritizer("rawi-v2-int8"))
    return [writer.diacritize(text) for text in texts]


def akiki() -> Any:
    """Where speech is in a sound; what one call gives the next one takes."""
    import numpy as np
    from akiki import VAD

    moments = np.arange(16_000 * 2) / 16_000
    sound = np.sin(2 * np.pi * 180 * moments) * np.sin(2 * np.pi * 3 * moments)
    KEPT.append(detector := VAD(engine="onnx"))
    frames = detector.push(sound.astype(np.float32), 16_000)
    return [[frame.start_seconds, frame.probability, frame.speech] for frame in frames]


def silero_vad() -> Any:
    """Where speech is in a sound, by the package's class that needs no torch."""
    import numpy as np

    spec = find_spec("silero_vad")
    assert spec is not None
    folder = Path(str(spec.origin)).parent
    # The package imports torch for its other classes, and a function for what is done afterwards.
    package, rest = ModuleType("silero_vad"), ModuleType("silero_vad.utils_vad")
    package.__path__ = [str(folder)]
    vars(rest)["get_speech_timestamps_from_probs"] = None
    sys.modules.update({package.__name__: package, rest.__name__: rest})
    sequence_vad: Any = import_module("silero_vad.sequence_vad")
    moments = np.arange(16_000 * 2) / 16_000
    sound = np.sin(2 * np.pi * 180 * moments) * np.sin(2 * np.pi * 3 * moments)
    model = folder / "data" / "silero_vad_16k_sequence.onnx"
    KEPT.append(detector := sequence_vad.SileroVADSequence(str(model), max_frames=16))
    return [float(one) for one in detector.audio_forward(sound.astype(np.float32))]


def rapidocr() -> Any:
    """Text in a picture, by three models in a row."""
    import cv2
    import numpy as np
    from rapidocr_onnxruntime import RapidOCR

    picture = np.full((80, 400, 3), 255, np.uint8)
    cv2.putText(picture, "drop in 2026", (20, 55), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0), 3)
    KEPT.append(reader := RapidOCR())
    found, _ = reader(picture)
    return [[text, float(score)] for _, text, score in found]


CLIENTS: dict[str, Callable[[], Any]] = {
    client.__name__: client
    for client in (magika, pyfrspell, text2tashkeel, akiki, silero_vad, rapidocr)
}

REPEATED: dict[str, Callable[[], Any]] = {
    "akiki": akiki,
    "pyfrspell": lambda: pyfrspell(("y", "y", "y")),
    "text2tashkeel": lambda: text2tashkeel(("السلام عليكم",) * 3),
}
"""The same with few shapes, each asked several times."""


def set_badly() -> None:
    """Have every session of the program built with options that cost it time.

    As a program does that copied them from somewhere: no optimisation, weights laid out anew at
    each call.
    """
    import onnxruntime as ort

    build = ort.InferenceSession

    def built(path: Any, sess_options: Any = None, **others: Any) -> Any:
        options = ort.SessionOptions() if sess_options is None else sess_options
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.disable_prepacking", "1")
        return build(path, options, **others)

    ort.InferenceSession = built


def living_sessions() -> list[Any]:
    """Return all sessions that are alive."""
    from onnxruntime.capi.onnxruntime_inference_collection import Session

    return [thing for thing in gc.get_objects() if issubclass(type(thing), Session)]


def decisions() -> list[list[Any]]:
    """Return the plan, source and verification of each shape that ortsel decided about."""
    selecting = (one for one in living_sessions() if hasattr(one, "explain"))
    rows = [row for session in selecting for row in session.explain().rows()]
    return sorted([row["plan"], row["source"], row["verified"]] for row in rows)


def calls_by_plans() -> int:
    """Return how many calls other sessions than the program's own have answered."""
    connections = (getattr(one, "_ortsel_connection", None) for one in living_sessions())
    choices = (choice for one in connections if one is not None for choice in one.choices.values())
    return sum(choice.uses for choice in choices if choice.session is not None)


def main(arguments: list[str]) -> None:
    options = [one for one in arguments if one.startswith("--")]
    names = [one for one in arguments if one not in options]
    if "--badly-set" in options:
        set_badly()
    calls = REPEATED if "--repeated" in options else CLIENTS
    said = {
        "answers": {name: calls[name]() for name in names},
        "sessions": sorted({type(one).__module__ for one in living_sessions()}),
        "decisions": decisions(),
        "calls_by_plans": calls_by_plans(),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1:])
