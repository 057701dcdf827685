"""Reports as documents in a table, in the database that holds the runs, and closed with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.database.sessions import Sessions
from citewell.store.runs import listed

_COLUMNS = "run_id, brief_id, project_id, status, created_at, document"
_SELECT = f"SELECT {_COLUMNS} FROM research_runs"
_NEWEST_FIRST = "ORDER BY created_at DESC, run_id DESC"
_PUT = (
    f"INSERT INTO research_runs({_COLUMNS}) VALUES (?,?,?,?,?,?) ON CONFLICT (run_id) DO UPDATE SET"
    " brief_id = excluded.brief_id, project_id = excluded.project_id, status = excluded.status,"
    " created_at = excluded.created_at, document = excluded.document"
)


@dataclass(frozen=True, slots=True)
class ResearchRow:
    """A run of a brief as it is stored; `document` is canonical JSON of what `citewell report --json` prints."""

    run_id: str
    brief_id: str
    project_id: str | None
    status: str
    created_at: str
    document: str


class ResearchTables:
    """One row for each run of a brief, written when it begins and again when it ends."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def put(self, row: ResearchRow) -> None:
        values = (row.run_id, row.brief_id, row.project_id, row.status, row.created_at, row.document)
        self._sessions.write(lambda session: session.execute(_PUT, values))

    def get(self, run_id: str) -> ResearchRow | None:
        return next(iter(self._rows(f"{_SELECT} WHERE run_id = ?", (run_id,))), None)

    def of_brief(self, brief_id: str) -> list[ResearchRow]:
        return self._rows(f"{_SELECT} WHERE brief_id = ? {_NEWEST_FIRST}", (brief_id,))

    def latest(self, limit: int, project_id: str | None = None, status: str | None = None) -> list[ResearchRow]:
        wanted = [
            (name, value) for name, value in (("project_id", project_id), ("status", status)) if value is not None
        ]
        where = f" WHERE {' AND '.join(f'{name} = ?' for name, _ in wanted)}" if wanted else ""
        return self._rows(f"{_SELECT}{where} {_NEWEST_FIRST} LIMIT ?", (*(value for _, value in wanted), limit))

    def delete(self, run_ids: Sequence[str]) -> None:
        sql = f"DELETE FROM research_runs WHERE run_id IN ({self._sessions.dialect.elements})"
        self._sessions.write(lambda session: session.execute(sql, (listed(run_ids),)))

    def _rows(self, sql: str, values: Sequence[str | int]) -> list[ResearchRow]:
        return [ResearchRow(*row) for row in self._sessions.read(lambda session: session.rows(sql, values))]
