"""An outline is the model without its large weights, and never anything else."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from ortsel.model_content import UnknownContentError, content_hash, forget_all
from ortsel.model_outline import KEPT_BYTES, read_outline


def _model(size: int = 32) -> onnx.ModelProto:
    weight = np.arange(size * size, dtype=np.float32).reshape(size, size) / size**2
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, size])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(weight[0, :8], "b8")],
    )
    graph.initializer.append(numpy_helper.from_array(weight[1], "b"))
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def test_an_outline_lacks_only_the_large_weights() -> None:
    model = _model()
    data = model.SerializeToString()
    outline = read_outline(data)
    [left_out] = outline.weights
    raw = model.graph.initializer[0].raw_data
    assert left_out.initializer == 0
    assert data[left_out.start : left_out.start + left_out.size_bytes] == raw
    rest = onnx.ModelProto()
    rest.ParseFromString(outline.message)
    model.graph.initializer[0].ClearField("raw_data")
    assert rest == model


def test_a_file_has_the_outline_of_its_bytes(tmp_path: Path) -> None:
    data = _model().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    assert read_outline(tmp_path / "m.onnx") == read_outline(data)


def test_small_weights_stay() -> None:
    data = _model(16).SerializeToString()
    assert KEPT_BYTES >= 16 * 16 * 4, "pointless unless every weight is small"
    assert read_outline(data).weights == ()
    assert read_outline(data).message == data


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"ORTMORTM\x08", b"\x3a\x7f", b"\x0b\x0c"])
def test_what_is_no_model_is_returned_whole(data: bytes) -> None:
    assert read_outline(data).message == data
    assert read_outline(data).weights == ()


def test_a_cut_model_is_returned_whole() -> None:
    data = _model().SerializeToString()[:-7]
    assert read_outline(data).message == data


def test_graphs_that_a_parser_would_join_are_left_alone() -> None:
    data = _model().SerializeToString()
    assert read_outline(data + data).message == data + data
    assert read_outline(data + data).weights == ()


def test_a_tensor_with_raw_data_twice_is_left_alone() -> None:
    model = _model()
    tensor = model.graph.initializer[0].SerializeToString() * 2
    graph = helper.make_graph([], "g", [], []).SerializeToString()
    inner = graph + b"\x2a" + _varint(len(tensor)) + tensor
    data = b"\x3a" + _varint(len(inner)) + inner
    assert read_outline(data).message == data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    forget_all()
    data = _model().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    assert read_outline(data).weights, "pointless unless weights are left out"
    assert content_hash(tmp_path / "m.onnx") == content_hash(data)


@pytest.mark.parametrize("position", [0, 2])
def test_another_weight_is_another_hash(tmp_path: Path, position: int) -> None:
    forget_all()
    model = _model(1152)
    (tmp_path / "one.onnx").write_bytes(model.SerializeToString())
    tensor = model.graph.initializer[position]
    tensor.raw_data = tensor.raw_data[:-1] + b"\x01"
    (tmp_path / "two.onnx").write_bytes(model.SerializeToString())
    one, two = content_hash(tmp_path / "one.onnx"), content_hash(tmp_path / "two.onnx")
    assert one.digest != two.digest


def test_external_data_counts_and_not_what_lies_beside_it_in_the_tensor(tmp_path: Path) -> None:
    forget_all()
    model = _model()
    tensor = model.graph.initializer[0]
    (tmp_path / "w").write_bytes(tensor.raw_data[::-1])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w")
    data = model.SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    assert read_outline(data).weights, "pointless unless raw data is left out"
    assert content_hash(tmp_path / "m.onnx") == content_hash(data, tmp_path)


def _rich_model() -> onnx.ModelProto:
    """Weights in every place that a model has for them; only the main graph's are left out."""
    model = _model()
    wide = numpy_helper.from_array(np.arange(600, dtype=np.int64), "wide")
    model.training_info.add().initialization.initializer.append(wide)
    sparse = model.graph.sparse_initializer.add(dims=[1000])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(600, np.float32), "sparse"))
    sparse.indices.CopyFrom(wide)
    model.graph.initializer.extend(
        [
            numpy_helper.from_array(np.array(["abc"] * 600, dtype=object), "text"),
            helper.make_tensor("listed", TensorProto.FLOAT, [600], [1.5] * 600),
            helper.make_tensor("empty", TensorProto.FLOAT, [0], b"", raw=True),
        ]
    )
    inner = helper.make_graph([], "inner", [], [], [wide])
    model.graph.node.append(helper.make_node("If", ["b8"], [], then_branch=inner))
    constant = helper.make_node("Constant", [], ["c"], value=wide)
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "f", [], ["c"], [constant], opset))
    return model


RICH = _rich_model().SerializeToString()


def _content(model: Path | bytes, folder: Path) -> object:
    try:
        return content_hash(model, folder)
    except UnknownContentError as error:
        return error.need


@given(st.data())
def test_a_damaged_file_has_the_hash_of_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    assert len(read_outline(RICH).weights) == 1, "pointless unless a weight is left out"
    at = data.draw(st.integers(0, 200) | st.integers(0, len(RICH)))
    cut = data.draw(st.integers(0, 3) | st.integers(0, len(RICH)))
    put = data.draw(st.binary(max_size=8) | st.just(RICH[at : at + 40]))
    damaged = RICH[:at] + put + RICH[at + cut :]
    folder = tmp_path_factory.getbasetemp()
    path = folder / "damaged.onnx"
    path.write_bytes(damaged)
    forget_all()
    assert _content(path, folder) == _content(damaged, folder)


def test_a_file_that_became_shorter_has_no_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_all()
    path = tmp_path / "m.onnx"
    path.write_bytes(RICH)
    read = read_outline

    def read_and_cut(model: Path | bytes) -> object:
        outline = read(model)
        path.write_bytes(RICH[:100])
        return outline

    monkeypatch.setattr("ortsel.model_content.read_outline", read_and_cut)
    with pytest.raises(UnknownContentError):
        content_hash(path)
