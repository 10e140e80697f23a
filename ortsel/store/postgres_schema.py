"""The table on a server, and whether it is exactly that.

A table may carry triggers, rules, policies, computed columns, checks and computed indexes, all of
which run code with the rights of whoever reads or writes. So it is used only without any of them.
Texts are bytes there: no encoding or collation of the server changes what a key is.
"""

import re
from typing import TYPE_CHECKING, Any, Final

from ortsel.store.errors import ForeignStoreError, NewerStoreError

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA_VERSION: Final = 1
"""Grows with every change of the table; its comment says it. A table of a later version is left
alone."""
MARK: Final = "ortsel decisions, schema "
TABLE: Final = "ortsel_record"
_VERSION: Final = re.compile("[1-9][0-9]{0,8}")
_LOCK: Final = 0x6F727473
"""Number of the advisory lock under which the table is made: "orts" in ASCII."""

_COLUMNS: Final = (
    ("sequence", "bigint", True, "a"),
    ("key", "bytea", True, ""),
    ("model", "bytea", True, ""),
    ("created_s", "bigint", True, ""),
    ("body", "bytea", True, ""),
    ("key_text", "bytea", True, ""),
)
_CREATE: Final = (
    (
        "CREATE TABLE ortsel_record (sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "key bytea NOT NULL UNIQUE, model bytea NOT NULL, created_s bigint NOT NULL, "
        "body bytea NOT NULL, key_text bytea NOT NULL)"
    ),
    "CREATE INDEX ortsel_record_by_created ON ortsel_record (created_s, sequence)",
    "CREATE INDEX ortsel_record_by_model ON ortsel_record (model, sequence)",
    "COMMENT ON TABLE ortsel_record IS 'ortsel decisions, schema 1'",
)
_DESCRIBE: Final = """
SELECT c.oid::bigint, obj_description(c.oid, 'pg_class'), c.relkind::text,
  c.relrowsecurity OR c.relforcerowsecurity, c.relhassubclass,
  EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid),
  EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid),
  EXISTS (SELECT FROM pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype NOT IN ('p', 'u', 'n')),
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid
    AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))
FROM pg_class c WHERE c.oid = to_regclass('ortsel_record')
"""
_DESCRIBE_COLUMNS: Final = """
SELECT attname::text, format_type(atttypid, atttypmod), attnotnull, attidentity::text,
  attgenerated::text, atthasdef
FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_UNWANTED: Final = ("row security", "heirs", "triggers", "rules", "constraints", "computed indexes")


def exists(connection: "Connection[Any]", address: str) -> bool:
    """Say whether the table is there and ours.

    Raises `NewerStoreError` or `ForeignStoreError`, and whatever the driver raises.
    """
    row = connection.execute(_DESCRIBE).fetchone()
    if row is None:
        return False
    table, comment, kind, *unwanted = row
    found = [word for word, has in zip(_UNWANTED, unwanted, strict=True) if has]
    mark, separator, version = str(comment or "").partition(MARK)
    if mark or not separator or _VERSION.fullmatch(version) is None:
        need = f"a table with the comment '{MARK}{SCHEMA_VERSION}'"
        raise ForeignStoreError(address, f"{TABLE} with another comment", need)
    if int(version) > SCHEMA_VERSION:
        raise NewerStoreError(address, int(version), SCHEMA_VERSION)
    columns = connection.execute(_DESCRIBE_COLUMNS, (table,)).fetchall()
    expected = [(*column, "", False) for column in _COLUMNS]
    if kind != "r" or found or int(version) != SCHEMA_VERSION or columns != expected:
        got = f"{TABLE} with {', '.join(found) or 'other columns'}"
        raise ForeignStoreError(address, got, "the plain table of a store")
    return True


def create(connection: "Connection[Any]", address: str) -> None:
    """Make the table, inside a transaction. Two processes may try; the second finds it done."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    if not exists(connection, address):
        for statement in _CREATE:
            connection.execute(statement)
