"""`ortsel cache export`, `import` and `keygen`: decisions that travel."""

import os
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import click

from ortsel.bundle import Bundle, PublicKey, SigningKey, generate_key, write_bundle
from ortsel.bundle.file import read_bytes, write_whole
from ortsel.bundle.importing import Imported, as_imported, count_for, import_bundle
from ortsel.bundle.signing import need_signing
from ortsel.cli.console import print_text, print_whole, result_console
from ortsel.cli.errors import UnusableFileError
from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.json_output import SCHEMA, to_text
from ortsel.cli.options import json_option, store_option
from ortsel.cli.store_argument import StorePlace
from ortsel.cli.stored_decisions import StoredDecision, opened, read_all, wanted_model
from ortsel.errors import UsageError
from ortsel.store import StoredRecord

TOOLS: Final = ("ortsel", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino")
VARIANT: Final = "variant="
"""Begins the name of a plan that runs a rewritten graph, which no bundle carries."""
_EXPORT_HELP = """Write decisions into one file that other machines import.

The file holds the decisions with their evidence, digests of the models, and the environment they
were measured in; no model, no inputs and no outputs. The same decisions give the same bytes.

\b
Examples:
  ortsel cache export model.bundle --model model.onnx
  ortsel cache export all.bundle --sign key.pem
"""
_IMPORT_HELP = """Take decisions from a file that `ortsel cache export` wrote.

All of them or none. On a machine whose environment is the one they were measured in, each is
verified once, on real inputs, before it serves. What was measured here stays.

\b
Examples:
  ortsel cache import model.bundle
  ortsel cache import model.bundle --trust key.pem.pub
  ortsel cache import model.bundle --dry-run --json
"""
_KEYGEN_HELP = """Write a new Ed25519 key: FILE to sign with, and FILE.pub for those who check.

`openssl genpkey -algorithm ed25519` writes keys of the same kind.

\b
Examples:
  ortsel cache keygen key.pem
"""


@click.command(help=_EXPORT_HELP, short_help="Write decisions into a file.")
@click.argument("bundle", type=click.Path(path_type=Path))
@store_option
@click.option("--model", metavar="FILE", help="Only this model: its file, or digits of its digest.")
@click.option(
    "--sign", metavar="KEY", type=click.Path(path_type=Path), help="Private key to sign with."
)
@click.option("--force", is_flag=True, help="Replace BUNDLE where it exists.")
@json_option
def export(
    *,
    bundle: Path,
    store: StorePlace | None,
    model: str | None,
    sign: Path | None,
    force: bool,
    as_json: bool,
) -> ExitCode:
    """Write a bundle."""
    wanted = wanted_model(model, store)
    key = None if sign is None else SigningKey.read(_file("--sign", sign))
    _check_target("BUNDLE", bundle, force=force)
    known, passed_over = list[StoredDecision](), 0
    with opened(store) as found:
        for one in read_all(found):
            if not isinstance(one, StoredDecision) or not one.parts:
                passed_over += 1
            else:
                known.append(one)
        place = found.address
    chosen = [one for one in known if wanted is None or one.model.startswith(wanted)]
    # Without what it rests on, a decision is not found.
    below = frozenset[str]().union(*(one.rests_on for one in chosen))
    chosen += [one for one in known if one.record.key in below and one not in chosen]
    records = [StoredRecord(one.record, one.key_text) for one in chosen]
    if not records:
        which = "decision" if model is None else f"decision for {model}"
        raise UsageError("BUNDLE", f"no {which} in {place}", "at least one (see ortsel tune)")
    made = Bundle.of(records, _tools())
    try:
        data = write_bundle(bundle, made, key)
    except OSError as error:
        raise UnusableFileError("BUNDLE", str(bundle), error.strerror or str(error)) from error
    signer = None if key is None else key.public.text
    if as_json:
        document = {
            "schema": SCHEMA,
            "bundle": str(bundle.absolute()),
            "bytes": len(data),
            "records": len(records),
            "passed_over": passed_over,
            "models": list(made.models),
            "signed_by": signer,
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"bundle  {bundle.absolute()}")
    what = f"{_decisions(len(records))} for {_count(len(made.models), 'model')}"
    print_text(console, f"holds   {what}, {len(data)} bytes")
    print_text(console, f"signed  {'no' if signer is None else f'by {signer}'}")
    if passed_over:
        print_text(console, f"{_decisions(passed_over)} left out: see ortsel cache verify")
    return ExitCode.DECIDED


@click.command("import", help=_IMPORT_HELP, short_help="Take decisions from a file.")
@click.argument("bundle", type=click.Path(path_type=Path))
@store_option
@click.option(
    "--trust",
    "trust",
    metavar="KEY",
    multiple=True,
    help="Public key that must have signed: a file or 64 digits. Repeat for several.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and import nothing.")
@json_option
def import_(
    *, bundle: Path, store: StorePlace | None, trust: tuple[str, ...], dry_run: bool, as_json: bool
) -> ExitCode:
    """Import a bundle."""
    from ortsel.environment import read_environment

    trusted = [_public_key(text) for text in trust]
    try:
        data = read_bytes(bundle)
    except OSError as error:
        raise UnusableFileError("BUNDLE", str(bundle), error.strerror or str(error)) from error
    found = Bundle.read(data, trusted)
    environment = read_environment().parts()
    now_s = int(time.time())
    with opened(store) as place:
        if dry_run:
            as_imported(found, now_s)
            done = Imported(len(found.records), 0, count_for(found, environment))
        else:
            try:
                done = import_bundle(found, data, place, environment, now_s)
            except OSError as error:
                reason = error.strerror or str(error)
                raise UnusableFileError("--store", place.address, reason) from error
        target = place.address
    signer = None if found.signer is None else found.signer.text
    winners = sorted({one.record.winner for one in found.records})
    if as_json:
        document = {
            "schema": SCHEMA,
            "bundle": str(bundle.absolute()),
            "store": str(target),
            "dry_run": dry_run,
            "records": done.records,
            "imported": done.kept,
            "kept_better": 0 if dry_run else done.records - done.kept,
            "for_this_environment": done.for_this_machine,
            "models": list(found.models),
            "winners": winners,
            "signed_by": signer,
            "trust_required": bool(trusted),
            "tools": dict(found.tools),
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"bundle  {bundle.absolute()}")
    print_text(
        console, f"holds   {_decisions(done.records)} for {_count(len(found.models), 'model')}"
    )
    print_text(console, f"signed  {_signed(signer, trusted=bool(trusted))}")
    print_whole(console, f"store   {target}")
    console.print()
    for line in _import_lines(done, winners, dry_run=dry_run):
        print_text(console, line)
    return ExitCode.DECIDED


@click.command(help=_KEYGEN_HELP, short_help="Write a new key to sign with.")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def keygen(*, file: Path, as_json: bool) -> ExitCode:
    """Write a key pair."""
    public_file = file.with_name(f"{file.name}.pub")
    need_signing()
    for path in (file, public_file):
        _check_target("FILE", path, force=False)
    key = generate_key()
    try:
        write_whole(file, key.pem(), 0o600)
        write_whole(public_file, key.public.pem(), 0o644)
    except OSError as error:
        raise UnusableFileError("FILE", str(file), error.strerror or str(error)) from error
    if as_json:
        document = {
            "schema": SCHEMA,
            "private": str(file.absolute()),
            "public": str(public_file.absolute()),
            "public_key": key.public.text,
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"private     {file.absolute()}  (keep it to yourself)")
    print_whole(console, f"public      {public_file.absolute()}")
    print_whole(console, f"public key  {key.public.text}")
    return ExitCode.DECIDED


def _import_lines(done: Imported, winners: Sequence[str], *, dry_run: bool) -> list[str]:
    if dry_run:
        lines = ["nothing was imported (--dry-run)"]
    else:
        lines = [f"{_decisions(done.kept)} imported"]
        if done.kept < done.records:
            lines.append(f"{done.records - done.kept} left out: the store holds better ones")
    others = done.records - done.for_this_machine
    if done.for_this_machine:
        here = _decisions(done.for_this_machine)
        lines.append(f"{here} for this environment: verified once, on real inputs, before serving")
    if others:
        lines.append(f"{_decisions(others)} for another environment: not served here, see explain")
    if any(VARIANT in winner for winner in winners):
        lines.append(
            "some winners run a rewritten graph: ortsel tune builds it, mode cache-only does not"
        )
    return lines


def _signed(signer: str | None, *, trusted: bool) -> str:
    if signer is None:
        return "no: whoever made the file is taken at their word"
    return f"by {signer}, {'which is trusted' if trusted else 'not asked for (--trust)'}"


def _public_key(text: str) -> PublicKey:
    path = Path(text)
    if path.is_file():
        return PublicKey.read(_file("--trust", path))
    return PublicKey(text.lower())


def _file(option: str, path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise UnusableFileError(option, str(path), error.strerror or str(error)) from error


def _check_target(option: str, path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise UnusableFileError(option, str(path), "it is a directory")
    if not path.parent.is_dir():
        raise UnusableFileError(option, str(path), "its directory does not exist")
    if not os.access(path.parent, os.W_OK):
        raise UnusableFileError(option, str(path), "its directory may not be written to")
    if path.exists() and not force:
        reason = "it exists already (--force replaces it)" if option == "BUNDLE" else "it exists"
        raise UnusableFileError(option, str(path), reason)


def _tools() -> Mapping[str, str]:
    found = {}
    for name in TOOLS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _decisions(count: int) -> str:
    return _count(count, "decision")


def _count(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
