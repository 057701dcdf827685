"""One SQLite file: many readers, one writer at a time, forward-only migrations, typed errors.

It uses apsw's own SQLite, never the standard library's: versions before 3.51.3 can corrupt a database on a WAL reset,
and the same file must not be opened by both libraries in one process (POSIX locks of one would drop the other's).
A file is created complete or not at all, so an empty or half-made file is damage, never a state of ours.

A file may come from somebody else, in a backup or a folder that was passed on. Its schema must be the one our scripts
make, to the word: a trigger or a view of somebody else's would run with our statements. A folder that cannot be written
is read as it is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from citewell.errors import StoreFull, StoreUnusable, Unavailable
from citewell.store.database import Dialect, Result, Session, Values, load_scripts

BUSY_TIMEOUT_MS = 60_000
# Reading at the same time; each costs up to three descriptors and its cache.
MAX_READERS = 8
_CLOSE_ATTEMPTS = 40
_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
_OPEN_TO_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX | apsw.SQLITE_OPEN_URI


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database file is for, and the ordered scripts that bring any older file up to date."""

    name: str
    application_id: int
    scripts: tuple[str, ...]

    @property
    def version(self) -> int:
        return len(self.scripts)


def load_schema(name: str, application_id: int, package: str) -> Schema:
    """The schema whose numbered `.sql` scripts lie in a package folder."""
    return Schema(name, application_id, load_scripts(package))


class Database:
    """An open database file. `read()` borrows one of a few connections; only `write()` changes anything."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self.path = path
        self.schema = schema
        # The state this thread reads inside of `read()`.
        self._local = threading.local()
        # Anyone who wants more readers than there are waits. Not one for each thread: threads of a server come and go.
        self._readers = threading.BoundedSemaphore(MAX_READERS)
        self._idle: list[apsw.Connection] = []
        self._opened: list[apsw.Connection] = []
        self._write_lock = threading.Lock()
        self._closing = threading.Event()
        self._writer: apsw.Connection | None = None
        with store_errors(path):
            prepare_file(path, schema)

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """One state of the database for everything this thread reads inside. Nothing may wait for another thread."""
        outer: apsw.Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            with store_errors(self.path):
                yield outer
            return
        with store_errors(self.path), self._readers:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                connection.execute("BEGIN")
                self._local.connection = connection
                yield connection
            finally:
                self._local.connection = None
                self._return(connection)

    def _return(self, connection: apsw.Connection) -> None:
        """End the state that a connection read, and keep the connection for the next reader."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except apsw.Error:
            # Closed meanwhile, or of no more use.
            if connection in self._opened:
                self._opened.remove(connection)
            connection.close(True)
            return
        if connection in self._opened:
            self._idle.append(connection)

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """One transaction that waits its turn and is committed whole, or not at all."""
        with self._write_lock, store_errors(self.path):
            if self._writer is None:
                self._writer = self._connect()
            connection = self._writer
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled the transaction back already.
                with suppress(apsw.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise

    def fold_log(self) -> None:
        """Fold the write-ahead log into the file and empty it: what was deleted must not stay readable there."""
        with self._write_lock, store_errors(self.path):
            if self._writer is None:
                self._writer = self._connect()
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close every connection; the WAL is folded back into the file, and who waits for a lock stops waiting."""
        self._closing.set()
        for connection in self._opened:
            _close(connection)
        self._closing.clear()
        self._opened.clear()
        self._idle.clear()
        self._writer = None
        self._local = threading.local()

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path)
        connection.set_busy_handler(_Patience(self._closing))
        self._opened.append(connection)
        return connection


class _Patience:
    """Waits for another process's lock up to the timeout, but not once the database is being closed."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing = closing
        self._since = 0.0

    def __call__(self, attempt: int) -> bool:
        if attempt == 0:
            self._since = time.monotonic()
        waited = (time.monotonic() - self._since) * 1000
        return not self._closing.wait(min(0.001 * (attempt + 1), 0.05)) and waited < BUSY_TIMEOUT_MS


def _close(connection: apsw.Connection) -> None:
    """Close a connection as soon as the thread that uses it has let go."""
    for _ in range(_CLOSE_ATTEMPTS):
        try:
            connection.close()
            return
        except apsw.ThreadingViolationError:
            time.sleep(0.05)


Bindings = Sequence[str | int | float | bytes | None]


def fetch_rows(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
    """Every row of a query."""
    try:
        return connection.execute(sql, tuple(bindings)).fetchall()
    except apsw.Error:
        with store_errors(Path(connection.filename)):
            raise


def fetch_one(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> tuple[Any, ...] | None:
    """The first row of a query, if any."""
    try:
        row: tuple[Any, ...] | None = connection.execute(sql, tuple(bindings)).fetchone()
    except apsw.Error:
        with store_errors(Path(connection.filename)):
            raise
    return row


def fetch_value(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> Any:
    """The one value of a query that always has a row."""
    row = fetch_one(connection, sql, bindings)
    assert row is not None, sql
    return row[0]


_SETTINGS_TO_READ = ("temp_store = MEMORY", "cache_size = -65536", "mmap_size = 268435456")
_SETTINGS_TO_WRITE = (
    # FULL: an acknowledged document survives a power cut, not only a killed process.
    *("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"),
    # What a person has removed must not stay readable in freed pages.
    "secure_delete = ON",
    # A log that a long reader let grow shrinks again once the reader has gone.
    "journal_size_limit = 4194304",
)


def connect(path: Path) -> apsw.Connection:
    """A connection to an existing file, set up the way every connection of ours is; only to read where it must be."""
    with store_errors(path):
        connection = _open_file(path)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            to_write = () if connection.readonly("main") else _SETTINGS_TO_WRITE
            for pragma in (*to_write, *_SETTINGS_TO_READ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            connection.close()  # or its log would lie beside a damaged file
            raise
    return connection


def _open(place: str, flags: int) -> apsw.Connection:
    """Every connection is opened here: no schema is trusted, and none can be changed but by statements that say so."""
    connection = apsw.Connection(place, flags=flags)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _open_file(path: Path) -> apsw.Connection:
    """A connection to an existing file; where file or folder cannot be written, one that only reads.

    A reader of a file with a write-ahead log takes part in the log's locks (`-shm`), and so it writes too. Where it
    cannot: with log and locks there, somebody may be writing, and SQLite reads along. With neither there, nobody is,
    and the file is read as one that does not change; that it is written by somebody with other rights later is not
    noticed. A log without its locks cannot be read without writing.
    """
    if is_writable(path):
        return _open(str(path), _OPEN)
    log, locks = path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")
    if log.exists() and locks.exists():
        return _open(f"file:{quote(str(path))}?mode=ro", _OPEN_TO_READ)
    if log.exists() and log.stat().st_size:
        raise Unavailable(
            f"{path.name} was not closed properly, and {path.parent} cannot be written, so its log cannot be read.",
            fix="Make the folder writable, or copy it to where you can write and use the copy with --data-dir.",
        )
    return _open(f"file:{quote(str(path))}?immutable=1", _OPEN_TO_READ)


def is_writable(path: Path) -> bool:
    """Whether a database can be changed: its file, and the folder that its log is made in."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def prepare_file(path: Path, schema: Schema) -> None:
    """Make sure the file exists with today's schema; refuse, untouched, what is not ours or is newer."""
    if not path.exists():
        _refuse_orphans(path)
        _create(path, schema)
        return
    if path.stat().st_size == 0:
        raise StoreUnusable(
            f"{path.name} is empty (0 bytes), which is damage.",
            fix=f"Restore it from a backup, or delete {path.name} and add your folders again.",
        )
    version = file_version(path, schema)
    if version == schema.version:
        return
    if not is_writable(path):
        raise Unavailable(
            f"{path.name} is of an earlier Citewell (schema {version}; this one has {schema.version}) and cannot be"
            f" brought up to date: {path.parent} cannot be written.",
            fix="Make the folder writable, or copy it to where you can write and use the copy with --data-dir.",
        )
    _migrate_file(path, schema)


def _refuse_orphans(path: Path) -> None:
    """SQLite would replay a log into whatever file has its name: a new file must not get the log of an old one."""
    for log in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-journal")):
        # Asked again, because another process may have made the file, and then the log is that file's.
        if log.exists() and log.stat().st_size and not path.exists():
            raise StoreUnusable(
                f"{path.name} is gone, but its log {log.name} is still there.",
                fix=f"Put {path.name} back, or move {log.name} away too and add your folders again.",
            )


def _create(path: Path, schema: Schema) -> None:
    """Build the new file aside and put it in place whole, unless another process was first."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(path.parent, os.W_OK):
        raise Unavailable(f"{path.parent} has no {path.name} and cannot be written.", fix=_MAKE_WRITABLE)
    _sweep(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    aside.unlink(missing_ok=True)
    try:
        connection = _open(str(aside), _OPEN | apsw.SQLITE_OPEN_CREATE)
        os.chmod(aside, 0o600)
        try:
            migrate(connection, schema)
            # Here, where nobody else is: the change to WAL does not wait for other connections.
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        finally:
            connection.close()
        _put_in_place(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _put_in_place(aside: Path, path: Path) -> None:
    """Give the new file its name unless another process was first."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return
    except OSError:
        # No hard links on this file system (exFAT, some network shares): renaming is atomic too, only not exclusive.
        if not path.exists():
            os.replace(aside, path)


def _sweep(path: Path) -> None:
    """Remove what creations that were killed left aside."""
    for stale in path.parent.glob(f".{path.name}.*.new*"):
        maker = stale.name.removeprefix(f".{path.name}.").partition(".")[0]
        if maker.isdigit() and not _is_running(int(maker)):
            stale.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def file_version(path: Path, schema: Schema) -> int:
    """The schema version of an existing file, read without changing a byte of it; its schema is one of ours."""
    with store_errors(path):
        return _file_version(path, schema)


def _file_version(path: Path, schema: Schema) -> int:
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(b"SQLite format 3\x00"):
        raise StoreUnusable(f"{path.name} is not a database, or is damaged.", fix=_replace(path))
    # Bytes 68 to 71 are the application id; a file of ours has had it since before it had its name.
    if int.from_bytes(header[68:72], "big") != schema.application_id:
        raise StoreUnusable(
            f"{path.name} belongs to another program, or is damaged.",
            fix="Choose another data folder with --data-dir, or restore the file from a backup.",
        )
    connection = _open_file(path)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        if path.with_name(f"{path.name}-wal").exists():
            # Closing would fold what a crash left in the WAL into a file that may be too new for us.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("BEGIN")  # both of one state: another process may be migrating
        version = int(connection.pragma("user_version"))
        if version > schema.version:
            raise StoreUnusable(
                f"{path.name} was written by a newer Citewell (schema {version}; this one knows {schema.version}).",
                fix="Upgrade Citewell, or choose another data folder with --data-dir.",
            )
        _check_schema(_schema_of(connection), Schema(schema.name, 0, schema.scripts[:version]), path)
    finally:
        connection.close()
    return version


# What is in a schema: the statement that makes each thing, by its kind and name.
_Things = dict[tuple[str, str], str]


def _schema_of(connection: apsw.Connection) -> _Things:
    """The schema of a database, without what SQLite keeps for itself to plan queries by.

    SQLite obeys the statement, whatever kind and name are beside it: two of one name are one that differs.
    """
    found: _Things = {}
    for kind, name, sql in connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema"):
        found[kind, name] = found.get((kind, name), "") + " ".join(str(sql).split())
    # The tables that make up a full-text index are the index's own, and may be written otherwise by another SQLite.
    indexes = [name for (_, name), sql in found.items() if sql.startswith("CREATE VIRTUAL TABLE")]
    parts = {("table", f"{index}_{part}") for index in indexes for part in ("data", "idx", "docsize", "config")}
    return {
        key: "CREATE TABLE" if key in parts and sql.startswith("CREATE TABLE ") else sql
        for key, sql in found.items()
        if key not in (("table", "sqlite_stat1"), ("table", "sqlite_stat4"))
    }


@lru_cache(maxsize=8)
def _made_by(schema: Schema) -> _Things:
    """What the scripts of a schema make."""
    connection = _open(":memory:", _OPEN | apsw.SQLITE_OPEN_CREATE)
    try:
        migrate(connection, schema)
        return _schema_of(connection)
    finally:
        connection.close()


def _check_schema(found: _Things, schema: Schema, path: Path) -> None:
    """Refuse a file that has anything our scripts do not make, or lacks something they do."""
    made = _made_by(schema)
    foreign = [f"{kind} {name}"[:80] for (kind, name), sql in found.items() if made.get((kind, name)) != sql]
    if foreign:
        raise StoreUnusable(
            f"{path.name} has what Citewell does not make ({', '.join(foreign[:3])}): it is not used.",
            fix="Restore it from a backup of your own. If you added this yourself, drop it from the file first.",
        )
    if lacking := [f"{kind} {name}" for kind, name in made if (kind, name) not in found]:
        raise StoreUnusable(f"{path.name} is damaged: it has no {', '.join(lacking[:3])}.", fix=_replace(path))


def _migrate_file(path: Path, schema: Schema) -> None:
    connection = connect(path)
    try:
        migrate(connection, schema)
    finally:
        connection.close()


def migrate(connection: apsw.Connection, schema: Schema) -> None:
    """Run the scripts a database lacks, all in one transaction: it has the old schema or the new one, never half."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again inside the lock: another process may have migrated meanwhile.
        current = int(connection.pragma("user_version"))
        for number, script in enumerate(schema.scripts[current:], start=current + 1):
            connection.execute(script).fetchall()
            connection.execute(f"PRAGMA user_version = {number}").fetchall()
        connection.execute(f"PRAGMA application_id = {schema.application_id}").fetchall()
        connection.execute("COMMIT")
    except BaseException:
        with suppress(apsw.Error):
            connection.execute("ROLLBACK")
        raise


def copy_database(source: Path, target: Path, schema: Schema) -> int:
    """Copy a database as it is at one moment, while others write to it, into a file of its own; its schema version.

    What SQLite finds damaged is refused: a copy of it would only be found out when it is needed.
    """
    with store_errors(source):
        version = file_version(source, schema)
        original = _open_file(source)
        copy = _open(str(target), _OPEN | apsw.SQLITE_OPEN_CREATE)
        try:
            original.set_busy_timeout(BUSY_TIMEOUT_MS)
            os.chmod(target, 0o600)
            # In one step, and so within one state of it; readers and writers of a WAL database do not wait for us.
            with copy.backup("main", original, "main") as running:
                while not running.done:
                    running.step(-1)
            # One file: no log beside it that would have to be copied too.
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            check_sound(copy, source)
            if copy.pragma("freelist_count") * 2 > copy.pragma("page_count"):
                copy.execute("VACUUM")  # most of it is what was removed: nothing that anybody wants back
        finally:
            copy.close()
            original.close()
    return version


def count_rows(path: Path, table: str) -> int:
    """How many rows a table has, in a file that nobody writes to; damage is refused. Nothing is left beside it."""
    with store_errors(path):
        connection = _open(f"file:{quote(str(path))}?immutable=1", _OPEN_TO_READ)
        try:
            check_sound(connection, path)
            return int(fetch_value(connection, f'SELECT count(*) FROM "{table}"'))
        except apsw.SQLError as error:
            raise StoreUnusable(f"{path.name} is damaged: {error}", fix=_replace(path)) from error
        finally:
            connection.close()


def check_sound(connection: apsw.Connection, path: Path) -> None:
    """Refuse a database in which SQLite finds damage."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)") if row[0] != "ok"]
    if problems:
        raise StoreUnusable(f"{path.name} is damaged: {'; '.join(problems)}", fix=_replace(path))


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ones that say what to do; the file is left as it is."""
    try:
        yield
    except apsw.FullError as error:
        raise StoreFull(
            f"No room left to write {path.name}: the last step was undone, everything before it is safe.",
            fix="Free some disk space and run the same command again: it goes on where it stopped.",
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreUnusable(f"{path.name} is damaged: {error}", fix=_replace(path)) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Unavailable(
            f"{path.name} has been busy for {BUSY_TIMEOUT_MS // 1000} s: another process is writing.",
            fix="Wait for the other command to end, or stop it, and try again.",
        ) from error
    except apsw.ReadOnlyError as error:
        raise Unavailable(
            f"{path.parent} cannot be written: what is in {path.name} can be read, but not changed.",
            fix=_MAKE_WRITABLE,
        ) from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        raise _closed(path, str(error)) from error
    except (apsw.IOError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_ROOM:
            raise _closed(path, error.strerror or str(error)) from error
        raise StoreFull(
            f"Writing {path.name} failed ({error}): the last step was undone, everything before it is safe.",
            fix="Check that the disk has room and works, then run the same command again.",
        ) from error


_MAKE_WRITABLE = "Make the folder and its files writable, or choose another one with --data-dir."
_NO_ROOM: Sequence[int] = (27, 28, 122)  # EFBIG, ENOSPC, EDQUOT


def _replace(path: Path) -> str:
    return f"Restore it from a backup, or move {path.name} (and {path.name}-wal) away and add your folders again."


def _closed(path: Path, reason: str) -> Unavailable:
    return Unavailable(
        f"{path.name} cannot be opened for writing in {path.parent}: {reason}.",
        fix="Check the folder and its permissions, or choose another one with --data-dir.",
    )


# A SQLite file as stores use a database that may also be another one (`store/database.py`).


class SqliteSessions:
    """Work on one file: writers wait their turn, so that nothing has to be locked and nothing is ever repeated."""

    dialect = Dialect(position="instr", elements="SELECT value FROM json_each(?)", for_update="")

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, look: Callable[[Session], Result], *, waits: bool = True) -> Result:
        with self._database.read() as connection:
            return look(_SqliteSession(connection))

    def write(self, work: Callable[[Session], Result]) -> Result:
        with self._database.write() as connection:
            return work(_SqliteSession(connection))

    def close(self) -> None:
        self._database.close()


class _SqliteSession:
    is_repeated = False

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return fetch_rows(self._connection, sql, values)

    def execute(self, sql: str, values: Values = ()) -> None:
        self._connection.execute(sql, tuple(values))

    def execute_many(self, sql: str, rows: Iterable[Values]) -> None:
        self._connection.executemany(sql, (tuple(values) for values in rows))
