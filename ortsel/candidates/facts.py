"""What the machine, the installation and the model are like, as far as candidates depend on it."""

import importlib.util
import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import attrs
from attrs import field, frozen

from ortsel.candidates.model_traits import ModelTraits, read_model_traits
from ortsel.environment import thread_budget
from ortsel.errors import UsageError
from ortsel.plan import Plan
from ortsel.providers.device_listing import plugins_at, registered_plugins
from ortsel.providers.plugin import Plugin, PluginLibrary
from spec.capability import Hardware, OrtBuild


def _at_least_one(_: object, attribute: "attrs.Attribute[int]", value: int) -> None:
    if type(value) is not int or value < 1:
        raise UsageError(attribute.name, repr(value), "an integer of at least 1")


@frozen
class GpuFacts:
    """The GPU that the session would use, and the kernels of the installed ONNX Runtime."""

    hardware: Hardware
    build: OrtBuild


@frozen
class CandidateFacts:
    """Everything that decides which candidates are worth a trial; read once, outside."""

    thread_budget: int = field(validator=_at_least_one)
    """CPUs that this process may really use: the least of affinity and control-group quota."""
    physical_cores: int | None = field(
        default=None, validator=attrs.validators.optional(_at_least_one)
    )
    """Physical cores of the machine; None is unknown."""
    providers: tuple[str, ...] = ("CPUExecutionProvider",)
    """Providers that the installed ONNX Runtime offers, in its order."""
    library_versions: tuple[tuple[str, str], ...] = ()
    """Versions of the installation and of provider libraries by name."""
    has_onnxscript: bool = False
    """Whether graph variants that need onnxscript can be built."""
    model: ModelTraits = field(factory=ModelTraits)
    reference: Plan = field(factory=lambda: Plan("reference"))
    """What plain ONNX Runtime would do: where a function of the user's starts from, so that its
    plans keep the session's own settings."""

    gpu: GpuFacts | None = None
    """None is no GPU, or one of which nothing is known: no plan is made for it then."""
    has_fixed_addresses: bool = False
    """Whether the caller binds the same device buffers at each call."""
    plugins: tuple[Plugin, ...] = ()
    """Provider libraries with their devices: those that the user registered or named."""

    @classmethod
    def read(
        cls,
        model: str | os.PathLike[str] | bytes,
        reference: Plan | None = None,
        libraries: Sequence[PluginLibrary] = (),
    ) -> "CandidateFacts":
        """Return the facts of this process and this model.

        Besides `libraries`, those count that are registered in this process. One that cannot be
        used costs its own plans and a log entry.
        """
        import onnxruntime

        return cls(
            thread_budget(),
            _physical_cores(),
            tuple(onnxruntime.get_available_providers()),
            (("onnxruntime", str(onnxruntime.__version__)),),
            importlib.util.find_spec("onnxscript") is not None,
            read_model_traits(model),
            Plan("reference") if reference is None else reference,
            plugins=_plugins(libraries),
        )

    def offers(self, provider: str) -> bool:
        """Whether the installed ONNX Runtime offers a provider."""
        return provider in self.providers


def _plugins(libraries: Sequence[PluginLibrary]) -> tuple[Plugin, ...]:
    registered = registered_plugins()
    known = {plugin.library.content for plugin in registered}
    return (*registered, *plugins_at(one for one in libraries if one.content not in known))


def _physical_cores() -> int | None:
    """Return the machine's physical cores, from which ONNX Runtime takes its default."""
    psutil: Any = import_module("psutil")
    cores = psutil.cpu_count(logical=False)
    return cores if isinstance(cores, int) and cores > 0 else None
