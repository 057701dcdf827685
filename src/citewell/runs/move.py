"""Moving runs from one store to another: each whole or not at all, verified where it arrives, any number of times.

A run is told by the digest of its last entry, which covers all of them: so a move that was killed goes on where it
stopped, one that is done twice changes nothing, and a run that went on since is moved on. The source is only read. A
run of the same id that went another way is never replaced. One that has not ended and that nobody executes arrives as
interrupted, so that no server begins it a second time; one that is being executed is left where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from citewell.domain.errors import CitewellError, Conflict, Held, NotFound, StoreFull, Unavailable
from citewell.domain.events import Entry
from citewell.domain.migrations import LeftBehind, LeftRun, MigrationReport
from citewell.domain.ports import Clock
from citewell.domain.research_runs import ResearchRow, ResearchRunRepository
from citewell.domain.run_store import RunChoice, RunStore
from citewell.domain.runs import TERMINAL
from citewell.store.leases import lease_from, new_token
from citewell.store.log import finished_event, touched
from citewell.store.reports import reports_beside
from citewell.store.runs import open_runs

_PAGE = 200
# More reports than anybody has.
_ALL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Records:
    """A store of runs and the reports that lie beside them."""

    runs: RunStore
    reports: ResearchRunRepository


@contextmanager
def open_records(place: str | Path, clock: Clock) -> Iterator[Records]:
    """The runs and the reports at a place, for as long as they are needed."""
    runs = open_runs(place, clock)
    try:
        yield Records(runs, reports_beside(runs))
    finally:
        runs.close()


@dataclass(slots=True)
class _Tally:
    moved: int = 0
    extended: int = 0
    there: int = 0
    reports_moved: int = 0
    reports_there: int = 0
    verified: int = 0
    left: list[LeftRun] = field(default_factory=list)
    # Runs whose log was written in this move: their report is the one that belongs to it.
    written: set[str] = field(default_factory=set)

    def leave(self, run_id: str, why: LeftBehind, reason: str, fix: str) -> None:
        self.left.append(LeftRun(run_id, why, reason, fix))


def move_runs(
    source: Records,
    target: Records,
    clock: Clock,
    *,
    with_executed: bool = False,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> MigrationReport:
    """Bring everything of one store into another. `tell` is told how many runs of how many have been looked at."""
    started, tally, count = clock.monotonic(), _Tally(), source.runs.count()
    for done, run_id in enumerate(_ids(source.runs, tally), start=1):
        _move(source.runs, target.runs, run_id, clock, tally, with_executed)
        tell(done, count)
    for row in source.reports.latest(_ALL):
        _move_report(row, target.reports, tally)
    return MigrationReport(
        source=source.runs.place,
        target=target.runs.place,
        runs=count,
        moved=tally.moved,
        extended=tally.extended,
        already_there=tally.there,
        left=tuple(tally.left),
        reports_moved=tally.reports_moved,
        reports_already_there=tally.reports_there,
        entries_verified=tally.verified,
        runs_in_target=target.runs.count(),
        seconds=round(clock.monotonic() - started, 3),
    )


def _ids(store: RunStore, tally: _Tally) -> Iterator[str]:
    """The runs of a store whose row can be read, newest first; the others are told."""
    behind: str | None = None
    while True:
        page = store.latest(_PAGE, RunChoice(behind=behind))
        for run_id in page.unreadable:
            fix = "Restore it from a backup, or leave it: the other runs are not affected."
            tally.leave(run_id, "unreadable", "Its entry in the list of runs cannot be read.", fix)
        yield from (run.run_id for run in page.runs)
        behind = page.next
        if behind is None:
            return


def _move(source: RunStore, target: RunStore, run_id: str, clock: Clock, tally: _Tally, with_executed: bool) -> None:
    try:
        # How it stands first: once it has ended its log is whole, and one that ends meanwhile is moved on next time.
        summary = source.summary(run_id)
        events = source.checked_events(run_id)
    except NotFound:
        return  # deleted meanwhile, or never begun
    except (Unavailable, StoreFull):
        raise
    except CitewellError as error:
        tally.leave(run_id, "unreadable", error.message, error.fix)
        return
    if summary.status == "running" and not with_executed:
        fix = "Wait until it has ended, or interrupt it, and migrate again."
        tally.leave(run_id, "executed", "It is being executed.", fix)
        return
    if summary.status not in TERMINAL or finished_event(events) is None:  # nobody executes it where it arrives
        summary = replace(summary, status="interrupted", stop_reason=None, updated_at=events[-1].at)
    there = target.events(run_id)
    shared = min(len(there), len(events))
    if shared and there[shared - 1].digest != events[shared - 1].digest:
        fix = f"Look at both; to take the one that comes, delete the other: it is in {target.place}."
        tally.leave(run_id, "different", "A run of this id is there already, and it went another way.", fix)
        return
    if not there:
        target.put_record(summary, events)
        tally.moved += 1
        tally.written.add(run_id)
    elif len(there) == shared < len(events):  # what it has done since it was moved before
        token = new_token()
        try:
            target.acquire(run_id, token, lease_from(clock.now()))
        except Held as error:
            tally.leave(run_id, "executed", f"In {target.place} it is being executed.", error.fix)
            return
        except Conflict as error:
            tally.leave(run_id, "different", f"In {target.place} it has ended, and here it went on.", error.fix)
            return
        for at, added in groupby(events[shared:], key=lambda event: event.at):
            target.append(run_id, [Entry(event.kind, event.body) for event in added], at, token)
        target.release(run_id, token, summary.status, summary.stop_reason, summary.updated_at)
        tally.extended += 1
        tally.written.add(run_id)
    else:
        tally.there += 1
    # Also of a run that was there: a move may have been killed between the two.
    target.put_citations(run_id, source.citations(run_id))
    # Read again where it arrived: its chain is whole, and it is the one that was sent.
    arrived = target.checked_events(run_id)
    if [event.digest for event in arrived[: len(events)]] != [event.digest for event in events]:
        raise touched(run_id, f"on its way to {target.place}")
    tally.verified += len(events)


def _move_report(row: ResearchRow, target: ResearchRunRepository, tally: _Tally) -> None:
    """A report goes with the log of its run: one that differs is replaced only where that log came now."""
    there = target.get(row.run_id)
    if there == row:
        tally.reports_there += 1
    elif there is None or row.run_id in tally.written:
        target.put(row)
        assert target.get(row.run_id) == row, row.run_id
        tally.reports_moved += 1
    else:
        fix = "Look at both, and delete the one that is not wanted."
        tally.leave(row.run_id, "different", "A report of this run is there already, and it differs.", fix)
