"""The command line as a script sees it: one JSON document that fits its schema, exit codes, clear errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citewell import json_schema
from citewell.runs.store import SqliteRuns
from citewell.schemas import SCHEMA_NAMES
from citewell.store.sqlite import connect
from citewell.wiring import SystemClock
from readers.pdf_bytes import pdf_bytes

pytestmark = pytest.mark.slow

NOTES = {
    "Lamp.md": "---\ntags: [lighthouse]\n---\n# Lamp\nThe lamp was lit in 1859. See [[Oil]] and [[Nowhere]].",
    "Oil.md": "# Oil\nThe oil came from Leith.",
    "broken.pdf": "%PDF-1.4 broken",
    "binary.md": "\x00\x01\x02\x03" * 200,
}


class Program:
    """The real program in a process of its own, over a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "citewell", "--data-dir", str(self.data), *arguments]
        env = {**os.environ, "COLUMNS": "100", **environment}
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, timeout=120)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The one JSON document a command prints, checked against the schema of its name."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done.stderr
        document = json.loads(done.stdout)
        name = "-".join(arguments[:2]) if arguments[0] == "runs" else arguments[0]
        name = "research_pack.v1" if "--retrieval-only" in arguments else name
        schema = "error" if "error" in document else name
        jsonschema.validate(document, closed(json_schema(schema)))
        return document


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with nothing allowed beyond what it names, so that an undocumented field fails the test."""
    for definition in schema["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    return schema


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("cli")
    for name, text in NOTES.items():
        (folder / "vault").mkdir(exist_ok=True)
        (folder / "vault" / name).write_text(text, "utf-8")
    made = Program(folder)
    report = made.json("add", str(folder / "vault"))
    assert (report["indexed"], report["failed"], report["documents"]) == (2, 2, 2)
    return made


def test_summaries_are_made_once_and_shown_as_derived(program: Program) -> None:
    assert (program.json("summarize", "--all")["documents"], program.json("summarize", "--all")["documents"]) == (2, 0)
    (shown,) = program.json("get", "note:vault/lamp", "--content-mode", "summary")["summaries"]
    assert (shown["role"], shown["summary_kind"]) == ("item_summary", "extractive")
    printed = program.run("get", "note:vault/lamp", "--content-mode", "summary").stdout
    assert "The lamp was lit in 1859." in printed
    assert "no quotation" in printed
    assert "--all" in program.json("summarize", code=2)["error"]["fix"]
    assert program.json("summarize", "note:vault/none", code=3)["error"]["code"] == "not_found"


def test_every_command_prints_one_document_that_fits_its_schema(program: Program) -> None:
    assert program.json("status")["documents"] == 2
    assert program.json("collections")["collections"][0]["name"] == "vault"
    assert program.json("stats")["documents"] == 2
    assert program.json("doctor")["version"]
    assert [row["source_key"] for row in program.json("search", "lamp")["results"]] == ["note:vault/lamp"]
    assert program.json("related", "note:vault/lamp")["unresolved"] == ["Nowhere"]
    assert program.json("get", "note:vault/lamp", "--content-mode", "full")["text"] == NOTES["Lamp.md"]
    assert len(program.json("get", "note:vault/lamp", "note:vault/oil")["documents"]) == 2
    topic = program.json("topics", "lamp")
    assert (topic["nodes"][0]["id"], topic["topic"]) == ("note:vault/lamp", "lamp")
    leith = program.json("entities", "Leith")
    assert (leith["status"], [one["source_key"] for one in leith["documents"]]) == ("found", ["note:vault/oil"])
    briefed = program.json("research", "--retrieval-only", "lamp oil", "--topic", "lamp")
    assert (briefed["mode"], briefed["topic_brief"]["topic"]) == ("topic_brief_and_evidence", "lamp")
    pack = program.json("research", "--retrieval-only", "when was the lamp lit?")
    assert (pack["schema_version"], "topic_brief" in pack) == ("research_pack.v1", False)


def test_of_several_keys_an_unknown_one_is_said_in_its_place(program: Program) -> None:
    known, unknown = program.json("get", "note:vault/lamp", "note:vault/lam")["documents"]
    assert known["source_key"] == "note:vault/lamp"
    error = {
        "code": "not_found",
        "message": "No document has the key or path note:vault/lam.",
        "fix": "Did you mean note:vault/lamp?",
    }
    assert unknown == {"lookup": "note:vault/lam", "error": error}
    done = program.run("get", "note:vault/lamp", "note:vault/lam")
    assert (done.returncode, "1859" in done.stdout, error["fix"] in done.stderr) == (0, True, True)


def test_a_recorded_run_is_shown_replayed_compared_and_exported(program: Program, tmp_path: Path) -> None:
    result = program.json("research", "When was the lamp lit?")
    run = result["run_id"]
    assert "topic_brief" not in result["pack"]
    assert (result["answer_status"], result["model"], "1859" in result["answer"]) == ("ok", "extractive", True)
    assert program.json("runs", "list")["runs"][0]["run_id"] == run
    assert program.json("runs", "show", run)["result"]["answer"] == result["answer"]
    assert program.json("runs", "show", "last") == program.json("runs", "show", run[:-2])
    assert program.json("runs", "show", run, "--events")["events"][0]["kind"] == "run_started"
    assert program.json("runs", "replay", run)["identical"] is True
    assert program.json("runs", "diff", run, run)["same"] is True
    exported = program.json("runs", "export", run, "--output", str(tmp_path / "run.zip"))
    assert program.json("runs", "replay", exported["path"])["identical"] is True
    assert program.json("runs", "prune")["kept"] >= 1
    assert program.json("runs", "cancel", run, code=2)["error"]["code"] == "conflict"


def test_a_backup_is_written_once_and_restored_elsewhere(program: Program, tmp_path: Path) -> None:
    target = str(tmp_path / "all.zip")
    assert program.json("backup", target)["documents"] == 2
    assert program.json("backup", target, code=2)["error"]["code"] == "bad_input"
    assert program.json("restore", target, code=2)["error"]["fix"].startswith("Choose another folder")
    assert program.json("restore", str(tmp_path / "none.zip"), code=2)["error"]["code"] == "bad_input"
    other = Program(tmp_path / "other")
    assert other.json("restore", str(tmp_path / "none.zip"), code=3)["error"]["code"] == "not_found"
    assert other.json("backup", target, "--force", code=3)["error"]["message"].startswith("There is nothing")
    restored = other.json("restore", target)
    assert (restored["documents"], restored["kept_aside"], restored["data_dir"]) == (2, None, str(other.data))
    assert other.json("search", "lamp")["results"] == program.json("search", "lamp")["results"]
    done = other.run("restore", target, "--force")
    assert (done.returncode, "What was there before is in" in done.stdout) == (0, True)


def test_a_refusal_is_no_failure(program: Program) -> None:
    result = program.json("research", "What does zirconium cost in Antwerp?")
    assert (result["answer_status"], result["citations"]) == ("no_evidence", [])


def test_a_run_without_time_says_so(program: Program) -> None:
    done = program.run("research", "Who lit the lamp?", "--timeout", "0.001")
    assert done.returncode == 1
    assert "--timeout" in done.stdout


def test_ctrl_c_interrupts_a_run_at_once_and_it_can_be_resumed(program: Program) -> None:
    """The run is held at its last step by a lock on the corpus, so that it is surely under way when it is stopped."""
    command = [sys.executable, "-m", "citewell", "--data-dir", str(program.data), "research", "When was the lamp lit?"]
    command.append("--json")
    store = SqliteRuns(program.data / "runs.db", SystemClock())
    before = {run.run_id for run in store.latest(100).runs}
    corpus = connect(program.data / "corpus.db")
    corpus.execute("BEGIN IMMEDIATE")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        run_id = wait_for_stage(store, before, "persist_trace")
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=10)
        assert (process.returncode, f"citewell runs resume {run_id}" in said) == (130, True)
        assert json.loads(printed)["error"]["run_id"] == run_id
        assert time.monotonic() - started < 20  # it used to wait a minute for the lock
    finally:
        process.kill()
        corpus.execute("ROLLBACK")
        corpus.close()
    assert program.json("runs", "show", run_id)["summary"]["status"] == "interrupted"
    assert "1859" in program.json("runs", "resume", run_id)["answer"]
    assert program.json("runs", "replay", run_id)["identical"] is True
    store.close()


def test_a_killed_run_is_interrupted_and_resumes(program: Program) -> None:
    command = [sys.executable, "-m", "citewell", "--data-dir", str(program.data), "research", "When was the lamp lit?"]
    store = SqliteRuns(program.data / "runs.db", SystemClock())
    before = {run.run_id for run in store.latest(100).runs}
    corpus = connect(program.data / "corpus.db")
    corpus.execute("BEGIN IMMEDIATE")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        run_id = wait_for_stage(store, before, "persist_trace")
        assert program.json("runs", "resume", run_id, code=4)["error"]["message"].endswith("another process.")
    finally:
        process.kill()
        process.wait()
        corpus.execute("ROLLBACK")
        corpus.close()
    assert program.json("runs", "show", run_id)["summary"]["status"] == "interrupted"
    assert "1859" in program.json("runs", "resume", run_id)["answer"]
    store.close()


def test_a_run_held_up_elsewhere_can_be_cancelled_from_another_process(program: Program) -> None:
    command = [
        sys.executable,
        "-m",
        "citewell",
        "--data-dir",
        str(program.data),
        "research",
        "When was the lamp lit?",
        "--json",
    ]
    store = SqliteRuns(program.data / "runs.db", SystemClock())
    before = {run.run_id for run in store.latest(100).runs}
    corpus = connect(program.data / "corpus.db")
    corpus.execute("BEGIN IMMEDIATE")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        run_id = wait_for_stage(store, before, "persist_trace")
        started = time.monotonic()
        assert program.json("runs", "cancel", run_id)["detail"] == "asked"
        printed, _ = process.communicate(timeout=10)
        assert time.monotonic() - started < 20  # it used to wait a minute for the lock
    finally:
        process.kill()
        corpus.execute("ROLLBACK")
        corpus.close()
    assert (process.returncode, json.loads(printed)["stop_reason"]) == (130, "cancelled")
    store.close()


def wait_for_stage(store: SqliteRuns, known: set[str], stage: str) -> str:
    """The id of the new run, once it has entered a stage."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for run in store.latest(5).runs:
            if run.run_id not in known and any(
                event.kind == "stage_entered" and event.body["stage"] == stage for event in store.events(run.run_id)
            ):
                return run.run_id
    raise AssertionError(f"no run entered {stage}")


def test_status_gives_every_file_with_its_reason(program: Program) -> None:
    files = {file["path"]: file for file in program.json("status")["files"]}
    assert {path: file["status"] for path, file in files.items()} == {
        "Lamp.md": "indexed",
        "Oil.md": "indexed",
        "binary.md": "failed",
        "broken.pdf": "failed",
    }
    assert "binary data" in files["binary.md"]["reason"]
    assert "not a readable PDF" in files["broken.pdf"]["reason"]
    problems = program.json("status", "--problems")["files"]
    assert {file["path"] for file in problems} == {"binary.md", "broken.pdf"}


def test_what_is_cited_from_a_pdf_names_its_page(program: Program, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    pages = [
        ["Harbour Report", "Nothing of note happened in the harbour that year."],
        ["The breakwater of Ulsta was rebuilt by", "Marion Teller in 1931 with granite blocks."],
    ]
    (tmp_path / "papers" / "t.pdf").write_bytes(pdf_bytes(pages, info={"Title": "t.dvi"}))
    program.run("add", str(tmp_path / "papers"))
    answered = program.json("research", "Who rebuilt the breakwater of Ulsta?")
    (citation,) = answered["citations"]
    assert (citation["title"], citation["page"]) == ("Harbour Report", 2)
    assert citation["quote"] == "The breakwater of Ulsta was rebuilt by Marion Teller in 1931 with granite blocks."
    got = program.json("get", citation["source_key"], "--content-mode", "full")
    assert [section["page"] for section in got["sections"]] == [1, 2]
    assert got["text"][citation["span"]["start"] : citation["span"]["end"]] == citation["quote"]
    shown = program.run("runs", "show", answered["run_id"]).stdout
    assert "p. 2" in shown
    assert "p. 1–2" in program.run("get", citation["source_key"], "--content-mode", "full").stdout


def test_status_names_a_page_of_which_the_main_content_could_not_be_told(program: Program, tmp_path: Path) -> None:
    links = "".join(f'<li><a href="/c{n}">Chapter {n} of the tide tables</a></li>' for n in range(40))
    (tmp_path / "pages").mkdir()
    page = "<html><body>" + "<div>" * 300 + f"<ul>{links}</ul></body></html>"
    (tmp_path / "pages" / "tides.html").write_text(page, encoding="utf-8")
    program.run("add", str(tmp_path / "pages"))
    problems = program.json("status", "--problems")["files"]
    said = {file["path"]: file["reason"] for file in problems}
    assert said["tides.html"] == "main content could not be told apart: whole page kept"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["search", ""], 2, "question is empty"),
        (["search", "   "], 2, "question is empty"),
        (["search", "x" * 100_000], 2, "at most 8,000"),
        (["search", "lamp", "--limit", "0"], 2, "must be between"),
        (["search", "lamp", "--limit", "many"], 2, "--limit"),
        (["search", "lamp", "--since", "yesterday"], 2, "2024-05-31"),
        (["search", "lamp", "--since", "2024-13-45"], 2, "2024-05-31"),
        (["research", "lamp", "--timeout", "nan"], 2, "--timeout"),
        (["get", "note:vault/lamp", "--max-chars", "0"], 2, "must be between"),
        (["runs", "list", "--limit", "0"], 2, "--limit"),
        (["search", "lamp", "--source-type", "scroll"], 2, "--source-type"),
        (["search", "lamp", "--mode", "semantic"], 4, "semantic lane"),
        (["get", "note:vault/lam"], 3, "Did you mean note:vault/lamp"),
        (["get", "note:vault/lamp@" + "0" * 64], 3, "never had a text"),
        (["get", "note:none", "note:vault/lam"], 3, "None of these has a document: note:none, note:vault/lam."),
        (["related", "note:none"], 3, "No document"),
        (["remove", "note:none"], 3, "No document"),
        (["add", "/nowhere/at/all"], 3, "no file or folder"),
        (["add", ""], 2, "path is empty"),
        (["research", ""], 2, "question is empty"),
        (["research", "x" * 100_000], 2, "at most 8,000"),
        (["research", "lamp", "--timeout", "0"], 2, "--timeout"),
        (["research", "lamp", "--profile", "psychic"], 2, "--profile"),
        (["runs", "show", "20260101T000000-00000000"], 3, "no run"),
        (["runs", "replay", "nowhere/at/all.zip"], 3, "no run"),
        (["runs", "resume", "nonsense"], 3, "no run"),
        (["research", "--retrieval-only", "lamp", "--max-chars-per-doc", "1"], 2, "must be between"),
        (["schema", "nothing"], 3, "no schema"),
        (["frobnicate"], 2, "No such command"),
        (["ask", "anything"], 2, "No such command"),
    ],
)
def test_bad_input_gets_a_clear_message_and_its_exit_code(
    program: Program, arguments: list[str], code: int, says: str
) -> None:
    done = program.run(*arguments)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    document = program.json(*arguments, code=code)
    assert document["error"]["message"]


@pytest.mark.parametrize(
    "query", ['" OR NEAR( *', "AND", "lamp NOT oil", "title:lamp", "(((", "^lamp", "* *", "lamp*", "-"]
)
def test_query_syntax_is_only_text(program: Program, query: str) -> None:
    done = program.run("search", "--json", "--", query)
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout)["results"], list)


def test_output_is_plain_when_piped_and_survives_a_poor_locale(program: Program) -> None:
    done = program.run("search", "lamp", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "note:vault/lamp" in done.stdout


def test_escape_sequences_in_a_note_never_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "evil.md").write_text("harmless \x1b]0;owned\x07 lamp \u202e gnp", "utf-8")
    program = Program(tmp_path)
    program.run("add", str(tmp_path / "v"))
    done = program.run("search", "lamp")
    assert "harmless" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_output_that_cannot_be_written_is_said_plainly(program: Program) -> None:
    command = f"{sys.executable} -m citewell --data-dir {program.data} status --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, "could not be written" in done.stderr) == (1, True)
    assert "Traceback" not in done.stderr


def test_an_excerpt_shows_the_word_that_matched(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    filler = "Plain words about nothing in particular go here. " * 12
    (tmp_path / "v" / "long.md").write_text(f"{filler}The widget is under the stairs. {filler}", "utf-8")
    program = Program(tmp_path)
    program.run("add", str(tmp_path / "v"))
    assert "widget" in program.run("search", "widget").stdout


def test_a_reader_that_goes_away_is_no_error(program: Program) -> None:
    command = f"{sys.executable} -m citewell --data-dir {program.data} status | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_remove_and_demo_print_fits_their_schemas_too(tmp_path: Path) -> None:
    program = Program(tmp_path)
    report = program.json("demo")
    assert [answer["answer_status"] for answer in report["answers"]] == ["ok", "ok", "no_evidence"]
    key = report["answers"][0]["citations"][0]["source_key"]
    assert program.json("remove", key)["cited_by_runs"] == [report["answers"][0]["run_id"]]


def test_the_demo_needs_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    done = Program(tmp_path).run("demo", HOME=str(tmp_path / "home"), XDG_DATA_HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    assert "14 November 1859" in done.stdout
    assert "Nothing you saved answers this directly" in done.stdout
    assert "citewell add" in done.stdout
    assert "citewell serve" in done.stdout
    assert not (tmp_path / "home").exists()


def test_settings_come_from_the_environment_or_the_file_and_mistakes_are_named(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.data.mkdir()
    (program.data / "citewell.toml").write_text("trace_keep = 7\n", "utf-8")
    settings = {entry["name"]: entry for entry in program.json("doctor")["settings"]}
    assert (settings["CITEWELL_TRACE_KEEP"]["value"], settings["CITEWELL_TRACE_KEEP"]["source"]) == ("7", "file")
    bad = program.run("doctor", CITEWELL_EMBEDDINGS="maybe")
    assert (bad.returncode, "one of off, shadow, on" in bad.stderr) == (2, True)
    secret = program.run("doctor", "--json", CITEWELL_MODEL_API_KEY="hunter2-canary")
    assert "hunter2-canary" not in secret.stdout + secret.stderr
    (program.data / "citewell.toml").write_text("trace_keeep = 7\n", "utf-8")
    assert "trace_keeep" in program.run("doctor").stderr


def test_published_schemas_are_the_ones_in_force() -> None:
    """The files in docs/schemas are what other programs validate against."""
    folder = Path(__file__).parents[2] / "docs" / "schemas"
    published = {path.name.removesuffix(".json"): json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    assert published == {name: json.loads(json.dumps(json_schema(name))) for name in SCHEMA_NAMES}


def test_topics_and_entities_read_well_and_say_what_to_do(program: Program) -> None:
    shown = program.run("topics", "lamp")
    assert (shown.returncode, "Derived from" in shown.stdout, "Connections" in shown.stdout) == (0, True, True)
    empty = program.run("topics", "zirconium")
    assert (empty.returncode, "Nothing in the corpus" in empty.stderr) == (0, True)
    found = program.run("entities", "leith")
    assert (found.returncode, "1 mention, first at" in found.stdout) == (0, True)
    assert program.json("entities", "Lieth", code=3)["error"]["code"] == "not_found"
    assert program.json("topics", "lamp", "--limit", "99", code=2)["error"]["code"] == "bad_input"
    assert program.run("research", "--retrieval-only", "What do I know about the lamp?").stdout.count("Topic:") == 1
    without = program.json("research", "--retrieval-only", "What do I know about the lamp?", "--no-topic-brief")
    assert (without["mode"], "topic_brief" in without) == ("evidence_only", False)


def test_paths_and_domains_are_left_out_and_a_row_says_why_in_words(program: Program) -> None:
    assert program.json("search", "lamp", "--not-in", "Lamp.md")["results"] == []
    pack = program.json("research", "--retrieval-only", "lamp", "--not-in", "Lamp.md", "--not-from", "a.example")
    others = program.json("stats")["documents"] - 1
    assert (pack["evidence"], pack["coverage"]["eligible_documents"]) == ([], others)
    assert program.json("search", "lamp", "--not-in", "/", code=2)["error"]["fix"]
    assert program.json("search", "", code=2)["error"]["fix"]
    assert "why: found by lamp" in program.run("search", "lamp", "--explain").stdout
