"""`python -m ortsel.doctor.provider_probe NAME`: build a session, say on stdout what came of it."""

import json
import sys


def probe(name: str) -> tuple[list[str], int | None, str]:
    """Return the providers of a session that asked for one, the nodes it took, and an error."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    from ortsel.session_builder import ASSIGNMENT_KEY, nodes_by_provider

    square = [64, 64]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "y"], ["z"])],
        "probe",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, square) for name in "xy"],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, square)],
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(ASSIGNMENT_KEY, "1")
    try:
        session = onnxruntime.InferenceSession(model, options, providers=[name])
        ones = np.ones(square, np.float32)
        session.run(None, {"x": ones, "y": ones})
    except Exception as error:  # noqa: BLE001
        return [], None, f"{type(error).__name__}: {error}"[:600]
    counts = nodes_by_provider(session)
    taken = None if counts is None else counts.get(name, 0)
    return [str(one) for one in session.get_providers()], taken, ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe(sys.argv[1])) + "\n")
