"""Intel's OpenVINO provider on the CPU, where the installed ONNX Runtime has it.

It wins on vision models and loses on others by as much, so it is always worth one trial. Arithmetic
stays exact by default: precision `ACCURACY` keeps the model's own types, where OpenVINO left alone
may compute in bfloat16 on processors that are fast at it.
"""

import json
from typing import Final

from ortsel.candidates.cpu_settings import explicit_threads, may_use_threads
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan, Provider

OPENVINO: Final = "OpenVINOExecutionProvider"
CPU: Final = "CPUExecutionProvider"
ON_CPU: Final = frozenset({OPENVINO, CPU, "AzureExecutionProvider", "DnnlExecutionProvider"})
"""Providers that leave the choice of a CPU provider open. Whoever names another one chose where the
work runs, and OpenVINO on the CPU is not that place."""


def openvino_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return plans on OpenVINO for latency, with its own and with given numbers of threads.

    Options that the user gave to OpenVINO stay, and a plan that they would contradict is left out.
    """
    asked = {provider.name: dict(provider.options) for provider in reference.providers or ()}
    if not facts.offers(OPENVINO) or not asked.keys() <= ON_CPU or reference.variant:
        return ()
    given = asked.get(OPENVINO, {})
    if given.get("device_type", "CPU") != "CPU" or "load_config" in given:
        return ()
    counts: list[int | None] = []
    if explicit_threads(reference) is None:
        counts.append(None)
    if "num_of_threads" not in given:
        counts.extend(dict.fromkeys((may_use_threads(reference, facts), 1)))
    return tuple(_plan(reference, given, threads) for threads in counts)


def _plan(reference: Plan, given: dict[str, str], threads: int | None) -> Plan:
    properties = {"PERFORMANCE_HINT": "LATENCY"}
    if threads is not None:
        properties["INFERENCE_NUM_THREADS"] = str(threads)
    ours = {
        "device_type": "CPU",
        "precision": "ACCURACY",
        "load_config": json.dumps({"CPU": properties}, sort_keys=True, separators=(",", ":")),
    }
    others = tuple(provider for provider in reference.providers or () if provider.name != OPENVINO)
    suffix = "" if threads is None else f",threads={threads}"
    own_count = "its own number of threads" if threads is None else f"{threads} of its threads"
    return derive(
        reference,
        f"openvino:latency{suffix}",
        providers=(
            Provider(OPENVINO, tuple((ours | given).items())),
            *(others or (Provider(CPU),)),
        ),
        notes=f"OpenVINO on the CPU, exact precision, {own_count}",
    )
