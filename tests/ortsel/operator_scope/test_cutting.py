"""What a child cuts out of a model: each kind of attention once, with what enters it."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from ortsel.operator_scope.cutting import CutAttention, NotCutOutError, cut, cut_in_child
from ortsel.plan import Plan
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.values import read_values
from tests.ortsel.operator_scope.layered_models import (
    HEADS,
    LENGTH,
    WIDTH,
    layered,
    layered_feed,
)

PLAN = Plan("reference")
CPU = ["CPUExecutionProvider"]
VARIANTS = ("attention-24", "onnx-attention")
FAR = 2**62


def outputs_alone(one: CutAttention, folder: Path, model: str) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(folder / model, providers=CPU)
    outputs: list[np.ndarray] = session.run(None, dict(read_values(folder / one.feed)))
    return outputs


def value_inside(model: Path, name: str) -> np.ndarray:
    proto = onnx.load(model)
    proto.graph.output.append(onnx.ValueInfoProto(name=name))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=CPU)
    [value] = session.run([name], layered_feed())
    assert isinstance(value, np.ndarray)
    return value


def test_equal_layers_are_one_problem_with_real_values_and_its_variants(tmp_path: Path) -> None:
    model = layered(tmp_path / "model.onnx")
    [one] = cut(model, PLAN, layered_feed(), VARIANTS, tmp_path)
    assert (one.operator, one.instances) == ("Attention", 4)
    assert one.shapes == ((1, LENGTH, WIDTH),) * 3
    assert [name for name, _ in one.variants] == ["attention-24"]
    assert [name for name, _ in one.refused] == ["onnx-attention"]
    expected = value_inside(model, "y0")
    for file in (one.model, one.variants[0][1]):
        np.testing.assert_allclose(
            outputs_alone(one, tmp_path, file)[0], expected, rtol=1e-4, atol=1e-5
        )


def test_weights_outside_of_the_models_file_are_found(tmp_path: Path) -> None:
    model = layered(tmp_path / "model.onnx", external=True)
    assert (tmp_path / "weights.bin").exists(), "pointless otherwise"
    folder = tmp_path / "cut"
    folder.mkdir()
    [one] = cut(model, PLAN, layered_feed(), (), folder)
    expected = value_inside(layered(tmp_path / "inside.onnx"), "y0")
    np.testing.assert_allclose(outputs_alone(one, folder, one.model)[0], expected, rtol=1e-4)


def test_another_number_of_heads_is_another_problem(tmp_path: Path) -> None:
    model = layered(tmp_path / "model.onnx", heads=(HEADS, 2 * HEADS))
    found = cut(model, PLAN, layered_feed(), (), tmp_path)
    assert [one.instances for one in found] == [2, 2]
    assert len({(tmp_path / one.model).read_bytes() for one in found}) == 2


@pytest.mark.parametrize(
    ("layers", "heads", "reason"),
    [
        (3, (HEADS,), "attention in 3 places, need 4"),
        (4, (1, 2, 4), "3 kinds of attention in 4 places"),
    ],
)
def test_too_little_or_too_many_kinds_of_attention_is_not_cut_out(
    tmp_path: Path, layers: int, heads: tuple[int, ...], reason: str
) -> None:
    model = layered(tmp_path / "model.onnx", layers=layers, heads=heads)
    with pytest.raises(NotCutOutError, match=reason):
        cut(model, PLAN, layered_feed(), (), tmp_path)


def test_the_child_tells_the_same_and_why_it_cannot(tmp_path: Path) -> None:
    model = layered(tmp_path / "model.onnx")
    here = cut(model, PLAN, layered_feed(), ("attention-24",), tmp_path)
    folder = tmp_path / "child"
    folder.mkdir()
    there = cut_in_child(model, PLAN, layered_feed(), ("attention-24",), folder, FAR)
    assert there == here
    with pytest.raises(TrialFailedError, match="not-cut-out"):
        cut_in_child(model, PLAN, {"x": np.zeros(3, np.float32)}, (), folder / "..", FAR)
