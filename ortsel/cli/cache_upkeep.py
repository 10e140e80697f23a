"""`ortsel cache prune` and `verify`: tidying the store, and looking whether all of it is sound."""

import contextlib
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from attrs import frozen

from ortsel.bundle.kept_bundles import KeptBundles
from ortsel.cli.ages import age_argument
from ortsel.cli.console import print_text, print_whole, result_console
from ortsel.cli.errors import UnusableFileError
from ortsel.cli.exit_codes import ATTENTION_HELP, ExitCode
from ortsel.cli.json_output import SCHEMA, to_text
from ortsel.cli.one_line import one_line
from ortsel.cli.options import json_option, store_option
from ortsel.cli.store_argument import StorePlace, store_place
from ortsel.cli.stored_decisions import (
    SHORT,
    StoredDecision,
    opened,
    read_all,
    this_environment,
    wanted_model,
)
from ortsel.doctor.store_check import check_store
from ortsel.errors import UsageError
from ortsel.store import SqliteStore
from spec.record import Origin

_PRUNE_HELP = """Remove decisions from the store.

A decision goes when every condition that is given holds. --keep spares the newest ones. Each is
measured again when a session that tunes needs it.

\b
Examples:
  ortsel cache prune --older-than 90d --dry-run
  ortsel cache prune --other-environments
  ortsel cache prune --model model.onnx --imported
  ortsel cache prune --keep 1000
  ortsel cache prune --corrupt
  ortsel cache prune --all

--corrupt removes instead what `ortsel cache verify` calls corrupt: records that nobody can use.
Records of a later ortsel stay.
"""
_VERIFY_HELP = f"""Examine every record of the store.

Each must have the closed schema within its limits, a key that is the hash of its parts, a winner
among its candidates, and a date that is not ahead of this clock. Nothing is changed: sessions
pass over what is wrong, and replace it when they measure.

\b
Examples:
  ortsel cache verify
  ortsel cache verify --store decisions.sqlite3 --json

{ATTENTION_HELP}"""
_SHOWN: Final = 20


@frozen
class _Conditions:
    model: str | None
    older_than_s: int | None
    other_environments: bool
    imported: bool

    def hold(self, one: StoredDecision, environment: Mapping[str, object], now_s: int) -> bool:
        record = one.record
        return not (
            (self.model is not None and not one.model.startswith(self.model))
            or (self.older_than_s is not None and now_s - record.created_s < self.older_than_s)
            or (self.imported and record.origin is not Origin.IMPORTED)
            or (self.other_environments and not one.differs_from(environment))
        )


@click.command(help=_PRUNE_HELP, short_help="Remove decisions.")
@store_option
@click.option(
    "--older-than", type=age_argument, metavar="AGE", help="Made longer ago: 12h, 30d, 8w."
)
@click.option("--model", metavar="FILE", help="Of this model: its file, or digits of its digest.")
@click.option("--other-environments", is_flag=True, help="Made in another environment than this.")
@click.option("--imported", is_flag=True, help="Imported ones.")
@click.option("--keep", type=click.IntRange(0, 2**31), metavar="N", help="Spare the newest N.")
@click.option("--all", "everything", is_flag=True, help="All, with what is kept beside them.")
@click.option("--corrupt", is_flag=True, help="What `cache verify` calls corrupt, nothing else.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@json_option
def prune(
    *,
    store: StorePlace | None,
    older_than: int | None,
    model: str | None,
    other_environments: bool,
    imported: bool,
    keep: int | None,
    everything: bool,
    corrupt: bool,
    dry_run: bool,
    as_json: bool,
) -> ExitCode:
    """Remove what was asked for."""
    conditions = _Conditions(wanted_model(model, store), older_than, other_environments, imported)
    given = conditions != _Conditions(None, None, False, False) or keep is not None
    if given + everything + corrupt != 1:
        asked = {"conditions": given, "--all": everything, "--corrupt": corrupt}
        got = " and ".join(name for name, is_given in asked.items() if is_given)
        need = "conditions (see --help), --all or --corrupt, one of them"
        raise UsageError("prune", got or "no condition", need)
    if corrupt:
        return _prune_corrupt(store, dry_run=dry_run, as_json=as_json)
    environment = this_environment() if other_environments else {}
    now_s = int(time.time())
    folders: list[Path] = []
    with opened(store) as found:
        held = [one for one in read_all(found) if isinstance(one, StoredDecision)]
        newest = sorted(held, key=lambda one: one.record.created_s, reverse=True)
        goes = [one for one in newest[keep or 0 :] if conditions.hold(one, environment, now_s)]
        if not dry_run and goes:
            found.remove_all(one.record.key for one in goes)
        if everything and isinstance(found, SqliteStore):
            beside = [
                found.path.with_name(f"{found.path.name}.{name}")
                for name in ("variants", "contents")
            ]
            kept = KeptBundles.beside(found.path).folder
            folders = [folder for folder in (*beside, kept) if folder.is_dir()]
            for folder in () if dry_run else folders:
                with contextlib.suppress(OSError):
                    shutil.rmtree(folder)
        place = found.address
    left = len(held) - len(goes)
    if as_json:
        document = {
            "schema": SCHEMA,
            "store": str(place),
            "dry_run": dry_run,
            "removed": [one.record.key for one in goes],
            "folders": [str(folder) for folder in folders],
            "left": left,
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"store  {place}")
    for one in goes[:_SHOWN]:
        words = one_line(f"{one.workload or 'inputs unknown'}: {one.record.winner}", 200)
        print_text(console, f"  {one.record.key[:SHORT]}  {words}")
    if len(goes) > _SHOWN:
        print_text(console, f"  and {len(goes) - _SHOWN} more")
    for folder in folders:
        print_whole(console, f"  {folder}")
    would = "would be removed (--dry-run)" if dry_run else "removed"
    print_text(console, f"{len(goes) or 'nothing'} {would}, {left} left")
    return ExitCode.DECIDED


def _prune_corrupt(store: StorePlace | None, *, dry_run: bool, as_json: bool) -> ExitCode:
    """Remove what cannot be used. A record is looked at again before it goes."""
    checked = check_store(store_place(store), this_environment(), int(time.time()))
    for one in checked.findings:
        if one.kind == "store":
            raise UnusableFileError("--store", checked.address, one.detail)
    goes = [one for one in checked.findings if one.kind == "corrupt"]
    rows = [one.row for one in goes if one.row is not None]
    if goes and not dry_run:
        with opened(store) as found:
            found.remove_corrupt(rows)
            found.remove_all(one.key for one in goes if one.row is None)
    if as_json:
        document = {
            "schema": SCHEMA,
            "store": str(checked.address),
            "dry_run": dry_run,
            "removed": [one.key for one in goes],
            "folders": [],
            "left": checked.sound + len(checked.findings) - len(goes),
        }
        click.echo(to_text(document))
        return ExitCode.DECIDED
    console = result_console()
    print_whole(console, f"store  {checked.address}")
    for one in goes[:_SHOWN]:
        print_text(console, f"  {one.key[:SHORT] or '-':<{SHORT}}  {one_line(one.detail)}")
    if len(goes) > _SHOWN:
        print_text(console, f"  and {len(goes) - _SHOWN} more")
    would = "would be removed (--dry-run)" if dry_run else "removed"
    left = checked.sound + len(checked.findings) - len(goes)
    print_text(console, f"{len(goes) or 'nothing'} {would}, {left} left")
    return ExitCode.DECIDED


@click.command(help=_VERIFY_HELP, short_help="Examine every record.")
@store_option
@json_option
def verify(*, store: StorePlace | None, as_json: bool) -> ExitCode:
    """Examine the store and say what is wrong."""
    found = check_store(store_place(store), this_environment(), int(time.time()))
    place = found.address
    code = ExitCode.ATTENTION if found.findings else ExitCode.DECIDED
    if as_json:
        document = {
            "schema": SCHEMA,
            "store": str(place),
            "exists": found.exists,
            "sound": found.sound,
            "other_environment": found.other_environment,
            "findings": [
                {"kind": one.kind, "key": one.key or None, "detail": one.detail}
                for one in found.findings
            ],
            "exit_code": int(code),
        }
        click.echo(to_text(document))
        return code
    console = result_console()
    print_whole(console, f"store  {place}")
    if not found.exists:
        print_text(console, "there is no such store yet")
    for one in found.findings[:_SHOWN]:
        print_text(
            console, f"  {one.kind:<8} {one.key[:SHORT] or '-':<{SHORT}}  {one_line(one.detail)}"
        )
    if len(found.findings) > _SHOWN:
        print_text(console, f"  and {len(found.findings) - _SHOWN} more")
    other = f", {found.other_environment} of them of other environments"
    count = f"{found.sound} sound{other if found.other_environment else ''}"
    print_text(console, f"{count}, {len(found.findings) or 'nothing'} to look at")
    return code
