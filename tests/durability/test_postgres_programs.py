"""Real programs on a real PostgreSQL: the same answers as on SQLite, servers that stand in for each other, restarts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from citewell.runs.store import open_runs
from citewell.wiring import SystemClock
from support.http_server import Event, RunningServer, read_events, running_server
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer
from support.postgres import PASSWORD, Postgres
from support.processes import wait_for

NOTES = {
    "Lamp.md": "---\ntags: [lamp]\n---\n# Lamp\nThe lamp was lit by Josiah Pell on 14 November 1859. See [[Oil]].\n",
    "Oil.md": "# Oil\nThe oil for the lamp came from Leith in casks.\n",
}
QUESTION = "Who lit the lamp?"
RUN_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")
# What differs from one run to the next on one and the same database.
VARYING = re.compile(r"seconds|elapsed|duration|_ms$|^bytes$|_bytes$")


@dataclass
class Program:
    """`citewell` in processes of its own, over one data folder and one database."""

    data: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "citewell", "--data-dir", str(self.data), *arguments]
        env = {**os.environ, **self.environment, **environment}
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.new_database()


def program(folder: Path, url: str = "") -> Program:
    notes = folder.parent / "notes"
    if not notes.exists():
        notes.mkdir(parents=True)
        for name, text in NOTES.items():
            (notes / name).write_text(text, "utf-8")
    made = Program(folder, {"CITEWELL_DATABASE_URL": url} if url else {})
    made("add", str(notes), "--exclude", "none")
    return made


# What is refused


@pytest.mark.parametrize(
    ("address", "said", "fix"),
    [
        ("mysql://ann:hunter22x@db/x", "no address of PostgreSQL", "postgresql://USER:PASSWORD@HOST"),
        ("postgresql://ann:hunter22x@[half/x", "cannot be read as an address", "%40"),
        ("postgresql://ann:hunter22x@127.0.0.1:1/x", "cannot be reached", "Start the server"),
        ("postgresql://citewell:hunter22x@127.0.0.1:{port}/postgres", "or the password", "right user and password"),
        ("postgresql://citewell:{password}@127.0.0.1:{port}/nowhere", "does not exist", "createdb"),
    ],
)
def test_what_is_wrong_with_the_address_is_said_with_a_fix_and_never_the_password(
    tmp_path: Path, postgres: Postgres, address: str, said: str, fix: str
) -> None:
    url = address.format(port=postgres.port, password=PASSWORD)
    cw = program(tmp_path / "data")
    told = cw("research", QUESTION, code=4, CITEWELL_DATABASE_URL=url)
    assert said in told.stderr
    assert fix in told.stderr
    doctor = cw("doctor", "--json", code=1, CITEWELL_DATABASE_URL=url)
    (check,) = [one for one in json.loads(doctor.stdout)["checks"] if one["name"] == "runs"]
    assert (check["state"], said in check["detail"]) == ("error", True)
    for output in (told.stdout, told.stderr, doctor.stdout, doctor.stderr):
        assert "hunter22x" not in output
        assert PASSWORD not in output
    assert not (cw.data / "runs.db").exists()
    # What needs no runs goes on.
    assert "Josiah Pell" in cw("search", "lamp", CITEWELL_DATABASE_URL=url).stdout


def test_a_missing_extra_is_said_with_the_way_to_get_it(tmp_path: Path) -> None:
    blocked = (
        "import sys; sys.modules['psycopg'] = None; sys.argv = ['citewell', *sys.argv[1:]];"
        "from citewell.cli.main import main; main()"
    )
    command = [sys.executable, "-c", blocked, "--data-dir", str(tmp_path), "runs", "list"]
    env = {**os.environ, "CITEWELL_DATABASE_URL": "postgresql://ann@db/x"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stdout) == (4, "")
    assert "pip install 'citewell[postgres]'" in done.stderr


def test_a_search_by_words_does_not_import_what_speaks_to_postgresql(tmp_path: Path, url: str) -> None:
    cw = program(tmp_path / "data", url)
    watch = (
        "import sys; sys.argv = ['citewell', *sys.argv[1:]]\n"
        "from citewell.cli.main import run\n"
        "code = run(sys.argv[1:]); assert 'psycopg' not in sys.modules; sys.exit(code)"
    )
    command = [sys.executable, "-c", watch, "--data-dir", str(cw.data), "search", "lamp", "--mode", "lexical"]
    done = subprocess.run(
        command, check=False, env={**os.environ, **cw.environment}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


# The same on both


@pytest.mark.attack("D9")
@pytest.mark.slow
def test_one_scenario_gives_the_same_documents_on_both_databases(tmp_path: Path, url: str) -> None:
    told = [scenario(tmp_path / name, address) for name, address in (("sqlite", ""), ("postgres", url))]
    for (command, on_sqlite), (_, on_postgres) in zip(*told, strict=True):
        assert on_postgres == on_sqlite, command


def scenario(folder: Path, url: str) -> list[tuple[str, Any]]:
    """What a person does, and what is said to it, but for times, ids and places."""
    cw = program(folder / "data", url)
    told: list[tuple[str, Any]] = []
    runs: list[str] = []

    def do(*arguments: str, code: int = 0) -> Any:
        document = cw.json(*arguments, code=code)
        told.append((arguments[0], comparable(document, folder, runs)))
        return document

    first = do("research", QUESTION)["run_id"]
    second = do("research", "Where did the oil come from?")["run_id"]
    runs += [first, second]
    do("runs", "list")
    do("runs", "list", "--limit", "1")
    do("runs", "show", first, "--events")
    do("runs", "show", "last")
    do("runs", "show", "nowhere", code=3)
    do("runs", "replay", first)
    do("runs", "diff", first, second)
    do("runs", "resume", first, code=2)
    do("runs", "cancel", first, code=2)
    report = do("report", QUESTION)["run_id"]
    assert do("report", QUESTION)["run_id"] == report
    fresh = do("report", QUESTION, "--fresh")["run_id"]
    assert fresh != report
    do("report", "--list")
    do("report", "--show", report)
    do("report", "--show", fresh)
    do("report", "--show", first, code=3)
    do("report", "--show", "nowhere", code=3)
    do("runs", "show", report, "--events")
    do("runs", "replay", report)
    do("runs", "export", report, "--format", "json", "--output", str(folder / "report.json"))
    do("runs", "prune")
    do("remove", "note:notes/oil")
    do("report", "--show", report)
    do("runs", "show", second)
    do("remove", "note:notes/lamp", "--purge")
    do("runs", "list")
    do("report", "--list")
    return told


def comparable(document: Any, folder: Path, runs: Sequence[str]) -> Any:
    match document:
        case dict():
            return {
                key: type(one).__name__ if VARYING.search(key) else comparable(one, folder, runs)
                for key, one in document.items()
                if key != "exported"
            }
        case list():
            return [comparable(one, folder, runs) for one in document]
        case str():
            text = document.replace(str(folder), "FOLDER")
            text = RUN_ID.sub(lambda found: f"RUN{runs.index(found[0])}" if found[0] in runs else "RUN", text)
            text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "TIME", text)
            text = re.sub(r"\b\d+(\.\d+)? m?s\b", "SPAN", text)
            return re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
        case _:
            return document


# Servers


def gated(gate: threading.Event, text: str = "The lamp was lit by Josiah Pell on 14 November 1859 [1].") -> Any:
    """A model that answers once it may."""

    def reply(request: ModelRequest) -> Reply:
        gate.wait(120)
        return says(text)

    return reply


def environment(model: ScriptedModelServer, url: str) -> dict[str, str]:
    return {
        "CITEWELL_MODEL": "openai:test",
        "CITEWELL_MODEL_BASE_URL": model.base_url,
        "CITEWELL_DATABASE_URL": url,
        "CITEWELL_HEARTBEAT_SECONDS": "0.2",
    }


@contextmanager
def two_servers(
    folder: Path, url: str, gate: threading.Event
) -> Iterator[tuple[ScriptedModelServer, RunningServer, RunningServer]]:
    """Two servers with data folders of their own on one database, and the model they both ask."""
    one, other = (program(folder / name / "data").data for name in ("one", "other"))
    with (
        ScriptedModelServer(gated(gate)) as model,
        running_server(one, **environment(model, url)) as first,
        running_server(other, **environment(model, url)) as second,
    ):
        yield model, first, second


class Watching:
    """A stream that is read in a thread."""

    def __init__(self, server: RunningServer, run_id: str) -> None:
        self.events: list[Event] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(server, run_id), daemon=True)
        self._thread.start()

    def _read(self, server: RunningServer, run_id: str) -> None:
        with suppress(OSError), server.stream(f"/api/runs/{run_id}/events") as answer:
            for event in read_events(answer):
                if event.name != "heartbeat":
                    self.events.append(event)
        self._done.set()

    def whole(self, seconds: float = 60.0) -> list[Event]:
        assert self._done.wait(seconds), [event.name for event in self.events]
        return self.events


def check_stream(events: Sequence[Event], server: RunningServer, run_id: str) -> None:
    """A stream ends with the document of the run, and has each event once and in order."""
    assert events[-1].name == "done", events[-1]
    ids = [event.id for event in events if event.id is not None]
    assert ids == sorted(ids)
    again = Watching(server, run_id).whole()
    assert [(one.id, one.name) for one in events] == [(one.id, one.name) for one in again]


@pytest.mark.attack("D7")
@pytest.mark.slow
def test_postgresql_restarted_in_the_middle_of_a_run_is_got_over(tmp_path: Path, postgres: Postgres, url: str) -> None:
    gate = threading.Event()
    with two_servers(tmp_path, url, gate) as (model, one, other):
        run_id = one.start_run()
        assert model.wait_until_asked()
        streams = [Watching(server, run_id) for server in (one, other)]
        wait_for(lambda: all(len(stream.events) > 5 for stream in streams))
        postgres.stop()
        try:
            gate.set()  # the model answers while nothing can be recorded
        finally:
            postgres.start()
        back = time.monotonic()
        told = [stream.whole(30) for stream in streams]
        assert time.monotonic() - back < 10
        for server, events in zip((one, other), told, strict=True):
            check_stream(events, server, run_id)
        assert len(model.requests) == 1
        assert other.post(f"/api/runs/{run_id}/replay", {}).json["identical"]
        check_log(url, run_id)


def check_log(url: str, run_id: str) -> None:
    store = open_runs(url, SystemClock())
    try:
        events = store.checked_events(run_id)
    finally:
        store.close()
    observed = [json.dumps(event.body) for event in events if event.kind == "observation_recorded"]
    assert len(observed) == len(set(observed))
    assert [event.kind for event in events].count("run_finished") == 1


@pytest.mark.attack("D8")
@pytest.mark.slow
def test_two_servers_on_one_database_stream_each_others_runs(tmp_path: Path, url: str) -> None:
    gate = threading.Event()
    with two_servers(tmp_path, url, gate) as (_, one, other):
        mine, theirs = one.start_run(), other.start_run("Where did the oil for the lamp come from?")
        streams = [Watching(one, theirs), Watching(other, mine)]
        wait_for(lambda: all(len(stream.events) > 5 for stream in streams))
        assert {run["status"] for run in one.get("/api/runs").json["runs"]} == {"running"}
        gate.set()
        check_stream(streams[0].whole(), other, theirs)
        check_stream(streams[1].whole(), one, mine)
        shown = [server.get(f"/api/runs/{mine}").json["result"]["answer"] for server in (one, other)]
        assert shown[0] == shown[1]


@pytest.mark.attack("C4")
@pytest.mark.slow
def test_the_run_of_a_killed_server_is_taken_over_by_the_other(tmp_path: Path, url: str) -> None:
    gate = threading.Event()
    with two_servers(tmp_path, url, gate) as (model, one, other):
        left, kept = one.start_run(), other.start_run("Where did the oil for the lamp come from?")
        assert model.wait_until_asked()
        stream = Watching(other, left)
        wait_for(lambda: len(stream.events) > 5)
        one.stop(signal.SIGKILL)
        gate.set()
        # A lease lasts 20 seconds, and is looked at every few.
        check_stream(stream.whole(60), other, left)
        assert "Josiah Pell" in other.finished(left)["answer"]
        assert other.finished(kept)["status"] == "done"
        for run_id in (left, kept):
            check_log(url, run_id)
            assert other.post(f"/api/runs/{run_id}/replay", {}).json["identical"]


# Moving, and keeping safe


@pytest.mark.slow
def test_a_run_replays_byte_for_byte_wherever_it_is_moved(tmp_path: Path, url: str, postgres: Postgres) -> None:
    shared = program(tmp_path / "data", url)
    run_id = shared.json("research", QUESTION)["run_id"]
    wanted = shared.json("runs", "replay", run_id)
    assert wanted["identical"]
    archive = tmp_path / "run.zip"
    shared("runs", "export", run_id, "--output", str(archive))
    report = shared.json("migrate", "--to", "sqlite")
    assert (report["moved"], report["already_there"], report["left"]) == (1, 0, [])
    assert PASSWORD not in json.dumps(report)
    alone = Program(shared.data)
    assert alone.json("runs", "replay", run_id) == wanted
    assert alone.json("runs", "replay", str(archive)) == wanted
    again = postgres.new_database()
    assert Program(shared.data).json("migrate", "--to", again)["moved"] == 1
    back = Program(shared.data, {"CITEWELL_DATABASE_URL": again})
    assert back.json("runs", "replay", run_id) == wanted
    assert back.json("runs", "show", run_id, "--events") == shared.json("runs", "show", run_id, "--events")
    assert back.json("migrate", "--to", "postgres")["already_there"] == 1


@pytest.mark.slow
def test_a_run_of_another_machine_is_exported_to_the_same_bytes_here(tmp_path: Path, url: str) -> None:
    one, other = program(tmp_path / "one" / "data", url), program(tmp_path / "other" / "data", url)
    run_id = one.json("research", QUESTION)["run_id"]
    for cw in (one, other):
        cw("runs", "export", run_id, "--output", str(cw.data.parent / "run.zip"))
    assert (one.data.parent / "run.zip").read_bytes() == (other.data.parent / "run.zip").read_bytes()


@pytest.mark.slow
def test_a_move_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, url: str) -> None:
    alone = program(tmp_path / "data")
    run_id = alone.json("research", QUESTION)["run_id"]
    copies = 60
    copied = subprocess.run(
        [sys.executable, "-c", COPY, str(alone.data / "runs.db"), run_id, str(copies)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert copied.returncode == 0, copied.stderr
    store = open_runs(url, SystemClock())
    try:
        arrived = 0
        while arrived < copies + 1:
            command = [sys.executable, "-m", "citewell", "--data-dir", str(alone.data), "migrate", "--to", url]
            moving = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wanted = min(arrived + 15, copies + 1)
            wait_for(lambda wanted=wanted, moving=moving: store.count() >= wanted or moving.poll() is not None)  # type: ignore[misc]
            moving.kill()
            moving.wait()
            arrived = store.count()
        shared = Program(alone.data, {"CITEWELL_DATABASE_URL": url})
        report = shared.json("migrate", "--to", "postgres")
        assert (report["moved"], report["already_there"], report["runs"]) == (0, copies + 1, copies + 1)
        assert report["left"] == []
        assert report["runs_in_target"] == copies + 1
        assert report["entries_verified"] == (copies + 1) * len(store.checked_events(run_id))
    finally:
        store.close()


# The run again under other ids, as if it had been asked so often.
COPY = """
import sys
from dataclasses import replace
from pathlib import Path
from citewell.wiring import SystemClock
from citewell.runs.events import Entry
from citewell.runs.events import chained
from citewell.runs.store import SqliteRuns

store = SqliteRuns(Path(sys.argv[1]), SystemClock())
summary, events = store.summary(sys.argv[2]), store.checked_events(sys.argv[2])
for number in range(int(sys.argv[3])):
    run_id = f"20250101T000000-{number:08x}"
    copied = []
    for event in events:
        copied += chained(run_id, copied[-1] if copied else None, [Entry(event.kind, event.body)], event.at)
    store.put_record(replace(summary, run_id=run_id), copied)
store.close()
"""


@pytest.mark.slow
def test_what_cannot_be_moved_is_named_and_the_rest_is_moved(tmp_path: Path, url: str) -> None:
    alone = program(tmp_path / "data")
    runs = [alone.json("research", question)["run_id"] for question in (QUESTION, "Where did the oil come from?")]
    damage = (
        "import sys; from pathlib import Path; from citewell.store.sqlite import connect\n"
        "c = connect(Path(sys.argv[1])); name = 'events_are_append_only'\n"
        "((made,),) = c.execute('SELECT sql FROM sqlite_schema WHERE name = ?', (name,)).fetchall()\n"
        "c.execute(f'DROP TRIGGER {name}')\n"
        "c.execute(\"UPDATE events SET at = 'never' WHERE run_id = ? AND sequence = 3\", (sys.argv[2],))\n"
        "c.execute(made); c.close()"
    )
    subprocess.run([sys.executable, "-c", damage, str(alone.data / "runs.db"), runs[0]], check=True, timeout=60)
    report = alone.json("migrate", "--to", url, code=1)
    assert (report["moved"], report["runs_in_target"]) == (1, 1)
    ((left),) = report["left"]
    assert (left["run_id"], left["why"]) == (runs[0], "unreadable")
    told = alone("migrate", "--to", url, code=1)
    assert f"Not moved: {runs[0]}" in told.stderr
    assert PASSWORD not in told.stdout + told.stderr


@pytest.mark.slow
def test_a_backup_holds_the_runs_of_postgresql_and_those_of_before(tmp_path: Path, url: str) -> None:
    alone = program(tmp_path / "data")
    before = alone.json("research", QUESTION)["run_id"]
    shared = Program(alone.data, {"CITEWELL_DATABASE_URL": url})
    since = shared.json("research", "Where did the oil come from?")["run_id"]
    archive = tmp_path / "all.zip"
    assert shared.json("backup", str(archive))["runs"] == 2
    restored = Program(tmp_path / "restored")
    restored.json("restore", str(archive))
    assert {run["run_id"] for run in restored.json("runs", "list")["runs"]} == {before, since}
    for run_id in (before, since):
        assert restored.json("runs", "replay", run_id)["identical"]


def test_doctor_says_what_is_where_and_that_runs_of_before_are_not_shown(tmp_path: Path, url: str) -> None:
    alone = program(tmp_path / "data")
    alone.json("research", QUESTION)
    shared = Program(alone.data, {"CITEWELL_DATABASE_URL": url})
    report = shared.json("doctor")
    checks = {check["name"]: check for check in report["checks"]}
    assert "0 recorded in PostgreSQL at 127.0.0.1" in checks["runs"]["detail"]
    assert "documents in corpus.db" in checks["runs"]["detail"]
    assert checks["runs of before"]["fix"].endswith("citewell migrate --to postgres")
    setting = next(one for one in report["settings"] if one["name"] == "CITEWELL_DATABASE_URL")
    assert (setting["value"], setting["used"]) == ("set", True)
    assert PASSWORD not in json.dumps(report)


@pytest.mark.attack("X1")
@pytest.mark.slow
def test_the_password_is_in_no_output_no_trace_and_no_record(tmp_path: Path, url: str, postgres: Postgres) -> None:
    cw = program(tmp_path / "data", url)
    said = cw("research", f"Is {PASSWORD} who lit the lamp?", "--json")
    shown = cw("runs", "show", "last", "--events", "--json")
    doctor = cw("doctor")
    cw("backup", str(tmp_path / "all.zip"))
    for done in (said, shown, doctor):
        assert PASSWORD not in done.stdout + done.stderr
    assert PASSWORD.encode() not in postgres.bytes(url)
    for path in cw.data.rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
