"""Runs and their logs in tables: of `runs.db`, apart so that adding documents never blocks a run, or of PostgreSQL.

A statement is written once, for every database (`store/database.py`). Work that may be done twice looks whether the
former time came through: an entry is told by its digest, which covers all that stands before it.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from citewell.clock import Clock
from citewell.errors import Conflict, Held, LeaseLost, NotFound, StoreFull
from citewell.runs.events import Entry, RunEvent, canonical_json, chained, finished_event, touched, verify_chain
from citewell.runs.reports import RunList
from citewell.runs.run import TERMINAL, Control, RunStatus, RunSummary
from citewell.store.database import Session, Sessions, one
from citewell.store.sqlite import Database, SqliteSessions, load_schema

if TYPE_CHECKING:
    from citewell.store.postgres import PostgresSessions


APPLICATION_ID = 0x43575231  # "CWR1"
SQLITE_SCRIPTS = "citewell.runs.sqlite_scripts"
POSTGRES_SCRIPTS = "citewell.runs.postgres_scripts"
_CHANNEL = "citewell_runs"

_SUMMARY = "run_id, status, stop_reason, profile, surface, question, created_at, updated_at, tool_version"
_SELECT = f"SELECT {_SUMMARY}, owner, lease_until FROM runs"
_EVENT = "SELECT run_id, sequence, at, kind, body, digest FROM events WHERE run_id = ?"
_INSERT_RUN = f"INSERT INTO runs({_SUMMARY}, owner, lease_until) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
# More than any log has.
_ALL = 2**62


@dataclass(frozen=True, slots=True)
class RunMark:
    """How far a run is: enough to tell whether there is anything new to read."""

    status: RunStatus
    last_sequence: int
    last_control: int


class RunStore(ABC):
    """Runs, their logs, who executes them and what is asked of them. Every method blocks until it is done.

    Whoever executes a run holds a lease on it under a token. A lease runs out unless it is renewed, and every entry is
    appended under the token, so a process that was taken for dead and comes back can add nothing to a run that another
    one has taken over.
    """

    def __init__(self, sessions: Sessions, clock: Clock) -> None:
        self.sessions = sessions
        self._sql = sessions.dialect
        self._clock = clock

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the runs are kept, in words for a person; no secret is in them."""

    @abstractmethod
    def _is_held(self, owner: object, lease_until: object, now: str) -> bool:
        """Whether somebody executes a run."""

    @abstractmethod
    def shrink(self) -> None:
        """Let nothing of what was deleted stay readable."""

    def _now(self) -> str:
        """The time that leases are compared with."""
        return self._clock.now()

    def _lease(self, until: str | None) -> str | None:
        """The end of a lease as it is stored."""
        return until

    def on_change(self, tell: Callable[[str | None], None]) -> Callable[[], None] | None:
        """Have somebody told of each run that changes (None: any may have), on a thread of the store.

        What is returned ends it. None where a store cannot tell and has to be asked (`marks`).
        """
        return None

    def close(self) -> None:
        self.sessions.close()

    def _rows(self, sql: str, values: Sequence[str | int | None] = ()) -> list[tuple[Any, ...]]:
        return self.sessions.read(lambda session: session.rows(sql, values))

    def _one(self, sql: str, values: Sequence[str | int | None] = ()) -> tuple[Any, ...] | None:
        return self.sessions.read(lambda session: one(session, sql, values))

    def _write(self, sql: str, values: Sequence[str | int | None]) -> None:
        self.sessions.write(lambda session: session.execute(sql, values))

    def count(self) -> int:
        return int(self._rows("SELECT count(*) FROM runs")[0][0])

    def create(
        self, summary: RunSummary, opening: Entry, token: str | None = None, lease_until: str | None = None
    ) -> None:
        """A new run with the first entry of its log, executed by anyone who holds the token, or by nobody yet."""
        events = chained(summary.run_id, None, [opening], summary.created_at)
        self.put_record(summary, events, token, self._lease(lease_until))

    def put_record(
        self, summary: RunSummary, events: Sequence[RunEvent], token: str | None = None, lease: str | None = None
    ) -> None:
        """A run with what there is of its log, such as the whole log of one that ended elsewhere."""

        def work(session: Session) -> None:
            if one(session, "SELECT 1 FROM runs WHERE run_id = ?", (summary.run_id,)) is not None:
                if session.is_repeated and _is_recorded(session, events):
                    return
                raise Conflict(f"There is a run {summary.run_id} already.", fix="Look at that one.")
            session.execute(_INSERT_RUN, (*astuple(summary), token, lease))
            _insert(session, events)

        self.sessions.write(work)

    def summary(self, run_id: str) -> RunSummary:
        """A run as it stands; one whose owner is gone is shown as interrupted."""
        row = self._one(f"{_SELECT} WHERE run_id = ?", (run_id,))
        if row is None:
            raise _no_run(run_id)
        try:
            return self._summary(row, self._now())
        except msgspec.ValidationError:
            raise touched(run_id, "in the list of runs") from None

    def latest(
        self,
        limit: int,
        *,
        behind: str | None = None,
        statuses: Sequence[RunStatus] = (),
        profile: str | None = None,
        surface: str | None = None,
        words: str = "",
    ) -> RunList:
        """The latest runs, newest first: behind another one, in some states, with words in the question."""
        now, runs, unreadable = self._now(), list[RunSummary](), list[str]()
        conditions, values = list[str](), list[str]()
        for name, value in (("profile", profile), ("surface", surface)):
            if value:
                conditions.append(f"{name} = ?")
                values.append(value)
        for word in words.split():
            conditions.append(f"{self._sql.position}(lower(question), ?) > 0")
            values.append(word.lower())
        last: tuple[str, ...] = ()
        if behind:
            row = self._one("SELECT created_at, run_id FROM runs WHERE run_id = ?", (behind,))
            if row is None:
                raise _no_run(behind)
            last = (str(row[0]), str(row[1]))
        while True:
            where = " AND ".join([*conditions, *(["(created_at, run_id) < (?, ?)"] if last else [])])
            sql = f"{_SELECT}{' WHERE ' if where else ''}{where} ORDER BY created_at DESC, run_id DESC LIMIT ?"
            rows = self._rows(sql, (*values, *last, limit + 1))
            for row in rows:
                if len(runs) + len(unreadable) == limit:
                    return RunList(tuple(runs), tuple(unreadable), runs[-1].run_id if runs else unreadable[-1])
                try:
                    summary = self._summary(row, now)
                except msgspec.ValidationError:
                    unreadable.append(str(row[0]))
                    continue
                # A run whose owner is gone has another status than its row says.
                if not statuses or summary.status in statuses:
                    runs.append(summary)
            if len(rows) <= limit:
                return RunList(tuple(runs), tuple(unreadable))
            last = (str(rows[-1][6]), str(rows[-1][0]))

    def matching(self, beginning: str, limit: int) -> list[str]:
        """The ids that begin so, newest first, at most so many."""
        rows = self._rows(
            "SELECT run_id FROM runs WHERE substr(run_id, 1, ?) = ? ORDER BY created_at DESC, run_id DESC LIMIT ?",
            (len(beginning), beginning, limit),
        )
        return [str(run_id) for (run_id,) in rows]

    def acquire(self, run_id: str, token: str, lease_until: str) -> None:
        """Become the one process that executes a run; refused while another one does."""

        def work(session: Session) -> None:
            sql = f"SELECT status, owner, lease_until FROM runs WHERE run_id = ?{self._sql.for_update}"
            row = one(session, sql, (run_id,))
            if row is None:
                raise _no_run(run_id)
            if row[0] in TERMINAL:
                raise Conflict(f"Run {run_id} has ended already.", fix=f"See 'citewell runs show {run_id}'.")
            if row[1] != token and self._is_held(row[1], row[2], self._now()):
                raise Held(
                    f"Run {run_id} is being executed by another process.",
                    fix=f"Follow it with 'citewell runs show {run_id} --follow', or cancel it.",
                )
            session.execute(
                "UPDATE runs SET owner = ?, lease_until = ?, status = 'running' WHERE run_id = ?",
                (token, self._lease(lease_until), run_id),
            )

        self.sessions.write(work)

    def renew(self, tokens: Sequence[str], lease_until: str) -> None:
        """Keep the leases held under these tokens."""
        sql = f"UPDATE runs SET lease_until = ? WHERE owner IN ({self._sql.elements})"
        self._write(sql, (self._lease(lease_until), listed(tokens)))

    def release(self, run_id: str, token: str, status: RunStatus, stop_reason: str | None, at: str) -> None:
        """Stop executing a run, whatever became of it; a token that no longer holds it changes nothing."""
        sql = (
            "UPDATE runs SET owner = NULL, lease_until = NULL, status = ?, stop_reason = ?, updated_at = ?"
            " WHERE run_id = ? AND owner = ?"
        )
        self._write(sql, (status, stop_reason, at, run_id, token))

    def claimable(self, limit: int) -> list[str]:
        """Runs that wait for somebody to execute them, oldest first: queued, or left by an owner that is gone."""
        rows = self._rows(
            "SELECT run_id, owner, lease_until FROM runs WHERE status IN ('queued', 'running')"
            " ORDER BY created_at, run_id"
        )
        now = self._now()
        return [str(run_id) for run_id, owner, lease in rows if not self._is_held(owner, lease, now)][:limit]

    def append(self, run_id: str, entries: Sequence[Entry], at: str, token: str) -> list[RunEvent]:
        """Put entries on record, all or none, if the token still holds the run."""
        tried: list[RunEvent] = []

        def work(session: Session) -> list[RunEvent]:
            owner = one(session, f"SELECT owner FROM runs WHERE run_id = ?{self._sql.for_update}", (run_id,))
            if tried and _is_recorded(session, tried):
                return tried
            if owner is None or owner[0] != token:
                raise LeaseLost(run_id)
            last = one(session, f"{_EVENT} ORDER BY sequence DESC LIMIT 1", (run_id,))
            tried[:] = chained(run_id, _event(last) if last else None, entries, at)
            _insert(session, tried)
            session.execute("UPDATE runs SET updated_at = ? WHERE run_id = ?", (at, run_id))
            return tried

        return self.sessions.write(work)

    def events(self, run_id: str, after: int = -1, limit: int | None = None) -> list[RunEvent]:
        """The entries of a run behind a sequence number, at most so many."""
        sql = f"{_EVENT} AND sequence > ? ORDER BY sequence LIMIT ?"
        return [_event(row) for row in self._rows(sql, (run_id, after, _ALL if limit is None else limit))]

    def marks(self, run_ids: Sequence[str]) -> dict[str, RunMark]:
        """How far these runs are."""
        sql = (
            "SELECT run_id, status, owner, lease_until,"
            " (SELECT max(sequence) FROM events WHERE events.run_id = runs.run_id),"
            " (SELECT max(id) FROM controls WHERE controls.run_id = runs.run_id)"
            f" FROM runs WHERE run_id IN ({self._sql.elements})"
        )
        asked_for = (listed(run_ids),)
        # Anyone who asks for marks asks again soon, and has others to look after meanwhile.
        rows = self.sessions.read(lambda session: session.rows(sql, asked_for), waits=False)
        now, marks = self._now(), dict[str, RunMark]()
        for run_id, status, owner, lease, last, asked in rows:
            with suppress(msgspec.ValidationError):  # a row that cannot be read is no news of the others
                known = self._status(status, owner, lease, now)
                marks[str(run_id)] = RunMark(known, -1 if last is None else int(last), int(asked or 0))
        return marks

    def checked_events(self, run_id: str) -> list[RunEvent]:
        """The whole log of a run, refused if anything in it was changed."""
        summary, events = self.summary(run_id), list[RunEvent]()
        # One statement: the run may be executed while it is read.
        for row in self._rows(f"{_EVENT} ORDER BY sequence", (run_id,)):
            try:
                event = _event(row)
            except ValueError:
                raise touched(run_id, f"at entry {row[1]}") from None
            if canonical_json(event.body).decode() != row[4]:  # a body is written in one way
                raise touched(run_id, f"at entry {event.sequence}")
            events.append(event)
        if not events:
            raise NotFound(f"Run {run_id} was never begun: it has no record.", fix="Ask the question again.")
        verify_chain(events)
        # What the list of runs says must be what the log says.
        first, finished = events[0].body, finished_event(events)
        request = first.get("request", {})
        told = (summary.question, summary.profile, summary.surface, summary.tool_version)
        if told != (request.get("question"), request.get("profile"), request.get("surface"), first.get("tool_version")):
            raise touched(run_id, "in the list of runs")
        if summary.status in TERMINAL and (finished is None or finished.body.get("status") != summary.status):
            raise touched(run_id, "at its end" if finished is None else "in the list of runs")
        return events

    def request(self, run_id: str, control: Control, at: str) -> None:
        """Ask something of a run, anyone who executes it."""

        def work(session: Session) -> None:
            # Locked, so that of two that ask at once the one with the lower number is also the first to be seen.
            if one(session, f"SELECT 1 FROM runs WHERE run_id = ?{self._sql.for_update}", (run_id,)) is None:
                raise _no_run(run_id)
            known = "SELECT 1 FROM controls WHERE run_id = ? AND control = ? AND at = ?"
            if session.is_repeated and one(session, known, (run_id, control, at)) is not None:
                return
            session.execute("INSERT INTO controls(run_id, control, at) VALUES (?,?,?)", (run_id, control, at))

        self.sessions.write(work)

    def controls(self, run_id: str, after: int) -> list[tuple[int, Control]]:
        rows = self._rows("SELECT id, control FROM controls WHERE run_id = ? AND id > ? ORDER BY id", (run_id, after))
        return [(int(number), control) for number, control in rows if control in get_args(Control)]

    def put_citations(self, run_id: str, texts: Sequence[tuple[str, str]]) -> None:
        sql = "INSERT INTO citations(run_id, source_key, content_hash) VALUES (?,?,?) ON CONFLICT DO NOTHING"
        rows = [(run_id, key, digest) for key, digest in texts]
        self.sessions.write(lambda session: session.execute_many(sql, rows))

    def citations(self, run_id: str) -> list[tuple[str, str]]:
        """What a run cites: keys, each with the hash of the text."""
        sql = "SELECT source_key, content_hash FROM citations WHERE run_id = ? ORDER BY 1, 2"
        return [(str(key), str(digest)) for key, digest in self._rows(sql, (run_id,))]

    def citing(self, keys: Sequence[str]) -> list[str]:
        """The runs that cite any of these documents."""
        sql = f"SELECT DISTINCT run_id FROM citations WHERE source_key IN ({self._sql.elements}) ORDER BY 1"
        return [str(run_id) for (run_id,) in self._rows(sql, (listed(keys),))]

    def mentioning(self, keys: Sequence[str]) -> list[str]:
        """The runs whose record holds anything of these documents, cited or not, oldest first."""
        sql = (
            "SELECT created_at, run_id FROM runs WHERE run_id IN"
            f" (SELECT run_id FROM events WHERE {self._sql.position}(body, ?) > 0)"
        )
        written = (canonical_json({"source_key": key}).decode()[1:-1] for key in keys)
        return [str(run_id) for _, run_id in sorted({row for text in written for row in self._rows(sql, (text,))})]

    def delete(self, run_ids: Sequence[str]) -> None:
        """Forget runs with their logs."""
        self._write(f"DELETE FROM runs WHERE run_id IN ({self._sql.elements})", (listed(run_ids),))

    def _status(self, status: str, owner: object, lease_until: object, now: str) -> RunStatus:
        if status == "running" and not self._is_held(owner, lease_until, now):
            return "interrupted"
        known: RunStatus = msgspec.convert(status, RunStatus)
        return known

    def _summary(self, row: tuple[object, ...], now: str) -> RunSummary:
        *fields, owner, lease_until = row
        names = RunSummary.__dataclass_fields__
        summary = msgspec.convert(dict(zip(names, fields, strict=True)), RunSummary)
        return replace(summary, status=self._status(summary.status, owner, lease_until, now))


class SqliteRuns(RunStore):
    """The store of runs in one SQLite file."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.database = Database(path, load_schema("runs", APPLICATION_ID, SQLITE_SCRIPTS))
        super().__init__(SqliteSessions(self.database), clock)

    @property
    def place(self) -> str:
        return self.database.path.name

    def shrink(self) -> None:
        """Let nothing of what was deleted stay readable in the write-ahead log."""
        self.database.fold_log()

    def _lease(self, until: str | None) -> str | None:
        """The end of a lease by the clock on the wall, and by the one of this machine that nobody can set."""
        if until is None:
            return None
        return f"{until} {self._clock.monotonic() + seconds_between(self._clock.now(), until):.3f}"

    def _is_held(self, owner: object, lease_until: object, now: str) -> bool:
        """Its process lives and has renewed its lease in time.

        A clock that is set while a run goes on takes nothing from a process of this machine.
        """
        if owner is None or not is_alive(str(owner)):
            return False
        if lease_until is None:
            return True
        until, _, steady = str(lease_until).partition(" ")
        return float(steady) > self._clock.monotonic() if steady and is_here(str(owner)) else until > now


class PostgresRuns(RunStore):
    """The store of runs in a database of PostgreSQL, for several machines at once.

    Whether the owner of a run is gone is told by its lease alone, by the server's clock: a process id says nothing of
    another machine, nor of another container with the same host name.
    """

    sessions: PostgresSessions

    def __init__(self, sessions: PostgresSessions, clock: Clock) -> None:
        super().__init__(sessions, clock)

    @property
    def place(self) -> str:
        return self.sessions.address.name

    def on_change(self, tell: Callable[[str | None], None]) -> Callable[[], None] | None:
        """The server tells of every change as it is committed."""
        return self.sessions.listen(_CHANNEL, tell)

    def shrink(self) -> None:
        """Write the tables anew; the server's write-ahead log, replicas and backups are not in our hands."""
        self.sessions.outside_transaction("VACUUM (FULL) runs, events, controls, citations, research_runs")

    def _is_held(self, owner: object, lease_until: object, now: str) -> bool:
        return owner is not None and lease_until is not None and str(lease_until) > now

    def _now(self) -> str:
        return moved(self._clock.now(), self.sessions.clock_skew)

    def _lease(self, until: str | None) -> str | None:
        return None if until is None else moved(until, self.sessions.clock_skew)


def open_runs(place: str | Path, clock: Clock) -> RunStore:
    """The store of runs at a place: a file is SQLite, an address is PostgreSQL, which is imported only then."""
    if isinstance(place, Path):
        return SqliteRuns(place, clock)
    from citewell.store.postgres import PostgresSessions

    return PostgresRuns(PostgresSessions(place, POSTGRES_SCRIPTS), clock)


def listed(texts: Sequence[str]) -> str:
    """Texts as one value of a statement. What no database can hold is left out: nothing is of that name."""
    return json.dumps([text for text in texts if _is_storable(text)])


def _is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _no_run(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id}.", fix="See 'citewell runs list'.")


def _insert(session: Session, events: Sequence[RunEvent]) -> None:
    session.execute_many(
        "INSERT INTO events(run_id, sequence, at, kind, body, digest) VALUES (?,?,?,?,?,?)",
        ((e.run_id, e.sequence, e.at, e.kind, canonical_json(e.body).decode(), e.digest) for e in events),
    )


def _is_recorded(session: Session, events: Sequence[RunEvent]) -> bool:
    """Whether these very entries are on record; the digest of the last one covers all of them."""
    last = events[-1]
    row = one(session, "SELECT digest FROM events WHERE run_id = ? AND sequence = ?", (last.run_id, last.sequence))
    return row is not None and row[0] == last.digest


def _event(row: Sequence[Any]) -> RunEvent:
    run_id, sequence, at, kind, body, digest = row
    return RunEvent(run_id, sequence, at, kind, json.loads(body), digest)


class RunLog:
    """The log of one run while it is executed: in a store under the token of anyone who executes it, or in memory.

    In memory from the beginning where the run leaves no trace, and from then on where the disk is full, so that the
    person still gets the answer.
    """

    def __init__(
        self, run_id: str, events: Sequence[RunEvent] = (), store: RunStore | None = None, token: str = ""
    ) -> None:
        self.run_id = run_id
        self._events = list(events)
        self._store = store
        self._token = token

    @property
    def is_stored(self) -> bool:
        return self._store is not None

    def append(self, entries: Sequence[Entry], at: str) -> list[RunEvent]:
        """Put entries on record, all or none."""
        if self._store is not None:
            try:
                return self._store.append(self.run_id, entries, at, self._token)
            except StoreFull:
                self._events, self._store = self._store.events(self.run_id), None
        added = chained(self.run_id, self._events[-1] if self._events else None, entries, at)
        self._events += added
        return added

    def events(self, after: int = -1, limit: int | None = None) -> list[RunEvent]:
        """The entries behind a sequence number, at most so many."""
        if self._store is not None:
            return self._store.events(self.run_id, after, limit)
        found = self._events[after + 1 :]
        return found if limit is None else found[:limit]


# Who executes a run: a process, named so that another one can tell whether it is still alive.
#
# On this machine that is asked of the system; of a process on another machine only its lease tells.


LEASE_SECONDS = 20.0
RENEW_SECONDS = 5.0


def this_process() -> str:
    """The name of this process: host, process id, and when it started, since ids are used again."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def new_token() -> str:
    """The name of this process with something nobody else has: what a lease is held under."""
    return f"{this_process()}#{secrets.token_hex(8)}"


def is_here(owner: str) -> bool:
    """Whether the process with this name is one of this machine."""
    return owner.partition("#")[0].rsplit(":", 2)[0] == socket.gethostname()


def is_alive(owner: str) -> bool:
    """Whether the process with this name still runs, as far as this machine can tell."""
    if not is_here(owner):
        return True
    _, pid, started = owner.partition("#")[0].rsplit(":", 2)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, it is only not ours
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process started, in the kernel's clock; empty where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    # State Z: the process is dead and only waits for its parent to notice.
    return "" if fields[0] == "Z" else fields[19]


def lease_from(now: str) -> str:
    """Until when a lease that is taken or renewed now holds."""
    return moved(now, LEASE_SECONDS)


def moved(moment: str, seconds: float) -> str:
    """The moment so many seconds later."""
    later = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(moment: str, later: str) -> float:
    """How long it is from one moment to the other."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(moment)).total_seconds()


# Reports as documents in a table, in the database that holds the runs, and closed with them.


_COLUMNS = ("run_id", "brief_id", "project_id", "status", "created_at", "document")
_REPORTS_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM research_runs"
_NEWEST_FIRST = "ORDER BY created_at DESC, run_id DESC"
_PUT = (
    f"INSERT INTO research_runs({', '.join(_COLUMNS)}) VALUES (?,?,?,?,?,?) ON CONFLICT (run_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
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
        self._sessions.write(lambda session: session.execute(_PUT, astuple(row)))

    def get(self, run_id: str) -> ResearchRow | None:
        return next(iter(self._rows(f"{_REPORTS_SELECT} WHERE run_id = ?", (run_id,))), None)

    def of_brief(self, brief_id: str) -> list[ResearchRow]:
        return self._rows(f"{_REPORTS_SELECT} WHERE brief_id = ? {_NEWEST_FIRST}", (brief_id,))

    def latest(self, limit: int, project_id: str | None = None, status: str | None = None) -> list[ResearchRow]:
        given = {"project_id": project_id, "status": status}
        wanted = {f"{name} = ?": value for name, value in given.items() if value is not None}
        where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
        return self._rows(f"{_REPORTS_SELECT}{where} {_NEWEST_FIRST} LIMIT ?", (*wanted.values(), limit))

    def delete(self, run_ids: Sequence[str]) -> None:
        sql = f"DELETE FROM research_runs WHERE run_id IN ({self._sessions.dialect.elements})"
        self._sessions.write(lambda session: session.execute(sql, (listed(run_ids),)))

    def _rows(self, sql: str, values: Sequence[str | int]) -> list[ResearchRow]:
        return [ResearchRow(*row) for row in self._sessions.read(lambda session: session.rows(sql, values))]
