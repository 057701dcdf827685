"""PostgreSQL: a pool of connections, forward-only migrations under a lock, typed errors, patience while it is away.

A server that restarts is waited for: work whose connection broke is done again, up to `PATIENCE_SECONDS` from when the
server went away (`store/database.py` says what that asks of the work). A server that cannot be reached from the
first is not waited for. No message holds the password: the address is told by host, database and user alone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from citewell.errors import CitewellError, StoreFull, StoreUnusable, Unavailable
from citewell.store.database import Dialect, Result, Session, Values, load_scripts

try:
    import psycopg
    from psycopg import conninfo, errors
    from psycopg_pool import ConnectionPool, PoolClosed
except ImportError as error:
    raise Unavailable(
        f"CITEWELL_DATABASE_URL is set, but what speaks to PostgreSQL is not installed ({error}).",
        fix="pip install 'citewell[postgres]', or unset CITEWELL_DATABASE_URL.",
    ) from None

PATIENCE_SECONDS = 30.0
# Every table of ours lies in a schema of this name: a database may be shared with other programs.
SCHEMA = "citewell"
_MIGRATION_LOCK = 0x43575231
_OLDEST_SERVER = 130_000
_MOST_CONNECTIONS = 8
# How long one attempt waits for a connection of the pool.
_POOL_SECONDS = 2.0
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 0.5
# A failure so long after the last one is another outage.
_OUTAGE_GAP_SECONDS = 15.0
_LISTEN_SECONDS = 0.5
# A connection whose other side is gone without a word is given up within some ten seconds.
_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "application_name": "citewell",
}
_SERVER_TIME = "SELECT extract(epoch FROM clock_timestamp())"
# Clocks run apart by less: further, somebody set one, or the machine slept.
_CLOCK_WAS_SET = 1.0
_SET_UP = f"SET search_path = {SCHEMA}; SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'"
# Shut down, crashed, starting up, too many connections; then two transactions in each other's way.
_PASSING = {"57P01", "57P02", "57P03", "57P05", "53300", "40001", "40P01"}
_Connection = psycopg.Connection[tuple[Any, ...]]
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"

# The pool tells of every attempt to connect; anyone who asks for a connection is told instead.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Address:
    """Where a database is, and the ways to speak of it."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            # Not shown: it may hold a password all the same.
            raise Unavailable("CITEWELL_DATABASE_URL is no address of PostgreSQL.", fix=f"It looks like {_FORM}.")
        try:
            parts = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            fix = f"It looks like {_FORM}; write signs like @ / : # in the password as %40 %2F %3A %23."
            raise Unavailable("CITEWELL_DATABASE_URL cannot be read as an address.", fix=fix) from None
        self.full = conninfo.make_conninfo(
            url, client_encoding="utf8", **{name: value for name, value in _DEFAULTS.items() if name not in parts}
        )
        self._password = str(parts.get("password") or "")
        self.database = str(parts.get("dbname") or parts.get("user") or "the user's own")
        self.user = str(parts.get("user") or "")
        host = str(parts.get("host") or parts.get("hostaddr") or "this machine")
        port = f":{parts['port']}" if parts.get("port") and not host.startswith("/") else ""
        self.name = f"PostgreSQL at {host}{port}, database {self.database}"

    def without_password(self, text: str) -> str:
        return text.replace(self._password, "•••") if self._password else text


class PostgresSessions:
    """A database of PostgreSQL as stores use it; safe for any number of threads."""

    dialect = Dialect(
        position="strpos",
        elements="SELECT value FROM json_array_elements_text(CAST(? AS json))",
        for_update=" FOR UPDATE",
    )

    def __init__(
        self,
        url: str,
        package: str,
        patience_seconds: float = PATIENCE_SECONDS,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.address = Address(url)
        # The clock that can be set; how far the server's was before it when that was measured, and the steady one's.
        self._wall = wall
        self._skew, self._set_at = 0.0, 0.0
        self._patience = patience_seconds
        self._closing = threading.Event()
        # When the outage of now began, and when it was last noticed.
        self._away_since, self._failed_at = 0.0, -_OUTAGE_GAP_SECONDS
        try:
            with psycopg.connect(self.address.full, autocommit=True) as connection:
                self._measure_clock(connection)
                _prepare(connection, load_scripts(package))
        except psycopg.Error as error:
            self._refuse(error)
        self._pool = ConnectionPool(
            self.address.full,
            min_size=0,
            max_size=_MOST_CONNECTIONS,
            configure=self._set_up,
            num_workers=2,
            # One attempt: it is we who try again, sooner than the pool would.
            reconnect_timeout=0,
            open=True,
        )

    def read(self, look: Callable[[Session], Result], *, waits: bool = True) -> Result:
        return self._patiently(look, self._patience if waits else 0.0)

    def write(self, work: Callable[[Session], Result]) -> Result:
        return self._patiently(work, self._patience)

    def outside_transaction(self, statement: str) -> None:
        """A statement that cannot be part of a transaction."""
        try:
            with psycopg.connect(self.address.full, autocommit=True) as connection:
                connection.execute(_SET_UP)
                connection.execute(statement)
        except psycopg.Error as error:
            self._refuse(error)

    def listen(self, channel: str, tell: Callable[[str | None], None]) -> Callable[[], None]:
        """Hand on what is notified on a channel until the returned function is called; None: it may be anything."""
        stopped = threading.Event()
        thread = threading.Thread(
            target=self._listen, args=(channel, tell, stopped), name="citewell-listen", daemon=True
        )
        thread.start()

        def stop() -> None:
            stopped.set()
            if thread is not threading.current_thread():
                thread.join(2 * _LISTEN_SECONDS)

        return stop

    def close(self) -> None:
        """Close every connection; who waits for the server stops waiting."""
        self._closing.set()
        self._pool.close(timeout=2.0)

    def _set_up(self, connection: _Connection) -> None:
        connection.execute(_SET_UP)
        self._measure_clock(connection)
        connection.commit()

    @property
    def clock_skew(self) -> float:
        """How far the clock of the server is before that of this machine, in seconds; also once that one was set."""
        if abs(self._wall() - time.monotonic() - self._set_at) > _CLOCK_WAS_SET:
            self._told_time(self._wall(), self.read(lambda session: session.rows(_SERVER_TIME)[0][0], waits=False))
        return self._skew

    def _measure_clock(self, connection: _Connection) -> None:
        before = self._wall()
        row = connection.execute(_SERVER_TIME).fetchone()
        assert row is not None
        self._told_time(before, row[0])

    def _told_time(self, before: float, server: Any) -> None:
        """The server has said what time it is, between then and now."""
        now = self._wall()
        self._skew, self._set_at = float(server) - (before + now) / 2, now - time.monotonic()

    def _patiently(self, work: Callable[[Session], Result], patience: float) -> Result:
        delay, is_repeated = _FIRST_DELAY, False
        while True:
            try:
                with self._pool.connection(_POOL_SECONDS) as connection:
                    result = work(_PostgresSession(connection, is_repeated))
            except psycopg.Error as error:
                if not _is_passing(error) or self._is_too_late(patience, delay):
                    self._refuse(error)
            else:
                self._failed_at = -_OUTAGE_GAP_SECONDS
                return result
            self._drop_broken()
            self._closing.wait(delay)
            is_repeated, delay = True, min(2 * delay, _LONGEST_DELAY)

    def _is_too_late(self, patience: float, delay: float) -> bool:
        """Whether the server has been away for longer than anybody waits: for one outage, patience is had once."""
        now = time.monotonic()
        if now - self._failed_at >= _OUTAGE_GAP_SECONDS:
            self._away_since = now
        self._failed_at = now
        return self._closing.is_set() or now + delay > self._away_since + patience

    def _drop_broken(self) -> None:
        try:
            self._pool.check()
        except psycopg.Error:
            return  # it is being closed

    def _listen(self, channel: str, tell: Callable[[str | None], None], stopped: threading.Event) -> None:
        delay = _FIRST_DELAY
        while not stopped.is_set() and not self._closing.is_set():
            try:
                with psycopg.connect(self.address.full, autocommit=True) as connection:
                    connection.execute(f"LISTEN {channel}")
                    tell(None)  # what happened while nobody listened
                    delay = _FIRST_DELAY
                    while not stopped.is_set() and not self._closing.is_set():
                        for notice in connection.notifies(timeout=_LISTEN_SECONDS):
                            tell(notice.payload)
            except psycopg.Error:
                stopped.wait(delay)
                delay = min(2 * delay, _LONGEST_DELAY)

    def _refuse(self, error: psycopg.Error) -> NoReturn:
        raise _told(error, self.address) from None


class _PostgresSession:
    """One transaction, in the words that SQLite has too."""

    def __init__(self, connection: _Connection, is_repeated: bool) -> None:
        self._connection = connection
        self.is_repeated = is_repeated

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_statement(sql), _storable(values)).fetchall()

    def execute(self, sql: str, values: Values = ()) -> None:
        self._connection.execute(_statement(sql), _storable(values))

    def execute_many(self, sql: str, rows: Iterable[Values]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_statement(sql), [_storable(values) for values in rows])


def _statement(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def _storable(values: Values) -> tuple[str | int | None, ...]:
    """Values as PostgreSQL takes them. What is stored is canonical text; NUL occurs only in what is looked for."""
    return tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in values)


def _prepare(connection: _Connection, scripts: tuple[str, ...]) -> None:
    """Bring the schema up to date, all in one transaction: it is the old one or the new one, never half."""
    if connection.info.server_version < _OLDEST_SERVER:
        raise StoreUnusable(
            f"PostgreSQL {connection.info.server_version // 10_000} is too old.", fix="Use PostgreSQL 13 or newer."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        fix = "Make one that does: createdb --encoding=UTF8 --template=template0 NAME"
        raise StoreUnusable(f"The database stores text as {encoding}, which cannot hold every text.", fix=fix)
    if _version(connection, len(scripts)) == len(scripts):
        return
    # Anyone who comes second waits here, and finds the work done. The lock goes with the connection. It is taken before
    # the transaction begins: one that waited for it in the middle would not see what the other one has made.
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
    with connection.transaction():
        current = _version(connection, len(scripts))
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}")
        connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        for script in scripts[current:]:
            connection.execute(script)
        connection.execute("DELETE FROM schema_version")
        connection.execute("INSERT INTO schema_version VALUES (%s)", (len(scripts),))


def _version(connection: _Connection, known: int) -> int:
    """The version of the schema, 0 where there is none; one that is newer than ours is refused."""
    found = connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.schema_version",)).fetchone()
    if found is None or found[0] is None:
        return 0
    row = connection.execute(f"SELECT version FROM {SCHEMA}.schema_version").fetchone()
    version = int(row[0]) if row else 0
    if version > known:
        raise StoreUnusable(
            f"The database was written by a newer Citewell (schema {version}; this one knows {known}).",
            fix="Upgrade Citewell, or name another database in CITEWELL_DATABASE_URL.",
        )
    return version


def _is_passing(error: psycopg.Error) -> bool:
    """Whether trying again may help: the connection is gone, or the server says that it is not ready."""
    if isinstance(error, PoolClosed):
        return False
    if error.sqlstate is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return error.sqlstate in _PASSING or error.sqlstate.startswith("08")


def _told(error: psycopg.Error, address: Address) -> CitewellError:
    """An error of PostgreSQL as a sentence with a fix."""
    name, state = address.name, error.sqlstate or ""
    reason = address.without_password(" ".join(str(error).split()))
    # While connecting there is no code, only what the server or the library says.
    if state.startswith("28") or "authentication failed" in reason or "no password supplied" in reason:
        fix = "Put the right user and password into CITEWELL_DATABASE_URL, or into ~/.pgpass."
        return Unavailable(f"{name} refuses the user {address.user or 'of this machine'} or the password.", fix=fix)
    if state == "3D000" or ("database" in reason and "does not exist" in reason):
        return Unavailable(f"{name} does not exist.", fix=f"Make it: createdb --encoding=UTF8 {address.database}")
    if isinstance(error, errors.InsufficientPrivilege):
        fix = f"Let the user make a schema: GRANT CREATE ON DATABASE {address.database} TO {address.user or 'USER'};"
        return Unavailable(f"{name} does not let the user keep runs there: {reason}", fix=fix)
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return Unavailable(f"{name} can only be read from.", fix="Name the primary server in CITEWELL_DATABASE_URL.")
    if state.startswith("53") and state != "53300":
        fix = "Free some space on its disk and run the same command again: it goes on where it stopped."
        return StoreFull(f"{name} has no room left: the last step was undone, everything before is safe.", fix=fix)
    if isinstance(error, errors.LockNotAvailable):
        return Unavailable(f"{name} has been busy for 60 s.", fix="Wait for the other command, and try again.")
    if _is_passing(error) or isinstance(error, PoolClosed):
        fix = "Start the server, or correct CITEWELL_DATABASE_URL; without it, runs are kept in runs.db."
        return Unavailable(f"{name} cannot be reached: {reason}", fix=fix)
    return StoreUnusable(f"{name} cannot be used: {reason}", fix="See 'citewell doctor', and the log of the server.")
