"""The run log: append-only entries, each chained to the one before. It is the single truth about a run.

The chain shows any changed, missing or reordered entry. It does not protect against someone who rewrites the whole
log: it is a seal against damage and tampering in part, not a signature.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from citewell.errors import StoreFull, WorkFailed
from citewell.runs.events import Entry, RunEvent

if TYPE_CHECKING:
    from citewell.runs.store import RunStore


LOG_SCHEMA = "run_log.v2"
READABLE_SCHEMAS = ("run_log.v1", LOG_SCHEMA)


def canonical_json(value: object) -> bytes:
    """The one JSON form that digests are made of."""
    return msgspec.json.encode(value, order="deterministic")


def entry_digest(previous: str, run_id: str, sequence: int, at: str, kind: str, body: dict[str, Any]) -> str:
    """The digest of an entry, which covers the digest of the one before."""
    entry = {"run_id": run_id, "sequence": sequence, "at": at, "kind": kind, "body": body}
    return hashlib.sha256(previous.encode() + b"\n" + canonical_json(entry)).hexdigest()


def chained(run_id: str, previous: RunEvent | None, entries: Sequence[Entry], at: str) -> list[RunEvent]:
    """Entries as events that continue a chain."""
    events: list[RunEvent] = []
    last, sequence = (previous.digest, previous.sequence + 1) if previous else ("", 0)
    for entry in entries:
        # Through JSON and back, so that what is in memory is what will be read again.
        body = msgspec.json.decode(canonical_json(entry.body))
        last = entry_digest(last, run_id, sequence, at, entry.kind, body)
        events.append(RunEvent(run_id, sequence, at, entry.kind, body, last))
        sequence += 1
    return events


def touched(run_id: str, where: str) -> WorkFailed:
    """The refusal of a record that is not as it was written."""
    return WorkFailed(
        f"The record of run {run_id} was changed {where}: it cannot be trusted.",
        fix="Use an untouched copy of the run.",
    )


def verify_chain(events: Sequence[RunEvent]) -> None:
    """Refuse a log in which anything was changed, removed or reordered."""
    previous = ""
    for number, event in enumerate(events):
        wanted = entry_digest(previous, event.run_id, event.sequence, event.at, event.kind, event.body)
        if event.sequence != number or event.digest != wanted or event.run_id != events[0].run_id:
            raise touched(events[0].run_id, f"at entry {number}")
        previous = event.digest


def finished_event(events: Sequence[RunEvent]) -> RunEvent | None:
    """The entry a run ended with."""
    return next((event for event in reversed(events) if event.kind == "run_finished"), None)


class RunLog:
    """The log of one run while it is executed: in a store under the token of whoever executes it, or in memory.

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
