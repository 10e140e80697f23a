"""Keys under which advice and measurements may be kept: complete by construction."""

from spec.capability.attention_input import AttentionInput
from spec.capability.build import OrtBuild
from spec.capability.canonical_parts import Parts, canonical_parts
from spec.capability.configuration import Configuration
from spec.capability.hardware import Hardware


def workload_key(attention: AttentionInput, hardware: Hardware, build: OrtBuild) -> Parts:
    """What a latency belongs to: call, device and build, whatever the user wishes."""
    return (
        *canonical_parts("attention", attention),
        *canonical_parts("hardware", hardware),
        *canonical_parts("build", build),
    )


def advice_key(
    attention: AttentionInput,
    hardware: Hardware,
    configuration: Configuration,
    build: OrtBuild,
) -> Parts:
    """What an advice belongs to: the workload and every wish.

    Measurements are not part of it: who keeps advice by this key drops it when the history grows.
    """
    return (
        *workload_key(attention, hardware, build),
        *canonical_parts("configuration", configuration),
    )
