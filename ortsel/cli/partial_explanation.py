"""`ortsel explain` without every size: what is known of the model, and what must be given."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from attrs import frozen

from ortsel.cli.console import print_text, print_whole, result_console
from ortsel.cli.errors import OpenDimensionsError
from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.json_output import SCHEMA, model_digest, to_text
from ortsel.cli.model_inputs import ModelInput
from ortsel.cli.one_line import one_line
from ortsel.cli.shapes import ShapeArgument, parse_shape
from ortsel.cli.store_argument import StorePlace
from ortsel.cli.stored_decisions import (
    SHORT,
    StoredDecision,
    names,
    opened,
    read_all,
    this_environment,
)

VERDICT: Final = "open"
"""Where a full answer has decided, stale, miss, unreadable or never."""
_SHOWN: Final = 20


@frozen
class PartialExplanation:
    """What a store holds for a model at the sizes that were given."""

    model: Path
    digest: str | None
    inputs: tuple[ModelInput, ...]
    open: OpenDimensionsError
    place: str
    """The store's, as it may be shown."""
    decisions: tuple[StoredDecision, ...]
    """Those of the model that agree with the given sizes, the newest first."""

    @property
    def example(self) -> str:
        """A complete command."""
        return self.open.example.replace("ortsel tune", "ortsel explain", 1)


def look_up_partly(
    model: Path,
    inputs: Sequence[ModelInput],
    shapes: Sequence[str],
    store: StorePlace | None,
    open_sizes: OpenDimensionsError,
) -> PartialExplanation:
    """Return what is known where sizes are missing. Raises `StoreError`."""
    digest = model_digest(model, store)
    arguments = [parse_shape(text) for text in shapes]
    with opened(store) as found:
        decisions = [
            one
            for one in read_all(found)
            if isinstance(one, StoredDecision)
            and digest is not None
            and one.model == digest
            and agrees(one, inputs, arguments)
        ]
        place = found.address
    decisions.sort(key=lambda one: one.record.created_s, reverse=True)
    return PartialExplanation(model, digest, tuple(inputs), open_sizes, place, tuple(decisions))


def agrees(
    decision: StoredDecision, inputs: Sequence[ModelInput], arguments: Sequence[ShapeArgument]
) -> bool:
    """Whether a decision's shapes are as asked, as far as sizes were given."""
    shapes = _shapes(decision)
    for argument in arguments:
        if argument.name in shapes:
            if shapes[argument.name] != argument.sizes:
                return False
            continue
        for one in inputs:
            sizes = shapes.get(one.name, ())
            for declared, size in zip(one.shape, sizes, strict=False):
                if declared == argument.name and (size,) != argument.sizes:
                    return False
    return True


def _shapes(decision: StoredDecision) -> dict[str, tuple[object, ...]]:
    workload = decision.parts.get("workload")
    inputs = workload.get("inputs") if isinstance(workload, Mapping) else None
    return {
        name: tuple(described["shape"])
        for name, described in (inputs.items() if isinstance(inputs, Mapping) else ())
        if isinstance(described, Mapping) and isinstance(described.get("shape"), list)
    }


def say_partly(known: PartialExplanation, *, as_json: bool) -> ExitCode:
    """Print what is known, and ask for the rest."""
    environment = this_environment()
    if as_json:
        document = {
            "schema": SCHEMA,
            "model": {"path": str(known.model.absolute()), "sha256": known.digest},
            "store": known.place,
            "verdict": VERDICT,
            "reason": f"sizes are missing: {known.open.missing}",
            "inputs": [
                {"name": one.name, "type": one.type, "shape": list(one.shape)}
                for one in known.inputs
            ],
            "missing": known.open.missing,
            "example": known.example,
            "decisions": [one.document(environment) for one in known.decisions],
            "exit_code": int(ExitCode.UNDECIDED),
        }
        click.echo(to_text(document))
        return ExitCode.UNDECIDED
    console = result_console()
    print_whole(console, f"model   {one_line(str(known.model))}")
    print_text(console, f"inputs  {one_line(known.open.declared, 4000)}")
    print_whole(console, f"store   {known.place}")
    console.print()
    count = len(known.decisions)
    held = f"{count or 'no'} decision{'' if count == 1 else 's'} for this model"
    print_text(console, f"{held} at the sizes that were given", "bold")
    for one in known.decisions[:_SHOWN]:
        record = one.record
        kept = record.winner == record.reference
        served = (
            "keeps the reference" if kept else f"{record.winner}, ratio {float(record.ratio):.3f}"
        )
        words = one_line(f"{one.workload or 'inputs unknown'}: {served}", 200)
        print_text(console, f"  {record.key[:SHORT]}  {words}")
        if differs := one.differs_from(environment):
            print_text(console, f"  {'':<{SHORT}}  made elsewhere: {names(differs)} differ")
    if count > _SHOWN:
        print_text(console, f"  and {count - _SHOWN} more: ortsel cache list --model MODEL")
    console.print()
    print_text(console, f"which one serves depends on sizes that are missing: {known.open.missing}")
    print_whole(console, f"give every one, as in: {known.example}")
    return ExitCode.UNDECIDED
