"""Runs and reports from one store to another: verified, resumable, and nothing that is there is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from citewell import RunSummary, Unavailable
from citewell.runs.events import Entry
from citewell.runs.run import RunStatus
from citewell.runs.store import ResearchRow, ResearchTables, RunStore, lease_from, new_token, open_runs
from citewell.runs.transfer import move_runs
from citewell.store.database import Session
from citewell.wiring import SystemClock

AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:09.000Z"
CLOCK = SystemClock()
REPORT = ResearchRow("run-1", "brief-1", None, "DONE", AT, '{"a":1}')


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[RunStore, RunStore]]:
    places: dict[str, str | Path] = {
        "sqlite": tmp_path / "runs.db",
        "postgres": request.getfixturevalue("postgres").new_database(),
    }
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(closing(open_runs(places[name], CLOCK))) for name in request.param.split(" to ")
        )
        yield source, target


@pytest.fixture
def source(stores: tuple[RunStore, RunStore]) -> RunStore:
    return stores[0]


@pytest.fixture
def target(stores: tuple[RunStore, RunStore]) -> RunStore:
    return stores[1]


def begin(records: RunStore, run_id: str, status: RunStatus = "running", words: str = "plan") -> str:
    token = new_token()
    request = {"question": "Who? \u2028 𝄞", "profile": "local", "surface": "cli"}
    opening = Entry("run_started", {"schema": "run_log.v2", "tool_version": "0.2.0", "request": request})
    summary = RunSummary(run_id, status, None, "local", "cli", "Who? \u2028 𝄞", AT, AT, "0.2.0")
    if status == "queued":
        records.create(summary, opening)
        return token
    records.create(summary, opening, token, lease_from(CLOCK.now()))
    records.append(run_id, [Entry("stage_entered", {"stage": words, "odd": "\0"})], AT, token)
    return token


def end(records: RunStore, run_id: str, token: str) -> None:
    records.append(run_id, [Entry("warning_raised", {}), Entry("run_finished", {"status": "done"})], LATER, token)
    records.put_citations(run_id, [("note:x", "hash")])
    records.release(run_id, token, "done", "enough_evidence", LATER)


def finished(records: RunStore, run_id: str) -> None:
    end(records, run_id, begin(records, run_id))


def test_runs_and_reports_arrive_as_they_were_and_the_source_is_as_it_was(source: RunStore, target: RunStore) -> None:
    for number in range(3):
        finished(source, f"run-{number}")
    ResearchTables(source.sessions).put(REPORT)
    report = move_runs(source, target, CLOCK)
    assert (report.runs, report.moved, report.already_there, report.left) == (3, 3, 0, ())
    assert (report.reports_moved, report.entries_verified, report.runs_in_target) == (1, 12, 3)
    assert report.is_complete
    for number in range(3):
        run_id = f"run-{number}"
        assert target.checked_events(run_id) == source.checked_events(run_id)
        assert target.summary(run_id) == source.summary(run_id)
        assert target.citations(run_id) == [("note:x", "hash")]
    assert ResearchTables(target.sessions).latest(9) == ResearchTables(source.sessions).latest(9) == [REPORT]
    assert source.count() == 3


def test_moving_again_and_back_changes_nothing(source: RunStore, target: RunStore) -> None:
    finished(source, "run-1")
    ResearchTables(source.sessions).put(REPORT)
    move_runs(source, target, CLOCK)
    for one, other in ((source, target), (target, source)):
        report = move_runs(one, other, CLOCK)
        assert (report.moved, report.already_there, report.reports_already_there) == (0, 1, 1)
    assert len(source.checked_events("run-1")) == 4


def test_a_run_that_went_on_since_is_moved_on_with_its_report(source: RunStore, target: RunStore) -> None:
    token = begin(source, "run-1")
    source.release("run-1", token, "interrupted", None, AT)
    ResearchTables(source.sessions).put(replace(REPORT, status="RUNNING"))
    assert move_runs(source, target, CLOCK).moved == 1
    assert target.summary("run-1").status == "interrupted"
    source.acquire("run-1", token, lease_from(CLOCK.now()))
    end(source, "run-1", token)
    ResearchTables(source.sessions).put(REPORT)
    report = move_runs(source, target, CLOCK)
    assert (report.moved, report.extended, report.reports_moved, report.left) == (0, 1, 1, ())
    assert target.checked_events("run-1") == source.checked_events("run-1")
    assert target.summary("run-1") == source.summary("run-1")
    assert ResearchTables(target.sessions).get("run-1") == REPORT
    # The other way there is nothing to do: what is there is longer than what comes, or the same.
    assert move_runs(target, source, CLOCK).already_there == 1


def test_a_run_that_is_executed_is_left_and_one_that_waits_is_not_begun_twice(
    source: RunStore, target: RunStore
) -> None:
    begin(source, "executed")
    begin(source, "queued", "queued")
    report = move_runs(source, target, CLOCK)
    assert [(left.run_id, left.why) for left in report.left] == [("executed", "executed")]
    assert target.summary("queued").status == "interrupted"
    assert target.claimable(9) == []
    # A backup takes it as far as it is.
    assert move_runs(source, target, CLOCK, with_executed=True).left == ()
    assert target.summary("executed").status == "interrupted"


def test_a_run_of_the_same_id_that_went_another_way_is_not_replaced(source: RunStore, target: RunStore) -> None:
    finished(source, "run-1")
    begin(target, "run-1", words="another")
    kept = target.events("run-1")
    ResearchTables(target.sessions).put(replace(REPORT, document='{"b":2}'))
    ResearchTables(source.sessions).put(REPORT)
    report = move_runs(source, target, CLOCK)
    assert [(left.run_id, left.why) for left in report.left] == [("run-1", "different")] * 2
    assert target.events("run-1") == kept
    assert ResearchTables(target.sessions).latest(9) == [replace(REPORT, document='{"b":2}')]


def test_a_move_that_breaks_off_leaves_whole_runs_and_goes_on(source: RunStore, target: RunStore) -> None:
    for number in range(4):
        finished(source, f"run-{number}")

    def break_off(done: int, of: int) -> None:
        assert of == 4
        if done == 2:
            raise Unavailable("The machine was switched off.")

    with pytest.raises(Unavailable):
        move_runs(source, target, CLOCK, tell=break_off)
    assert target.count() == 2
    assert [len(target.checked_events(run.run_id)) for run in target.latest(9).runs] == [4, 4]
    report = move_runs(source, target, CLOCK)
    assert (report.moved, report.already_there, report.runs_in_target) == (2, 2, 4)


def test_a_run_that_lost_its_citations_on_the_way_gets_them_the_next_time(source: RunStore, target: RunStore) -> None:
    finished(source, "run-1")
    move_runs(source, target, CLOCK)
    forget(target, "DELETE FROM citations")
    move_runs(source, target, CLOCK)
    assert target.citations("run-1") == [("note:x", "hash")]


def test_a_row_that_cannot_be_read_is_named_and_the_others_are_moved(source: RunStore, target: RunStore) -> None:
    for number in range(3):
        finished(source, f"run-{number}")
    forget(source, "UPDATE runs SET status = 'nonsense' WHERE run_id = 'run-1'")
    forget(source, "DELETE FROM events WHERE run_id = 'run-2' AND sequence = 1")
    report = move_runs(source, target, CLOCK)
    assert sorted((left.run_id, left.why) for left in report.left) == [("run-1", "unreadable"), ("run-2", "unreadable")]
    assert (report.moved, target.count()) == (1, 1)


def forget(store: object, statement: str) -> None:
    """Change what is stored, past the store."""
    assert isinstance(store, RunStore)

    def work(session: Session) -> None:
        session.execute(statement)

    store.sessions.write(work)
