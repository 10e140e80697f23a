"""What the machine, the installation and the model are like, as far as candidates depend on it."""

import hashlib
import importlib.util
import logging
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import field, frozen

from kernels_cuda import CUDA, NV_TENSORRT_RTX, TENSORRT, ShapeRange
from ortsel.candidates.model_traits import ModelTraits, read_model_traits
from ortsel.environment import thread_budget
from ortsel.environment.nvidia import library_versions
from ortsel.environment.nvidia_device import NoGpu, read_gpu
from ortsel.environment.packages import read_packages
from ortsel.environment.runtime_build import read_build
from ortsel.errors import MissingPackageError, UsageError
from ortsel.plan import Plan, Shapes, sorted_shapes
from ortsel.providers.cache_place import PLACE
from ortsel.providers.device_listing import plugins_at, registered_plugins
from ortsel.providers.plugin import Plugin, PluginLibrary
from spec.capability import Hardware, OrtBuild

NVIDIA: Final = frozenset({CUDA, TENSORRT, NV_TENSORRT_RTX})

logger: Final = logging.getLogger("ortsel.candidates")


def _at_least_one(_: object, attribute: "attrs.Attribute[int]", value: int) -> None:
    if type(value) is not int or value < 1:
        raise UsageError(attribute.name, repr(value), "an integer of at least 1")


@frozen
class GpuFacts:
    """The GPU that the session would use, and the kernels of the installed ONNX Runtime."""

    hardware: Hardware
    build: OrtBuild


@frozen
class EngineFacts:
    """What engines that are built for one device and model depend on."""

    folder: str
    """Where they may be kept."""
    fingerprint: str
    """Of model, device and library versions."""
    shapes: tuple[ShapeRange, ...] = ()
    """The shapes in play of every open input, where one engine is to take several; a call's own
    shapes give engines for them alone. Empty: an engine grows with the shapes that it meets."""


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
    shapes: Shapes = field(default=(), converter=sorted_shapes)
    """The exact shape of every input of the call that asks. Empty where no plan may be made for one
    shape alone: none is known, or shapes share a decision."""
    has_fixed_addresses: bool = False
    """Whether a plan's session may copy feeds into buffers of its own: the caller hands in arrays,
    and `shapes` says how large the buffers are."""
    engines: EngineFacts | None = None
    """None where no provider builds engines for the GPU."""
    reduced_precision: bool = False
    """Whether the user's tolerance may let float32 products of fewer bits pass."""
    lossy: bool = False
    """Whether the user's tolerance may let plans pass that are lossy by nature."""
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

        providers = tuple(onnxruntime.get_available_providers())
        gpu = _gpu(providers, reference)
        return cls(
            thread_budget(),
            _physical_cores(),
            providers,
            (("onnxruntime", str(onnxruntime.__version__)),),
            importlib.util.find_spec("onnxscript") is not None,
            read_model_traits(model),
            Plan("reference") if reference is None else reference,
            gpu=gpu,
            engines=None if gpu is None else _engines(providers, gpu, model),
            plugins=_plugins(libraries),
        )

    def offers(self, provider: str) -> bool:
        """Whether the installed ONNX Runtime offers a provider."""
        return provider in self.providers


def _gpu(providers: Sequence[str], reference: Plan | None) -> GpuFacts | None:
    """Return the GPU that the reference would use, or device 0 where it names none."""
    if NVIDIA.isdisjoint(providers):
        return None
    named = () if reference is None else reference.providers or ()
    chosen = [dict(one.options).get("device_id", "0") for one in named if one.name in NVIDIA]
    try:
        found = read_gpu(int(chosen[0]) if chosen else 0)
    except (MissingPackageError, ValueError) as error:
        found = NoGpu(str(error))
    if isinstance(found, NoGpu):
        logger.info("ortsel: no plan for a GPU: %s", found.reason)
        return None
    return GpuFacts(found, read_build())


def _engines(
    providers: Sequence[str], gpu: GpuFacts, model: str | os.PathLike[str] | bytes
) -> EngineFacts | None:
    if not {TENSORRT, NV_TENSORRT_RTX}.intersection(providers):
        return None
    from ortsel.canonical_model import UnknownContentError
    from ortsel.model_content import content_hash

    try:
        content = content_hash(model if isinstance(model, bytes) else Path(model)).digest
    except (OSError, UnknownContentError) as error:
        logger.info("ortsel: no plan for TensorRT: %s", error)
        return None
    device = f"{gpu.hardware.name} {gpu.hardware.sm}"
    libraries = library_versions(("libnvinfer.so.11", "libnvinfer.so.10"))
    packages = {name: text for name, text in read_packages().items() if "tensorrt" in name}
    parts = [content, device, str(gpu.build.version), str(libraries), str(packages)]
    fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return EngineFacts(f"{PLACE}/engines", fingerprint)


def _plugins(libraries: Sequence[PluginLibrary]) -> tuple[Plugin, ...]:
    registered = registered_plugins()
    known = {plugin.library.content for plugin in registered}
    return (*registered, *plugins_at(one for one in libraries if one.content not in known))


def _physical_cores() -> int | None:
    """Return the machine's physical cores, from which ONNX Runtime takes its default."""
    psutil: Any = import_module("psutil")
    cores = psutil.cpu_count(logical=False)
    return cores if isinstance(cores, int) and cores > 0 else None
