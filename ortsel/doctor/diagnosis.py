"""Everything that is looked at, and what of it needs attention."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.doctor.extras import Extra, read_extras
from ortsel.doctor.provider_check import ProviderCheck, check_provider
from ortsel.doctor.store_check import StoreCheck, check_store
from ortsel.environment import read_environment
from ortsel.environment.environment import Environment
from ortsel.environment.variables import PREFIXES, VARIABLES
from spec.canonical_json import canonical

_AZURE: Final = "AzureExecutionProvider"
"""Calls a remote service. Every wheel lists it, and it takes no node of an ordinary model."""
_PACKAGES: Final = ("ortsel", "numpy", "onnx")


@frozen
class Variable:
    """An environment variable that is set and changes kernels."""

    name: str
    value: str
    reason: str


@frozen
class Threads:
    """How many threads may run, and how many ONNX Runtime starts by itself."""

    logical_cpus: int
    affinity: int
    cores: int
    quota_millicpus: int | None
    budget: int
    """Threads that can run at once."""
    default_pool: int
    """Threads of a session that names no number: one for each physical core of the affinity."""


@frozen
class Diagnosis:
    """The state of this machine and installation."""

    versions: tuple[tuple[str, str], ...]
    providers: tuple[ProviderCheck, ...]
    devices: tuple[str, ...]
    threads: Threads
    variables: tuple[Variable, ...]
    store: StoreCheck | None
    """None where this user has no cache folder."""
    extras: tuple[Extra, ...]
    attention: tuple[str, ...]
    """What needs it, a sentence each; empty where all is well."""


def diagnose(store: Path | str | None, asked: Sequence[str] = ()) -> Diagnosis:
    """Look at everything. `asked` are providers to try; all that ONNX Runtime lists by default."""
    environment = read_environment()
    names = tuple(asked) or tuple(name for name in environment.providers if name != _AZURE)
    providers = tuple(check_provider(name, environment.providers) for name in names)
    parts = json.loads(canonical(environment.parts()))
    checked = None if store is None else check_store(store, parts, int(time.time()))
    threads = _threads(environment)
    return Diagnosis(
        _versions(environment),
        providers,
        _devices(environment),
        threads,
        tuple(Variable(name, value, _reason(name)) for name, value in environment.variables),
        checked,
        read_extras(),
        (*_installation(environment), *_attention(providers, threads, checked)),
    )


def _versions(environment: Environment) -> tuple[tuple[str, str], ...]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    build = {f"onnxruntime {name}": value for name, value in environment.onnxruntime}
    return tuple((found | dict(environment.packages) | build).items())


def _devices(environment: Environment) -> tuple[str, ...]:
    cpu = environment.cpu
    model = dict(one.partition(": ")[::2] for one in cpu.identity) if cpu is not None else {}
    devices = [f"CPU {model.get('model name', 'of unknown model')}"]
    devices += [f"{one[2]} {one[3]} by {one[1]} for {one[0]}" for one in environment.plugins]
    if environment.nvidia is not None:
        driver = environment.nvidia.driver
        for name, capability in environment.nvidia.devices:
            devices.append(f"GPU {name}, compute capability {capability}, driver {driver}")
    return tuple(devices)


def _threads(environment: Environment) -> Threads:
    budget = environment.budget
    return Threads(
        os.cpu_count() or 1,
        budget.affinity,
        budget.cores,
        budget.quota_millicpus,
        budget.threads,
        budget.cores,
    )


def _reason(name: str) -> str:
    if name in VARIABLES:
        return VARIABLES[name]
    return next((why for prefix, why in PREFIXES.items() if name.startswith(prefix)), "")


def _installation(environment: Environment) -> list[str]:
    runtimes = _runtimes(dict(environment.packages))
    found = []
    if len(runtimes) > 1:
        both = " and ".join(runtimes)
        found.append(f"{both} are installed over each other: keep one, uninstall all first")
    found += [f"unknown: {what}; nothing can be stored or served" for what in environment.unknown]
    return found


def _runtimes(packages: Mapping[str, str]) -> list[str]:
    """Return the packages that all install the module `onnxruntime`."""
    plugin = "onnxruntime-ep-"
    return sorted(
        name for name in packages if name.startswith("onnxruntime") and not name.startswith(plugin)
    )


def _attention(
    providers: Sequence[ProviderCheck], threads: Threads, store: StoreCheck | None
) -> list[str]:
    found = []
    for one in providers:
        if not one.loaded:
            found.append(f"{one.name} does not load: {one.reason}")
        elif one.nodes == 0:
            found.append(f"{one.name} loads, but takes no node of a matrix product")
    if threads.default_pool > threads.budget:
        got = f"{threads.default_pool} threads a session, {threads.budget} can run"
        found.append(f"the CPU quota is below ONNX Runtime's default: {got}; set the number")
    if store is None:
        found.append("this user has no cache folder (HOME is not set?): name a store")
        return found
    if not store.writable:
        found.append(
            f"the store {store.address} cannot be written: decisions last for a process only"
        )
    found += [f"store: {one.kind}: {one.key[:12]} {one.detail}" for one in store.findings[:5]]
    if len(store.findings) > _FINDINGS:
        found.append(f"store: {len(store.findings) - _FINDINGS} more (ortsel cache verify)")
    return found


_FINDINGS: Final = 5
