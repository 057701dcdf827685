"""`runs.db`: the runs and their logs, in a file of its own so that adding documents never blocks a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import apsw
import msgspec

from citewell.database.sqlite import Database, fetch_one, fetch_rows, fetch_value, load_schema
from citewell.domain.errors import Conflict, Held, LeaseLost, NotFound
from citewell.domain.events import Entry, RunEvent
from citewell.domain.ports import Clock
from citewell.domain.run_store import ANY_RUN, RunChoice, RunMark, RunPage
from citewell.domain.runs import TERMINAL, Control, RunStatus, RunSummary
from citewell.recording.log import canonical_json, chained, touched, verify_chain
from citewell.recording.owners import is_alive

APPLICATION_ID = 0x43575231  # "CWR1"

_SUMMARY = "run_id, status, stop_reason, profile, surface, question, created_at, updated_at, tool_version"
_SELECT = f"SELECT {_SUMMARY}, owner, lease_until FROM runs"


class SqliteRuns:
    """The store of runs in one SQLite file (`domain/run_store.py`)."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.database = Database(path, load_schema("runs", APPLICATION_ID, "citewell.recording.migrations"))
        self._clock = clock

    def close(self) -> None:
        self.database.close()

    def count(self) -> int:
        return int(fetch_value(self.database.reader(), "SELECT count(*) FROM runs"))

    def create(
        self, summary: RunSummary, opening: Entry, token: str | None = None, lease_until: str | None = None
    ) -> None:
        """A new run with the first entry of its log, executed by whoever holds the token, or by nobody yet."""
        with self.database.write() as connection:
            connection.execute(
                f"INSERT INTO runs({_SUMMARY}, owner, lease_until) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (
                    *(summary.run_id, summary.status, summary.stop_reason, summary.profile, summary.surface),
                    *(summary.question, summary.created_at, summary.updated_at, summary.tool_version),
                    *(token, lease_until),
                ),
            )
            _insert(connection, chained(summary.run_id, None, [opening], summary.created_at))

    def put_record(self, summary: RunSummary, events: Sequence[RunEvent]) -> None:
        """A run that ended elsewhere, with its whole log."""
        with self.database.write() as connection:
            if fetch_one(connection, "SELECT 1 FROM runs WHERE run_id = ?", (summary.run_id,)) is not None:
                raise Conflict(f"There is a run {summary.run_id} already.", fix="Look at that one.")
            connection.execute(
                f"INSERT INTO runs({_SUMMARY}) VALUES (?,?,?,?,?,?,?,?,?)",
                (
                    *(summary.run_id, summary.status, summary.stop_reason, summary.profile, summary.surface),
                    *(summary.question, summary.created_at, summary.updated_at, summary.tool_version),
                ),
            )
            _insert(connection, events)

    def summary(self, run_id: str) -> RunSummary:
        """A run as it stands; one whose owner is gone is shown as interrupted."""
        row = fetch_one(self.database.reader(), f"{_SELECT} WHERE run_id = ?", (run_id,))
        if row is None:
            raise _no_run(run_id)
        try:
            return _summary(row, self._clock.now())
        except msgspec.ValidationError:
            raise touched(run_id, "in the list of runs") from None

    def latest(self, limit: int, choice: RunChoice = ANY_RUN) -> RunPage:
        """The latest runs, newest first, of those that are wanted."""
        now, runs, unreadable = self._clock.now(), list[RunSummary](), list[str]()
        sql, values = _chosen(choice)
        behind = self._place(choice.behind) if choice.behind else None
        while True:
            where = [*sql, "(created_at, run_id) < (?, ?)"] if behind else sql
            rows = fetch_rows(
                self.database.reader(),
                f"{_SELECT}{' WHERE ' if where else ''}{' AND '.join(where)}"
                " ORDER BY created_at DESC, run_id DESC LIMIT ?",
                (*values, *(behind or ()), limit + 1),
            )
            for row in rows:
                if len(runs) + len(unreadable) == limit:
                    last = runs[-1].run_id if runs else unreadable[-1]
                    return RunPage(tuple(runs), tuple(unreadable), last)
                try:
                    summary = _summary(row, now)
                except msgspec.ValidationError:
                    unreadable.append(str(row[0]))
                    continue
                # A run whose owner is gone has another status than its row says.
                if not choice.statuses or summary.status in choice.statuses:
                    runs.append(summary)
            if len(rows) <= limit:
                return RunPage(tuple(runs), tuple(unreadable))
            behind = (str(rows[-1][6]), str(rows[-1][0]))

    def _place(self, run_id: str) -> tuple[str, str]:
        row = fetch_one(self.database.reader(), "SELECT created_at, run_id FROM runs WHERE run_id = ?", (run_id,))
        if row is None:
            raise _no_run(run_id)
        return str(row[0]), str(row[1])

    def matching(self, beginning: str, limit: int) -> list[str]:
        """The ids that begin so, newest first, at most so many."""
        rows = fetch_rows(
            self.database.reader(),
            "SELECT run_id FROM runs WHERE substr(run_id, 1, ?) = ? ORDER BY created_at DESC, run_id DESC LIMIT ?",
            (len(beginning), beginning, limit),
        )
        return [str(run_id) for (run_id,) in rows]

    def acquire(self, run_id: str, token: str, lease_until: str) -> None:
        """Become the one process that executes a run; refused while another one does."""
        with self.database.write() as connection:
            row = fetch_one(connection, "SELECT status, owner, lease_until FROM runs WHERE run_id = ?", (run_id,))
            if row is None:
                raise _no_run(run_id)
            if row[0] in TERMINAL:
                raise Conflict(f"Run {run_id} has ended already.", fix=f"See 'citewell runs show {run_id}'.")
            if row[1] != token and _is_held(row[1], row[2], self._clock.now()):
                raise Held(
                    f"Run {run_id} is being executed by another process.",
                    fix=f"Follow it with 'citewell runs show {run_id} --follow', or cancel it.",
                )
            connection.execute(
                "UPDATE runs SET owner = ?, lease_until = ?, status = 'running' WHERE run_id = ?",
                (token, lease_until, run_id),
            )

    def renew(self, tokens: Sequence[str], lease_until: str) -> None:
        """Keep the leases held under these tokens."""
        with self.database.write() as connection:
            connection.executemany(
                "UPDATE runs SET lease_until = ? WHERE owner = ?", ((lease_until, token) for token in tokens)
            )

    def release(self, run_id: str, token: str, status: RunStatus, stop_reason: str | None, at: str) -> None:
        """Stop executing a run, whatever became of it; a token that no longer holds it changes nothing."""
        with self.database.write() as connection:
            connection.execute(
                "UPDATE runs SET owner = NULL, lease_until = NULL, status = ?, stop_reason = ?, updated_at = ?"
                " WHERE run_id = ? AND owner = ?",
                (status, stop_reason, at, run_id, token),
            )

    def claimable(self, limit: int) -> list[str]:
        """Runs that wait for somebody to execute them, oldest first: queued, or left by an owner that is gone."""
        rows = fetch_rows(
            self.database.reader(),
            "SELECT run_id, owner, lease_until FROM runs WHERE status IN ('queued', 'running')"
            " ORDER BY created_at, run_id",
        )
        now = self._clock.now()
        return [str(run_id) for run_id, owner, lease in rows if not _is_held(owner, lease, now)][:limit]

    def append(self, run_id: str, entries: Sequence[Entry], at: str, token: str) -> list[RunEvent]:
        """Put entries on record, all or none, if the token still holds the run."""
        with self.database.write() as connection:
            owner = fetch_one(connection, "SELECT owner FROM runs WHERE run_id = ?", (run_id,))
            if owner is None or owner[0] != token:
                raise LeaseLost(run_id)
            added = chained(run_id, _last(connection, run_id), entries, at)
            _insert(connection, added)
            connection.execute("UPDATE runs SET updated_at = ? WHERE run_id = ?", (at, run_id))
        return added

    def events(self, run_id: str, after: int = -1, limit: int | None = None) -> list[RunEvent]:
        """The entries of a run behind a sequence number, at most so many."""
        rows = fetch_rows(
            self.database.reader(),
            "SELECT run_id, sequence, at, kind, body, digest FROM events WHERE run_id = ? AND sequence > ?"
            " ORDER BY sequence LIMIT ?",
            (run_id, after, -1 if limit is None else limit),
        )
        return [_event(row) for row in rows]

    def marks(self, run_ids: Sequence[str]) -> dict[str, RunMark]:
        """How far these runs are."""
        rows = fetch_rows(
            self.database.reader(),
            "SELECT run_id, status, owner, lease_until,"
            " (SELECT max(sequence) FROM events WHERE events.run_id = runs.run_id),"
            " (SELECT max(id) FROM controls WHERE controls.run_id = runs.run_id)"
            " FROM runs WHERE run_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(run_ids)),),
        )
        now, marks = self._clock.now(), dict[str, RunMark]()
        for run_id, status, owner, lease, last, asked in rows:
            with suppress(msgspec.ValidationError):  # a row that cannot be read is no news of the others
                known = _status(status, owner, lease, now)
                marks[str(run_id)] = RunMark(known, -1 if last is None else int(last), int(asked or 0))
        return marks

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
        # One statement: the run may be executed while it is read.
        sql = "SELECT run_id, sequence, at, kind, body, digest FROM events WHERE run_id = ? ORDER BY sequence"
        events: list[RunEvent] = []
        for row in fetch_rows(self.database.reader(), sql, (run_id,)):
            try:
                event = _event(row)
            except ValueError:
                raise touched(run_id, f"at entry {row[1]}") from None
            if canonical_json(event.body).decode() != row[4]:
                raise touched(run_id, f"at entry {event.sequence}")
            events.append(event)
        return events

    def request(self, run_id: str, control: Control, at: str) -> None:
        """Ask something of a run, whoever executes it."""
        with self.database.write() as connection:
            connection.execute("INSERT INTO controls(run_id, control, at) VALUES (?,?,?)", (run_id, control, at))

    def controls(self, run_id: str, after: int) -> list[tuple[int, Control]]:
        sql = "SELECT id, control FROM controls WHERE run_id = ? AND id > ? ORDER BY id"
        rows = fetch_rows(self.database.reader(), sql, (run_id, after))
        return [(int(number), control) for number, control in rows if control in get_args(Control)]

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

    def shrink(self) -> None:
        """Let nothing of what was deleted stay readable in the write-ahead log."""
        self.database.fold_log()


def _chosen(choice: RunChoice) -> tuple[list[str], list[str]]:
    """What is asked for, as far as rows say it."""
    conditions: list[tuple[str, str]] = []
    if choice.profile:
        conditions.append(("profile = ?", choice.profile))
    if choice.surface:
        conditions.append(("surface = ?", choice.surface))
    conditions += [("instr(lower(question), ?) > 0", word.lower()) for word in choice.words.split()]
    return [sql for sql, _ in conditions], [value for _, value in conditions]


def _no_run(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id}.", fix="See 'citewell runs list'.")


def _insert(connection: apsw.Connection, events: Sequence[RunEvent]) -> None:
    connection.executemany(
        "INSERT INTO events VALUES (?,?,?,?,?,?)",
        ((e.run_id, e.sequence, e.at, e.kind, canonical_json(e.body).decode(), e.digest) for e in events),
    )


def _event(row: Sequence[Any]) -> RunEvent:
    run_id, sequence, at, kind, body, digest = row
    return RunEvent(run_id, sequence, at, kind, json.loads(body), digest)


def _is_held(owner: object, lease_until: object, now: str) -> bool:
    """Whether somebody executes a run: its process lives and has renewed its lease in time."""
    if owner is None or not is_alive(str(owner)):
        return False
    return lease_until is None or str(lease_until) > now


def _status(status: str, owner: object, lease_until: object, now: str) -> RunStatus:
    if status == "running" and not _is_held(owner, lease_until, now):
        return "interrupted"
    known: RunStatus = msgspec.convert(status, RunStatus)
    return known


def _agree(summary: RunSummary, events: Sequence[RunEvent]) -> None:
    """What the list of runs says must be what the log says."""
    first = events[0].body
    request = first.get("request", {})
    told = (summary.question, summary.profile, summary.surface, summary.tool_version)
    if told != (request.get("question"), request.get("profile"), request.get("surface"), first.get("tool_version")):
        raise touched(summary.run_id, "in the list of runs")
    finished = next((event for event in reversed(events) if event.kind == "run_finished"), None)
    if summary.status in TERMINAL and finished is None:
        raise touched(summary.run_id, "at its end")
    if finished is not None and summary.status in TERMINAL and finished.body.get("status") != summary.status:
        raise touched(summary.run_id, "in the list of runs")


def _last(connection: apsw.Connection, run_id: str) -> RunEvent | None:
    row = fetch_one(
        connection,
        "SELECT run_id, sequence, at, kind, digest FROM events WHERE run_id = ? ORDER BY sequence DESC LIMIT 1",
        (run_id,),
    )
    return None if row is None else RunEvent(row[0], row[1], row[2], row[3], {}, row[4])


def _summary(row: tuple[object, ...], now: str) -> RunSummary:
    *fields, owner, lease_until = row
    names = RunSummary.__dataclass_fields__
    summary = msgspec.convert(dict(zip(names, fields, strict=True)), RunSummary)
    return replace(summary, status=_status(summary.status, owner, lease_until, now))
