import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.model_content import UnknownContentError, content_hash
from tests.ortsel.keys.sample_models import WEIGHTS, model, save_with_external_weights

PLAIN = model().SerializeToString()


def _changed(change: Callable[[onnx.ModelProto], object]) -> bytes:
    made = model()
    change(made)
    data = made.SerializeToString()
    assert data != PLAIN, "pointless unless the model changed"
    return bytes(data)


def _nested(made: onnx.ModelProto) -> onnx.GraphProto:
    """Wrap the product in an If, whose branches are graphs of their own."""
    branch = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["b"], name="inner", doc_string="words")],
        "branch",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(np.array([2.5], np.float32), "inside")],
    )
    condition = helper.make_tensor("c", TensorProto.BOOL, [1], [True])
    del made.graph.node[:]
    made.graph.node.extend(
        [
            helper.make_node("Constant", [], ["condition"], value=condition),
            helper.make_node("If", ["condition"], ["y"], then_branch=branch, else_branch=branch),
        ]
    )
    then: onnx.GraphProto = made.graph.node[1].attribute[0].g
    return then


@pytest.mark.parametrize(
    "change",
    [
        lambda made: setattr(made.graph.node[0], "name", "other"),
        lambda made: made.graph.node[0].ClearField("name"),
        lambda made: setattr(made.graph.node[0], "doc_string", "words"),
        lambda made: setattr(made.graph, "doc_string", "words"),
        lambda made: setattr(made.graph, "name", "words"),
        lambda made: setattr(made.graph.input[0], "doc_string", "words"),
        lambda made: setattr(made.graph.initializer[0], "doc_string", "words"),
        lambda made: setattr(made, "doc_string", "words"),
        lambda made: setattr(made, "producer_name", "another"),
        lambda made: setattr(made, "producer_version", "7"),
        lambda made: setattr(made, "model_version", 7),
        lambda made: made.metadata_props.add(key="author", value="me"),
        lambda made: made.graph.node[0].metadata_props.add(key="stack", value="/home/me/x.py:3"),
    ],
)
def test_what_cannot_change_the_computation_does_not_count(
    change: Callable[[onnx.ModelProto], object],
) -> None:
    assert content_hash(_changed(change)) == content_hash(PLAIN)


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.graph.initializer[0].CopyFrom(numpy_helper.from_array(WEIGHTS + 1, "w")),
        lambda made: setattr(made.graph.node[0], "op_type", "MatMulInteger"),
        lambda made: setattr(made.graph.node[0], "domain", "com.microsoft"),
        lambda made: made.graph.node[0].attribute.append(helper.make_attribute("alpha", 2.0)),
        lambda made: made.graph.node.append(helper.make_node("Relu", ["y"], ["z"])),
        lambda made: made.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_value"),
        lambda made: setattr(made.graph.input[0], "name", "x2"),
        lambda made: setattr(made.opset_import[0], "version", 16),
        lambda made: setattr(made, "ir_version", 10),
        lambda made: made.metadata_props.add(key="ort_config", value="{}"),
        lambda made: made.graph.node[0].metadata_props.add(key="layer_ann", value="gpu"),
        lambda made: made.graph.value_info.add(name="y2"),
        _nested,
    ],
)
def test_what_can_change_the_computation_counts(
    change: Callable[[onnx.ModelProto], object],
) -> None:
    assert content_hash(_changed(change)).digest != content_hash(PLAIN).digest


def test_every_single_weight_counts() -> None:
    digests = {content_hash(PLAIN).digest}
    for index in range(WEIGHTS.size):
        weights = WEIGHTS.copy()
        weights.flat[index] = np.nextafter(weights.flat[index], np.float32(np.inf))
        digests.add(content_hash(model(weights).SerializeToString()).digest)
    assert len(digests) == WEIGHTS.size + 1


def test_graphs_inside_nodes_count_like_the_outer_one() -> None:
    plain = content_hash(_changed(_nested)).digest

    def renamed(made: onnx.ModelProto) -> None:
        _nested(made).node[0].name = "other"

    def reweighted(made: onnx.ModelProto) -> None:
        _nested(made).initializer[0].CopyFrom(
            numpy_helper.from_array(np.array([2.75], np.float32), "inside")
        )

    assert content_hash(_changed(renamed)).digest == plain
    assert content_hash(_changed(reweighted)).digest != plain


def test_functions_of_the_model_count() -> None:
    def with_function(made: onnx.ModelProto, operator: str, name: str) -> None:
        node = helper.make_node(operator, ["a"], ["b"], name=name)
        opsets = [helper.make_opsetid("", 17)]
        made.functions.append(helper.make_function("own", "f", ["a"], ["b"], [node], opsets))

    relu = content_hash(_changed(lambda made: with_function(made, "Relu", "one"))).digest
    assert content_hash(_changed(lambda made: with_function(made, "Relu", "two"))).digest == relu
    assert content_hash(_changed(lambda made: with_function(made, "Tanh", "one"))).digest != relu


def test_names_of_nodes_count_where_they_place_nodes() -> None:
    other = _changed(lambda made: setattr(made.graph.node[0], "name", "other"))
    assert content_hash(other, node_names=True) != content_hash(PLAIN, node_names=True)


def test_a_model_in_a_file_is_the_model_in_bytes_wherever_it_lies(tmp_path: Path) -> None:
    for name in ("a.onnx", "other folder/b"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(PLAIN)
        assert content_hash(path) == content_hash(str(path)) == content_hash(PLAIN)


def test_weights_count_the_same_inside_and_outside_the_model(tmp_path: Path) -> None:
    save_with_external_weights(model(), tmp_path / "a" / "m.onnx", "weights.bin")
    save_with_external_weights(model(), tmp_path / "b" / "n.onnx", "other.bin")
    inside = content_hash(PLAIN)
    outside = content_hash(tmp_path / "a" / "m.onnx")
    assert outside.external == ("weights.bin",)
    assert outside.digest == inside.digest == content_hash(tmp_path / "b" / "n.onnx").digest
    shutil.move(tmp_path / "a", tmp_path / "moved")
    assert content_hash(tmp_path / "moved" / "m.onnx") == outside


def test_other_weights_outside_the_model_count(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    before = content_hash(path)
    (tmp_path / "weights.bin").unlink()
    save_with_external_weights(model(WEIGHTS + 1), tmp_path / "n.onnx", "weights.bin")
    assert path.read_bytes() == (tmp_path / "n.onnx").read_bytes(), (
        "pointless unless only the weights changed"
    )
    assert content_hash(path).digest != before.digest


def test_weights_of_a_model_in_bytes_lie_where_the_caller_says(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    with pytest.raises(UnknownContentError, match="the folder of a model given in bytes"):
        content_hash(path.read_bytes())
    assert content_hash(path.read_bytes(), tmp_path) == content_hash(path)


def _with_entries(path: Path, **entries: str) -> None:
    made = onnx.load(path, load_external_data=False)
    tensor = made.graph.initializer[0]
    kept = {entry.key: entry.value for entry in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in kept.items():
        if value:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(made.SerializeToString())


@pytest.mark.parametrize(
    "location",
    [
        "../weights.bin",
        "../other/deeper/weights.bin",
        "/tmp/weights.bin",
        "a/../../w",
        "C:\\w",
        "..\\w",
        ".",
        "",
    ],
)
def test_a_location_outside_the_directory_is_unknown_as_it_is_an_error_to_onnx_runtime(
    tmp_path: Path, location: str
) -> None:
    path = tmp_path / "model" / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    (tmp_path / "other" / "deeper").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "other" / "deeper"):
        shutil.copy(tmp_path / "model" / "weights.bin", folder)
    _with_entries(path, location=location)
    with pytest.raises(UnknownContentError):
        content_hash(path)
    with pytest.raises(Exception, match=r".+"):
        onnxruntime.InferenceSession(path)


@pytest.mark.parametrize(
    "entries",
    [
        {"location": "missing.bin"},
        {"length": "1000"},
        {"offset": "8"},
        {"offset": "-1"},
        {"offset": "x"},
        {"length": "4e1"},
    ],
)
def test_weights_that_cannot_be_read_make_the_content_unknown(
    tmp_path: Path, entries: dict[str, str]
) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    _with_entries(path, **entries)
    with pytest.raises(UnknownContentError):
        content_hash(path)


def test_a_length_that_is_not_stated_is_that_of_the_tensor(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    whole = content_hash(path)
    _with_entries(path, length="")
    with (tmp_path / "weights.bin").open("ab") as file:
        file.write(b"more")
    assert content_hash(path) == whole


def test_a_missing_model_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(UnknownContentError, match="No such file"):
        content_hash(tmp_path / "none.onnx")
    with pytest.raises(UnknownContentError):
        content_hash(tmp_path)


def test_models_in_onnx_runtime_s_own_format_count_byte_by_byte(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "m.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(PLAIN, options, providers=["CPUExecutionProvider"])
    data = (tmp_path / "m.ort").read_bytes()
    content = content_hash(tmp_path / "m.ort")
    assert (content.kind, content.digest) == ("ort", content_hash(data).digest)
    assert content_hash(data[:-1] + bytes([data[-1] ^ 1])).digest != content.digest


def test_bytes_that_are_no_model_are_hashed_as_they_are() -> None:
    assert content_hash(b"no model").kind == "raw"
    assert content_hash(b"").kind == "raw"
    assert content_hash(b"no model").digest != content_hash(b"no madel").digest
