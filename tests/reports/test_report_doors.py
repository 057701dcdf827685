"""The same report behind every door, brief files that are wrong, and policies on every door."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from citewell import Citewell, json_schema
from citewell.policy import NotPermitted
from reports.lighthouse import QUESTION
from support.http_server import running_server
from support.mcp_client import error_of, talk, text_of
from support.terminal import on_terminal

pytestmark = pytest.mark.slow


def cli(data: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    program = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
    environ = {**os.environ, "CITEWELL_EMBEDDINGS": "off", **environment}
    ended = subprocess.run(
        program, capture_output=True, text=True, timeout=120, check=False, env=environ, stdin=subprocess.DEVNULL
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_the_command_prints_the_document_of_its_schema_and_a_page_for_people(data: Path) -> None:
    code, out, _ = cli(data, "report", QUESTION, "--json")
    document = json.loads(out)
    assert (code, document["status"], document["attempt"]) == (0, "done", 1)
    jsonschema.validate(document, json_schema("report"))
    jsonschema.validate(document["brief"], json_schema("brief"))
    code, page, told = cli(data, "report", QUESTION)
    assert code == 0
    assert "812 gallons" in page
    assert "How it was made" in page
    assert "--fresh makes another attempt" in told
    code, shown, _ = cli(data, "report", "--show", document["run_id"][:12], "--json")
    assert json.loads(shown) == document
    code, listed, _ = cli(data, "report", "--list", "--json")
    assert [one["run_id"] for one in json.loads(listed)["runs"]] == [document["run_id"]]


def test_the_command_exports_a_report_in_the_forms_of_the_server(data: Path, tmp_path: Path) -> None:
    run_id = json.loads(cli(data, "report", QUESTION, "--json")[1])["run_id"]
    written = {}
    for form in ("md", "json", "html", "bibtex", "ris", "docx", "zip"):
        target = tmp_path / f"report.{form}"
        code, out, said = cli(data, "runs", "export", run_id, "--format", form, "--output", str(target), "--json")
        assert (code, said) == (0, "")
        told = json.loads(out)
        written[form] = target.read_bytes()
        assert told["sha256"] == hashlib.sha256(written[form]).hexdigest()
    with running_server(data, CITEWELL_EMBEDDINGS="off") as server:
        for form in ("md", "json", "bibtex", "ris"):
            assert server.get(f"/api/runs/{run_id}/export?format={form}").body == written[form]
    assert b"812 gallons" in written["md"]
    assert json.loads(written["json"])["run_id"] == run_id
    # The ending of the file says the form; what is no form is refused.
    code, _, _ = cli(data, "runs", "export", "last", "--output", str(tmp_path / "again.bib"))
    assert (code, (tmp_path / "again.bib").read_bytes()) == (0, written["bibtex"])
    code, _, said = cli(data, "runs", "export", "last", "--output", str(tmp_path / "again.xyz"))
    assert code == 2
    assert ".xyz is no form of a run" in said


def test_a_brief_in_a_file_is_run(data: Path, tmp_path: Path) -> None:
    brief = tmp_path / "brief.yaml"
    brief.write_text(
        f"question: {QUESTION!r}\nsub_questions:\n  - How much was the keeper paid?\nscope:\n  project_id: p\n"
    )
    code, out, _ = cli(data, "report", "--brief", str(brief), "--json")
    document = json.loads(out)
    assert (code, document["brief"]["scope"]["project_id"]) == (0, "p")
    assert document["plan"]["sub_queries"][1]["query"] == "How much was the keeper paid?"


WRONG = (
    ("context: only this\n", "line 1, field `question`: a brief needs a `question`"),
    ("question: q w e\nlimits:\n  max_sub_queries: 99\n", "line 3, field `limits.max_sub_queries`"),
    (
        "question: q w e\nsorces:\n  web: false\n",
        "line 2, field `sorces`: there is no such field; did you mean `sources`?",
    ),
    ("question: '  '\n", "line 1, field `question`: the question is empty"),
    ("question: [a\n", "neither YAML nor JSON"),
    ("- question\n", "a brief is a mapping"),
)


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_bad_brief_is_said_with_its_line_and_field(data: Path, tmp_path: Path, text: str, said: str) -> None:
    brief = tmp_path / "brief.yaml"
    brief.write_text(text)
    code, _, told = cli(data, "report", "--brief", str(brief))
    assert code == 2
    assert said in told
    assert "brief.yaml" in told


def test_rest_begins_streams_lists_shows_and_exports_a_report(data: Path) -> None:
    with running_server(data, CITEWELL_EMBEDDINGS="off") as server:
        begun = server.post("/api/runs", {"brief": {"question": QUESTION}})
        assert begun.status == 202
        run_id = begun.json["run_id"]
        result = server.finished(run_id)
        assert result["report"]["report"]["claims"]
        found = server.get(f"/api/reports/{run_id}").json
        assert (found["run_id"], found["status"]) == (run_id, "done")
        jsonschema.validate(found, json_schema("report"))
        (listed,) = server.get("/api/reports").json["runs"]
        assert (listed["run_id"], listed["claims"]) == (run_id, len(found["report"]["claims"]))
        again = server.post("/api/runs", {"question": QUESTION, "profile": "report"})
        assert again.json["run_id"] == run_id
        assert again.json["status"] == "done"
        fresh = server.post("/api/runs", {"question": QUESTION, "profile": "report", "fresh": True})
        assert fresh.json["run_id"] == f"{run_id[:-1]}2"
        assert server.post(f"/api/runs/{run_id}/replay", {}).json["identical"]
        assert b"812 gallons" in server.get(f"/api/runs/{run_id}/export?format=md").body
        assert server.get("/api/reports/report-0000000000000000-1").status == 404
        assert server.post("/api/runs", {"profile": "report"}).status == 400
        assert server.post("/api/runs", {"brief": {"question": "x", "floor": 1}}).status == 422
        assert server.post("/api/runs", {"brief": {"question": QUESTION}, "tags": ["x"]}).status == 409


def test_an_agent_runs_a_brief_and_finds_it_again(data: Path) -> None:
    async def conversation(client: Client) -> tuple[Any, Any, Any, Any]:
        run = await client.call_tool("research_run", {"brief": {"question": QUESTION}})
        again = await client.call_tool("research_run", {"question": QUESTION, "profile": "report"})
        document: Any = run.structured_content
        shown = await client.call_tool("research_get", {"run_id": document["run_id"]})
        listed = await client.call_tool("research_list", {"profile": "report"})
        return run, again, shown, listed

    run, again, shown, listed = talk(data, conversation, CITEWELL_EMBEDDINGS="off")
    document = run.structured_content
    assert {"run_id", "stop_reason", "trace_path"} <= document.keys()
    assert document["report"]["report"]["claims"]
    assert "812 gallons" in text_of(run)
    assert again.structured_content["run_id"] == document["run_id"]
    assert shown.structured_content["result"]["report"]["brief_id"] == document["report"]["brief_id"]
    assert [one["run_id"] for one in listed.structured_content["runs"]] == [document["run_id"]]


RUN, OUTSIDE = "CITEWELL_POLICY_RESEARCH_RUN", "CITEWELL_POLICY_EXTERNAL_DATA_REQUEST"
SEARCH = {"CITEWELL_SEARCH": "searxng", "CITEWELL_SEARXNG_URL": "http://127.0.0.1:1"}


@pytest.mark.parametrize("command", [("report", QUESTION), ("research", "Who lit the lamp?")])
def test_a_denied_run_is_bad_input_on_the_command_line(data: Path, command: tuple[str, ...]) -> None:
    code, out, told = cli(data, *command, "--json", **{RUN: "deny"})
    assert (code, json.loads(out)["error"]["code"]) == (2, "not_permitted")
    assert RUN in told
    code, _, told = cli(data, *command, **{RUN: "ask"})
    assert code == 2
    assert "nobody can be asked here" in told
    assert f"{RUN}=allow" in told


def test_data_from_outside_has_a_policy_of_its_own(data: Path) -> None:
    code, _, told = cli(data, "report", QUESTION, **SEARCH, **{OUTSIDE: "deny"})
    assert code == 2
    assert "external_data:request, high risk" in told
    code, _, _ = cli(data, "research", "Who lit the lamp?", **SEARCH, **{OUTSIDE: "deny"})
    assert code == 0  # it asks nobody outside
    code, _, _ = cli(data, "report", QUESTION, **{OUTSIDE: "deny"})
    assert code == 0


def test_a_person_at_a_terminal_is_asked(data: Path) -> None:
    program = [sys.executable, "-m", "citewell", "--data-dir", str(data), "report", QUESTION]
    environ = {"CITEWELL_EMBEDDINGS": "off", RUN: "ask"}
    with on_terminal(program, environ) as terminal:
        terminal.wait_for("Go on\\?")
        terminal.line("n")
        assert terminal.ended() == 2
    with on_terminal(program, environ) as terminal:
        terminal.wait_for("Go on\\?")
        terminal.line("y")
        terminal.wait_for("How it was made")
        assert terminal.ended() == 0


@pytest.mark.parametrize("policy", ["deny", "ask"])
def test_servers_and_agents_refuse_what_a_policy_does_not_allow(data: Path, policy: str) -> None:
    with running_server(data, CITEWELL_EMBEDDINGS="off", **{RUN: policy}) as server:
        for body in ({"brief": {"question": QUESTION}}, {"question": "Who lit the lamp?"}):
            refused = server.post("/api/runs", body)
            assert (refused.status, refused.code) == (403, "not_permitted")
            assert RUN in refused.json["error"]["fix"]

    async def conversation(client: Client) -> Any:
        return await client.call_tool("research_run", {"brief": {"question": QUESTION}})

    environment: dict[str, Any] = {"CITEWELL_EMBEDDINGS": "off", RUN: policy}
    refused_call = error_of(talk(data, conversation, **environment))
    assert refused_call["code"] == "not_permitted"


def test_a_python_program_may_ask_in_its_own_way(data: Path) -> None:
    with Citewell(data, policy_research_run="ask", embeddings="off") as cw:
        with pytest.raises(NotPermitted):
            cw.report(QUESTION)
        asked: list[str] = []
        cw.approve = lambda wanted: not asked.append(wanted.action)  # type: ignore[func-returns-value]
        assert cw.report(QUESTION).status == "done"
        assert asked == ["research:run"]


def test_a_stored_report_is_shown_whatever_the_policy_says_of_new_ones(data: Path) -> None:
    with Citewell(data, embeddings="off") as cw:
        first = cw.report(QUESTION)
    with Citewell(data, policy_research_run="deny", embeddings="off") as cw:
        assert cw.report(QUESTION) == first


def test_a_cold_search_does_not_load_what_reports_are_made_of(data: Path) -> None:
    program = (
        "import sys; from citewell.cli.main import run; "
        f"run(['--data-dir', {str(data)!r}, 'search', 'lamp', '--mode', 'lexical', '--json']); "
        "sys.exit(3 if 'pydantic' in sys.modules else 0)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0
