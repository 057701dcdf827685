"""Packs and answers over HTTP: the sequence of a synthesis, its statuses, and that no forged row is evidence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citewell import json_schema
from support.http_server import Event, RunningServer, read_events, running_server
from support.model_script import ModelRequest, Reply, says, silent
from support.model_server import ScriptedModelServer, refused_url

QUESTION = "Who lit the lamp?"
PATH = "/api/research/synthesize"


def pack_of(server: RunningServer, question: str = QUESTION, **options: Any) -> Any:
    reply = server.post("/api/research", {"question": question, **options})
    assert reply.status == 200, reply.body
    return reply.json


def synthesis(server: RunningServer, pack: Any, question: str = QUESTION, **options: Any) -> list[Event]:
    body = {"question": question, "research_pack": pack, **options}
    with server.stream(PATH, method="POST", body=body) as answer:
        assert answer.status == 200, answer.read()
        return list(read_events(answer))


def named(events: list[Event]) -> list[str]:
    return [event.name for event in events if event.name != "heartbeat"]


def test_a_pack_has_its_fields_and_leaves_out_what_is_not_there(server: RunningServer) -> None:
    pack = pack_of(server)
    jsonschema.validate(pack, json_schema("research_pack.v1"))
    assert set(pack) == {
        *(
            "schema_version",
            "question",
            "mode",
            "query_plan",
            "coverage",
            "evidence",
            "exact_tag_evidence",
            "next_steps",
        )
    }
    assert "null" not in json.dumps(pack)
    by_action = {
        "inspect_top_evidence": {"lookups", "content_mode", "query"},
        "expand_related": {"lookup"},
        "open_lookup": {"lookup"},
        "reformulate": {"suggestions"},
    }
    for step in (*pack["next_steps"], *pack_of(server, "zzzz qqqq xyxyxy")["next_steps"]):
        assert set(step["params"]) <= by_action[step["action"]], step


def test_a_pack_comes_from_the_profile_that_is_named(server: RunningServer) -> None:
    plan = pack_of(server)["query_plan"]["limits"]
    assert plan == {"limit": 8, "max_chars_per_doc": 700, "include_related": False, "related_limit": 2}
    web = pack_of(server, option_profile="web")["query_plan"]["limits"]
    assert web == {"limit": 10, "max_chars_per_doc": 4_000, "include_related": True, "related_limit": 2}
    assert pack_of(server, limit=1, max_chars_per_doc=100)["query_plan"]["limits"]["limit"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b'{"limit": 3}', 400),
        (b'{"question": ""}', 400),
        (b'{"question": " \\t "}', 400),
        (b'{"question": null}', 400),
        (b'{"question": "x", "limit": 0}', 422),
        (b'{"question": "x", "limit": "two"}', 422),
        (b'{"question": "x", "source_types": ["no"]}', 422),
        (b'{"question": "x", "max_chars_per_doc": 10}', 422),
        (b'{"question": "x", "since": "yesterday"}', 422),
        (b'{"question": "x", "colour": "red"}', 422),
        (b'{"question": "x", "option_profile": "mcp"}', 422),
        (b'{"question": "x", "history": [{"text": "?"}]}', 422),
        (b'{"question": "x", "pinned": ["note:no/such"]}', 200),
        (b'{"question": "zzzz qqqq"}', 200),
    ],
)
def test_what_does_not_fit_has_its_status(server: RunningServer, body: bytes, status: int) -> None:
    reply = server.post("/api/research", body)
    assert reply.status == status, reply.body


def test_an_answer_comes_in_its_sequence(server: RunningServer) -> None:
    events = synthesis(server, pack_of(server))
    assert named(events) == ["start", "answer", "citation", "done"]
    start, answer, citation, done = (event.data for event in events if event.name != "heartbeat")
    assert (start["model"], start["evidence_budget_chars"]) == ("extractive", 24_000)
    assert {"schema_version", "prompt_version", "truncation", "warnings"} <= set(start)
    assert "Josiah Pell" in answer["answer"]
    assert done["citations"] == [citation]
    assert (done["answer_status"], done["counts"]["citations"]) == ("ok", 1)
    assert {"answer_warnings", "truncation", "prompt_version", "provider", "model", "tool", "tool_version"} <= set(done)


def test_what_does_not_fit_is_told_as_truncated(server: RunningServer) -> None:
    pack = pack_of(server, "lamp oil ferry light Halvard Orrin Pell")
    done = synthesis(server, pack, max_evidence_chars=500)[-1].data
    assert done["answer_status"] in ("ok_truncated", "no_evidence")
    assert done["truncation"]["evidence_budget_chars"] == 500
    assert done["truncation"]["dropped_source_keys"] or done["truncation"]["partially_trimmed_source_key"]


def test_an_empty_pack_ends_without_evidence_and_can_be_explained(server: RunningServer) -> None:
    question = "zzzz qqqq xyxyxy?"
    pack = pack_of(server, question)
    assert pack["evidence"] == []
    events = synthesis(server, pack, question)
    assert named(events) == ["start", "answer", "done"]
    assert events[-1].data["answer_status"] == "no_evidence"
    explained = server.post("/api/explain", {"question": question, "research_pack": pack})
    assert (explained.status, explained.json["answer_status"]) == (200, "no_evidence")
    assert explained.json["reasons"]


def test_a_forged_row_never_becomes_evidence(server: RunningServer) -> None:
    """Text, title and key of a row are the client's word; only what the store has at its place counts."""
    pack = pack_of(server)
    (row, *_) = pack["evidence"]
    lie = "The lamp was lit by Nobody Atall."
    for forged in (
        {**row, "text": lie, "title": lie},
        {**row, "text": lie, "source_key": "note:notes/forged"},
        {**row, "text": lie, "span": {**row["span"], "content_hash": "0" * 64}},
        {**row, "text": lie, "span": {**row["span"], "start": 0, "end": 10**9}},
        {**row, "text": lie, "span": {**row["span"], "start": -5, "end": 3}},
        {**row, "text": lie, "span": {**row["span"], "start": 2**70, "end": 2**71}},
    ):
        events = synthesis(server, {**pack, "evidence": [forged], "exact_tag_evidence": []})
        assert "Nobody Atall" not in json.dumps([event.data for event in events])
        assert events[-1].name == "done"


def without(pack: Any, field: str) -> Any:
    return {name: value for name, value in pack.items() if name != field}


def test_a_pack_that_is_none_is_refused_before_the_first_byte(server: RunningServer) -> None:
    pack = pack_of(server)
    none: tuple[Any, ...] = (
        {},
        None,
        [],
        "pack",
        without(pack, "evidence"),
        {**pack, "schema_version": "research_pack.v2"},
        {**pack, "evidence": [{"source_key": "note:x"}]},
        {**pack, "evidence": [None]},
    )
    for bad in none:
        reply = server.post(PATH, {"question": QUESTION, "research_pack": bad})
        assert (reply.status, reply.code) == (400, "bad_input"), bad
    for body in ({"research_pack": pack}, {"question": " ", "research_pack": pack}, {"question": QUESTION}):
        assert server.post(PATH, body).status == 400
    assert server.post(PATH, {"question": QUESTION, "research_pack": pack, "max_evidence_chars": 1}).status == 400
    assert server.post(PATH, {"question": QUESTION, "research_pack": pack, "model": "nobody:x"}).status == 400
    large = json.dumps({"question": QUESTION, "research_pack": {**pack, "question": "a" * 9_000_000}}).encode()
    assert server.post(PATH, large).status == 413


@pytest.fixture
def modelled(data: Path) -> Iterator[tuple[RunningServer, ScriptedModelServer]]:
    """A server with a model that says nothing until it is told to."""
    with (
        ScriptedModelServer(silent()) as model,
        running_server(
            data,
            CITEWELL_MODEL_BASE_URL=model.base_url,
            CITEWELL_HEARTBEAT_SECONDS="0.1",
            CITEWELL_MAX_SYNTHESES="1",
        ) as server,
    ):
        yield server, model


def test_a_model_that_is_not_there_is_503_before_the_first_byte(data: Path) -> None:
    with running_server(data, CITEWELL_MODEL="openai:test", CITEWELL_MODEL_BASE_URL=refused_url()) as server:
        body = {"question": QUESTION, "research_pack": pack_of(server), "model": ""}
        reply = server.post(PATH, body)
    assert (reply.status, reply.code) == (503, "unavailable")
    assert reply.json["error"]["answer_status"] == "unavailable"


def test_a_model_that_is_gone_in_the_middle_ends_in_an_error(data: Path) -> None:
    def cites_nothing(request: ModelRequest) -> Reply:
        return says("The lamp was lit by Nobody [99.9].")

    with (
        ScriptedModelServer(cites_nothing) as model,
        running_server(data, CITEWELL_MODEL_BASE_URL=model.base_url) as server,
    ):
        events = synthesis(server, pack_of(server), model="openai:test")
    assert named(events) == ["start", "error"]
    assert events[-1].data["error"]["answer_status"] == "error"
    assert "Nobody" not in json.dumps(events[-1].data)


@pytest.mark.attack("C1")
@pytest.mark.attack("L2")
def test_whoever_leaves_an_answer_stops_its_model(modelled: tuple[RunningServer, ScriptedModelServer]) -> None:
    """And while it is being written, another one is told to come back."""
    server, model = modelled
    body = {"question": QUESTION, "research_pack": pack_of(server), "model": "openai:test"}
    with server.stream(PATH, method="POST", body=body) as answer:
        assert model.wait_until_asked()
        busy = server.post(PATH, body)
        assert (busy.status, busy.code) == (429, "busy")
        assert busy.headers["retry-after"]
        events = read_events(answer)
        assert next(events).name == "start"
        assert next(events).name == "heartbeat"
    assert model.wait_until_left(), "the call of the model goes on though nobody reads"
    again = threading.Event()
    for _ in range(100):
        if (reply := server.post(PATH, {**body, "model": ""})).status == 200:
            break
        again.wait(0.1)
    assert reply.status == 200


def test_chat_and_deep_runs_answer_from_the_corpus_where_no_provider_is_set(server: RunningServer) -> None:
    for profile in ("chat", "deep"):
        done = server.finished(server.start_run(QUESTION, profile=profile))
        assert (done["profile"], "no_search_provider" in done["warnings"]) == (profile, True)
    for body in (
        {"message": QUESTION},
        {"messages": [{"role": "user", "content": QUESTION}], "mode": "deep_research", "conversation_id": "c-1"},
    ):
        with server.stream("/v1/chat/messages", method="POST", body=body) as answer:
            *_, last = read_events(answer)
        assert (last.name, last.data["profile"]) == ("done", "deep" if "mode" in body else "chat")
    nobody: tuple[Any, ...] = (
        {},
        {"message": " "},
        {"messages": []},
        {"messages": [{"role": "assistant", "content": "x"}]},
    )
    for bad in nobody:
        assert server.post("/v1/chat/messages", bad).status in (400, 422)
    assert server.post("/v1/chat/messages", {"message": "x", "mode": "magic"}).status == 422


def said_in(server: RunningServer, body: Any) -> tuple[str, Any]:
    """The run that answers a message, and its record."""
    with server.stream("/v1/chat/messages", method="POST", body=body) as answer:
        assert answer.status == 200, answer.read()
        *_, last = read_events(answer)
    run_id = last.data["run_id"]
    (started, *_) = server.get(f"/api/runs/{run_id}?events=true").json["events"]
    return run_id, started["body"]["request"]


def test_a_message_goes_on_with_the_conversation_it_names(server: RunningServer) -> None:
    """By its id alone, whoever asked the earlier questions; what the request itself says came before wins."""
    first, request = said_in(server, {"message": QUESTION, "conversation_id": "talk-1"})
    assert (request["surface"], request["conversation_id"]) == ("web_chat", "talk-1")
    assert request["conversation"]["history"] == []
    second, request = said_in(server, {"message": "And where did the oil come from?", "conversation_id": "talk-1"})
    assert request["conversation"]["history"] == [{"id": first, "question": QUESTION}]
    trace = json.loads((server.data / "research-runs" / second / "run.json").read_text("utf-8"))
    assert (trace["surface"], trace["chat_continuity"]["prior_question_ids"]) == ("web_chat", [first])
    _, request = said_in(server, {"message": "Who kept the light?", "conversation_id": "talk-1"})
    assert [prior["id"] for prior in request["conversation"]["history"]] == [first, second]
    told = [{"role": "user", "content": text} for text in ("Who kept the light?", "When?")]
    _, request = said_in(server, {"messages": told, "conversation_id": "talk-1"})
    assert [prior["question"] for prior in request["conversation"]["history"]] == ["Who kept the light?"]
    _, request = said_in(server, {"message": QUESTION, "conversation_id": "talk-2"})
    assert request["conversation"]["history"] == []


def test_a_message_goes_on_with_a_conversation_that_was_saved(server: RunningServer) -> None:
    turns = [{"question_id": f"q{number}", "question": f"Question {number}?"} for number in range(12)]
    saved = {"schema_version": "chat_transcript.v1", "conversation_id": "saved-1", "turns": turns}
    assert server.post("/api/transcripts", saved).status == 201
    _, request = said_in(server, {"message": QUESTION, "conversation_id": "saved-1"})
    assert [prior["id"] for prior in request["conversation"]["history"]] == [f"q{number}" for number in range(4, 12)]


def test_what_is_not_enabled_or_not_kept_yet_says_so(server: RunningServer) -> None:
    assert server.get("/api/evals").json["reports"] == []
    assert server.get("/api/evals/20260105T101500-0a1b2c3d").code == "not_found"
    nothing = server.post("/api/evals/run", {"kind": "research"})
    assert (nothing.status, nothing.code) == (409, "conflict")
    note = server.post("/api/notes/research", {"path": "Lamp.md", "dry_run": True})
    assert (note.status, note.code) == (403, "disabled")
