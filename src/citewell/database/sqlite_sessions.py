"""A SQLite file as stores use a database that may also be another one (`database/sessions.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw

from citewell.database.sessions import Dialect, Result, Session, Values
from citewell.database.sqlite import Database, fetch_rows


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
