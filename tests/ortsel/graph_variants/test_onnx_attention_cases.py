"""ONNX's own test cases of `Attention` through every variant that takes them."""

import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from ortsel.graph_variants import VariantRefusedError, build_variant, variant_names

CPU = ["CPUExecutionProvider"]
RUNTIME_ERRORS = (runtime.Fail, runtime.InvalidArgument, runtime.NotImplemented)


def attention_cases() -> list[Any]:
    """Return the cases on the operator itself, queries left open as in a real decoder."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of the cases overflow on purpose
        cases: list[Any] = [
            case
            for case in collect_testcases("Attention")  # and whatever was collected before
            if case.model is not None
            and [node.op_type for node in case.model.graph.node] == ["Attention"]
        ]
    assert len(cases) > 50, "pointless without the cases"
    for case in cases:
        dimensions = case.model.graph.input[0].type.tensor_type.shape.dim
        dimensions[-2 if len(dimensions) == 4 else 1].dim_param = "queries"
    return cases


def run(model: onnx.ModelProto, feed: dict[str, Any]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=CPU)
    return list(session.run(None, feed))


@pytest.mark.slow
def test_every_case_that_a_variant_takes_keeps_its_outputs() -> None:
    taken = cases_taken(("prescaled-query", "attention-24"))
    assert taken["prescaled-query"] > 50, "pointless unless most cases are taken"
    assert taken["attention-24"] > 0 or onnx.defs.onnx_opset_version() < 25


@pytest.mark.deep
@pytest.mark.parametrize("opset", [23, 24, 25])
def test_every_case_that_any_variant_takes_keeps_its_outputs(opset: int) -> None:
    taken = cases_taken(variant_names(), opset)
    most_of_them = 48 if opset == 23 else 50  # fewer cases are models of the oldest
    for name in ("math", "memory-efficient", "flash-decode"):
        assert taken[name] > most_of_them, name
    assert taken["multi-head-attention"] > 5
    assert (taken["attention-24"] > most_of_them) is (opset == 25)


def cases_taken(names: Sequence[str], opset: int | None = None) -> Counter[str]:
    """Run every case on every variant that takes it, and return how many each took.

    The cases are models of the operator set given, as far as they are valid ones there.
    """
    taken: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "variant.onnx"
        for case in attention_cases():
            inputs = [value.name for value in case.model.graph.input]
            if opset is not None:
                del case.model.opset_import[:]
                case.model.opset_import.append(onnx.helper.make_opsetid("", opset))
                try:
                    onnx.checker.check_model(case.model, full_check=True)
                except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
                    continue  # it has an input or an attribute that came later
            feed = dict(zip(inputs, case.data_sets[0][0], strict=True))
            try:
                expected = run(case.model, feed)
            except RUNTIME_ERRORS:
                continue  # broadcasts that ONNX Runtime does not have: nothing to keep
            onnx.save(case.model, source)
            for name in names:
                try:
                    build_variant(name, source, target)
                except VariantRefusedError:
                    continue
                try:
                    outputs = run(onnx.load(target), feed)
                except RUNTIME_ERRORS:
                    # The kernel of 24 has fewer broadcasts: such a plan fails its trial.
                    assert name == "attention-24", case.name
                    continue
                taken[name] += 1
                for got, kept in zip(outputs, expected, strict=True):
                    rtol, atol = (4e-3, 1e-3) if kept.dtype == np.float16 else (1e-4, 1e-5)
                    np.testing.assert_allclose(
                        got, kept, rtol=rtol, atol=atol, err_msg=f"{case.name} {name}"
                    )
    return taken
