"""Opening a store of runs by its place: a file is SQLite, an address is PostgreSQL, which is imported only then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.domain.ports import Clock
from citewell.domain.research_runs import ResearchRunRepository
from citewell.domain.run_store import RunStore
from citewell.recording.moving import Records

if TYPE_CHECKING:
    from citewell.recording.spending import DaySpending


def open_runs(place: str | Path, clock: Clock) -> RunStore:
    """The store of runs at a place."""
    if isinstance(place, Path):
        from citewell.recording.store import SqliteRuns

        return SqliteRuns(place, clock)
    from citewell.database.postgres import PostgresSessions
    from citewell.recording.postgres_store import PACKAGE, PostgresRuns

    return PostgresRuns(PostgresSessions(place, PACKAGE), clock)


def reports_beside(runs: RunStore) -> ResearchRunRepository:
    """The table of reports in the database that holds these runs, and is closed with them."""
    from citewell.recording.research_tables import ResearchTables
    from citewell.recording.run_tables import RunTables

    assert isinstance(runs, RunTables)
    return ResearchTables(runs.sessions)


def spending_beside(runs: RunStore) -> DaySpending:
    """What calls of models cost, in the database that holds these runs, and is closed with them."""
    from citewell.recording.run_tables import RunTables
    from citewell.recording.spending import DaySpending

    assert isinstance(runs, RunTables)
    return DaySpending(runs.sessions)


@contextmanager
def open_records(place: str | Path, clock: Clock) -> Iterator[Records]:
    """The runs and the reports at a place, for as long as they are needed."""
    runs = open_runs(place, clock)
    try:
        yield Records(runs, reports_beside(runs))
    finally:
        runs.close()
