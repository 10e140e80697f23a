"""Building the ONNX Runtime session of a plan, and checking that it is what the plan says."""

import os
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ortsel.errors import OrtselError
from ortsel.native_class import native_class
from ortsel.plan import Plan, Provider
from ortsel.providers.cache_place import option_values
from ortsel.providers.device_listing import find_device
from ortsel.providers.registration import ensure_registered
from ortsel.session_settings import build_options

if TYPE_CHECKING:
    import onnxruntime

CPU: str = "CPUExecutionProvider"
ASSIGNMENT_KEY: str = "session.record_ep_graph_assignment_info"


@frozen
class PlanUnavailableError(OrtselError):
    """The session could be built, but is not the plan: a provider is missing or takes no node."""

    plan: str
    got: str
    need: str

    def __str__(self) -> str:
        return f"plan {self.plan}: got {self.got}, need {self.need}"


def build_session(
    model: str | os.PathLike[str] | bytes, plan: Plan, *, verify_providers: bool = True
) -> "onnxruntime.InferenceSession":
    """Return a session of ONNX Runtime's own class that runs `plan`.

    `model` is the model of the plan's graph variant. The silent rescue to other providers is off.
    With `verify_providers`, raises `PlanUnavailableError` when a provider of the plan is missing in
    the session or took no node (E8), `PluginLibraryError` when a library of the plan cannot be
    registered or lacks the device; raises whatever ONNX Runtime raises otherwise.
    """
    settings = plan.settings
    asked = () if plan.providers is None else plan.providers
    counts_nodes = verify_providers and any(provider.name != CPU for provider in asked)
    if counts_nodes:
        settings = settings.with_config(ASSIGNMENT_KEY, "1")
    keywords: dict[str, Any] = {"enable_fallback": 0}
    if plan.disabled_optimizers:
        keywords["disabled_optimizers"] = list(plan.disabled_optimizers)
    for provider in asked:
        if provider.library is not None:
            ensure_registered(provider.library)
    options = build_options(settings)
    named = None if plan.providers is None else _named(asked)
    if any(provider.device is not None for provider in asked):
        _add_in_order(options, asked)
        named = None
    session = native_class("InferenceSession")(model, options, named, None, **keywords)
    session.disable_fallback()
    if verify_providers:
        _check_providers(session, plan, counts_nodes=counts_nodes)
    return session


def _named(providers: tuple[Provider, ...]) -> list[tuple[str, dict[str, str]]]:
    return [(provider.name, option_values(provider.options)) for provider in providers]


def _add_in_order(options: "onnxruntime.SessionOptions", providers: tuple[Provider, ...]) -> None:
    """Put providers on the session's options: a list of names cannot say which device."""
    for provider in providers:
        if provider.device is not None:
            device = find_device(provider.device)
            options.add_provider_for_devices([device], option_values(provider.options))
        elif provider.name != CPU or provider.options:  # it comes last by itself
            options.add_provider(provider.name, option_values(provider.options))


def nodes_by_provider(session: "onnxruntime.InferenceSession") -> dict[str, int] | None:
    """Return how many nodes each provider took, or None where ONNX Runtime does not say."""
    from onnxruntime.capi.onnxruntime_pybind11_state import Fail

    try:
        subgraphs = session.get_provider_graph_assignment_info()
    except (AttributeError, Fail):  # an older ONNX Runtime, or nothing was recorded
        return None
    counts: dict[str, int] = {}
    for subgraph in subgraphs:
        counts[subgraph.ep_name] = counts.get(subgraph.ep_name, 0) + len(subgraph.get_nodes())
    return counts


def _check_providers(
    session: "onnxruntime.InferenceSession", plan: Plan, *, counts_nodes: bool
) -> None:
    asked = [provider.name for provider in plan.providers or ()]
    reported = list(session.get_providers())
    missing = [name for name in asked if name not in reported]
    if missing:
        raise PlanUnavailableError(plan.name, f"providers {reported}", f"{missing} among them")
    if not counts_nodes:
        return
    counts = nodes_by_provider(session)
    if counts is None:
        return
    idle = [name for name in asked if name != CPU and not counts.get(name)]
    if idle:
        raise PlanUnavailableError(plan.name, f"nodes {counts}", f"nodes on each of {idle}")
