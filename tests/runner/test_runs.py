"""Runs for real: over a real corpus, recorded in a real database, replayed, resumed, compared."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell import (
    AddReport,
    BadInput,
    Citewell,
    CitewellError,
    LeaseLost,
    RunEvent,
    RunResult,
    RunSummary,
    Settings,
    StoreFull,
    Unavailable,
    WorkFailed,
    __version__,
)
from citewell.clock import Clock
from citewell.flows.play import Display, begin
from citewell.runs.events import Entry, RunResumed
from citewell.runs.execute import Driver, Perform
from citewell.runs.journal import Call
from citewell.runs.records import finish_entry, opening_entry
from citewell.runs.run import RunRequest
from citewell.runs.store import RunLog, RunStore, SqliteRuns, new_token, this_process
from citewell.store.sqlite import connect
from conftest import sqlite_runs
from runner.plays import request

NOTES: dict[str, str | bytes] = {
    "Lamp.md": "# Lamp\nThe lamp was lit by Josiah Pell on 14 November 1859. See [[Oil]].",
    "Oil.md": "# Oil\nThe oil for the lamp came from Leith in forty barrels.",
    "Walk.md": "Walked to the tower with Agnes. The lamp room was locked.",
}
Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]


async def collect(events: AsyncIterator[RunEvent | RunResult]) -> tuple[list[RunEvent], RunResult]:
    seen = [event async for event in events]
    assert isinstance(seen[-1], RunResult)
    return [event for event in seen if isinstance(event, RunEvent)], seen[-1]


def ask(engine: Citewell, question: str = "Who lit the lamp?", **options: object) -> tuple[list[RunEvent], RunResult]:
    return asyncio.run(collect(engine.stream(question, **options)))


@pytest.fixture
def corpus(vault: Write, add_path: AddPath, engine: Citewell) -> Citewell:
    add_path(vault(NOTES))
    return engine


def without_time(result: RunResult) -> RunResult:
    """A result without what depends on how long things took."""
    return replace(result, metrics=replace(result.metrics, seconds=0.0, stage_seconds={}), trace_path=None)


def test_an_answer_is_bound_to_the_exact_passage(corpus: Citewell) -> None:
    _, result = ask(corpus)
    assert (result.answer_status, result.stop_reason, result.status) == ("ok", "enough_evidence", "done")
    assert "Josiah Pell" in result.answer
    assert "[1]" in result.answer
    for citation in result.citations:
        (document,) = corpus.corpus.get(
            f"{citation.source_key}@{citation.span.content_hash}", content_mode="full"
        ).documents
        assert document.text[citation.span.start : citation.span.end] == citation.quote
    assert result.flow.holds
    assert {sentence.verdict for sentence in result.sentences} == {"supported"}


def test_what_is_not_there_is_refused_with_the_terms_tried(corpus: Citewell) -> None:
    _, result = ask(corpus, "What does zirconium cost in Antwerp?")
    assert (result.answer_status, result.stop_reason, result.citations) == ("no_evidence", "no_evidence", ())
    assert "zirconium" in result.answer


@pytest.mark.attack("X3")
def test_a_trace_is_complete_and_private(corpus: Citewell) -> None:
    _, result = ask(corpus)
    assert result.trace_path is not None
    folder = corpus.settings.data_dir / result.trace_path
    names = {path.name for path in folder.iterdir()}
    assert {"run.md", "run.json", "planner-input.md", "synthesis-input.md", "log.jsonl", ".complete"} == names
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    trace = json.loads((folder / "run.json").read_text("utf-8"))
    assert (trace["schema_version"], trace["stop_reason"]) == ("research_trace.v1", "enough_evidence")
    assert "Josiah Pell" in (folder / "run.md").read_text("utf-8")


def test_replay_gives_the_same_bytes(corpus: Citewell) -> None:
    _, result = ask(corpus)
    report = corpus.runs.replay(result.run_id)
    assert (report.identical, report.mode) == (True, "exact")
    assert corpus.runs.replay(result.run_id, tolerant=True).identical


def test_replay_does_not_need_the_corpus(corpus: Citewell, tmp_path: Path) -> None:
    _, result = ask(corpus)
    target = tmp_path / "run.zip"
    corpus.runs.export(result.run_id, target)
    clean = Citewell(Settings(data_dir=tmp_path / "elsewhere"))
    report = clean.runs.replay(str(target))
    assert (report.identical, report.sha256) == (True, corpus.runs.replay(result.run_id).sha256)
    clean.close()


@pytest.mark.attack("T5")
@pytest.mark.slow
def test_replay_is_the_same_in_any_time_zone_locale_hash_seed_and_folder(corpus: Citewell, tmp_path: Path) -> None:
    _, result = ask(corpus)
    wanted = corpus.runs.replay(result.run_id).sha256
    corpus.close()
    for number, (zone, locale, seed) in enumerate([("Asia/Tokyo", "C", "1"), ("America/Lima", "tr_TR.UTF-8", "999")]):
        elsewhere = tmp_path / f"cwd{number}"
        elsewhere.mkdir()
        env = {**os.environ, "TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "citewell", "--data-dir", str(corpus.settings.data_dir)]
        command += ["runs", "replay", result.run_id, "--json"]
        done = subprocess.run(command, env=env, cwd=elsewhere, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {
            "run_id": result.run_id,
            "identical": True,
            "sha256": wanted,
            "mode": "exact",
            "notes": [],
        }


@pytest.mark.attack("T6")
def test_a_changed_byte_anywhere_in_the_record_is_refused(corpus: Citewell) -> None:
    events, result = ask(corpus)
    database = sqlite_runs(corpus).database
    with database.write() as connection:
        connection.execute("DROP TRIGGER events_are_append_only")
    for event in events:
        with database.read() as connection:
            wanted = (result.run_id, event.sequence)
            row = connection.execute("SELECT body FROM events WHERE run_id = ? AND sequence = ?", wanted).fetchall()
        body = str(row[0][0])
        changed = body[:-2] + ("0" if body[-2] != "0" else "1") + body[-1] if len(body) > 4 else '{"a":1}'
        for text in (changed, body):
            with database.write() as connection:
                connection.execute(
                    "UPDATE events SET body = ? WHERE run_id = ? AND sequence = ?",
                    (text, result.run_id, event.sequence),
                )
            if text == changed:
                with pytest.raises((CitewellError, ValueError)):
                    corpus.runs.replay(result.run_id)
    assert corpus.runs.replay(result.run_id).identical


def drive(log: RunLog, perform: Perform, clock: Clock, *, is_resumed: bool = False) -> RunResult:
    """Execute a log to its end."""
    return asyncio.run(driven(log, perform, clock, is_resumed=is_resumed))


async def driven(
    log: RunLog,
    perform: Perform,
    clock: Clock,
    *,
    is_resumed: bool = False,
    on_driver: Callable[[Driver], None] = lambda driver: None,
) -> RunResult:
    play = begin(log.events(), clock.monotonic)
    driver = Driver(play.run, log.append, perform, clock)
    on_driver(driver)
    display = Display(play.run, play.found, driver.wake, driver.in_thread)
    await driver.drive(display, [Entry.of(RunResumed(__version__))] if is_resumed else [])
    log.append([*display.settle(), *play.run.take_entries(), finish_entry(play.result)], clock.now())
    return play.result


def begun(run_id: str, wanted: RunRequest) -> RunLog:
    """A log in which a run has only been asked for."""
    log = RunLog(run_id)
    log.append([opening_entry(wanted)], "2026-01-01T00:00:00.000Z")
    return log


def stored_copy(store: RunStore, events: list[RunEvent], run_id: str, owner: str | None) -> None:
    """The beginning of a run under another id, owned by somebody."""
    request_of = events[0].body["request"]
    at = "2026-01-01T00:00:00.000Z"
    summary = RunSummary(
        *(run_id, "running" if owner else "interrupted", None, "local", "python"),
        *(request_of["question"], at, at, events[0].body["tool_version"]),
    )
    entries = [Entry(event.kind, event.body) for event in events]
    held = owner or new_token()
    store.create(summary, entries[0], held, "2026-01-01T12:00:00.000Z")
    store.append(run_id, entries[1:], at, held)
    if owner is None:
        store.release(run_id, held, "interrupted", None, at)


def test_a_run_whose_process_died_is_shown_as_interrupted_and_can_be_resumed(corpus: Citewell) -> None:
    events, result = ask(corpus)
    run_id = "20260101T000000-00000001"
    dead = f"{this_process().rpartition(':')[0].rpartition(':')[0]}:999999999:1#0"
    stored_copy(corpus.run_store, events[:4], run_id, dead)
    assert corpus.run_store.summary(run_id).status == "interrupted"
    corpus.runs.resume(run_id)
    resumed = corpus.runs.wait(run_id)
    assert (resumed.status, resumed.answer) == ("done", result.answer)
    assert corpus.runs.replay(run_id).identical


def test_a_run_on_another_host_is_left_alone_until_its_lease_runs_out(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    run_id = "20260101T000000-00000005"
    stored_copy(corpus.run_store, events[:4], run_id, "another-host:1:1#0")
    assert corpus.run_store.summary(run_id).status == "running"
    with pytest.raises(Unavailable, match="another process"):
        corpus.runs.resume(run_id)
    assert corpus.runs.adopt() == ()
    later = SqliteRuns(corpus.settings.runs_path, RealTime("2026-01-01T12:00:01.000Z"))
    assert (later.summary(run_id).status, later.claimable(10)) == ("interrupted", [run_id])
    later.close()


def test_whoever_lost_a_run_to_another_process_can_add_nothing_to_it(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    store, run_id = corpus.run_store, "20260101T000000-00000006"
    late = f"{this_process().rpartition(':')[0].rpartition(':')[0]}:999999999:1#0"
    stored_copy(store, events[:4], run_id, late)
    store.acquire(run_id, new_token(), "2026-01-01T12:00:00.000Z")
    with pytest.raises(LeaseLost):
        store.append(run_id, [Entry("run_interrupted", {})], "2026-01-01T00:00:00.000Z", late)
    store.release(run_id, late, "cancelled", "cancelled", "2026-01-01T00:00:00.000Z")
    assert store.summary(run_id).status == "running"
    assert len(store.events(run_id)) == 4


def test_two_processes_cannot_execute_the_same_run(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    sleeper = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        host = this_process().rsplit(":", 2)[0]
        started = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
        run_id = "20260101T000000-00000002"
        stored_copy(corpus.run_store, events[:4], run_id, f"{host}:{sleeper.pid}:{started}#0")
        with pytest.raises(Unavailable, match="another process"):
            corpus.runs.resume(run_id)
    finally:
        sleeper.communicate()


@pytest.mark.attack("C3")
def test_a_finished_run_cannot_be_resumed_or_cancelled(corpus: Citewell) -> None:
    _, result = ask(corpus)
    with pytest.raises(BadInput, match="ended already"):
        corpus.runs.resume(result.run_id)
    with pytest.raises(BadInput, match="ended already"):
        corpus.runs.control(result.run_id, "cancel")


async def never(call: Call, on_text: Callable[[str], None]) -> Any:
    """An outside that does not answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


@pytest.mark.attack("C3")
def test_cancelling_reaches_a_hanging_action_at_once(corpus: Citewell) -> None:
    log = begun("20260101T000000-00000003", request())

    async def run() -> RunResult:
        drivers: list[Driver] = []

        async def hanging(call: Call, on_text: Callable[[str], None]) -> Any:
            drivers[0].tell("cancel")
            return await never(call, on_text)

        async with asyncio.timeout(2):
            return await driven(log, hanging, corpus.clock, on_driver=drivers.append)

    result = asyncio.run(run())
    assert (result.status, result.stop_reason, result.answer_status) == ("cancelled", "cancelled", "error")
    assert replay_of(log) == result


def test_a_hanging_action_meets_the_deadline(corpus: Citewell) -> None:
    log = begun("20260101T000000-00000004", replace(request(), deadline_seconds=0.05))
    result = drive(log, never, RealTime())
    assert (result.stop_reason, result.answer) == ("timeout_exceeded", "")
    assert "incomplete" in result.answer_warnings


class RealTime:
    """Time that passes, on a day that does not."""

    def __init__(self, now: str = "2026-01-01T00:00:00.000Z") -> None:
        self._now = now

    def now(self) -> str:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()


def replay_of(log: RunLog) -> RunResult:
    return begin(log.events()).result


def test_without_a_trace_nothing_is_left_on_disk(corpus: Citewell) -> None:
    before = {path.name for path in corpus.settings.data_dir.rglob("*")}
    _, result = ask(corpus, trace=False)
    assert result.answer_status == "ok"
    assert result.trace_path is None
    assert {path.name for path in corpus.settings.data_dir.rglob("*")} == before


def test_an_answer_shown_again_says_which_sources_have_changed(
    corpus: Citewell, vault: Write, add_path: AddPath, tmp_path: Path
) -> None:
    _, result = ask(corpus)
    cited = result.citations[0]
    root = vault({"Lamp.md": "The lamp was lit by somebody else entirely."})
    os.utime(root / "Lamp.md", ns=(1, 1))
    add_path(root)
    shown = corpus.runs.show(result.run_id).sources[0]
    assert (shown.source_key, shown.state) == ("note:vault/lamp", "changed")
    (document,) = corpus.corpus.get(f"{cited.source_key}@{cited.span.content_hash}", content_mode="full").documents
    assert document.text[cited.span.start : cited.span.end] == cited.quote


def test_a_removed_note_stays_readable_by_hash_until_it_is_purged(corpus: Citewell) -> None:
    _, result = ask(corpus)
    cited = result.citations[0]
    report = corpus.corpus.remove(cited.source_key)
    assert report.cited_by_runs == (result.run_id,)
    lookup = f"{cited.source_key}@{cited.span.content_hash}"
    (document,) = corpus.corpus.get(lookup, content_mode="full").documents
    assert document.text[cited.span.start : cited.span.end] == cited.quote
    assert corpus.runs.show(result.run_id).sources[0].state == "removed"
    assert corpus.runs.replay(result.run_id).identical
    corpus.corpus.remove("note:vault/oil")


def test_purging_deletes_the_runs_that_quote_a_document(corpus: Citewell) -> None:
    _, result = ask(corpus)
    cited = result.citations[0]
    report = corpus.corpus.remove(cited.source_key, purge=True)
    assert report.purged_runs == (result.run_id,)
    assert corpus.runs.latest(10).runs == ()
    assert not (corpus.settings.data_dir / "research-runs" / result.run_id).exists()
    with pytest.raises(CitewellError):
        corpus.corpus.get(f"{cited.source_key}@{cited.span.content_hash}")


def test_purging_also_deletes_runs_that_only_retrieved_a_document(corpus: Citewell) -> None:
    _, result = ask(corpus)
    cited = {citation.source_key for citation in result.citations}
    retrieved = next(key for key in result.flow.retrieved if key not in cited)
    assert corpus.corpus.remove(retrieved, purge=True).purged_runs == (result.run_id,)
    record = b"".join(path.read_bytes() for path in corpus.settings.data_dir.glob("runs.db*"))
    assert b"Who lit the lamp?" not in record


def test_a_changed_byte_in_a_trace_is_refused_when_the_run_is_named_by_its_id(corpus: Citewell) -> None:
    _, result = ask(corpus)
    assert result.trace_path is not None
    path = corpus.settings.data_dir / result.trace_path / "run.md"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(WorkFailed):
        corpus.runs.replay(result.run_id)


@pytest.mark.parametrize("column", ["question", "status", "tool_version"])
def test_a_list_of_runs_that_tells_another_story_is_refused(corpus: Citewell, column: str) -> None:
    _, result = ask(corpus)
    with sqlite_runs(corpus).database.write() as connection:
        connection.execute(f"UPDATE runs SET {column} = ?", ("failed" if column == "status" else "another",))
    with pytest.raises(WorkFailed, match="was changed in the list of runs"):
        corpus.runs.replay(result.run_id)


def test_two_runs_are_compared_and_a_run_with_today(corpus: Citewell, vault: Write, add_path: AddPath) -> None:
    _, first = ask(corpus)
    _, second = ask(corpus, "Where did the lamp oil come from?")
    found = corpus.runs.diff(first.run_id, second.run_id)
    assert not found.same
    assert "text_query" in found.plan
    assert corpus.runs.diff(first.run_id, None).same
    root = vault({"New.md": "The lamp was lit by Ada Flett, says the lamp book of who lit the lamp."})
    add_path(root)
    today = corpus.runs.diff(first.run_id, None)
    assert "note:vault/new" in today.evidence.added


def test_a_run_another_process_executes_can_be_followed(corpus: Citewell) -> None:
    events, result = ask(corpus)

    async def follow() -> list[RunEvent]:
        return [event async for event in corpus.runs.follow(result.run_id)]

    assert asyncio.run(follow()) == events


def test_an_interrupted_run_says_so_and_goes_on(corpus: Citewell) -> None:
    async def interrupt() -> str:
        run_id = corpus.start("Who lit the lamp?")
        async for event in corpus.runs.follow(run_id):
            if event.kind == "stage_entered" and event.body["stage"] == "retrieve":
                break
        await asyncio.to_thread(corpus.runs.interrupt, run_id)
        return run_id

    with held(corpus):  # the texts cannot be kept meanwhile, so the run cannot end
        run_id = asyncio.run(interrupt())
    assert corpus.run_store.summary(run_id).status == "interrupted"
    corpus.runs.resume(run_id)
    result = corpus.runs.wait(run_id)
    assert (result.run_id, result.status, result.answer_status) == (run_id, "done", "ok")
    assert corpus.runs.replay(run_id).identical


@contextmanager
def held(engine: Citewell) -> Iterator[None]:
    """Another connection holds the corpus: it can be read and not written."""
    connection = connect(engine.settings.corpus_path)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def test_a_watcher_that_leaves_changes_nothing(corpus: Citewell) -> None:
    async def leave_at_once() -> str:
        async for event in corpus.stream("Who lit the lamp?"):
            assert isinstance(event, RunEvent)
            return event.run_id
        raise AssertionError("nothing to see")

    result = corpus.runs.wait(asyncio.run(leave_at_once()))
    assert (result.status, result.answer_status) == ("done", "ok")


def test_watchers_see_every_entry_from_where_they_want_without_gap_or_duplicate(corpus: Citewell) -> None:
    async def watch() -> list[list[int]]:
        run_id = corpus.start("Who lit the lamp?")
        found = await asyncio.gather(*(sequences(corpus, run_id, after) for after in (-1, -1, 3)))
        return [*found, await sequences(corpus, run_id, 5)]

    whole, other, late, afterwards = asyncio.run(watch())
    assert whole == list(range(len(whole)))
    assert (other, late, afterwards) == (whole, whole[4:], whole[6:])


async def sequences(engine: Citewell, run_id: str, after: int) -> list[int]:
    return [event.sequence async for event in engine.runs.follow(run_id, after)]


def test_runs_beyond_the_limit_wait_in_the_queue_and_are_executed_in_turn(corpus: Citewell) -> None:
    corpus.runs._max_running = 1
    with held(corpus):  # the first cannot end meanwhile
        first, second = (corpus.start("Who lit the lamp?") for _ in range(2))
        assert corpus.run_store.summary(second).status == "queued"
    assert [corpus.runs.wait(run_id).status for run_id in (first, second)] == ["done", "done"]
    assert corpus.runs.replay(second).identical


def test_a_run_that_was_only_queued_is_executed_by_whoever_adopts_it(corpus: Citewell) -> None:
    events, result = ask(corpus)
    run_id = "20260101T000000-00000007"
    at = "2026-01-01T00:00:00.000Z"
    summary = RunSummary(run_id, "queued", None, "local", "python", result.question, at, at, result.tool_version)
    corpus.run_store.create(summary, Entry(events[0].kind, events[0].body))
    assert corpus.runs.adopt() == (run_id,)
    assert corpus.runs.wait(run_id).answer == result.answer


@pytest.mark.attack("C3")
def test_an_interrupted_run_can_be_finished_or_cancelled(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    for run_id in ("20260101T000000-0000000a", "20260101T000000-0000000b"):
        stored_copy(corpus.run_store, events[:9], run_id, None)
    corpus.runs.resume("20260101T000000-0000000a", finish=True)
    assert "incomplete" in corpus.runs.wait("20260101T000000-0000000a").answer_warnings
    report = corpus.runs.control("20260101T000000-0000000b", "cancel")
    assert report.status == "cancelled"
    shown = corpus.runs.show("20260101T000000-0000000b").result
    assert shown is not None
    assert (shown.status, shown.trace_path) == ("cancelled", "research-runs/20260101T000000-0000000b")


@pytest.mark.slow
def test_twenty_runs_at_once_write_twenty_traces_and_pruning_touches_none_of_them(corpus: Citewell) -> None:
    """Pruning that would take everything beyond the latest twenty takes the old ones only, while the new ones run."""
    old = [ask(corpus)[1].run_id for _ in range(5)]
    pruner = Citewell(replace(corpus.settings, trace_keep=20, trace_max_age_days=0), corpus.clock)
    removed: list[str] = []

    async def all_at_once() -> list[RunResult]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(collect(corpus.stream("Who lit the lamp?"))) for _ in range(20)]
            for _ in range(5):
                removed.extend((await asyncio.to_thread(pruner.runs.prune)).removed)
        return [task.result()[1] for task in tasks]

    results = asyncio.run(all_at_once())
    removed += pruner.runs.prune().removed
    assert len({result.run_id for result in results}) == 20
    assert all(corpus.runs.replay(result.run_id).identical for result in results)
    assert set(removed) == set(old)
    kept = {path.name for path in (corpus.settings.data_dir / "research-runs").iterdir()}
    assert kept == {result.run_id for result in results}
    pruner.close()


def leave_pages(corpus: Citewell, count: int) -> None:
    """Let the file of runs grow by so many pages and no more."""
    with sqlite_runs(corpus).database.write() as connection:
        pages = connection.pragma("page_count")
        connection.execute(f"PRAGMA max_page_count = {pages + count}").fetchall()


def test_a_full_disk_while_recording_keeps_the_answer_and_says_so(corpus: Citewell) -> None:
    ask(corpus)
    leave_pages(corpus, 3)
    _, result = ask(corpus)
    assert (result.stop_reason, result.trace_path) == ("trace_failed", None)
    assert "Josiah Pell" in result.answer
    assert "trace_failed" in result.warnings
    assert corpus.run_store.summary(result.run_id).question == "Who lit the lamp?"


@pytest.mark.attack("D4")
def test_a_run_that_cannot_be_recorded_is_not_begun(corpus: Citewell) -> None:
    ask(corpus)
    leave_pages(corpus, 0)
    with pytest.raises(StoreFull, match="The run was not begun"):
        corpus.start("Who lit the lamp?")
    assert len(corpus.runs.latest(10).runs) == 1


def test_a_corpus_that_changes_during_the_run_does_not_change_what_it_cites(
    corpus: Citewell, vault: Write, add_path: AddPath
) -> None:
    async def change_midway() -> RunResult:
        async for event in corpus.stream("Who lit the lamp?"):
            if isinstance(event, RunResult):
                return event
            if event.kind == "stage_entered" and event.body["stage"] == "inspect_top":
                corpus.corpus.remove("note:vault/lamp")
        raise AssertionError("no result")

    result = asyncio.run(change_midway())
    assert result.status == "done"
    assert corpus.runs.replay(result.run_id).identical
    for citation in result.citations:
        assert citation.quote
