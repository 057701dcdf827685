"""Runs for real: over a real corpus, recorded in a real database, replayed, resumed, compared."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.app import Engine
from citewell.domain.errors import BadInput, CitewellError, Unavailable, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.library import AddReport
from citewell.domain.runs import RunResult, RunSummary
from citewell.recording.log import Entry, MemoryLog
from citewell.recording.owners import this_process
from citewell.runner.actions import Action, Observation
from citewell.runner.driver import Driver, Perform
from citewell.runner.playback import fold, replay
from citewell.runner.result import result_of
from citewell.settings import Settings
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


def ask(engine: Engine, question: str = "Who lit the lamp?", **options: object) -> tuple[list[RunEvent], RunResult]:
    return asyncio.run(collect(engine.research(question, **options)))  # type: ignore[arg-type]


@pytest.fixture
def corpus(vault: Write, add_path: AddPath, engine: Engine) -> Engine:
    add_path(vault(NOTES))
    return engine


def without_time(result: RunResult) -> RunResult:
    """A result without what depends on how long things took."""
    return replace(result, metrics=replace(result.metrics, seconds=0.0, stage_seconds={}), trace_path=None)


def test_an_answer_is_bound_to_the_exact_passage(corpus: Engine) -> None:
    _, result = ask(corpus)
    assert (result.answer_status, result.stop_reason, result.status) == ("ok", "enough_evidence", "done")
    assert "Josiah Pell" in result.answer
    assert "[1]" in result.answer
    for citation in result.citations:
        (document,) = corpus.get([f"{citation.source_key}@{citation.span.content_hash}"], content_mode="full").documents
        assert document.text[citation.span.start : citation.span.end] == citation.quote
    assert result.flow.holds
    assert {sentence.verdict for sentence in result.sentences} == {"supported"}


def test_what_is_not_there_is_refused_with_the_terms_tried(corpus: Engine) -> None:
    _, result = ask(corpus, "What does zirconium cost in Antwerp?")
    assert (result.answer_status, result.stop_reason, result.citations) == ("no_evidence", "no_evidence", ())
    assert "zirconium" in result.answer


def test_a_trace_is_complete_and_private(corpus: Engine) -> None:
    _, result = ask(corpus)
    assert result.trace_path is not None
    folder = corpus.settings.data_dir / result.trace_path
    names = {path.name for path in folder.iterdir()}
    assert {"run.md", "run.json", "planner-output.json", "synthesis-input.md", "log.jsonl", ".complete"} <= names
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    trace = json.loads((folder / "run.json").read_text("utf-8"))
    assert (trace["schema_version"], trace["stop_reason"]) == ("research_trace.v1", "enough_evidence")
    assert "Josiah Pell" in (folder / "run.md").read_text("utf-8")


def test_replay_gives_the_same_bytes(corpus: Engine) -> None:
    _, result = ask(corpus)
    report = corpus.runs.replay(result.run_id)
    assert (report.identical, report.mode) == (True, "exact")
    assert corpus.runs.replay(result.run_id, tolerant=True).identical


def test_replay_does_not_need_the_corpus(corpus: Engine, tmp_path: Path) -> None:
    _, result = ask(corpus)
    target = tmp_path / "run.zip"
    corpus.runs.export(result.run_id, target)
    clean = Engine(Settings(data_dir=tmp_path / "elsewhere"))
    report = clean.runs.replay(str(target))
    assert (report.identical, report.sha256) == (True, corpus.runs.replay(result.run_id).sha256)
    clean.close()


@pytest.mark.slow
def test_replay_is_the_same_in_any_time_zone_locale_hash_seed_and_folder(corpus: Engine, tmp_path: Path) -> None:
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


def test_a_changed_byte_anywhere_in_the_record_is_refused(corpus: Engine) -> None:
    events, result = ask(corpus)
    database = corpus.run_store.database
    with database.write() as connection:
        connection.execute("DROP TRIGGER events_are_append_only")
    for event in events:
        row = (
            database.reader()
            .execute("SELECT body FROM events WHERE run_id = ? AND sequence = ?", (result.run_id, event.sequence))
            .fetchall()
        )
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


def test_a_run_killed_at_any_entry_is_resumed_to_the_same_result_without_repeating_work(corpus: Engine) -> None:
    """Cut the log behind every entry, resume, and count what is done again: nothing that was recorded."""
    events, result = ask(corpus)
    performed: list[str] = []

    def counting(perform: Perform) -> Perform:
        async def counted(action: Action, on_text: Callable[[str], None]) -> Observation:
            performed.append(type(action).__name__)
            return await perform(action, on_text)

        return counted

    recorded_io = [event for event in events if event.kind == "observation_recorded" and event.body["kind"] == "io"]
    for cut in range(1, len(events)):
        kept = events[:cut]
        log = MemoryLog(result.run_id)
        log._events = list(kept)
        driver = Driver(log, counting(corpus._outside(None)), corpus._clock)
        performed.clear()
        _, again = asyncio.run(collect(driver.resume(fold(kept))))
        assert without_time(again) == without_time(result), f"cut behind entry {cut}"
        before = [event for event in kept if event in recorded_io]
        assert len(performed) == len(recorded_io) - len(before), f"cut behind entry {cut}"
        assert replay(log.events()) == again


def test_a_run_whose_process_died_is_shown_as_interrupted_and_can_be_resumed(corpus: Engine) -> None:
    events, result = ask(corpus)
    store = corpus.run_store
    dead = f"{this_process().rpartition(':')[0].rpartition(':')[0]}:999999999:1"
    summary = store.summary(result.run_id)
    orphan = replace(summary, run_id="20260101T000000-00000001", status="running", stop_reason=None)
    store.create(orphan, dead)
    store.append(orphan.run_id, [Entry(event.kind, event.body) for event in events[:4]], "2026-01-01T00:00:00Z")
    assert store.summary(orphan.run_id).status == "interrupted"
    _, resumed = asyncio.run(collect(corpus.runs.resume(orphan.run_id)))
    assert (resumed.status, resumed.answer) == ("done", result.answer)
    assert corpus.runs.replay(orphan.run_id).identical


def test_two_processes_cannot_execute_the_same_run(corpus: Engine) -> None:
    events, result = ask(corpus)
    store = corpus.run_store
    sleeper = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        host = this_process().rsplit(":", 2)[0]
        started = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
        busy = replace(store.summary(result.run_id), run_id="20260101T000000-00000002", status="running")
        store.create(busy, f"{host}:{sleeper.pid}:{started}")
        store.append(busy.run_id, [Entry(event.kind, event.body) for event in events[:4]], "2026-01-01T00:00:00Z")
        with pytest.raises(Unavailable, match="another process"):
            asyncio.run(collect(corpus.runs.resume(busy.run_id)))
    finally:
        sleeper.communicate()


def test_a_finished_run_cannot_be_resumed_or_cancelled(corpus: Engine) -> None:
    _, result = ask(corpus)
    with pytest.raises(BadInput, match="ended already"):
        asyncio.run(collect(corpus.runs.resume(result.run_id)))
    with pytest.raises(BadInput, match="ended already"):
        corpus.runs.control(result.run_id, "cancel")


async def never(action: Action, on_text: Callable[[str], None]) -> Observation:
    """An outside that does not answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def test_cancelling_reaches_a_hanging_action_at_once(corpus: Engine) -> None:
    log = MemoryLog("20260101T000000-00000003")

    async def run() -> RunResult:
        driver = Driver(log, never, corpus._clock, poll_seconds=0.01)
        async with asyncio.timeout(2):
            async for event in driver.start(request(), "0"):
                if isinstance(event, RunResult):
                    return event
                if event.kind == "action_intended" and event.body["action"] == "Retrieve":
                    log.request("cancel")
        raise AssertionError("no result")

    result = asyncio.run(run())
    assert (result.status, result.stop_reason) == ("cancelled", "cancelled")
    assert replay_of(log) == result


def test_a_hanging_action_meets_the_deadline(corpus: Engine) -> None:
    log = MemoryLog("20260101T000000-00000004")
    driver = Driver(log, never, RealTime(), poll_seconds=0.01)
    _, result = asyncio.run(collect(driver.start(replace(request(), deadline_seconds=0.05), "0")))
    assert (result.stop_reason, result.answer) == ("timeout_exceeded", "")
    assert "incomplete" in result.answer_warnings


class RealTime:
    def now(self) -> str:
        return "2026-01-01T00:00:00.000Z"

    def monotonic(self) -> float:
        return time.monotonic()


def replay_of(log: MemoryLog) -> RunResult:
    position = fold(log.events())
    return result_of(log.run_id, position.step.state, position.tool_version)


def test_without_a_trace_nothing_is_left_on_disk(corpus: Engine) -> None:
    before = {path.name for path in corpus.settings.data_dir.rglob("*")}
    _, result = ask(corpus, traced=False)
    assert result.answer_status == "ok"
    assert result.trace_path is None
    assert {path.name for path in corpus.settings.data_dir.rglob("*")} == before


def test_an_answer_shown_again_says_which_sources_have_changed(
    corpus: Engine, vault: Write, add_path: AddPath, tmp_path: Path
) -> None:
    _, result = ask(corpus)
    cited = result.citations[0]
    root = vault({"Lamp.md": "The lamp was lit by somebody else entirely."})
    os.utime(root / "Lamp.md", ns=(1, 1))
    add_path(root)
    shown = corpus.show_run(result.run_id).sources[0]
    assert (shown.source_key, shown.state) == ("note:vault/lamp", "changed")
    (document,) = corpus.get([f"{cited.source_key}@{cited.span.content_hash}"], content_mode="full").documents
    assert document.text[cited.span.start : cited.span.end] == cited.quote


def test_a_removed_note_stays_readable_by_hash_until_it_is_purged(corpus: Engine) -> None:
    _, result = ask(corpus)
    cited = result.citations[0]
    report = corpus.remove([cited.source_key])
    assert report.cited_by_runs == (result.run_id,)
    lookup = f"{cited.source_key}@{cited.span.content_hash}"
    (document,) = corpus.get([lookup], content_mode="full").documents
    assert document.text[cited.span.start : cited.span.end] == cited.quote
    assert corpus.show_run(result.run_id).sources[0].state == "removed"
    assert corpus.runs.replay(result.run_id).identical
    corpus.remove(["note:vault/oil"])


def test_purging_deletes_the_runs_that_quote_a_document(corpus: Engine) -> None:
    _, result = ask(corpus)
    cited = result.citations[0]
    report = corpus.remove([cited.source_key], purge=True)
    assert report.purged_runs == (result.run_id,)
    assert corpus.runs.latest(10).runs == ()
    assert not (corpus.settings.data_dir / "research-runs" / result.run_id).exists()
    with pytest.raises(CitewellError):
        corpus.get([f"{cited.source_key}@{cited.span.content_hash}"])


def test_purging_also_deletes_runs_that_only_retrieved_a_document(corpus: Engine) -> None:
    _, result = ask(corpus)
    cited = {citation.source_key for citation in result.citations}
    retrieved = next(key for key in result.flow.retrieved if key not in cited)
    assert corpus.remove([retrieved], purge=True).purged_runs == (result.run_id,)
    record = b"".join(path.read_bytes() for path in corpus.settings.data_dir.glob("runs.db*"))
    assert b"Who lit the lamp?" not in record


def test_a_changed_byte_in_a_trace_is_refused_when_the_run_is_named_by_its_id(corpus: Engine) -> None:
    _, result = ask(corpus)
    assert result.trace_path is not None
    path = corpus.settings.data_dir / result.trace_path / "run.md"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(WorkFailed):
        corpus.runs.replay(result.run_id)


@pytest.mark.parametrize("column", ["question", "status", "tool_version"])
def test_a_list_of_runs_that_tells_another_story_is_refused(corpus: Engine, column: str) -> None:
    _, result = ask(corpus)
    with corpus.run_store.database.write() as connection:
        connection.execute(f"UPDATE runs SET {column} = ?", ("failed" if column == "status" else "another",))
    with pytest.raises(WorkFailed, match="was changed in the list of runs"):
        corpus.runs.replay(result.run_id)


def test_two_runs_are_compared_and_a_run_with_today(corpus: Engine, vault: Write, add_path: AddPath) -> None:
    _, first = ask(corpus)
    _, second = ask(corpus, "Where did the lamp oil come from?")
    found = asyncio.run(corpus.runs.diff(first.run_id, second.run_id))
    assert not found.same
    assert "text_query" in found.plan
    assert asyncio.run(corpus.runs.diff(first.run_id, None)).same
    root = vault({"New.md": "The lamp was lit by Ada Flett, says the lamp book of who lit the lamp."})
    add_path(root)
    today = asyncio.run(corpus.runs.diff(first.run_id, None))
    assert "note:vault/new" in today.evidence.added


def test_a_run_another_process_executes_can_be_followed(corpus: Engine) -> None:
    events, result = ask(corpus)

    async def follow() -> list[RunEvent]:
        return [event async for event in corpus.runs.follow(result.run_id)]

    assert asyncio.run(follow()) == events


def test_an_interrupted_run_says_so_and_goes_on(corpus: Engine) -> None:
    async def interrupt() -> str:
        stream = corpus.research("Who lit the lamp?")
        run_id = ""
        async for event in stream:
            assert isinstance(event, RunEvent)
            run_id = event.run_id
            if event.kind == "stage_entered" and event.body["stage"] == "inspect_top":
                break
        await stream.aclose()  # type: ignore[attr-defined]
        return run_id

    run_id = asyncio.run(interrupt())
    assert corpus.run_store.summary(run_id).status == "interrupted"
    _, result = asyncio.run(collect(corpus.runs.resume(run_id)))
    assert (result.run_id, result.status, result.answer_status) == (run_id, "done", "ok")
    assert corpus.runs.replay(run_id).identical


def test_an_interrupted_run_can_be_finished_or_cancelled(corpus: Engine) -> None:
    events, result = ask(corpus)
    store = corpus.run_store
    for number, run_id in enumerate(("20260101T000000-0000000a", "20260101T000000-0000000b")):
        summary: RunSummary = replace(store.summary(result.run_id), run_id=run_id, status="interrupted")
        store.create(summary, f"nowhere-{number}:1:1")
        store.append(run_id, [Entry(event.kind, event.body) for event in events[:9]], "2026-01-01T00:00:00Z")
        with store.database.write() as connection:
            connection.execute("UPDATE runs SET owner = NULL WHERE run_id = ?", (run_id,))
    _, finished = asyncio.run(collect(corpus.runs.resume("20260101T000000-0000000a", finish=True)))
    assert "incomplete" in finished.answer_warnings
    report = corpus.runs.control("20260101T000000-0000000b", "cancel")
    assert report.status == "cancelled"
    assert corpus.show_run("20260101T000000-0000000b").result is not None


@pytest.mark.slow
def test_twenty_runs_at_once_write_twenty_traces_and_pruning_touches_none_of_them(corpus: Engine) -> None:
    """Pruning that would take everything beyond the latest twenty takes the old ones only, while the new ones run."""
    old = [ask(corpus)[1].run_id for _ in range(5)]
    pruner = Engine(replace(corpus.settings, trace_keep=20, trace_max_age_days=0), corpus._clock)
    removed: list[str] = []

    async def all_at_once() -> list[RunResult]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(collect(corpus.research("Who lit the lamp?"))) for _ in range(20)]
            for _ in range(5):
                removed.extend((await asyncio.to_thread(pruner.prune_runs)).removed)
        return [task.result()[1] for task in tasks]

    results = asyncio.run(all_at_once())
    removed += pruner.prune_runs().removed
    assert len({result.run_id for result in results}) == 20
    assert all(corpus.runs.replay(result.run_id).identical for result in results)
    assert set(removed) == set(old)
    kept = {path.name for path in (corpus.settings.data_dir / "research-runs").iterdir()}
    assert kept == {result.run_id for result in results}
    pruner.close()


def test_a_full_disk_while_recording_keeps_the_answer_and_says_so(corpus: Engine) -> None:
    ask(corpus)
    with corpus.run_store.database.write() as connection:
        pages = connection.pragma("page_count")
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    _, result = ask(corpus)
    assert (result.stop_reason, result.trace_path) == ("trace_failed", None)
    assert "Josiah Pell" in result.answer
    assert "trace_failed" in result.warnings


def test_a_corpus_that_changes_during_the_run_does_not_change_what_it_cites(
    corpus: Engine, vault: Write, add_path: AddPath
) -> None:
    async def change_midway() -> RunResult:
        async for event in corpus.research("Who lit the lamp?"):
            if isinstance(event, RunResult):
                return event
            if event.kind == "stage_entered" and event.body["stage"] == "inspect_top":
                corpus.remove(["note:vault/lamp"])
        raise AssertionError("no result")

    result = asyncio.run(change_midway())
    assert result.status == "done"
    assert corpus.runs.replay(result.run_id).identical
    for citation in result.citations:
        assert citation.quote
