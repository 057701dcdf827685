"""Moving runs from one store to another: each whole or not at all, verified where it arrives, any number of times.

A run is told by the digest of its last entry, which covers all of them: so a move that was killed goes on where it
stopped, one that is done twice changes nothing, and a run that went on since is moved on. The source is only read. A
run of the same id that went another way is never replaced. One that has not ended and that nobody executes arrives as
interrupted, so that no server begins it a second time; one that is being executed is left where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

from citewell.domain.errors import CitewellError, Conflict, Held, NotFound, StoreFull, Unavailable
from citewell.domain.events import Entry
from citewell.domain.migrations import LeftRun, MigrationReport
from citewell.domain.ports import Clock
from citewell.domain.runs import TERMINAL
from citewell.store.leases import lease_from, new_token
from citewell.store.log import finished_event, touched
from citewell.store.reports import ResearchTables
from citewell.store.runs import RunChoice, RunStore

_PAGE = 200
# More reports than anybody has.
_ALL = 2**31 - 1


def move_runs(
    source: RunStore,
    target: RunStore,
    clock: Clock,
    *,
    with_executed: bool = False,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> MigrationReport:
    """Bring everything of one store into another. `tell` is told how many runs of how many have been looked at."""
    started, count, done = clock.monotonic(), source.count(), 0
    counted: Counter[str] = Counter()
    left: list[LeftRun] = []
    # Runs whose log was written in this move: their report is the one that belongs to it.
    written: set[str] = set()
    choice: RunChoice | None = RunChoice()
    while choice is not None:
        page = source.latest(_PAGE, choice)
        for run_id in page.unreadable:
            fix = "Restore it from a backup, or leave it: the other runs are not affected."
            left.append(LeftRun(run_id, "unreadable", "Its entry in the list of runs cannot be read.", fix))
        for run in page.runs:
            came = _move(source, target, run.run_id, clock, with_executed)
            if isinstance(came, LeftRun):
                left.append(came)
            else:
                counted.update(came)
                if came["moved"] or came["extended"]:
                    written.add(run.run_id)
            done += 1
            tell(done, count)
        choice = RunChoice(behind=page.next) if page.next else None
    reports = ResearchTables(target.sessions)
    for row in ResearchTables(source.sessions).latest(_ALL):
        there = reports.get(row.run_id)
        if there == row:
            counted["reports there"] += 1
        elif there is None or row.run_id in written:
            reports.put(row)
            assert reports.get(row.run_id) == row, row.run_id
            counted["reports moved"] += 1
        else:
            fix = "Look at both, and delete the one that is not wanted."
            reason = "A report of this run is there already, and it differs."
            left.append(LeftRun(row.run_id, "different", reason, fix))
    return MigrationReport(
        source=source.place,
        target=target.place,
        runs=count,
        moved=counted["moved"],
        extended=counted["extended"],
        already_there=counted["there"],
        left=tuple(left),
        reports_moved=counted["reports moved"],
        reports_already_there=counted["reports there"],
        entries_verified=counted["verified"],
        runs_in_target=target.count(),
        seconds=round(clock.monotonic() - started, 3),
    )


def _move(source: RunStore, target: RunStore, run_id: str, clock: Clock, with_executed: bool) -> Counter[str] | LeftRun:
    """Move one run: what was done and how many entries were verified, or why it was left."""
    try:
        # How it stands first: once it has ended its log is whole, and one that ends meanwhile is moved on next time.
        summary = source.summary(run_id)
        events = source.checked_events(run_id)
    except NotFound:
        return Counter({"gone": 1})  # deleted meanwhile, or never begun
    except (Unavailable, StoreFull):
        raise
    except CitewellError as error:
        return LeftRun(run_id, "unreadable", error.message, error.fix)
    if summary.status == "running" and not with_executed:
        fix = "Wait until it has ended, or interrupt it, and migrate again."
        return LeftRun(run_id, "executed", "It is being executed.", fix)
    if summary.status not in TERMINAL or finished_event(events) is None:  # nobody executes it where it arrives
        summary = replace(summary, status="interrupted", stop_reason=None, updated_at=events[-1].at)
    there = target.events(run_id)
    shared = min(len(there), len(events))
    if shared and there[shared - 1].digest != events[shared - 1].digest:
        fix = f"Look at both; to take the one that comes, delete the other: it is in {target.place}."
        return LeftRun(run_id, "different", "A run of this id is there already, and it went another way.", fix)
    if not there:
        target.put_record(summary, events)
        did = "moved"
    elif shared < len(events):  # what it has done since it was moved before
        token = new_token()
        try:
            target.acquire(run_id, token, lease_from(clock.now()))
        except Held as error:
            return LeftRun(run_id, "executed", f"In {target.place} it is being executed.", error.fix)
        except Conflict as error:
            return LeftRun(run_id, "different", f"In {target.place} it has ended, and here it went on.", error.fix)
        for at, added in groupby(events[shared:], key=lambda event: event.at):
            target.append(run_id, [Entry(event.kind, event.body) for event in added], at, token)
        target.release(run_id, token, summary.status, summary.stop_reason, summary.updated_at)
        did = "extended"
    else:
        did = "there"
    # Also of a run that was there: a move may have been killed between the two.
    target.put_citations(run_id, source.citations(run_id))
    # Read again where it arrived: its chain is whole, and it is the one that was sent.
    arrived = target.checked_events(run_id)
    if [event.digest for event in arrived[: len(events)]] != [event.digest for event in events]:
        raise touched(run_id, f"on its way to {target.place}")
    return Counter({did: 1, "verified": len(events)})
