"""The reference as a plan, from what ONNX Runtime made of the caller's arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ortsel.plan import Plan, Provider
from ortsel.providers.device_listing import registered_plugins
from ortsel.providers.plugin import PluginLibrary, PluginLibraryError
from ortsel.session_settings import read_settings

if TYPE_CHECKING:
    from ortsel.session_options import SessionOptions

CPU: Final = "CPUExecutionProvider"
AZURE: Final = "AzureExecutionProvider"
"""Listed by every wheel, and so by many programs. It takes calls to a remote service only: without
it an ordinary model is the same session, and a model with such a call fails its trial, which keeps
the reference."""


def reference_plan(
    reported: Sequence[str],
    providers: Any,
    provider_options: Any,
    options: "SessionOptions | None",
    disabled_optimizers: Sequence[str],
) -> Plan:
    """Return the plan of a session that was built.

    Its providers are those that ONNX Runtime reports, with the options that the caller gave them:
    a list that names a missing provider, no list, and the list that comes of it are one plan.
    Raises `PluginLibraryError` for a provider of which nobody knows the library.
    """
    given = _given_options(providers, provider_options)
    settings = read_settings(options)
    libraries = _libraries(reported)
    named = [
        Provider(name, tuple(given.get(name, {}).items()), libraries.get(name))
        for name in reported
        if name != AZURE
    ]
    if dict(settings.config).get("session.disable_cpu_ep_fallback") == "1":
        # ONNX Runtime refuses the CPU by name beside this entry, and adds it by itself.
        named = [provider for provider in named if provider.name != CPU or len(named) == 1]
    return Plan(
        "reference",
        tuple(named),
        settings,
        disabled_optimizers=tuple(sorted(disabled_optimizers)),
        notes="the session as it is without ortsel",
    )


def _libraries(reported: Sequence[str]) -> dict[str, PluginLibrary]:
    """Return the libraries of those providers that ONNX Runtime does not bring along."""
    import onnxruntime

    names = frozenset(reported) - {CPU, AZURE}
    if not names:
        return {}
    # A library may bring a provider under a name that other builds of ONNX Runtime contain.
    known = {
        device.provider: plugin.library
        for plugin in registered_plugins()
        for device in plugin.devices
    }
    foreign = names.difference(onnxruntime.get_all_providers())
    for name in sorted(foreign.difference(known)):
        need = "a library that is registered with ortsel.register_execution_provider_library"
        raise PluginLibraryError(name, "a provider from elsewhere", need)
    return {name: known[name] for name in names.intersection(known)}


def _given_options(providers: Any, provider_options: Any) -> dict[str, dict[str, str]]:
    """Return the caller's options by provider, the first mention counting, as in ONNX Runtime.

    Arguments that ONNX Runtime could not read made it fall back to a session without them.
    """
    given: dict[str, dict[str, str]] = {}
    try:
        for position, provider in enumerate(providers or ()):
            name, options = provider if isinstance(provider, tuple) else (provider, {})
            if provider_options is not None:
                options = provider_options[position]
            given.setdefault(name, {str(key): str(value) for key, value in options.items()})
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return {}
    return given
