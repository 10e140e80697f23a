"""A program that uses packages which run ONNX models, and knows nothing of ortsel.

`python client_programs.py CLIENT ...` prints what each package answered, as JSON.
"""

import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
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


def pyfrspell() -> Any:
    """The dictionary form of French words, letter by letter."""
    from pyfrspell import FrSpell

    KEPT.append(speller := FrSpell())
    found = [speller.lemma(word) for word in ("chevaux", "mangeaient", "belles")]
    return [[one["lemma"], one["wordType"], one["confidence"]] for one in found]


def text2tashkeel() -> Any:
    """Vowel marks on Arabic text; every sentence is another shape."""
    from text2tashkeel import Diacritizer

    KEPT.append(writer := Diacritizer("rawi-v2-int8"))
    return [writer.diacritize(text) for text in ("بسم الله الرحمن الرحيم", "السلام عليكم")]


def akiki() -> Any:
    """Where speech is in a sound; what one call gives the next one takes."""
    import numpy as np
    from akiki import VAD

    moments = np.arange(16_000 * 2) / 16_000
    sound = np.sin(2 * np.pi * 180 * moments) * np.sin(2 * np.pi * 3 * moments)
    KEPT.append(detector := VAD(engine="onnx"))
    frames = detector.push(sound.astype(np.float32), 16_000)
    return [[frame.start_seconds, frame.probability, frame.speech] for frame in frames]


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
    client.__name__: client for client in (magika, pyfrspell, text2tashkeel, akiki, rapidocr)
}


def session_modules() -> list[str]:
    """Return where the classes of all sessions that are alive come from."""
    from onnxruntime.capi.onnxruntime_inference_collection import Session

    alive = (type(thing) for thing in gc.get_objects())
    return sorted({kind.__module__ for kind in alive if issubclass(kind, Session)})


def main(names: list[str]) -> None:
    answers = {name: CLIENTS[name]() for name in names}
    print(json.dumps({"answers": answers, "sessions": session_modules()}))


if __name__ == "__main__":
    main(sys.argv[1:])
