"""Intel's OpenVINO provider on the CPU, where the installed ONNX Runtime has it.

It wins on vision models and loses on others by as much, so it is always worth one trial. Arithmetic
is exact by default: the hint for precision is float32, where OpenVINO left alone may compute in
bfloat16 on processors that are fast at it. A value that OpenVINO does not take makes a session on
the CPU provider with a warning alone, which the count of nodes gives away.

Its plans for one shape alone are in `static_shapes`; compiled models are kept on disk where a
store has a folder for them (`ortsel.provider_caches`), or where the user's `cache_dir` says.
"""

import json
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from ortsel.candidates.cpu_settings import explicit_threads, may_use_threads
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan, Provider

OPENVINO: Final = "OpenVINOExecutionProvider"
CPU: Final = "CPUExecutionProvider"
LATENCY: Final = "LATENCY"
THROUGHPUT: Final = "THROUGHPUT"
PRECISION: Final = "INFERENCE_PRECISION_HINT"
EXACT: Final = "f32"
ON_CPU: Final = frozenset({OPENVINO, CPU, "AzureExecutionProvider", "DnnlExecutionProvider"})
"""Providers that leave the choice of a CPU provider open. Whoever names another one chose where the
work runs, and OpenVINO on the CPU is not that place."""


def openvino_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan | LeftOut, ...]:
    """Return plans on OpenVINO: for latency with several numbers of threads, and for throughput.

    Options that the user gave to OpenVINO stay, and a plan that they would contradict is left out.
    """
    if not facts.offers(OPENVINO):
        return ()
    asked = {provider.name: dict(provider.options) for provider in reference.providers or ()}
    if others := sorted(asked.keys() - ON_CPU):
        return (LeftOut("openvino", "users-choice", f"the user named {', '.join(others)}"),)
    if reference.variant:
        return (LeftOut("openvino", "users-choice", "the reference is a graph variant"),)
    given = asked.get(OPENVINO, {})
    device = given.get("device_type", "CPU")
    if device != "CPU" or "load_config" in given:
        reason = f"the user gave it {'load_config' if 'load_config' in given else device}"
        return (LeftOut("openvino", "users-choice", reason),)
    found: list[Plan | LeftOut] = []
    for form in _forms(reference, facts):
        name = f"openvino:{form.name}"
        if form.threads is not None and "num_of_threads" in given:
            found.append(LeftOut(name, "users-choice", "the user set num_of_threads"))
        elif form.streams is not None and "num_streams" in given:
            found.append(LeftOut(name, "users-choice", "the user set num_streams"))
        elif form.threads is None and explicit_threads(reference) is not None:
            found.append(LeftOut(name, "users-choice", "the user limited threads"))
        else:
            found.append(_plan(reference, given, name, form))
    return tuple(found)


@frozen
class _Form:
    """One way to have OpenVINO work."""

    name: str
    hint: str
    notes: str
    threads: int | None = None
    """None is its own choice."""
    streams: int | None = None


def _forms(reference: Plan, facts: CandidateFacts) -> Iterator[_Form]:
    yield _Form("latency", LATENCY, "for latency, its own number of threads")
    most = may_use_threads(reference, facts)
    for threads in dict.fromkeys((most, 1)):
        notes = f"for latency, {threads} of its threads"
        yield _Form(f"latency,threads={threads}", LATENCY, notes, threads)
    if most > 1:
        notes = "for throughput, a stream for each thread: gains where calls overlap"
        yield _Form(f"throughput,threads={most}", THROUGHPUT, notes, most, most)


def _plan(reference: Plan, given: dict[str, str], name: str, form: _Form) -> Plan:
    properties = {PRECISION: EXACT, "PERFORMANCE_HINT": form.hint}
    if form.threads is not None:
        properties["INFERENCE_NUM_THREADS"] = str(form.threads)
    if form.streams is not None:
        properties["NUM_STREAMS"] = str(form.streams)
    ours = {
        "device_type": "CPU",
        "load_config": json.dumps({"CPU": properties}, sort_keys=True, separators=(",", ":")),
    }
    others = tuple(provider for provider in reference.providers or () if provider.name != OPENVINO)
    return derive(
        reference,
        name,
        providers=(
            Provider(OPENVINO, tuple((ours | given).items())),
            *(others or (Provider(CPU),)),
        ),
        notes=f"OpenVINO on the CPU, exact precision, {form.notes}",
    )
