"""The server that tests of stores share, started when the first of them asks for it."""

import itertools
from collections.abc import Iterator

import pytest

from tests.ortsel.store.postgres_server import PostgresServer, find_programs, running_server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Give a running PostgreSQL server."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server here: the package of the extra test has none for it")
    with running_server(programs) as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """Return the name of a new, empty database."""
    name = f"d{next(_NUMBERS)}"
    postgres.execute("postgres", f"CREATE DATABASE {name} STRATEGY wal_log")
    return name
