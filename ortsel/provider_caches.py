"""Compiled forms that providers keep on disk, beside the store.

OpenVINO and TensorRT compile a model at load time, for seconds to minutes, and can keep the result.
A cache changes how fast a session starts, never what it computes, so it is no part of a plan and of
no key: it is added when a plan's session is built to serve. Only a provider's existing folder is
used; the offline builder makes it, and ships it with the decisions.

TensorRT's engines are not keyed by every option, so each plan has a folder of its own there.
OpenVINO's are keyed by the model with its sizes and by its properties, so plans share one.
"""

import json
from pathlib import Path
from typing import Final

from attrs import evolve

from ortsel.plan import Plan, Provider
from spec.canonical_json import canonical, digest

FOLDERS: Final = {
    "OpenVINOExecutionProvider": "openvino",
    "TensorrtExecutionProvider": "tensorrt",
    "NvTensorRTRTXExecutionProvider": "tensorrt-rtx",
}
"""Folder of each provider that can keep compiled models."""


def cache_folder(store: str | None) -> Path | None:
    """Return the folder beside a store's file.

    "default" is the one in the cache folder; that of a store on a server is there, too.
    """
    if store is None:
        return None
    from ortsel.store import StoreError, default_path
    from ortsel.store.server_url import is_server_url

    try:
        in_cache_folder = store == "default" or is_server_url(store)
        file = default_path() if in_cache_folder else Path(store).absolute()
    except StoreError:
        return None
    return file.with_name(f"{file.name}.caches")


def with_caches(plan: Plan, folder: Path | None) -> Plan:
    """Return the plan with its providers' caches in a folder; as it is without one.

    Whatever the user set about caches stays.
    """
    if folder is None or plan.providers is None or not folder.is_dir():
        return plan
    cached = tuple(_cached(provider, plan, folder) for provider in plan.providers)
    return plan if cached == plan.providers else evolve(plan, providers=cached)


def _cached(provider: Provider, plan: Plan, folder: Path) -> Provider:
    place = folder / FOLDERS.get(provider.name, "")
    if provider.name not in FOLDERS or not place.is_dir():
        return provider
    given = dict(provider.options)
    match provider.name:
        case "OpenVINOExecutionProvider":
            ours = {} if _has_own_cache(given) else {"cache_dir": str(place)}
        case "TensorrtExecutionProvider":
            own = str(place / digest(canonical(plan.parts()))[:32])
            ours = {
                "trt_engine_cache_enable": "1",
                "trt_engine_cache_path": own,
                "trt_timing_cache_enable": "1",
                "trt_timing_cache_path": own,
            }
        case _:
            ours = {"nv_runtime_cache_path": str(place)}
    return evolve(provider, options=tuple((ours | given).items()))


def _has_own_cache(options: dict[str, str]) -> bool:
    """Whether the user keeps OpenVINO's cache elsewhere, by either way of saying so."""
    try:
        loaded = json.loads(options.get("load_config", "{}"))
    except ValueError:
        return True
    devices = loaded.values() if isinstance(loaded, dict) else ()
    return any(isinstance(device, dict) and "CACHE_DIR" in device for device in devices)
