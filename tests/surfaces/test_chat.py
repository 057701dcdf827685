"""`citewell chat`: on a real terminal, and through a pipe."""

from __future__ import annotations

import doctest
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citewell import Citewell, json_schema
from citewell.cli import chat
from runner.scripted_runs import mark
from support.model_script import ModelRequest, Reply, says, stalls
from support.model_server import ScriptedModelServer
from support.terminal import CTRL_C, CTRL_D, Terminal, on_terminal
from surfaces.test_cli import Program, closed

pytestmark = pytest.mark.slow

LONG = "\n".join(f"Line {number} of the log of the station." for number in range(1, 30))
NOTES = {
    "Lamp.md": f"# Lamp\n{LONG}\n\nThe lamp was lit by Josiah Pell on 14 November 1859. See [[Oil]].\n\n{LONG}\n",
    "Oil.md": "# Oil\nThe oil for the lamp came from Leith in casks.\n",
    "Light.md": "# Orrin Head Light\nThe Orrin Head Light was kept by Magnus Tulloch.\n",
}
LIT = "The lamp was lit by Josiah Pell on 14 November 1859."
READY = r"\n> $"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).write_text(text, "utf-8")
    made = Program(tmp_path)
    with Citewell(made.data) as cw:
        cw.add(tmp_path / "notes")
    return made


def command(program: Program, *options: str) -> list[str]:
    return [sys.executable, "-m", "citewell", "--data-dir", str(program.data), "chat", *options]


def piped(program: Program, lines: str, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(program, *options), input=lines, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def document(program: Program, lines: str, *options: str, code: int = 0) -> Any:
    found = json.loads(piped(program, lines, "--json", *options, code=code).stdout)
    jsonschema.validate(found, closed(json_schema("chat")))
    return found


def stored(program: Program) -> list[Any]:
    return [json.loads(path.read_text()) for path in sorted((program.data / "chat-transcripts").glob("*.json"))]


def test_each_line_of_a_pipe_is_a_question_and_the_next_one_leans_on_it(program: Program) -> None:
    said = piped(program, "Who kept the Orrin Head Light?\n\nWho lit the lamp?\n").stdout
    assert said.index("> Who kept") < said.index("Magnus Tulloch") < said.index("> Who lit") < said.index(LIT)
    with Citewell(program.data) as cw:
        follow_up, first = (cw.runs.show(run.run_id, with_events=True) for run in cw.runs.list(2).runs)
    assert follow_up.events[0].body["request"]["conversation"]["history"] == [
        {"id": "q1", "question": "Who kept the Orrin Head Light?"}
    ]
    assert first.events[0].body["request"]["conversation"]["history"] == []


def test_json_is_one_document_of_every_question_and_its_result(program: Program) -> None:
    found = document(program, "Who lit the lamp?\n/sources\nWhat colour is the zeppelin?\n")
    assert [turn["answer_status"] for turn in found["turns"]] == ["ok", "no_evidence"]
    assert [result["run_id"] for result in found["answers"]] == [turn["run_id"] for turn in found["turns"]]
    assert found["conversation_id"] == f"chat-{found['turns'][0]['run_id']}"
    assert not found["saved"]


def test_what_goes_wrong_is_told_and_the_next_line_is_taken(program: Program) -> None:
    lines = f"/nope\n/open 7\n/pin note:notes/nothing\n/resume\n/export\n{'x' * 9_000}\nWho lit the lamp?\n"
    done = piped(program, lines, code=2)
    for said in (
        *("There is no command /nope", "There is no source 7", "note:notes/nothing", "No answer was stopped"),
        *("There is nothing to export", "at most 8,000"),
    ):
        assert said in done.stderr
    assert LIT in done.stdout


def test_a_pinned_document_is_among_the_evidence_of_what_follows(program: Program) -> None:
    asked = (
        "Who lit the lamp?\n/pin note:notes/orrin-head-light\n/pin note:notes/light\nWho lit the lamp?\n/unpin all\n"
    )
    found = document(program, f"{asked}Who lit the lamp?\n", code=3)
    pinned = ["note:notes/light"]
    assert [turn["pinned_keys"] for turn in found["turns"]] == [[], pinned, []]
    keys = [[row["source_key"] for row in result["pack"]["evidence"]] for result in found["answers"]]
    assert ["note:notes/light" in one for one in keys] == [False, True, False]


def test_a_source_opens_at_its_passage_even_after_it_changed(program: Program) -> None:
    with Citewell(program.data) as cw:
        cw.research("Who lit the lamp?")
        (program.folder / "notes" / "Lamp.md").write_text("# Lamp\nNothing of that is here any more.\n", "utf-8")
        cw.add(program.folder / "notes")
    said = piped(program, "/sources\n/open [1]\n/open a 1\n", "--continue", "last").stdout
    assert "[1] Lamp  Lamp.md" in said
    assert "a. Oil  Oil.md" in said
    opened = said.split("> /open [1]\n")[1].split("> /open a 1\n")[0]
    assert opened.startswith("Lamp  Lamp.md:32\n")
    assert f"\n> {LIT} See [[Oil]].\n" in opened
    assert "\n  Line 29 of the log of the station.\n" in opened
    assert "… 25 lines before" in opened
    assert "/open 1 24" in opened


def test_nothing_is_kept_but_runs_unless_it_is_asked_for(program: Program) -> None:
    piped(program, "Who lit the lamp?\n")
    assert stored(program) == []
    piped(program, "Who lit the lamp?\n/save\nWho kept the Orrin Head Light?\n/new\nWhere did the oil come from?\n")
    (kept,) = stored(program)
    assert [turn["question"] for turn in kept["turns"]] == ["Who lit the lamp?", "Who kept the Orrin Head Light?"]
    assert kept["turns"][0]["cited_keys"] == ["note:notes/lamp"]
    assert LIT not in json.dumps(kept)


def test_a_saved_conversation_goes_on_under_its_id_or_any_of_its_runs(program: Program) -> None:
    begun = document(program, "Who lit the lamp?\n/pin 1\nWhere did the oil come from?\n", "--save")
    for name in (begun["conversation_id"], begun["turns"][0]["run_id"], "last"):
        again = document(program, "Who kept the Orrin Head Light?\n", "--continue", name)
        assert again["saved"]
        assert again["conversation_id"] == begun["conversation_id"]
    (kept,) = stored(program)
    assert len(kept["turns"]) == 5
    assert kept["turns"][-1]["pinned_keys"] == ["note:notes/lamp"]
    assert [turn["question_id"] for turn in kept["turns"]] == ["q1", "q2", "q3", "q4", "q5"]


def test_a_conversation_nobody_saved_goes_on_from_its_last_run(program: Program) -> None:
    document(program, "Who lit the lamp?\n/pin 1\nWhere did the oil come from?\n")
    again = document(program, "Who kept the Orrin Head Light?\n", "--continue", "last")
    assert [turn["question"] for turn in again["turns"]] == [
        *("Who lit the lamp?", "Where did the oil come from?", "Who kept the Orrin Head Light?")
    ]
    assert again["turns"][-1]["pinned_keys"] == ["note:notes/lamp"]
    assert not again["saved"]
    done = piped(program, "", "--continue", "chat-nowhere", code=3)
    assert "There is no conversation and no run chat-nowhere." in done.stderr


def test_exports_hold_the_conversation_or_the_last_answer_and_overwrite_nothing(
    program: Program, tmp_path: Path
) -> None:
    names = ("talk.md", "talk.json", "last.docx", "last.pdf", "last.html", "last.bib", "last.ris", "last.zip")
    lines = "".join(f"/export '{tmp_path / name}'\n" for name in names)
    asked = "Who lit the lamp?\nWhere did the oil come from?\n"
    done = piped(program, f"{asked}{lines}/export '{tmp_path / 'talk.md'}'\n", code=2)
    assert "is there already" in done.stderr
    note = (tmp_path / "talk.md").read_text()
    assert note.index("# Who lit the lamp?") < note.index("Josiah Pell") < note.index("# Where did the oil come from?")
    assert note.startswith('---\ntitle: "Who lit the lamp?"\n')
    transcript = json.loads((tmp_path / "talk.json").read_text())
    assert transcript["schema_version"] == "chat_transcript.v1"
    with Citewell(tmp_path / "other") as cw:
        assert cw.runs.import_archive((tmp_path / "last.zip").read_bytes()).run_id == transcript["turns"][-1]["run_id"]
    assert all((tmp_path / name).stat().st_size for name in names)


def streaming(request: ModelRequest) -> Reply:
    """The first question is answered; the second gets one sentence, and then nothing more."""
    if "oil come from" in request.prompt.split("Question", 1)[-1]:
        return stalls(f"The oil for the lamp came from Leith in casks {mark(request, 'oil for the lamp')}.\n\nIt ")
    return says(f"Josiah Pell lit the lamp on 14 November 1859 {mark(request, 'lit by')}.")


def with_model(program: Program, model: ScriptedModelServer, *options: str) -> Any:
    settings = {"CITEWELL_MODEL": "openai:test", "CITEWELL_JUDGE": "off", "CITEWELL_MODEL_BASE_URL": model.base_url}
    return on_terminal(command(program, *options), settings)


def last_status(program: Program) -> str:
    with Citewell(program.data) as cw:
        return str(cw.runs.list(1).runs[0].status)


def start(terminal: Terminal) -> None:
    assert "3 documents." in terminal.wait_for(READY)


def test_on_a_terminal_ctrl_c_stops_the_answer_and_not_the_program(program: Program) -> None:
    with ScriptedModelServer(streaming) as model, with_model(program, model, "--save") as terminal:
        start(terminal)
        terminal.line("Who lit the lamp?")
        page = terminal.wait_for(READY)
        assert "Josiah Pell lit the lamp on 14 November 1859. [1]" in page
        terminal.line("Where did the oil come from?")
        # It is on the screen while the model still writes, and only then is it stopped.
        terminal.wait_for("The oil for the lamp came from Leith in casks")
        assert last_status(program) == "running"
        terminal.type(CTRL_C)
        assert model.wait_until_left()
        assert "/resume goes on with it" in terminal.wait_for(READY)
        assert last_status(program) == "interrupted"
        terminal.type("half a line")
        # Seen before it is thrown away: keys the terminal drops while readline reads them leave it waiting for another.
        terminal.wait_for("half a line")
        terminal.press_until(CTRL_C, "Ctrl-D leaves")
        terminal.wait_for(READY)
        terminal.line("/history")
        assert re.search(r"q2  Where did the oil come from\?\s+stopped", terminal.wait_for(READY))
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    (kept,) = stored(program)
    assert [turn["answer_status"] for turn in kept["turns"]] == ["ok", None]


def test_a_stopped_answer_goes_on_in_a_later_conversation(program: Program) -> None:
    with ScriptedModelServer(streaming) as model, with_model(program, model) as terminal:
        start(terminal)
        terminal.line("Where did the oil come from?")
        terminal.wait_for("The oil for the lamp came from Leith in casks")
        terminal.type(CTRL_C)
        terminal.wait_for(READY)
        terminal.line("/quit")
        assert terminal.ended() == 0

    def answers(request: ModelRequest) -> Reply:
        return says(f"The oil for the lamp came from Leith in casks {mark(request, 'oil for the lamp')}.")

    with ScriptedModelServer(answers) as model, with_model(program, model, "--continue", "last") as terminal:
        assert "/resume goes on with it" in terminal.wait_for(READY)
        terminal.line("/resume")
        assert "The oil for the lamp came from Leith in casks. [1]" in terminal.wait_for(READY)
    assert last_status(program) == "done"


def test_told_to_stop_it_leaves_and_the_run_stays_resumable(program: Program) -> None:
    with ScriptedModelServer(streaming) as model, with_model(program, model) as terminal:
        start(terminal)
        terminal.line("Where did the oil come from?")
        terminal.wait_for("The oil for the lamp came from Leith in casks")
        terminal.program.send_signal(signal.SIGTERM)
        assert terminal.ended() == 130
    assert last_status(program) == "interrupted"


def test_what_streams_gives_way_to_the_page_and_the_cursor_comes_back(program: Program) -> None:
    """Every line that was painted is erased again before the page is printed."""
    with ScriptedModelServer(streaming) as model, with_model(program, model) as terminal:
        start(terminal)
        terminal.line("Who lit the lamp?")
        terminal.wait_for(READY)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    said = terminal.said
    painted = said.index("Josiah Pell lit the lamp on 14 November 1859")
    page = said.rindex("Josiah Pell lit the lamp on 14 November 1859")
    assert painted < said.index("\x1b[2K", painted) < page
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")


def test_tab_completes_commands(program: Program) -> None:
    with on_terminal(command(program)) as terminal:
        start(terminal)
        terminal.type("/so\t\r")
        assert "/sources" in terminal.wait_for("ask something first")
        terminal.wait_for(READY)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


def test_the_example_of_what_a_conversation_remembers_is_true() -> None:
    assert doctest.testmod(chat).failed == 0


def test_an_empty_corpus_is_told_what_to_do(tmp_path: Path) -> None:
    with on_terminal(command(Program(tmp_path))) as terminal:
        assert "citewell add" in terminal.wait_for(READY)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
