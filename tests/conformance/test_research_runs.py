"""What every store of reports must do (`runs/store.py`), whichever database is behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import pytest

from citewell.runs.store import POSTGRES_SCRIPTS, ResearchRow, ResearchTables, SqliteRuns
from citewell.store.postgres import PostgresSessions
from citewell.store.sqlite import SqliteSessions
from citewell.wiring import SystemClock

ROW = ResearchRow("run-1", "brief-1", None, "DONE", "2026-01-01T00:00:01.000Z", '{"a":1}')


@contextmanager
def sqlite_reports(request: pytest.FixtureRequest) -> Iterator[ResearchTables]:
    runs = SqliteRuns(request.getfixturevalue("tmp_path") / "runs.db", SystemClock())
    yield ResearchTables(SqliteSessions(runs.database))
    runs.close()


@contextmanager
def postgres_reports(request: pytest.FixtureRequest) -> Iterator[ResearchTables]:
    sessions = PostgresSessions(request.getfixturevalue("postgres").new_database(), POSTGRES_SCRIPTS)
    yield ResearchTables(sessions)
    sessions.close()


STORES: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[ResearchTables]]] = {
    "sqlite": sqlite_reports,
    "postgres": postgres_reports,
}


@pytest.fixture(params=STORES)
def reports(request: pytest.FixtureRequest) -> Iterator[ResearchTables]:
    with STORES[request.param](request) as opened:
        yield opened


def row(number: int, **changes: str | None) -> ResearchRow:
    made = replace(ROW, run_id=f"run-{number}", created_at=f"2026-01-01T00:00:0{number}.000Z")
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_report_is_stored_found_and_replaced_by_its_run(reports: ResearchTables) -> None:
    assert reports.get("run-1") is None
    reports.put(ROW)
    assert reports.get("run-1") == ROW
    changed = replace(ROW, status="FAILED", project_id="p", brief_id="b", created_at="2026", document='{"b":2}')
    reports.put(changed)
    assert reports.get("run-1") == changed
    assert reports.latest(9) == [changed]


def test_reports_come_newest_first_by_brief_project_and_status(reports: ResearchTables) -> None:
    rows = [row(2, project_id="p"), row(1), row(3, brief_id="other", project_id="p", status="FAILED"), row(4)]
    for one in rows:
        reports.put(one)
    two, one, three, four = rows
    assert reports.of_brief("brief-1") == [four, two, one]
    assert reports.of_brief("none") == []
    assert reports.latest(2) == [four, three]
    assert reports.latest(9, project_id="p") == [three, two]
    assert reports.latest(9, status="DONE") == [four, two, one]
    assert reports.latest(9, "p", "DONE") == [two]


def test_of_two_reports_of_one_moment_the_order_is_always_the_same(reports: ResearchTables) -> None:
    for run_id in ("b", "a", "B", "é", "z"):
        reports.put(replace(ROW, run_id=run_id))
    assert [one.run_id for one in reports.latest(9)] == ["é", "z", "b", "a", "B"]


def test_any_text_comes_back_as_it_was(reports: ResearchTables) -> None:
    odd = '{"t":"\\u0000 ? %s %% \' \\" \u2028 𝄞 שלום \\ud83d \r\n\t"}' + " " * 100_000
    reports.put(replace(ROW, document=odd, project_id="Ω?%s"))
    assert reports.get("run-1") == replace(ROW, document=odd, project_id="Ω?%s")
    assert reports.latest(1, project_id="Ω?%s")[0].document == odd


def test_deleted_reports_are_gone_and_the_others_stay(reports: ResearchTables) -> None:
    for number in (1, 2, 3):
        reports.put(row(number))
    reports.delete(["run-1", "run-3", "nowhere"])
    reports.delete([])
    assert reports.latest(9) == [row(2)]
