"""What PostgreSQL brings beyond the conformance suite: a server that goes away, words that get lost, one schema."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from citewell import RunEvent, RunSummary, Unavailable
from citewell.errors import StoreUnusable
from citewell.runs.events import Entry, chained
from citewell.runs.execute import RunPoller
from citewell.runs.store import POSTGRES_SCRIPTS, PostgresRuns, lease_from, moved, new_token
from citewell.store.postgres import PostgresSessions
from citewell.wiring import SystemClock
from support.postgres import PASSWORD, Postgres
from support.processes import wait_for

AT = "2026-01-01T00:00:00.000Z"
RUN = "20260101T000000-00000001"


def open_store(url: str, patience: float = 30.0) -> PostgresRuns:
    return PostgresRuns(PostgresSessions(url, POSTGRES_SCRIPTS, patience), SystemClock())


def summary(run_id: str = RUN) -> RunSummary:
    return RunSummary(run_id, "running", None, "local", "cli", "Who lit the lamp?", AT, AT, "0.2.0")


def opening() -> Entry:
    request = {"question": "Who lit the lamp?", "profile": "local", "surface": "cli"}
    return Entry("run_started", {"schema": "run_log.v2", "tool_version": "0.2.0", "request": request})


def begun(store: PostgresRuns, run_id: str = RUN) -> str:
    token = new_token()
    store.create(summary(run_id), opening(), token, lease_from(SystemClock().now()))
    return token


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.new_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresRuns]:
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def restartable(postgres: Postgres) -> Iterator[Postgres]:
    """The server, running again at the end whatever the test did."""
    yield postgres
    with suppress(AssertionError):
        postgres.start()


# A server that goes away


@pytest.mark.attack("D7")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_work_goes_on_after_a_restart_and_nothing_is_recorded_twice(
    restartable: Postgres, store: PostgresRuns, mode: str
) -> None:
    token, stop = begun(store), threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            store.append(RUN, [Entry("warning_raised", {"code": str(written)})], AT, token)
            written += 1

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            wait_for(lambda: written > 20)
            restartable.stop(mode)
            before = written
            restartable.start()
            back = time.monotonic()
            wait_for(lambda: written > before + 20)
            assert time.monotonic() - back < 10
        finally:
            stop.set()
        writing.result(30)
    codes = [event.body["code"] for event in store.checked_events(RUN)[1:]]
    assert codes == [str(number) for number in range(written)]


@pytest.mark.attack("D7")
def test_a_server_that_stays_away_is_not_waited_for_without_end(restartable: Postgres, url: str) -> None:
    store = open_store(url, patience=1.0)
    try:
        token = begun(store)
        restartable.stop()
        started = time.monotonic()
        with pytest.raises(Unavailable, match="cannot be reached") as caught:
            store.append(RUN, [Entry("warning_raised", {})], AT, token)
        first = time.monotonic() - started
        assert first < 8
        assert "Start the server" in caught.value.fix
        # Whoever comes next in the same outage does not wait as long again.
        with pytest.raises(Unavailable):
            store.count()
        restartable.start()
        wait_for(lambda: store.count() == 1)
        store.append(RUN, [Entry("warning_raised", {})], AT, token)
        assert len(store.checked_events(RUN)) == 2
    finally:
        store.close()


@pytest.mark.attack("D7")
def test_watchers_are_told_of_other_processes_writes_before_and_after_a_restart(
    restartable: Postgres, url: str, store: PostgresRuns
) -> None:
    writer = open_store(url)
    token = begun(writer)
    # So slow that nothing is seen in time unless it is told.
    poller = RunPoller(store.marks, poll_seconds=120.0, listen=store.on_change)
    seen: list[int] = []
    leave = poller.watch(RUN, lambda mark: seen.append(mark.last_sequence if mark else -1))
    try:
        wait_for(lambda: seen == [0])
        writer.append(RUN, [Entry("warning_raised", {})], AT, token)
        wait_for(lambda: seen[-1] == 1, seconds=5)
        restartable.stop()
        restartable.start()
        writer.append(RUN, [Entry("warning_raised", {})], AT, token)
        wait_for(lambda: seen[-1] == 2, seconds=10)
        writer.renew([token], lease_from(SystemClock().now()))
        writer.delete([RUN])
        wait_for(lambda: seen[-1] == -1, seconds=5)
        assert seen == [*sorted(seen[:-1]), -1]
    finally:
        leave()
        poller.close()
        writer.close()


# The word of a commit that gets lost


class LosingProxy:
    """Passes everything on, but ends a connection when the next COMMIT has been done, before anybody is told so."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.lose_next = threading.Event()
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        committing = threading.Event()
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            back = threading.Thread(target=self._answer, args=(server, client, committing), daemon=True)
            back.start()
            with suppress(OSError):
                while data := client.recv(65_536):
                    if b"COMMIT" in data and self.lose_next.is_set():
                        self.lose_next.clear()
                        committing.set()
                    server.sendall(data)

    def _answer(self, server: socket.socket, client: socket.socket, committing: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if committing.is_set():
                    self.lost += 1
                    break
                client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def test_what_was_committed_is_not_done_again_when_the_word_of_it_is_lost(postgres: Postgres, url: str) -> None:
    open_store(url).close()
    proxy = LosingProxy(postgres.port)
    store = open_store(f"{url.replace(str(postgres.port), str(proxy.port))}?sslmode=disable")
    try:
        assert store.count() == 0
        token = new_token()

        def losing(work: Callable[[], object]) -> None:
            before = proxy.lost
            proxy.lose_next.set()
            work()
            assert proxy.lost == before + 1

        losing(lambda: store.create(summary(), opening(), token, lease_from(SystemClock().now())))
        losing(lambda: store.append(RUN, [Entry("warning_raised", {"code": "a"})], AT, token))
        losing(lambda: store.request(RUN, "finish", AT))
        losing(lambda: store.acquire(RUN, token, lease_from(SystemClock().now())))
        losing(lambda: store.put_citations(RUN, [("note:x", "hash")]))
        store.append(RUN, [Entry("warning_raised", {"code": "b"})], AT, token)
        events = store.checked_events(RUN)
        assert [event.body.get("code") for event in events] == [None, "a", "b"]
        assert [control for _, control in store.controls(RUN, 0)] == ["finish"]
        other = "20260101T000000-00000002"
        losing(lambda: store.put_record(summary(other), as_another(store, other)))
        assert store.count() == 2
    finally:
        store.close()
        proxy.close()


def as_another(store: PostgresRuns, run_id: str) -> list[RunEvent]:
    """The log of the run as that of another one."""
    return chained(run_id, None, [Entry(event.kind, event.body) for event in store.events(RUN)], AT)


# Many at once


@pytest.mark.attack("D2")
def test_eight_writing_processes_lose_nothing_and_never_see_a_lock(url: str, store: PostgresRuns) -> None:
    program = (
        "import sys; from recording.test_postgres_store import *\n"
        "store = open_store(sys.argv[1]); run = sys.argv[2]; token = begun(store, run)\n"
        "for n in range(40): store.append(run, [Entry('warning_raised', {'code': str(n)})] * 2, AT, token)\n"
        "store.close()"
    )
    runs = [f"20260101T000000-0000000{number}" for number in range(8)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, url, run_id],
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
        )
        for run_id in runs
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert store.count() == 8
    assert {len(store.checked_events(run_id)) for run_id in runs} == {81}


def test_many_that_open_an_empty_database_at_once_make_one_schema(postgres: Postgres) -> None:
    url = postgres.new_database()
    with ThreadPoolExecutor(6) as pool:
        stores = [*pool.map(open_store, [url] * 6)]
    assert [store.count() for store in stores] == [0] * 6
    for store in stores:
        store.close()


# Leases


def test_machines_whose_clocks_differ_agree_on_when_a_lease_has_run_out(url: str, store: PostgresRuns) -> None:
    """The one that is an hour behind takes a lease, and the other one does not think it has long run out."""

    class SlowClock(SystemClock):
        def now(self) -> str:
            return moved(super().now(), -3600.0)

    behind = PostgresRuns(PostgresSessions(url, POSTGRES_SCRIPTS, wall=lambda: time.time() - 3600.0), SlowClock())
    try:
        token = new_token()
        behind.create(summary(), opening(), token, lease_from(SlowClock().now()))
        assert (store.summary(RUN).status, store.claimable(9)) == ("running", [])
        assert behind.summary(RUN).status == "running"
        behind.renew([token], moved(SlowClock().now(), -1.0))
        assert (store.summary(RUN).status, behind.summary(RUN).status) == ("interrupted", "interrupted")
    finally:
        behind.close()


# What is refused


@pytest.mark.attack("D5")
def test_a_newer_schema_is_refused_and_left_as_it_is(postgres: Postgres, url: str) -> None:
    open_store(url).close()
    postgres.sql("UPDATE citewell.schema_version SET version = 99", url)
    with pytest.raises(StoreUnusable, match=r"newer Citewell \(schema 99"):
        open_store(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version FROM citewell.schema_version").fetchall() == [(99,)]


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Postgres) -> None:
    with pytest.raises(StoreUnusable, match="SQL_ASCII"):
        open_store(postgres.new_database("ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"))


def test_a_user_who_may_not_make_a_schema_is_told_how_to_be_let(postgres: Postgres, url: str) -> None:
    postgres.sql("DROP ROLE IF EXISTS guest")
    postgres.sql("CREATE ROLE guest LOGIN PASSWORD 'guest-password'")
    with pytest.raises(Unavailable) as caught:
        open_store(url.replace(f"citewell:{PASSWORD}", "guest:guest-password"))
    assert "GRANT CREATE ON DATABASE" in caught.value.fix


def test_tables_of_others_in_the_same_database_are_left_alone(postgres: Postgres) -> None:
    url = postgres.new_database()
    postgres.sql("CREATE TABLE runs (mine text); INSERT INTO runs VALUES ('kept')", url)
    store = open_store(url)
    begun(store)
    store.delete([RUN])
    store.shrink()
    store.close()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT mine FROM public.runs").fetchall() == [("kept",)]


def test_the_log_is_append_only_for_others_too(postgres: Postgres, url: str, store: PostgresRuns) -> None:
    begun(store)
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        postgres.sql("UPDATE citewell.events SET body = '{}'", url)


def test_the_statements_of_both_databases_are_the_same() -> None:
    """A question mark is a value and nothing else: statements are handed to both databases with it."""
    import citewell.runs.store as store

    with open(str(store.__file__), encoding="utf-8") as file:
        assert not re.findall(r"%[sd(]|LIKE|\?\?", file.read())
