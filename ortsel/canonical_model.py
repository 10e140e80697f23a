"""An ONNX model with everything cleared that cannot change what it computes.

Left out are documentation, names of graphs and nodes, who produced the model, and metadata that
ONNX Runtime does not read. Weights are replaced by the hash of their bytes, wherever they lie, so a
model with its weights inside and the same model with its weights in a file beside it are one. Names
of values stay: they carry the structure, and callers use those of inputs and outputs.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from ortsel.errors import OrtselError

if TYPE_CHECKING:
    import onnx

KEPT_METADATA: Final = frozenset({"layer_ann", "ort_config"})
"""Metadata that ONNX Runtime reads: the device of a layer, and session options in a model."""
_CHUNK_BYTES: Final = 1 << 20
_MEMORY_LOCATION: Final = "*/_ORT_MEM_ADDR_/*"
_BITS: Final = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}


@frozen
class UnknownContentError(OrtselError):
    """Part of the model cannot be read, so nobody can say which model it is."""

    place: str
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.place}: got {self.got}, need {self.need}"


def make_canonical(
    model: "onnx.ModelProto",
    folder: Path | None,
    *,
    node_names: bool,
    hashed: Mapping[int, bytes] = MappingProxyType({}),
) -> frozenset[str]:
    """Bring a model to its canonical form in place; return the locations of its external data.

    `hashed` gives the hash of raw data that was left out, by position among the main graph's
    initializers.

    Raises `UnknownContentError` where external data cannot be read.
    """
    locations = _made_canonical(model, _Weights(folder), node_names=node_names)
    for position, digest in hashed.items():
        tensor = model.graph.initializer[position]
        if not tensor.HasField("raw_data"):  # external data, which goes before, has put its own
            tensor.raw_data = digest
    return locations


def _made_canonical(
    model: "onnx.ModelProto", weights: "_Weights", *, node_names: bool
) -> frozenset[str]:
    for graph in _graphs(model):
        _clear_graph(graph, weights, node_names)
    for function in model.functions:
        function.ClearField("doc_string")
        _keep_metadata(function)
        _clear_infos(function.value_info)
        for attribute in function.attribute_proto:
            _clear_attribute(attribute, weights, node_names)
        _clear_nodes(function.node, weights, node_names)
    for name in ("doc_string", "producer_name", "producer_version", "model_version"):
        model.ClearField(name)
    _keep_metadata(model)
    return frozenset(weights.locations)


def external_locations(model: "onnx.ModelProto", folder: Path) -> frozenset[str]:
    """Return the locations of a model's external data, reading none. The model is spoilt by it.

    Raises `UnknownContentError` for one outside the folder.
    """
    return _made_canonical(model, _Locations(folder), node_names=False)


def read_chunks(path: Path, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
    """Give the bytes of a file from `offset`, `length` of them or all.

    Raises `UnknownContentError` where there are fewer.
    """
    left = length
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while left is None or left > 0:
                chunk = file.read(_CHUNK_BYTES if left is None else min(left, _CHUNK_BYTES))
                if not chunk:
                    break
                left = None if left is None else left - len(chunk)
                yield chunk
    except OSError as error:
        raise UnknownContentError(str(path), error.strerror or str(error), "a file") from error
    if left:
        raise UnknownContentError(str(path), f"{left} bytes fewer", f"{offset} + {length} bytes")


def sha256_of(path: Path, offset: int, length: int) -> bytes:
    """Return the hash of a part of a file. Raises as `read_chunks` does."""
    hashed = hashlib.sha256()
    for chunk in read_chunks(path, offset, length):
        hashed.update(chunk)
    return hashed.digest()


class _Weights:
    """Replaces the bytes of a tensor by their hash, and notes which files were read."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.locations: set[str] = set()

    def replace(self, tensor: "onnx.TensorProto") -> None:
        tensor.ClearField("doc_string")
        _keep_metadata(tensor)
        if tensor.data_location == tensor.EXTERNAL:
            hashed = self._external(tensor)
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = hashed
        elif tensor.HasField("raw_data"):
            tensor.raw_data = self._hash_inside(tensor.raw_data)

    def _external(self, tensor: "onnx.TensorProto") -> bytes:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        place = f"external data of {tensor.name}"
        if self._folder is None:
            raise UnknownContentError(place, location, "the folder of a model given in bytes")
        if not _stays_inside(location):
            raise UnknownContentError(place, location, "a path below the model's directory")
        offset = _number(entries.get("offset", "0"), f"{place}, offset")
        length = _number(entries["length"], f"{place}, length") if "length" in entries else None
        if length is None:
            length = _size(tensor)
        self.locations.add(location)
        return self._hash(self._folder / location, offset, length)

    def _hash(self, path: Path, offset: int, length: int) -> bytes:
        return sha256_of(path, offset, length)

    def _hash_inside(self, data: bytes) -> bytes:
        return hashlib.sha256(data).digest()


class _Locations(_Weights):
    """Notes which files would be read, and reads and hashes nothing."""

    def _hash(self, path: Path, offset: int, length: int) -> bytes:
        del path, offset, length
        return b""

    def _hash_inside(self, data: bytes) -> bytes:
        del data
        return b""


def _stays_inside(location: str) -> bool:
    if not location or location == _MEMORY_LOCATION:
        return False
    depth = 0
    for path in (PurePosixPath(location), PureWindowsPath(location)):
        if path.is_absolute() or path.drive:
            return False
    for part in PureWindowsPath(location).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
    return depth > 0


def _number(text: str, place: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise UnknownContentError(place, ascii(text), "a decimal number of bytes")
    return int(text)


def _size(tensor: "onnx.TensorProto") -> int:
    """Bytes of a tensor whose length is not stated: its elements, packed where they are small."""
    import onnx

    name = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    bits = _BITS.get(name)
    if bits is None:
        bits = 8 * int(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
    elements = 1
    for size in tensor.dims:
        elements *= size
    return -(-elements * bits // 8)


def _graphs(model: "onnx.ModelProto") -> Iterator["onnx.GraphProto"]:
    yield model.graph
    for training in model.training_info:
        yield training.initialization
        yield training.algorithm


def _clear_graph(graph: Any, weights: _Weights, node_names: bool) -> None:
    graph.ClearField("name")
    graph.ClearField("doc_string")
    _keep_metadata(graph)
    for infos in (graph.input, graph.output, graph.value_info):
        _clear_infos(infos)
    for tensor in graph.initializer:
        weights.replace(tensor)
    for sparse in graph.sparse_initializer:
        _clear_sparse(sparse, weights)
    _clear_nodes(graph.node, weights, node_names)


def _clear_nodes(nodes: Any, weights: _Weights, node_names: bool) -> None:
    for node in nodes:
        node.ClearField("doc_string")
        _keep_metadata(node)
        if not node_names:
            node.ClearField("name")
        for attribute in node.attribute:
            _clear_attribute(attribute, weights, node_names)


def _clear_attribute(attribute: Any, weights: _Weights, node_names: bool) -> None:
    attribute.ClearField("doc_string")
    if attribute.HasField("t"):
        weights.replace(attribute.t)
    for tensor in attribute.tensors:
        weights.replace(tensor)
    if attribute.HasField("sparse_tensor"):
        _clear_sparse(attribute.sparse_tensor, weights)
    for sparse in attribute.sparse_tensors:
        _clear_sparse(sparse, weights)
    if attribute.HasField("g"):
        _clear_graph(attribute.g, weights, node_names)
    for graph in attribute.graphs:
        _clear_graph(graph, weights, node_names)


def _clear_sparse(sparse: Any, weights: _Weights) -> None:
    weights.replace(sparse.values)
    weights.replace(sparse.indices)


def _clear_infos(infos: Any) -> None:
    for info in infos:
        info.ClearField("doc_string")
        _keep_metadata(info)


def _keep_metadata(message: Any) -> None:
    """Keep only what ONNX Runtime reads, in the order of its names."""
    kept = sorted(
        (entry.key, entry.value) for entry in message.metadata_props if entry.key in KEPT_METADATA
    )
    del message.metadata_props[:]
    for key, value in kept:
        message.metadata_props.add(key=key, value=value)
