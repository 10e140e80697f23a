"""ortsel's decision as the delegate that ONNX Runtime asks which devices to use.

For programs that let ONNX Runtime choose the provider and build plain sessions:

    options = onnxruntime.SessionOptions()
    options.set_provider_selection_policy_delegate(ortsel.EpSelector("model.onnx", feed))
    session = onnxruntime.InferenceSession("model.onnx", options)

ONNX Runtime tells a delegate neither the model's file nor any shape, so it is given both here.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from ortsel.candidates import CandidateFacts
from ortsel.candidates.plugins import plugin_candidates
from ortsel.errors import UsageError
from ortsel.explain import Explanation
from ortsel.plan import Plan
from ortsel.providers.device_listing import find_device
from ortsel.providers.plugin import PluginDevice
from ortsel.selection_config import SelectionConfig, SelectionMode, as_config

CPU: Final = "CPUExecutionProvider"

logger: Final = logging.getLogger("ortsel")


class EpSelector:
    """A delegate that answers with the device whose plan was measured fastest and verified.

    The reference is the CPU provider; the candidates are one plan for each device that a registered
    library offers. With mode "blocking" the first question measures; with every other mode the
    answer is what the store holds, since a session asks once and cannot change later. Any doubt,
    and a winner that is not among the devices, mean the CPU.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        feed: Mapping[str, Any],
        selection: SelectionConfig | None = None,
    ) -> None:
        """Take the model that the session will load, and inputs like those that it will get.

        Raises `UsageError` where `selection` brings candidates of its own: a delegate chooses
        devices, and no other part of a plan.
        """
        config = as_config(selection)
        if config.candidates is not None:
            raise UsageError("selection.candidates", repr(config.candidates), "None")
        self._model = model if isinstance(model, bytes) else os.fspath(model)
        self._feed = dict(feed)
        mode = config.mode
        if mode is not SelectionMode.BLOCKING and mode is not SelectionMode.DISABLED:
            mode = SelectionMode.CACHE_ONLY
        self._config = evolve(config, candidates=_devices_only, mode=mode)
        self._winner: PluginDevice | None = None
        self._explanation: Explanation | None = None

    def __call__(
        self,
        devices: Sequence[Any],
        _model_metadata: Mapping[str, str],
        _runtime_metadata: Mapping[str, str],
        most: int,
    ) -> list[Any]:
        """Return the devices to use, the preferred one first; at least one, at most `most`."""
        cpu = [device for device in devices if device.ep_name == CPU]
        try:
            preferred = self._preferred(devices)
        except Exception:  # whatever escapes ends the user's session
            logger.exception("ortsel: the CPU provider is chosen")
            preferred = []
        return [*preferred, *cpu][: max(1, most)] or list(devices[:1])

    def explain(self) -> Explanation | None:
        """Return why; None before the first question."""
        return self._explanation

    def _preferred(self, devices: Sequence[Any]) -> list[Any]:
        if self._explanation is None:
            self._decide()
        if self._winner is None:
            return []
        wanted = find_device(self._winner)
        offered = [device for device in devices if device.ep_name == wanted.ep_name]
        return [device for device in offered if _same(device, wanted)]

    def _decide(self) -> None:
        from ortsel.session import InferenceSession

        session = InferenceSession(self._model, providers=[CPU], selection=self._config)
        session.run(None, self._feed)
        explanation = self._explanation = session.explain()
        facts = CandidateFacts.read(self._model, Plan("reference"), self._config.plugins)
        by_name = {
            plan.name: plan.providers[0].device for plan in _devices_only(facts) if plan.providers
        }
        for workload in explanation.workloads:
            self._winner = by_name.get(workload.plan)


def _devices_only(facts: CandidateFacts) -> Sequence[Plan]:
    offered = plugin_candidates(facts.reference, facts)
    return [one for one in offered if isinstance(one, Plan)]


def _same(one: Any, other: Any) -> bool:
    """Whether two of ONNX Runtime's device objects, which are made anew each time, are one."""
    return (
        one.ep_vendor == other.ep_vendor
        and one.device.type == other.device.type
        and one.device.vendor_id == other.device.vendor_id
        and one.device.device_id == other.device.device_id
        and dict(one.device.metadata) == dict(other.device.metadata)
    )
