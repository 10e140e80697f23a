"""A plan on each device that a provider's library offers.

Whoever registered a library, or named one in the configuration, asked for it: its plans are offered
whatever else the user named, in front of it. A provider that is in the reference already is what
the reference races, unless one of several devices may be better.
"""

from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan, Provider
from ortsel.providers.plugin import Plugin, PluginDevice

CPU: Final = "CPUExecutionProvider"


def plugin_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return the reference with one device of a library in front of its own providers."""
    named = {provider.name for provider in reference.providers or ()}
    offered: dict[str, Plan | LeftOut] = {}
    for plugin in facts.plugins:
        for device in plugin.devices:
            name = f"plugin:{device.label}"
            if name in offered:  # two libraries with providers of one name
                name = f"{name},{plugin.library.registration}"
            if device.provider not in named or len(plugin.devices) > 1:
                offered.setdefault(name, _plan(reference, plugin, device, name))
            else:
                reason = "the reference runs on it"
                offered.setdefault(name, LeftOut(name, "same-as-reference", reason))
    return tuple(offered.values())


def _plan(reference: Plan, plugin: Plugin, device: PluginDevice, name: str) -> Plan:
    own = {provider.name: provider.options for provider in reference.providers or ()}
    others = [one for one in reference.providers or () if one.name != device.provider]
    provider = Provider(device.provider, own.get(device.provider, ()), plugin.library, device)
    version = f" {device.version}" if device.version else ""
    return derive(
        reference,
        name,
        providers=(provider, *(others or [Provider(CPU)])),
        notes=f"{device.provider}{version} of {device.vendor}, on {device.kind} {device.hardware}",
    )
