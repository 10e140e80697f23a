"""The session of a candidate, built in one way wherever it is built: what is verified is served."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ortsel.fixed_addresses import FixedAddressSession, device_of
from ortsel.mapped_weights import mapped_weights
from ortsel.plan import Plan
from ortsel.session_builder import CPU, build_session

if TYPE_CHECKING:
    import onnxruntime

_logger: Final = logging.getLogger("ortsel")

PLACED_BY_CONFIG: Final = "session.model_external_initializers_file_folder_path"
"""Configuration entry that says where weights lie beside a model."""


def build_plan_session(
    model: Path | bytes, plan: Plan, scratch: Path | None
) -> "onnxruntime.InferenceSession":
    """Return the session of a plan other than the reference, with large weights mapped.

    That is for plans on the CPU: other providers copy weights to memory of their own. `scratch` is
    where files may lie meanwhile, None where there is no such place. A model that does not load so
    is loaded as it is. A plan with `fixed_addresses` has a session around ONNX Runtime's. Raises as
    `build_session` does.
    """
    session = _plain_session(model, plan, scratch)
    if not plan.fixed_addresses:
        return session
    fixed = FixedAddressSession(session, device_of(plan), plan.shapes)
    return cast("onnxruntime.InferenceSession", fixed)


def _plain_session(
    model: Path | bytes, plan: Plan, scratch: Path | None
) -> "onnxruntime.InferenceSession":
    if scratch is None or not _may_map(plan):
        return build_session(model, plan)
    with mapped_weights(model, scratch) as source:
        if source is not model:
            try:
                return build_session(source, plan)
            except Exception:
                _logger.debug("%s: not built from mapped weights", plan.name, exc_info=True)
    return build_session(model, plan)


def _may_map(plan: Plan) -> bool:
    names = {provider.name for provider in plan.providers or ()}
    return names == {CPU} and PLACED_BY_CONFIG not in dict(plan.settings.config)
