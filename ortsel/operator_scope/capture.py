"""Values from inside a model, computed on a feed of the user's: what really enters its attention.

A copy of the model in memory gets more outputs; the model's own files stay as they are. It runs in
a child process, as everything does that a user's session did not ask for.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from attrs import evolve, frozen

from ortsel.plan import Plan
from ortsel.session_builder import build_session

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

NO_PREPACKING: Final = "session.disable_prepacking"
"""Weights are used once: arranging them for many calls takes longer than the call."""
EXTERNAL_FOLDER: Final = "session.model_external_initializers_file_folder_path"
SHAPE_PREFIX: Final = "ortsel__shape_of__"


@frozen(eq=False)
class Captured:
    """Values by the names that the model has for them."""

    values: Mapping[str, Array]
    shapes: Mapping[str, tuple[int, ...]]


def capture(
    model: Path,
    plan: Plan,
    feed: Mapping[str, Any],
    values: Sequence[str],
    shapes: Sequence[str],
) -> Captured:
    """Run the model once under a plan; return some of its values, and of others the shapes.

    Names are of the model's own graph, its inputs included. Raises whatever ONNX Runtime raises.
    """
    import onnx

    proto = onnx.load_model(model, load_external_data=False)
    known = {output.name for output in proto.graph.output}
    fed = [name for name in values if name in feed]
    asked = [name for name in values if name not in feed]
    measured = [name for name in shapes if name not in feed]
    for name in dict.fromkeys(asked):
        if name not in known:
            proto.graph.output.append(onnx.ValueInfoProto(name=name))
    for name in dict.fromkeys(measured):
        label = f"{SHAPE_PREFIX}{name}"
        proto.graph.node.append(onnx.helper.make_node("Shape", [name], [label]))
        proto.graph.output.append(onnx.ValueInfoProto(name=label))
    settings = plan.settings.with_config(EXTERNAL_FOLDER, str(model.absolute().parent))
    settings = settings.with_config(NO_PREPACKING, "1")
    session = build_session(
        proto.SerializeToString(), evolve(plan, settings=settings), verify_providers=False
    )
    names = list(dict.fromkeys([*asked, *(f"{SHAPE_PREFIX}{name}" for name in measured)]))
    found = dict(zip(names, session.run(names, dict(feed)) if names else [], strict=True))
    return Captured(
        {name: np.asarray(feed[name]) for name in fed}
        | {name: np.asarray(found[name]) for name in asked},
        {name: tuple(np.shape(feed[name])) for name in shapes if name in feed}
        | {name: tuple(map(int, found[f"{SHAPE_PREFIX}{name}"])) for name in measured},
    )
