"""What a store asks of its database, whichever it is: work done in one transaction, statements with `?` for values.

A connection can be lost when a transaction has been committed and the word of it has not come back. Then the work is
done again, and anyone who wrote it looks first (`is_repeated`) whether the former time came through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")
Values = Sequence[str | int | None]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where the databases differ in words: each a piece of SQL."""

    # The function that says where a text stands in another, 0 where it does not.
    position: str
    # The elements of a JSON list that is given as one value.
    elements: str
    # What keeps others from changing the rows of a query until the transaction ends.
    for_update: str


class Session(Protocol):
    """One transaction, or one look."""

    is_repeated: bool

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]: ...

    def execute(self, sql: str, values: Values = ()) -> None: ...

    def execute_many(self, sql: str, rows: Iterable[Values]) -> None: ...


class Sessions(Protocol):
    """A database as stores use it."""

    dialect: Dialect

    def read(self, look: Callable[[Session], Result], *, waits: bool = True) -> Result:
        """What a look finds; one that does not wait fails at once where the database is away."""
        ...

    def write(self, work: Callable[[Session], Result]) -> Result:
        """Work that is done whole or not at all."""
        ...

    def close(self) -> None: ...


def one(session: Session, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
    """The first row of a query, if any."""
    return next(iter(session.rows(sql, values)), None)


# Numbered scripts: how every database of ours comes to its schema, in the order of their names, forwards only.


def load_scripts(package: str) -> tuple[str, ...]:
    """The numbered `.sql` scripts of a package folder, in their order."""
    # Not importlib.resources: it takes longer to import than a search takes.
    folder = Path(str(import_module(package).__file__)).parent
    return tuple(file.read_text("utf-8") for file in sorted(folder.glob("*.sql")))
