"""What every store of runs must do (`runs/store.py`), whichever database is behind it.

A store joins by a fixture parameter: something that opens stores on one place, as often as asked, and can damage what
is stored there as somebody with the file in hand could.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

import psycopg
import pytest

from citewell import BadInput, LeaseLost, NotFound, RunEvent, RunSummary, Unavailable, WorkFailed
from citewell.runs.events import Entry, verify_chain
from citewell.runs.store import (
    POSTGRES_SCRIPTS,
    PostgresRuns,
    RunMark,
    RunStore,
    SqliteRuns,
    lease_from,
    new_token,
    this_process,
)
from citewell.store.postgres import PostgresSessions
from support.postgres import Postgres

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:10.000Z"
RUN = "20260101T000000-00000001"


class SetClock:
    """A clock that stands where it was set; `jumped` is by how much somebody set the one on the wall meanwhile."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.jumped = timedelta()

    def now(self) -> str:
        moment = START + self.jumped + timedelta(seconds=self.seconds)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return self.seconds


class Place(Protocol):
    """Where stores of one kind lie."""

    def open(self) -> RunStore: ...

    def damage(self, table: str, column: str, value: str, where: str) -> None:
        """Change what is stored, past the store."""
        ...

    def bytes(self) -> bytes:
        """Everything that could be read from the disk."""
        ...

    def find_dead(self, clock: SetClock) -> None:
        """Let so much time pass that a process of this machine that has died is known to be gone."""
        ...

    def close(self) -> None: ...


class SqlitePlace:
    """Stores on one SQLite file. Of a process of this machine the system says whether it lives."""

    def __init__(self, request: pytest.FixtureRequest, clock: SetClock) -> None:
        self._path = request.getfixturevalue("tmp_path") / "runs.db"
        self._clock = clock
        self._opened: list[SqliteRuns] = []

    def open(self) -> SqliteRuns:
        store = SqliteRuns(self._path, self._clock)
        self._opened.append(store)
        return store

    def damage(self, table: str, column: str, value: str, where: str) -> None:
        with self._opened[0].database.write() as connection:
            connection.execute("DROP TRIGGER IF EXISTS events_are_append_only")
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))

    def bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in self._path.parent.glob(f"{self._path.name}*"))

    def find_dead(self, clock: SetClock) -> None:
        return

    def close(self) -> None:
        for store in self._opened:
            store.close()


class PostgresPlace:
    """Stores on one database of a real PostgreSQL. Of every process only the lease says whether it lives."""

    def __init__(self, request: pytest.FixtureRequest, clock: SetClock) -> None:
        self._server: Postgres = request.getfixturevalue("postgres")
        self._url = self._server.new_database()
        self._clock = clock
        self._opened: list[PostgresRuns] = []

    def open(self) -> PostgresRuns:
        jumping = lambda: time.time() + self._clock.jumped.total_seconds()  # noqa: E731
        store = PostgresRuns(PostgresSessions(self._url, POSTGRES_SCRIPTS, wall=jumping), self._clock)
        self._opened.append(store)
        return store

    def damage(self, table: str, column: str, value: str, where: str) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute("SET search_path = citewell; ALTER TABLE events DISABLE TRIGGER ALL")
            connection.execute(f"UPDATE {table} SET {column} = %s WHERE {where}".encode(), (value,))

    def bytes(self) -> bytes:
        return self._server.bytes(self._url)

    def find_dead(self, clock: SetClock) -> None:
        clock.seconds = 21

    def close(self) -> None:
        for store in self._opened:
            store.close()


PLACES: dict[str, Callable[[pytest.FixtureRequest, SetClock], Place]] = {
    "sqlite": SqlitePlace,
    "postgres": PostgresPlace,
}


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, clock: SetClock) -> Iterator[Place]:
    opened = PLACES[request.param](request, clock)
    yield opened
    opened.close()


@pytest.fixture
def store(place: Place) -> RunStore:
    return place.open()


def summary(run_id: str = RUN, **changes: object) -> RunSummary:
    made = RunSummary(run_id, "running", None, "local", "cli", "Who lit the lamp?", AT, AT, "0.2.0")
    return replace(made, **changes)  # type: ignore[arg-type]


def opening(question: str = "Who lit the lamp?") -> Entry:
    request = {"question": question, "profile": "local", "surface": "cli"}
    return Entry("run_started", {"schema": "run_log.v2", "tool_version": "0.2.0", "request": request})


def stage(name: str = "plan") -> Entry:
    return Entry("stage_entered", {"stage": name})


def finished(status: str = "done") -> Entry:
    return Entry("run_finished", {"status": status})


def begun(store: RunStore, run_id: str = RUN, created_at: str = AT, token: str | None = None) -> str:
    """A run that is executed under a token of this process until 20 seconds from the start."""
    held = token or new_token()
    store.create(summary(run_id, created_at=created_at), opening(), held, "2026-01-01T00:00:20.000Z")
    return held


def dead_token() -> str:
    return f"{this_process().rsplit(':', 2)[0]}:999999999:1#0"


def elsewhere_token() -> str:
    return "another-host:17:99#0"


# A run and its log


def test_a_created_run_is_there_with_the_first_entry_of_its_log(store: RunStore) -> None:
    begun(store)
    assert store.summary(RUN) == summary()
    (first,) = store.events(RUN)
    assert (first.run_id, first.sequence, first.kind, first.body) == (RUN, 0, "run_started", opening().body)
    assert store.count() == 1


def test_a_run_that_is_not_there_is_said_to_be_missing(store: RunStore) -> None:
    for ask in (store.summary, store.checked_events):
        with pytest.raises(NotFound):
            ask(RUN)
    with pytest.raises(NotFound):
        store.acquire(RUN, new_token(), LATER)
    assert (store.events(RUN), store.marks([RUN]), store.claimable(9)) == ([], {}, [])


def test_a_run_cannot_be_created_twice(store: RunStore) -> None:
    token = begun(store)
    with pytest.raises(Exception):  # noqa: B017  whatever it is, nothing changes
        store.create(summary(question="another"), opening("another"), new_token(), LATER)
    assert store.summary(RUN).question == "Who lit the lamp?"
    store.append(RUN, [stage()], AT, token)


def test_entries_are_appended_in_order_each_chained_to_the_one_before(store: RunStore) -> None:
    token = begun(store)
    added = store.append(RUN, [stage("plan"), stage("retrieve")], LATER, token)
    added += store.append(RUN, [stage("verify")], LATER, token)
    events = store.events(RUN)
    assert events[1:] == added
    assert [event.sequence for event in events] == [0, 1, 2, 3]
    verify_chain(events)
    assert store.checked_events(RUN) == events
    assert store.summary(RUN).updated_at == LATER


def test_entries_are_appended_all_or_none(store: RunStore) -> None:
    token = begun(store)
    unwritable = Entry("stage_entered", {"stage": {1, 2}.__iter__()})
    with pytest.raises(Exception):  # noqa: B017  no JSON can be made of it
        store.append(RUN, [stage(), unwritable], AT, token)
    assert len(store.events(RUN)) == 1
    assert [event.sequence for event in store.append(RUN, [stage()], AT, token)] == [1]


def test_what_comes_back_is_what_was_written_in_any_script(store: RunStore) -> None:
    token = begun(store)
    body = {"text": 'Größe \N{SNOWMAN} 灯台 \u200d \x00 "quoted" \\', "n": [1, 2.5, None, True], "deep": {"ü": {}}}
    (added,) = store.append(RUN, [Entry("warning_raised", body)], AT, token)
    assert store.events(RUN, after=0) == [added]
    assert added.body == body


def test_a_log_is_read_in_pages_from_any_point(store: RunStore) -> None:
    token = begun(store)
    store.append(RUN, [stage() for _ in range(10)], AT, token)
    assert [event.sequence for event in store.events(RUN, after=3, limit=4)] == [4, 5, 6, 7]
    assert [event.sequence for event in store.events(RUN, after=7)] == [8, 9, 10]
    assert store.events(RUN, after=10) == []


def test_logs_of_several_runs_are_apart(store: RunStore) -> None:
    tokens = {run_id: begun(store, run_id) for run_id in ("a", "b")}
    for run_id in ("a", "b", "a"):
        store.append(run_id, [stage(run_id)], AT, tokens[run_id])
    assert [event.body["stage"] for event in store.events("a", after=0)] == ["a", "a"]
    assert [event.sequence for event in store.events("b")] == [0, 1]


# Who executes a run


def test_only_the_token_that_holds_a_run_can_add_to_it(store: RunStore) -> None:
    begun(store)
    with pytest.raises(LeaseLost):
        store.append(RUN, [stage()], AT, new_token())
    with pytest.raises(LeaseLost):
        store.append("nowhere", [stage()], AT, new_token())
    assert len(store.events(RUN)) == 1


def test_a_run_that_is_executed_is_not_given_to_another(store: RunStore) -> None:
    token = begun(store)
    with pytest.raises(Unavailable):
        store.acquire(RUN, new_token(), LATER)
    store.acquire(RUN, token, LATER)  # its own holder may ask again
    store.append(RUN, [stage()], AT, token)


def test_a_queued_run_is_claimable_and_whoever_is_first_gets_it(store: RunStore) -> None:
    store.create(summary(status="queued"), opening())
    assert (store.summary(RUN).status, store.claimable(9)) == ("queued", [RUN])
    first = new_token()
    store.acquire(RUN, first, LATER)
    assert (store.summary(RUN).status, store.claimable(9)) == ("running", [])
    with pytest.raises(Unavailable):
        store.acquire(RUN, new_token(), LATER)
    store.append(RUN, [stage()], AT, first)


def test_claimable_runs_come_oldest_first_and_no_more_than_wanted(store: RunStore) -> None:
    for number in (3, 1, 2):
        made = summary(f"run-{number}", status="queued", created_at=f"2026-01-01T00:00:0{number}.000Z")
        store.create(made, opening())
    begun(store, "held")
    assert store.claimable(9) == ["run-1", "run-2", "run-3"]
    assert store.claimable(2) == ["run-1", "run-2"]


def test_the_run_of_a_dead_process_is_interrupted_and_can_be_taken_over(
    store: RunStore, place: Place, clock: SetClock
) -> None:
    late = begun(store, token=dead_token())
    place.find_dead(clock)
    assert (store.summary(RUN).status, store.claimable(9)) == ("interrupted", [RUN])
    token = new_token()
    store.acquire(RUN, token, "2026-01-01T00:01:00.000Z")
    assert store.summary(RUN).status == "running"
    with pytest.raises(LeaseLost):
        store.append(RUN, [stage()], AT, late)
    store.append(RUN, [stage()], AT, token)


def test_a_process_on_another_host_is_trusted_until_its_lease_runs_out(store: RunStore, clock: SetClock) -> None:
    away = begun(store, token=elsewhere_token())
    clock.seconds = 19
    assert (store.summary(RUN).status, store.claimable(9)) == ("running", [])
    store.renew([away], "2026-01-01T00:00:39.000Z")
    clock.seconds = 38
    with pytest.raises(Unavailable):
        store.acquire(RUN, new_token(), "2026-01-01T00:01:00.000Z")
    clock.seconds = 40
    assert (store.summary(RUN).status, store.claimable(9)) == ("interrupted", [RUN])
    store.acquire(RUN, new_token(), "2026-01-01T00:01:00.000Z")
    store.renew([away], "2026-01-01T00:02:00.000Z")  # too late: it holds nothing any more
    with pytest.raises(LeaseLost):
        store.append(RUN, [stage()], AT, away)


@pytest.mark.attack("T4")
@pytest.mark.parametrize("years", [10, -10])
def test_a_clock_that_is_set_neither_ends_a_lease_nor_makes_it_last(
    years: int, store: RunStore, place: Place, clock: SetClock
) -> None:
    """Between start and renewal, and behind the renewal: for this process and for others."""
    token, other = begun(store), place.open()
    clock.jumped = timedelta(days=365 * years)
    clock.seconds = 19
    for one in (store, other):
        assert (one.summary(RUN).status, one.claimable(9), one.marks([RUN])[RUN].status) == ("running", [], "running")
        with pytest.raises(Unavailable):
            one.acquire(RUN, new_token(), lease_from(clock.now()))
    store.renew([token], lease_from(clock.now()))
    clock.jumped = timedelta(0)
    clock.seconds = 38
    assert (store.summary(RUN).status, other.claimable(9)) == ("running", [])
    store.append(RUN, [stage()], clock.now(), token)
    clock.seconds = 40
    assert (other.summary(RUN).status, store.claimable(9)) == ("interrupted", [RUN])


def test_renewing_one_lease_leaves_the_others_as_they_are(store: RunStore, clock: SetClock) -> None:
    kept, lost = begun(store, "kept"), begun(store, "lost")
    store.renew([kept, "unknown"], "2026-01-01T00:01:00.000Z")
    clock.seconds = 30
    assert (store.summary("kept").status, store.summary("lost").status) == ("running", "interrupted")
    assert kept != lost


def test_a_released_run_is_as_its_last_holder_left_it(store: RunStore) -> None:
    token = begun(store)
    store.append(RUN, [finished()], AT, token)
    store.release(RUN, token, "done", "enough_evidence", LATER)
    assert store.summary(RUN) == summary(status="done", stop_reason="enough_evidence", updated_at=LATER)
    assert store.claimable(9) == []
    with pytest.raises(BadInput, match="ended already"):
        store.acquire(RUN, new_token(), LATER)
    with pytest.raises(LeaseLost):
        store.append(RUN, [stage()], AT, token)


def test_who_no_longer_holds_a_run_cannot_release_it(store: RunStore, place: Place, clock: SetClock) -> None:
    late = begun(store, token=dead_token())
    place.find_dead(clock)
    token = new_token()
    store.acquire(RUN, token, "2026-01-01T00:01:00.000Z")
    store.release(RUN, late, "cancelled", "cancelled", LATER)
    assert store.summary(RUN).status == "running"
    store.append(RUN, [stage()], AT, token)


def test_an_interrupted_run_waits_for_a_person_and_not_for_a_worker(store: RunStore) -> None:
    token = begun(store)
    store.release(RUN, token, "interrupted", None, LATER)
    assert (store.summary(RUN).status, store.claimable(9)) == ("interrupted", [])
    store.acquire(RUN, new_token(), LATER)
    assert store.summary(RUN).status == "running"


# How far runs are, and what is asked of them


def test_marks_tell_how_far_each_run_is(store: RunStore, clock: SetClock) -> None:
    token = begun(store)
    store.create(summary("queued", status="queued"), opening())
    store.append(RUN, [stage(), stage()], AT, token)
    store.request(RUN, "finish", AT)
    marks = store.marks([RUN, "queued", "nowhere"])
    assert marks["queued"] == RunMark("queued", 0, 0)
    assert (marks[RUN].status, marks[RUN].last_sequence) == ("running", 2)
    assert marks[RUN].last_control > 0
    assert set(marks) == {RUN, "queued"}
    clock.seconds = 60
    assert store.marks([RUN])[RUN].status == "interrupted"


def test_a_mark_changes_with_everything_a_watcher_wants_to_know(store: RunStore) -> None:
    token = begun(store)
    seen = [store.marks([RUN])[RUN]]
    store.append(RUN, [finished()], AT, token)
    seen.append(store.marks([RUN])[RUN])
    store.request(RUN, "cancel", AT)
    seen.append(store.marks([RUN])[RUN])
    store.release(RUN, token, "done", "enough_evidence", LATER)
    seen.append(store.marks([RUN])[RUN])
    assert len(set(seen)) == 4


def test_a_row_that_cannot_be_read_is_no_news_of_the_others(store: RunStore, place: Place) -> None:
    begun(store, "broken")
    begun(store, "sound")
    place.damage("runs", "status", "nonsense", "run_id = 'broken'")
    assert set(store.marks(["broken", "sound"])) == {"sound"}


def test_what_is_asked_of_a_run_comes_in_order_and_only_once(store: RunStore) -> None:
    begun(store)
    begun(store, "other")
    for run_id, control in ((RUN, "finish"), ("other", "cancel"), (RUN, "cancel")):
        store.request(run_id, control, AT)  # type: ignore[arg-type]
    asked = store.controls(RUN, 0)
    assert [control for _, control in asked] == ["finish", "cancel"]
    assert store.controls(RUN, asked[0][0]) == asked[1:]
    assert store.controls(RUN, asked[1][0]) == []
    assert store.marks([RUN])[RUN].last_control == asked[1][0]


# Lists


def test_the_latest_runs_come_newest_first(store: RunStore) -> None:
    for number in range(5):
        begun(store, f"run-{number}", f"2026-01-01T00:00:0{number}.000Z")
    assert [run.run_id for run in store.latest(3).runs] == ["run-4", "run-3", "run-2"]
    assert store.count() == 5


def test_a_run_whose_row_cannot_be_read_is_named_and_the_others_are_listed(store: RunStore, place: Place) -> None:
    for run_id in ("a", "broken", "c"):
        begun(store, run_id)
    place.damage("runs", "profile", "nonsense", "run_id = 'broken'")
    page = store.latest(9)
    assert ({run.run_id for run in page.runs}, page.unreadable) == ({"a", "c"}, ("broken",))
    with pytest.raises(WorkFailed, match="was changed"):
        store.summary("broken")


# A record that can be trusted


def ended(store: RunStore) -> None:
    token = begun(store)
    store.append(RUN, [stage(), stage("verify"), finished()], AT, token)
    store.release(RUN, token, "done", "enough_evidence", AT)


@pytest.mark.parametrize(
    ("table", "column", "value", "where"),
    [
        ("events", "body", '{"stage":"retrieve"}', "sequence = 1"),
        ("events", "body", '{"stage": "plan"}', "sequence = 1"),  # the same, written another way
        ("events", "body", "no JSON", "sequence = 1"),
        ("events", "kind", "warning_raised", "sequence = 1"),
        ("events", "at", "2026-01-02T00:00:00.000Z", "sequence = 2"),
        ("events", "digest", "0" * 64, "sequence = 3"),
        ("runs", "question", "another", "true"),
        ("runs", "status", "failed", "true"),
        ("runs", "tool_version", "9.9.9", "true"),
    ],
)
def test_a_log_in_which_anything_was_changed_is_refused(
    store: RunStore, place: Place, table: str, column: str, value: str, where: str
) -> None:
    ended(store)
    assert len(store.checked_events(RUN)) == 4
    place.damage(table, column, value, where)
    with pytest.raises(WorkFailed, match="was changed"):
        store.checked_events(RUN)


def test_a_run_said_to_be_over_whose_log_has_no_end_is_refused(store: RunStore, place: Place) -> None:
    begun(store)
    place.damage("runs", "status", "done", "true")
    with pytest.raises(WorkFailed, match="was changed at its end"):
        store.checked_events(RUN)


# What runs cite


def test_runs_are_found_by_what_they_cite_and_by_what_they_mention(store: RunStore) -> None:
    tokens = {run_id: begun(store, run_id) for run_id in ("a", "b", "c")}
    store.put_citations("a", [("note:x", "hash"), ("note:y", "hash")])
    store.put_citations("a", [("note:x", "hash")])
    store.put_citations("b", [("note:y", "other")])
    store.append("c", [Entry("warning_raised", {"row": {"source_key": 'note:"x"'}})], AT, tokens["c"])
    assert store.citing(["note:x"]) == ["a"]
    assert store.citing(["note:y", "note:z"]) == ["a", "b"]
    assert store.citing([]) == []
    assert store.mentioning(['note:"x"']) == ["c"]
    assert store.mentioning(["note:x"]) == []


def test_what_a_run_cites_is_told_in_order(store: RunStore) -> None:
    begun(store)
    store.put_citations(RUN, [("note:y", "2"), ("note:x", "1"), ("note:Z", "3"), ("note:y", "1")])
    assert store.citations(RUN) == [("note:Z", "3"), ("note:x", "1"), ("note:y", "1"), ("note:y", "2")]
    assert store.citations("nowhere") == []


# Odd text

ODD = 'Where? %s %% "it\'s" \\ \\u0000 \u2028 \ufeff 𝄞 שלום\t\r\n;--'


def test_any_text_comes_back_as_it_was_and_keeps_its_chain(store: RunStore) -> None:
    token = new_token()
    body = {"text": f"\0{ODD}", ODD: [None, True, 2**53, -0.5, 1e-7], "deep": {"empty": {}, "none": []}}
    store.create(summary(question=ODD), opening(ODD), token, LATER)
    (added,) = store.append(RUN, [Entry("warning_raised", body)], AT, token)
    assert added.body == body
    assert store.checked_events(RUN)[1] == added
    assert store.summary(RUN).question == ODD


@pytest.mark.attack("D10")
@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "'; DROP TABLE runs; --", "%s", "?", "%", "_"])
def test_what_is_looked_for_is_text_whatever_it_is(store: RunStore, text: str) -> None:
    begun(store)
    assert store.citing([text]) == []
    assert set(store.marks([RUN, text])) == {RUN}
    store.delete([text])
    if "\ud800" not in text:
        assert store.matching(text, 9) == []
        assert store.mentioning([text]) == []
        assert store.latest(9, words=text).runs == () or text in "?"
        with pytest.raises(NotFound):
            store.summary(text)
    assert store.count() == 1


def test_words_of_the_question_are_found_the_same_way_everywhere(store: RunStore) -> None:
    for run_id, question in (("a", "Who lit the LAMP?"), ("b", "ÄRGER um die Lampe"), ("c", "İstanbul ϴ")):
        store.create(summary(run_id, question=question), opening(question))

    def found(words: str) -> set[str]:
        return {run.run_id for run in store.latest(9, words=words).runs}

    assert found("lamp") == {"a", "b"}
    assert found("LAMP who") == {"a"}
    # Letters beyond ASCII are compared as they are.
    assert (found("ÄRGER"), found("rger")) == (set(), {"b"})


# Forgetting


def test_a_deleted_run_is_gone_with_all_that_belongs_to_it_and_leaves_no_trace(store: RunStore, place: Place) -> None:
    token, other = begun(store), begun(store, "other")
    store.append(RUN, [Entry("warning_raised", {"code": "zirconium-canary"})], AT, token)
    store.request(RUN, "cancel", AT)
    store.put_citations(RUN, [("note:x", "hash")])
    assert b"zirconium-canary" in place.bytes()
    store.delete([RUN, "nowhere"])
    store.shrink()
    assert b"zirconium-canary" not in place.bytes()
    assert (store.events(RUN), store.controls(RUN, 0), store.citing(["note:x"]), store.count()) == ([], [], [], 1)
    with pytest.raises(LeaseLost):
        store.append(RUN, [stage()], AT, token)
    store.append("other", [stage()], AT, other)


# Many at once


def test_appending_from_many_threads_loses_nothing_and_keeps_each_chain(store: RunStore) -> None:
    tokens = {f"run-{number}": begun(store, f"run-{number}") for number in range(4)}

    def write(run_id: str) -> None:
        for number in range(25):
            store.append(run_id, [stage(), Entry("warning_raised", {"code": str(number)})], AT, tokens[run_id])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, [*tokens, *tokens]))  # two threads a run
    for run_id in tokens:
        events = store.checked_events(run_id)
        assert [event.sequence for event in events] == list(range(101))


def test_readers_only_ever_see_whole_appends_while_others_write(store: RunStore, place: Place) -> None:
    token, done = begun(store), threading.Event()
    reading = place.open()

    def write() -> None:
        for _ in range(60):
            store.append(RUN, [stage(), stage(), stage()], AT, token)
        done.set()

    def read() -> list[int]:
        lengths = []
        while not done.is_set():
            events: list[RunEvent] = reading.checked_events(RUN)
            lengths.append(len(events))
            assert reading.marks([RUN])[RUN].last_sequence >= events[-1].sequence
        return lengths

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        pool.submit(write).result(timeout=60)
        for lengths in (reader.result(timeout=60) for reader in readers):
            assert lengths == sorted(lengths)
            assert {length % 3 for length in lengths} <= {1}


def test_two_stores_on_one_place_are_one(store: RunStore, place: Place) -> None:
    other = place.open()
    token = begun(store)
    other.append(RUN, [stage()], AT, token)
    store.append(RUN, [stage()], AT, token)
    assert other.checked_events(RUN) == store.checked_events(RUN)
    with pytest.raises(Unavailable):
        other.acquire(RUN, new_token(), LATER)
    other.request(RUN, "cancel", AT)
    assert [control for _, control in store.controls(RUN, 0)] == ["cancel"]
    store.delete([RUN])
    assert other.count() == 0


def test_of_many_that_want_a_run_at_once_one_gets_it(store: RunStore, place: Place) -> None:
    store.create(summary(status="queued"), opening())
    stores = [store, place.open(), place.open()]
    start = threading.Barrier(6)

    def want(number: int) -> str | None:
        token = new_token()
        start.wait()
        try:
            stores[number % 3].acquire(RUN, token, LATER)
        except Unavailable:
            return None
        return token

    with ThreadPoolExecutor(6) as pool:
        holders = [token for token in pool.map(want, range(6)) if token]
    assert len(holders) == 1
    store.append(RUN, [stage()], AT, holders[0])


def test_what_was_stored_is_there_after_closing_and_opening(store: RunStore, place: Place) -> None:
    ended(store)
    events = store.checked_events(RUN)
    store.close()
    again = place.open()
    assert again.checked_events(RUN) == events
    assert again.summary(RUN).status == "done"
