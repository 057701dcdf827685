"""`runs.db`: the runs and their logs, in a file of its own so that adding documents never blocks a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import msgspec

from citewell.database.sqlite import Database, fetch_one, fetch_rows, fetch_value, load_schema
from citewell.domain.errors import NotFound, Unavailable
from citewell.domain.events import RunEvent
from citewell.domain.runs import TERMINAL, RunStatus, RunSummary
from citewell.recording.log import Entry, canonical_json, chained, touched, verify_chain
from citewell.recording.owners import is_alive

APPLICATION_ID = 0x43575231  # "CWR1"

_SUMMARY = "run_id, status, stop_reason, profile, surface, question, created_at, updated_at, tool_version"


class RunStore:
    """The store of runs."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, load_schema("runs", APPLICATION_ID, "citewell.recording.migrations"))

    def close(self) -> None:
        self.database.close()

    def count(self) -> int:
        return int(fetch_value(self.database.reader(), "SELECT count(*) FROM runs"))

    def create(self, summary: RunSummary, owner: str) -> None:
        """A new run, owned by the process that is about to execute it."""
        with self.database.write() as connection:
            connection.execute(
                f"INSERT INTO runs({_SUMMARY}, owner) VALUES (?,?,?,?,?,?,?,?,?,?)",
                (
                    *(summary.run_id, summary.status, summary.stop_reason, summary.profile, summary.surface),
                    *(summary.question, summary.created_at, summary.updated_at, summary.tool_version, owner),
                ),
            )

    def summary(self, run_id: str) -> RunSummary:
        """A run as it stands; one whose process died is shown as interrupted."""
        row = fetch_one(self.database.reader(), f"SELECT {_SUMMARY}, owner FROM runs WHERE run_id = ?", (run_id,))
        if row is None:
            raise NotFound(f"There is no run {run_id}.", fix="See 'citewell runs list'.")
        return _summary(row)

    def latest(self, limit: int) -> list[RunSummary]:
        """The latest runs, newest first."""
        rows = fetch_rows(
            self.database.reader(),
            f"SELECT {_SUMMARY}, owner FROM runs ORDER BY created_at DESC, run_id DESC LIMIT ?",
            (limit,),
        )
        return [_summary(row) for row in rows]

    def acquire(self, run_id: str, owner: str) -> None:
        """Become the one process that executes a run; refused while another one does."""
        with self.database.write() as connection:
            row = fetch_one(connection, "SELECT status, owner FROM runs WHERE run_id = ?", (run_id,))
            if row is None:
                raise NotFound(f"There is no run {run_id}.", fix="See 'citewell runs list'.")
            if row[1] is not None and row[1] != owner and is_alive(row[1]):
                raise Unavailable(
                    f"Run {run_id} is being executed by another process.",
                    fix=f"Follow it with 'citewell runs show {run_id} --follow', or cancel it.",
                )
            connection.execute("UPDATE runs SET owner = ?, status = 'running' WHERE run_id = ?", (owner, run_id))

    def release(self, run_id: str, owner: str, status: RunStatus, stop_reason: str | None, at: str) -> None:
        """Stop executing a run, whatever became of it."""
        with self.database.write() as connection:
            connection.execute(
                "UPDATE runs SET owner = NULL, status = ?, stop_reason = ?, updated_at = ?"
                " WHERE run_id = ? AND (owner = ? OR owner IS NULL)",
                (status, stop_reason, at, run_id, owner),
            )

    def append(self, run_id: str, entries: Sequence[Entry], at: str) -> list[RunEvent]:
        """Put entries on record, all or none."""
        with self.database.write() as connection:
            added = chained(run_id, _last(connection, run_id), entries, at)
            connection.executemany(
                "INSERT INTO events VALUES (?,?,?,?,?,?)",
                ((e.run_id, e.sequence, e.at, e.kind, canonical_json(e.body).decode(), e.digest) for e in added),
            )
            connection.execute("UPDATE runs SET updated_at = ? WHERE run_id = ?", (at, run_id))
        return added

    def events(self, run_id: str, after: int = -1) -> list[RunEvent]:
        """The entries of a run behind a sequence number."""
        rows = fetch_rows(
            self.database.reader(),
            "SELECT run_id, sequence, at, kind, body, digest FROM events WHERE run_id = ? AND sequence > ?"
            " ORDER BY sequence",
            (run_id, after),
        )
        return [RunEvent(row[0], row[1], row[2], row[3], json.loads(row[4]), row[5]) for row in rows]

    def checked_events(self, run_id: str) -> list[RunEvent]:
        """The whole log of a run, refused if anything in it was changed."""
        summary = self.summary(run_id)
        events = self._untouched_events(run_id)
        if not events:
            raise NotFound(f"Run {run_id} was never begun: it has no record.", fix="Ask the question again.")
        verify_chain(events)
        _agree(summary, events)
        return events

    def _untouched_events(self, run_id: str) -> list[RunEvent]:
        """The entries of a run; a body that is not written the way we write it was touched."""
        sql = "SELECT sequence, body FROM events WHERE run_id = ? ORDER BY sequence"
        events = self.events(run_id)
        for event, (_, body) in zip(events, fetch_rows(self.database.reader(), sql, (run_id,)), strict=True):
            if canonical_json(event.body).decode() != body:
                raise touched(run_id, f"at entry {event.sequence}")
        return events

    def request(self, run_id: str, control: str, at: str) -> None:
        """Ask something of a run that another process executes."""
        with self.database.write() as connection:
            connection.execute("INSERT INTO controls(run_id, control, at) VALUES (?,?,?)", (run_id, control, at))

    def controls(self, run_id: str, after: int) -> list[tuple[int, str]]:
        sql = "SELECT id, control FROM controls WHERE run_id = ? AND id > ? ORDER BY id"
        return [
            (int(number), str(control)) for number, control in fetch_rows(self.database.reader(), sql, (run_id, after))
        ]

    def put_citations(self, run_id: str, texts: Sequence[tuple[str, str]]) -> None:
        with self.database.write() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO citations VALUES (?,?,?)", ((run_id, key, digest) for key, digest in texts)
            )

    def citing(self, keys: Sequence[str]) -> list[str]:
        """The runs that cite any of these documents."""
        sql = "SELECT DISTINCT run_id FROM citations WHERE source_key IN (SELECT value FROM json_each(?)) ORDER BY 1"
        return [str(run_id) for (run_id,) in fetch_rows(self.database.reader(), sql, (json.dumps(list(keys)),))]

    def mentioning(self, keys: Sequence[str]) -> list[str]:
        """The runs whose record holds anything of these documents, cited or not."""
        found: set[str] = set()
        for key in keys:
            written = canonical_json({"source_key": key}).decode()[1:-1]
            sql = "SELECT DISTINCT run_id FROM events WHERE instr(body, ?) > 0"
            found.update(str(run_id) for (run_id,) in fetch_rows(self.database.reader(), sql, (written,)))
        return sorted(found)

    def delete(self, run_ids: Sequence[str]) -> None:
        """Forget runs with their logs."""
        with self.database.write() as connection:
            connection.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in run_ids))

    def log(self, run_id: str) -> StoredLog:
        return StoredLog(self, run_id)


class StoredLog:
    """The log of one run in the store."""

    def __init__(self, store: RunStore, run_id: str) -> None:
        self.run_id = run_id
        self._store = store
        self._seen = max((number for number, _ in store.controls(run_id, 0)), default=0)

    def append(self, entries: Sequence[Entry], at: str) -> list[RunEvent]:
        return self._store.append(self.run_id, entries, at)

    def events(self) -> list[RunEvent]:
        return self._store.checked_events(self.run_id)

    def controls(self) -> list[str]:
        asked = self._store.controls(self.run_id, self._seen)
        self._seen = max((number for number, _ in asked), default=self._seen)
        return [control for _, control in asked]


def _agree(summary: RunSummary, events: Sequence[RunEvent]) -> None:
    """What the list of runs says must be what the log says."""
    first, last = events[0].body, events[-1].body
    request = first.get("request", {})
    told = (summary.question, summary.profile, summary.surface, summary.tool_version)
    if told != (request.get("question"), request.get("profile"), request.get("surface"), first.get("tool_version")):
        raise touched(summary.run_id, "in the list of runs")
    finished = events[-1].kind == "run_finished"
    if summary.status in TERMINAL and not finished:
        raise touched(summary.run_id, "at its end")
    if finished and summary.status in TERMINAL and last.get("status") != summary.status:
        raise touched(summary.run_id, "in the list of runs")


def _last(connection: apsw.Connection, run_id: str) -> RunEvent | None:
    row = fetch_one(
        connection,
        "SELECT run_id, sequence, at, kind, digest FROM events WHERE run_id = ? ORDER BY sequence DESC LIMIT 1",
        (run_id,),
    )
    return None if row is None else RunEvent(row[0], row[1], row[2], row[3], {}, row[4])


def _summary(row: tuple[object, ...]) -> RunSummary:
    *fields, owner = row
    names = RunSummary.__dataclass_fields__
    summary = msgspec.convert(dict(zip(names, fields, strict=True)), RunSummary)
    if summary.status == "running" and (owner is None or not is_alive(str(owner))):
        return replace(summary, status="interrupted")
    return summary
