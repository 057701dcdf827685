"""The life of runs at its edges: stopped before they begin, asked before they listen, deleted while watched."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from citewell import BadInput, Citewell, Interrupted, NotFound
from citewell.runs.events import Entry
from citewell.runs.execute import RunPoller
from citewell.runs.run import Control
from citewell.runs.store import RunMark, this_process
from runner.test_runs import NOTES, ask, held, stored_copy

__all__ = ["NOTES"]
RUN = "20260101T000000-00000020"


def dead_owner() -> str:
    """The token of a process of this machine that is gone."""
    return f"{this_process().rsplit(':', 2)[0]}:999999999:1#0"


def test_a_run_interrupted_before_its_first_step_says_so_and_can_be_resumed(corpus: Citewell) -> None:
    runs, asked = corpus.runs, threading.Event()
    call = runs._executor.call

    def telling(function: Callable[[], object]) -> None:
        call(function)
        if getattr(function, "__name__", "") == "stop":
            asked.set()

    runs._executor.call = telling  # type: ignore[method-assign]
    call(asked.wait)  # the loop takes up the run and its interruption at the same moment
    run_id = corpus.start("Who lit the lamp?")
    result = runs._running[run_id].result
    runs.interrupt(run_id)
    assert isinstance(result.exception(timeout=0), Interrupted)
    assert corpus.run_store.summary(run_id).status == "interrupted"
    runs.resume(run_id)
    assert runs.wait(run_id, timeout=30).status == "done"
    assert runs.replay(run_id).identical


@pytest.mark.parametrize(("control", "status"), [("cancel", "cancelled"), ("finish", "done")])
def test_what_a_run_was_asked_before_its_process_died_holds_for_whoever_takes_it_over(
    corpus: Citewell, control: Control, status: str
) -> None:
    events, _ = ask(corpus)
    stored_copy(corpus.run_store, events[:9], RUN, dead_owner())
    corpus.run_store.request(RUN, control, "2026-01-01T00:00:00.000Z")
    assert corpus.runs.adopt() == (RUN,)
    result = corpus.runs.wait(RUN, timeout=30)
    assert result.status == status
    assert "incomplete" in result.answer_warnings
    assert corpus.runs.replay(RUN).identical


def test_what_a_run_has_done_already_is_not_asked_of_it_again(corpus: Citewell) -> None:
    """It was told to finish, recorded it and died: the next process finishes it, once."""
    events, _ = ask(corpus)
    stored_copy(corpus.run_store, events[:9], RUN, None)
    corpus.run_store.request(RUN, "finish", "2026-01-01T00:00:00.000Z")
    corpus.runs.resume(RUN, finish=True)
    corpus.runs.wait(RUN, timeout=30)
    finished = corpus.run_store.events(RUN)
    asked = [event.sequence for event in finished if event.body.get("kind") == "control"]
    cut = RUN[:-1] + "1"
    stored_copy(corpus.run_store, finished[: asked[0] + 3], cut, dead_owner())
    corpus.run_store.request(cut, "finish", "2026-01-01T00:00:00.000Z")
    assert corpus.runs.adopt() == (cut,)
    corpus.runs.wait(cut, timeout=30)
    recorded = [event for event in corpus.run_store.events(cut) if event.body.get("kind") == "control"]
    assert len(recorded) == 1


def test_whoever_resumes_a_run_by_hand_means_it(corpus: Citewell) -> None:
    events, result = ask(corpus)
    stored_copy(corpus.run_store, events[:9], RUN, None)
    corpus.run_store.request(RUN, "cancel", "2026-01-01T00:00:00.000Z")
    corpus.runs.resume(RUN)
    assert corpus.runs.wait(RUN, timeout=30).answer == result.answer


def test_a_queued_run_that_is_cancelled_ends_as_cancelled_for_whoever_waits(corpus: Citewell) -> None:
    corpus.runs._max_running = 1
    with held(corpus):  # the first cannot end meanwhile
        first, second = (corpus.start("Who lit the lamp?") for _ in range(2))
        waiting = corpus.runs._queue[0].result
        assert corpus.runs.control(second, "cancel").status == "cancelled"
    assert corpus.runs.wait(first, timeout=30).status == "done"
    assert waiting.result(timeout=30).status == "cancelled"


def test_a_run_without_a_trace_can_be_cancelled_at_once(corpus: Citewell) -> None:
    begun = threading.Event()
    corpus.runs._executor.call(begun.wait)  # it is asked before it has taken its first step
    run_id = corpus.start("Who lit the lamp?", trace=False)
    assert corpus.runs.control(run_id, "cancel").detail == "asked"
    begun.set()
    assert corpus.runs.wait(run_id, timeout=30).status == "cancelled"
    with pytest.raises(BadInput, match="ended already"):
        corpus.runs.control(run_id, "cancel")


def test_a_watcher_of_a_run_that_is_deleted_is_told(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    stored_copy(corpus.run_store, events[:4], RUN, None)

    async def watch() -> None:
        seen = 0
        async with asyncio.timeout(30):
            async for _ in corpus.runs.follow(RUN):
                seen += 1
                if seen == 4:
                    await asyncio.to_thread(corpus.run_store.delete, [RUN])

    with pytest.raises(NotFound):
        asyncio.run(watch())


def test_a_log_is_read_whole_while_it_grows(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    owner = f"{this_process()}#1"
    stored_copy(corpus.run_store, events[:2], RUN, owner)
    stop = threading.Event()

    def grow() -> None:
        while not stop.is_set():
            corpus.run_store.append(RUN, [Entry("run_resumed", {"tool_version": ""})], "2026-01-01T00:00:01Z", owner)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        lengths = [len(corpus.run_store.checked_events(RUN))]
        while len(lengths) < 100 or lengths[-1] == lengths[0]:  # until the writer had its turn
            lengths.append(len(corpus.run_store.checked_events(RUN)))
    finally:
        stop.set()
        writer.join()
    assert lengths == sorted(lengths)
    assert lengths[-1] > lengths[0]


@pytest.fixture
def poller() -> Iterator[RunPoller]:
    marks = iter([None, *(RunMark("running", number, 0) for number in range(1_000))])

    def look(run_ids: object) -> dict[str, RunMark]:
        mark = next(marks)
        if mark is None:
            raise RuntimeError("busy")
        return {"run": mark}

    opened = RunPoller(look, poll_seconds=0.001)
    yield opened
    opened.close()


def test_a_store_that_fails_and_a_watcher_that_fails_do_not_end_the_watching(poller: RunPoller) -> None:
    told = threading.Semaphore(0)

    def fails(mark: RunMark | None) -> None:
        raise RuntimeError("its loop is closed")

    poller.watch("run", fails)
    poller.watch("run", lambda mark: told.release())
    assert all(told.acquire(timeout=10) for _ in range(3))


def test_a_run_is_named_by_its_id_by_how_it_begins_or_as_the_last(corpus: Citewell) -> None:
    with pytest.raises(NotFound, match="No run is recorded"):
        corpus.runs.find("last")
    events, result = ask(corpus)
    stored_copy(corpus.run_store, events[:4], "20250101T000000-0000000c", None)
    stored_copy(corpus.run_store, events[:4], "20250101T000000-0000000d", None)
    assert corpus.runs.find(result.run_id) == corpus.runs.find(result.run_id[:-3]) == result.run_id
    assert corpus.runs.find("last") == corpus.runs.latest(1).runs[0].run_id
    assert corpus.runs.find("20250101T000000-0000000c") == "20250101T000000-0000000c"
    with pytest.raises(BadInput, match="Several runs begin"):
        corpus.runs.find("20250101")
    for nothing in ("zzz", "", "2025%"):
        with pytest.raises(NotFound):
            corpus.runs.find(nothing)
