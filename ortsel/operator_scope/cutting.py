"""Cutting the attention of a model out in a child process, with what enters it and its variants.

Run as `python -m ortsel.operator_scope.cutting ORDER FOLDER NICENESS VARIANT...`. The child loads
the model, runs it once, and writes one small model for each kind of attention that it has; the
process that serves reads a list.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import cattrs
from attrs import frozen

from ortsel.errors import OrtselError
from ortsel.plan import Plan
from ortsel.trial.calling import Calling
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS, never
from ortsel.trial.messages import Envelope, Load, envelope_from_json, envelope_to_json
from ortsel.trial.values import read_values, write_values
from ortsel.trial.variant_child import run_module
from spec.failure import Failure, FailureKind

if TYPE_CHECKING:
    import numpy as np

    from ortsel.graph_variants.extraction import CutOut

Shape: TypeAlias = tuple[int, ...]

MODULE: Final = "ortsel.operator_scope.cutting"
LEAST_INSTANCES: Final = 4
"""Places where attention is computed, from which on deciding about it by itself can pay."""
MOST_PROBLEMS: Final = 4
"""Kinds of attention in one model: each is a search of its own."""
ORDER: Final = "order.json"
FEED: Final = "feed.values"
ANSWER: Final = "cut.json"
CODE: Final = "not-cut-out"


@frozen
class NotCutOutError(OrtselError):
    """The attention of a model cannot stand for itself."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@frozen
class CutAttention:
    """One kind of attention in a model, in files of a folder."""

    operator: str
    """The fused operator, or "unfused"."""
    instances: int
    """In how many places the model computes it, on tensors of these shapes."""
    shapes: tuple[Shape, ...]
    """Of what enters it."""
    outputs: tuple[str, ...]
    model: str
    """Name of its file."""
    feed: str
    """Name of the file with what enters it."""
    variants: tuple[tuple[str, str], ...]
    """Names of the variants that could be built, with their files."""
    refused: tuple[tuple[str, str], ...]
    """Names of the others, with the reason."""

    def words(self) -> str:
        """Return it in words, such as "12 x unfused on [1,128,12,32], [1,1,1,128]"."""
        shapes = ", ".join(f"[{','.join(map(str, shape))}]" for shape in self.shapes)
        return f"{self.instances} x {self.operator} on {shapes}"


@frozen
class Cut:
    """Everything that was cut out of one model, or why nothing was."""

    problems: tuple[CutAttention, ...] = ()
    reason: str = ""


def cut_in_child(
    model: Path,
    reference: Plan,
    feed: Mapping[str, object],
    variants: Sequence[str],
    folder: Path,
    deadline_ns: int,
    stop_asked: Callable[[], bool] = never,
    niceness: int = 0,
) -> tuple[CutAttention, ...]:
    """Return each kind of attention in a model, in files of `folder`, which must be there.

    Raises `NotCutOutError` with the reason where there is too little attention or some of it cannot
    be cut out, `TrialFailedError` where the child fails or takes too long, and
    `TrialsUnavailableError` where none can be started.
    """
    feed_file = folder / FEED
    write_values(feed_file, feed)
    load = Load(reference, str(model), False, "", Calling.NUMPY, (), (str(feed_file),))
    order = folder / ORDER
    order.write_text(json.dumps(envelope_to_json(Envelope(load, 0, 0))))
    arguments = (str(order), str(folder), str(niceness), *variants)
    ended = run_module(MODULE, arguments, deadline_ns, stop_asked)
    if ended.code is None:
        what = f"attention not cut out in {ended.took_ns / SECOND_NS:.1f} s"
        raise TrialFailedError(MODULE, Failure(FailureKind.TRANSIENT, "timeout", what))
    answer = folder / ANSWER
    if ended.code or not answer.exists():
        failure = Failure(FailureKind.UNSUPPORTED, CODE, ended.last_words())
        raise TrialFailedError(MODULE, failure)
    cut = cattrs.structure(json.loads(answer.read_text()), Cut)
    if cut.reason:
        raise NotCutOutError(cut.reason)
    return cut.problems


def cut(
    model: Path,
    reference: Plan,
    feed: Mapping[str, object],
    variants: Sequence[str],
    folder: Path,
) -> tuple[CutAttention, ...]:
    """Do it in this process. Raises `NotCutOutError`, and whatever ONNX Runtime raises."""
    from ortsel.graph_variants.extraction import cut_out_attention
    from ortsel.graph_variants.loading import load_model
    from ortsel.graph_variants.variant import NotApplicableError

    try:
        found = cut_out_attention(load_model(model))
    except NotApplicableError as error:
        raise NotCutOutError(str(error)) from error
    if len(found) < LEAST_INSTANCES:
        got = f"attention in {len(found)} places"
        reason = f"{got}, need {LEAST_INSTANCES} for it to pay"
        raise NotCutOutError(reason)
    groups, values = _grouped(model, reference, feed, found)
    if len(groups) > MOST_PROBLEMS or 2 * len(groups) > len(found):
        reason = f"{len(groups)} kinds of attention in {len(found)} places"
        raise NotCutOutError(reason)
    return tuple(
        _written(number, group, shapes, values, variants, folder)
        for number, (shapes, group) in enumerate(groups)
    )


def _grouped(
    model: Path, reference: Plan, feed: Mapping[str, object], found: "Sequence[CutOut]"
) -> "tuple[list[tuple[tuple[Shape, ...], list[CutOut]]], Mapping[str, Any]]":
    """Return what is equal in content and shapes together, and what enters the first of each."""
    from ortsel.operator_scope.capture import capture

    first: dict[str, CutOut] = {}
    for one in found:
        first.setdefault(one.digest, one)
    wanted = _open_inputs(first.values())
    measured = _open_inputs(found)
    captured = capture(model, reference, feed, wanted, measured)
    groups: dict[tuple[str, tuple[Shape, ...]], list[CutOut]] = {}
    for one in found:
        groups.setdefault((one.digest, _shapes(one, captured.shapes)), []).append(one)
    values = dict(captured.values)
    missing = [
        name for name in _open_inputs(group[0] for group in groups.values()) if name not in values
    ]
    if missing:
        values |= capture(model, reference, feed, missing, ()).values
    return [(shapes, group) for (_, shapes), group in groups.items()], values


def _open_inputs(cut_outs: "Iterable[CutOut]") -> list[str]:
    """Return the names in the model of what enters, constants left out, each once."""
    names: dict[str, None] = {}
    for one in cut_outs:
        constants = {label for label, _ in one.constants}
        for label, name in zip(one.input_names, one.inputs, strict=True):
            if label not in constants:
                names[name] = None
    return list(names)


def _shapes(one: "CutOut", shapes: Mapping[str, Shape]) -> tuple[Shape, ...]:
    constants = dict(one.constants)
    return tuple(
        tuple(constants[label].numpy().shape) if label in constants else shapes[name]
        for label, name in zip(one.input_names, one.inputs, strict=True)
    )


def _written(
    number: int,
    group: "Sequence[CutOut]",
    shapes: tuple[Shape, ...],
    values: "Mapping[str, np.ndarray[Any, np.dtype[Any]]]",
    variants: Sequence[str],
    folder: Path,
) -> CutAttention:
    from ortsel.graph_variants import build_variant

    one = group[0]
    constants = {label: tensor.numpy() for label, tensor in one.constants}
    feed = {
        label: constants[label] if label in constants else values[name]
        for label, name in zip(one.input_names, one.inputs, strict=True)
    }
    model, feed_file = f"attention-{number}.onnx", f"attention-{number}.values"
    (folder / model).write_bytes(one.serialized)
    write_values(folder / feed_file, feed)
    built: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    for variant in variants:
        file = f"attention-{number}-{len(built)}.onnx"
        try:
            build_variant(variant, folder / model, folder / file)
        except OrtselError as error:
            refused.append((variant, str(error)))
        else:
            built.append((variant, file))
    return CutAttention(
        one.operator,
        len(group),
        shapes,
        tuple(value.name or "" for value in one.model.graph.outputs),
        model,
        feed_file,
        tuple(built),
        tuple(refused),
    )


def _give_way(niceness: int) -> None:
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
        with contextlib.suppress(OSError):
            # A session of its own may be a group of its own, inside which alone `nice` counts.
            Path("/proc/self/autogroup").write_text(str(niceness))


def main(arguments: list[str]) -> int:
    """Carry out an order in this process; an error goes to stderr, one line."""
    order, folder, niceness, *variants = arguments
    _give_way(int(niceness))
    envelope = envelope_from_json(json.loads(Path(order).read_text()))
    load = envelope.command
    assert isinstance(load, Load), "the order is a file of ours"
    feed = read_values(Path(load.feeds[0]))
    try:
        answer = Cut(cut(Path(load.model), load.plan, feed, variants, Path(folder)))
    except NotCutOutError as error:
        answer = Cut(reason=str(error))
    except Exception as error:  # noqa: BLE001
        # ONNX Runtime and onnx-ir raise what they like over a model that they do not take.
        sys.stderr.write(f"{type(error).__name__}: {' '.join(str(error).split())[:400]}\n")
        return 1
    (Path(folder) / ANSWER).write_text(json.dumps(cattrs.unstructure(answer)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
