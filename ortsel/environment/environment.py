"""The environment as a value, read from this process."""

import platform
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from attrs import frozen

from ortsel.environment.cpu_budget import CpuBudget, read_cpu_budget
from ortsel.environment.cpu_model import CpuModel, read_cpu_model
from ortsel.environment.nvidia import NvidiaFacts, library_versions, read_nvidia
from ortsel.environment.packages import read_packages
from ortsel.environment.variables import read_variables
from ortsel.providers.library_search import content_of
from ortsel.providers.registration import library_path, registered_for_plans
from spec.canonical_json import Json

DECISION_SCHEMA: Final = 1
"""Grows when measuring, verifying or building plans changes so that older decisions would mean
something else."""

CONTAINED: Final = frozenset(
    {
        "ACLExecutionProvider",
        "ArmNNExecutionProvider",
        "AzureExecutionProvider",
        "CPUExecutionProvider",
        "DnnlExecutionProvider",
        "XnnpackExecutionProvider",
    }
)
"""Providers whose kernels are part of ONNX Runtime's own build, and have its version."""
NVIDIA: Final = frozenset(
    {"CUDAExecutionProvider", "NvTensorRTRTXExecutionProvider", "TensorrtExecutionProvider"}
)
PACKAGED: Final[Mapping[str, tuple[str, ...]]] = {
    "DmlExecutionProvider": ("onnxruntime-directml",),
    "MIGraphXExecutionProvider": ("onnxruntime-migraphx", "onnxruntime-rocm"),
    "OpenVINOExecutionProvider": ("openvino", "onnxruntime-openvino", "onnxruntime-ep-openvino"),
    "QNNExecutionProvider": ("onnxruntime-qnn",),
    "ROCMExecutionProvider": ("onnxruntime-rocm",),
}
"""Providers whose kernels have the version of a package, one of which must be installed."""
OF_THE_SYSTEM: Final = frozenset({"CoreMLExecutionProvider", "DmlExecutionProvider"})
"""Providers whose kernels come, in part, with the operating system."""
LIBRARIES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "cuBLAS": ("nvidia-cublas", ("libcublas.so.13", "libcublas.so.12")),
    "cuDNN": ("nvidia-cudnn", ("libcudnn.so.9",)),
    "TensorRT": ("tensorrt", ("libnvinfer.so.11", "libnvinfer.so.10")),
}
"""Libraries beside the NVIDIA providers: how their packages' names begin, and their own names."""


@frozen
class Environment:
    """Everything that changes kernels, except the model, the call and the options."""

    onnxruntime: tuple[tuple[str, str], ...]
    """Version and build information of ONNX Runtime by name."""
    providers: tuple[str, ...]
    """Providers of this build, in its order of precedence."""
    plugins: tuple[tuple[str, ...], ...]
    """Providers with a device here, as ONNX Runtime lists them: name, vendor, kind of device, its
    vendor and model number, version, and the content of its library if that is known. What only a
    plan needed is left out: the plan names it, and tuning must not change the environment."""
    packages: tuple[tuple[str, str], ...]
    """Versions of packages that hold kernels, by name."""
    libraries: tuple[tuple[str, str], ...]
    """Files of shared libraries that hold kernels and come with no package, by name."""
    nvidia: NvidiaFacts | None
    """None where no NVIDIA provider or no driver is installed."""
    system: tuple[str, ...]
    """Operating system and architecture."""
    cpu: CpuModel | None
    budget: CpuBudget
    variables: tuple[tuple[str, str], ...]
    """Environment variables that change kernels, as far as they are set."""
    unknown: tuple[str, ...] = ()
    """What could not be read. Where this is not empty, nobody can say that two environments are
    the same: nothing may be read from a store or written to one (`Problem.persistent` is false)."""

    def parts(self) -> Json:
        """Return the environment as named parts of a key."""
        cpu, nvidia, budget = self.cpu, self.nvidia, self.budget
        return {
            "cpu": None
            if cpu is None
            else {"identity": list(cpu.identity), "instructions": list(cpu.instructions)},
            "decision_schema": DECISION_SCHEMA,
            "libraries": dict(self.libraries),
            "nvidia": None
            if nvidia is None
            else {
                "devices": [list(device) for device in nvidia.devices],
                "driver": nvidia.driver,
                "visible": nvidia.visible,
            },
            "onnxruntime": dict(self.onnxruntime),
            "packages": dict(self.packages),
            "plugins": [list(plugin) for plugin in self.plugins],
            "providers": list(self.providers),
            "system": list(self.system),
            "threads": {
                "affinity": budget.affinity,
                "cores": budget.cores,
                "quota_millicpus": budget.quota_millicpus,
                "threads": budget.threads,
            },
            "unknown": list(self.unknown),
            "variables": dict(self.variables),
        }


def read_environment() -> Environment:
    """Return the environment of this process now.

    Versions, CPU and devices are read once. The CPU budget, the variables and the providers that
    were registered since are read every time.
    """
    installed = _installed()
    plugins, unversioned = _read_plugins()
    return Environment(
        onnxruntime=installed.onnxruntime,
        providers=installed.providers,
        plugins=plugins,
        packages=installed.packages,
        libraries=installed.libraries,
        nvidia=installed.nvidia,
        system=installed.system,
        cpu=installed.cpu,
        budget=read_cpu_budget(),
        variables=tuple(read_variables().items()),
        unknown=(*installed.unknown, *unversioned),
    )


@frozen
class _Installed:
    """What stays as it is for the life of a process."""

    onnxruntime: tuple[tuple[str, str], ...]
    providers: tuple[str, ...]
    packages: tuple[tuple[str, str], ...]
    libraries: tuple[tuple[str, str], ...]
    nvidia: NvidiaFacts | None
    system: tuple[str, ...]
    cpu: CpuModel | None
    unknown: tuple[str, ...]


@cache
def _installed() -> _Installed:
    import onnxruntime

    runtime: Any = onnxruntime
    # Those of libraries that were registered since are among the plugins.
    own = frozenset(runtime.get_all_providers())
    providers = tuple(str(name) for name in runtime.get_available_providers() if name in own)
    packages = read_packages()
    cpu = read_cpu_model()
    driver = read_nvidia() if NVIDIA.intersection(providers) else None
    nvidia = driver if isinstance(driver, NvidiaFacts) else None
    libraries = _read_libraries(providers, packages) if nvidia is not None else {}
    unknown = [driver] if isinstance(driver, str) else []
    if cpu is None:
        unknown.append("CPU model")
    unknown.extend(_without_version(providers, packages, nvidia, libraries))
    return _Installed(
        (("build", str(runtime.get_build_info())), ("version", str(runtime.__version__))),
        providers,
        tuple(packages.items()),
        tuple(libraries.items()),
        nvidia,
        _system(providers),
        cpu,
        tuple(unknown),
    )


def _read_libraries(providers: tuple[str, ...], packages: Mapping[str, str]) -> dict[str, str]:
    names = tuple(
        name
        for library, (package, files) in LIBRARIES.items()
        if _needed(library, providers) and not _packaged(package, packages)
        for name in files
    )
    return library_versions(names)


def _without_version(
    providers: tuple[str, ...],
    packages: Mapping[str, str],
    nvidia: NvidiaFacts | None,
    libraries: Mapping[str, str],
) -> list[str]:
    """Return what the providers of this build rest on and whose version cannot be read."""
    missing = []
    for provider in providers:
        if provider in PACKAGED:
            if not any(name in packages for name in PACKAGED[provider]):
                missing.append(f"version of {provider}")
        elif provider not in CONTAINED | NVIDIA | OF_THE_SYSTEM:
            missing.append(f"version of {provider}")
    if nvidia is not None and nvidia.devices:
        missing.extend(
            f"version of {library}"
            for library, (package, files) in LIBRARIES.items()
            if _needed(library, providers)
            and not _packaged(package, packages)
            and not any(name in libraries for name in files)
        )
    return missing


def _needed(library: str, providers: tuple[str, ...]) -> bool:
    return library != "TensorRT" or "TensorrtExecutionProvider" in providers


def _packaged(prefix: str, packages: Mapping[str, str]) -> bool:
    return any(name.startswith(prefix) for name in packages)


def _system(providers: tuple[str, ...]) -> tuple[str, ...]:
    system = platform.system(), platform.machine()
    return (*system, platform.version()) if OF_THE_SYSTEM.intersection(providers) else system


def _read_plugins() -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    import onnxruntime

    runtime: Any = onnxruntime
    list_devices = getattr(runtime, "get_ep_devices", None)
    if list_devices is None:
        return (), []
    plugins: set[tuple[str, ...]] = set()
    unversioned: set[str] = set()
    for_plans = registered_for_plans()
    for entry in list_devices():
        path = library_path(entry)
        if path in for_plans:
            continue
        content = _content(path)
        device = entry.device
        version = str(dict(entry.ep_metadata).get("version", ""))
        known = entry.ep_name in CONTAINED | NVIDIA | OF_THE_SYSTEM or entry.ep_name in PACKAGED
        if not version and not content and not known:
            unversioned.add(f"version of {entry.ep_name}")
        plugins.add(
            (
                str(entry.ep_name),
                str(entry.ep_vendor),
                str(device.type).rpartition(".")[2],
                f"{device.vendor_id}:{device.device_id}",
                version,
                content,
            )
        )
    return tuple(sorted(plugins)), sorted(unversioned)


def _content(path: str) -> str:
    """Return the hash of a library's file; empty where there is none to read."""
    try:
        return content_of(path) if path else ""
    except OSError:
        return ""
