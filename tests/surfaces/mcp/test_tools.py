"""Every tool, called by the official client in a real process: what it lists, what it answers, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from citewell import Citewell
from support.mcp_client import Era, error_of, talk, text_of
from support.model_script import silent
from support.model_server import ScriptedModelServer
from surfaces.test_cli import Program

pytestmark = pytest.mark.slow

SITE = "note:vault/kelp/selwick-voe-site"
QUESTION = "How far apart are the kelp lines?"
TOOLS = [
    *("search", "research_pack", "get", "get_many", "related", "topic_map", "topic_brief", "entity_map", "stats"),
    *("research_run", "research_get", "research_list"),
]
CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "kelp longlines"},
    "research_pack": {"question": QUESTION},
    "get": {"lookup": SITE, "query": "longlines"},
    "get_many": {"lookups": [SITE, "note:vault/nowhere"], "query": "longlines"},
    "related": {"lookup": SITE},
    "topic_map": {"topic": "kelp"},
    "topic_brief": {"topic": "kelp"},
    "entity_map": {"name": "Selwick Voe"},
    "stats": {},
    "research_run": {"question": QUESTION},
    "research_get": {"run_id": "last"},
    "research_list": {},
}


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_every_tool_is_listed_and_answers_with_a_document_of_its_schema(data: Path, era: Era) -> None:
    async def conversation(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(listed) == TOOLS
        for name, arguments in CALLS.items():
            tool = listed[name]
            assert tool.output_schema is not None
            assert (tool.input_schema["type"], tool.output_schema["type"]) == ("object", "object")
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.validate(arguments, tool.input_schema)
            result = await client.call_tool(name, arguments)
            assert not result.is_error, text_of(result)
            jsonschema.validate(result.structured_content, tool.output_schema)
            assert text_of(result)
            assert len(json.dumps(result.structured_content)) < 30_000

    talk(data, conversation, era=era)


def test_the_list_of_tools_is_short_and_only_tells_of_what_a_result_can_reach(data: Path) -> None:
    """Every client keeps the list in mind, for every question: it may not grow without being looked at."""

    async def conversation(client: Client) -> None:
        listed = (await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
        assert len(listed.encode()) < 60_000
        for tool in json.loads(listed)["tools"]:
            schema = tool["outputSchema"]
            told = json.dumps(schema)
            assert all(f"#/$defs/{name}" in told for name in schema.get("$defs", ())), tool["name"]

    talk(data, conversation, CITEWELL_NOTE_TOOL="true")


def test_a_whole_run_with_its_pack_fits_the_schema_of_the_tool(data: Path) -> None:
    async def conversation(client: Client) -> None:
        listed = {tool.name: tool.output_schema or {} for tool in (await client.list_tools()).tools}
        for asked in ({"question": QUESTION}, {"brief": {"question": QUESTION}}):
            run = (await client.call_tool("research_run", {**asked, "include_pack": True})).structured_content
            jsonschema.validate(run, listed["research_run"])
            again = {"run_id": run["run_id"], "include_pack": True}
            jsonschema.validate(
                (await client.call_tool("research_get", again)).structured_content, listed["research_get"]
            )

    talk(data, conversation)


def test_what_a_tool_answers_is_what_the_command_prints(sample: Program) -> None:
    """Search, documents, neighbours, topics, names, counts, evidence and answers: one document, whoever asks."""
    commands: dict[str, list[str]] = {
        "search": ["search", "kelp longlines"],
        "get": ["get", SITE, "--query", "longlines"],
        "related": ["related", SITE],
        "topic_brief": ["topics", "kelp"],
        "entity_map": ["entities", "Selwick Voe"],
        "stats": ["stats"],
        "research_pack": ["research", "--retrieval-only", QUESTION],
        "research_run": ["research", QUESTION],
    }
    more: dict[str, Any] = {"research_run": {"include_pack": True}, "topic_brief": {"max_chars": 500_000}}

    async def conversation(client: Client) -> dict[str, Any]:
        asked = {name: {**CALLS[name], **more.get(name, {})} for name in commands}
        return {name: (await client.call_tool(name, asked[name])).structured_content for name in commands}

    found = talk(sample.data, conversation)
    for name, arguments in commands.items():
        assert outline(found[name]) == outline(sample.json(*arguments)), name


def outline(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what differs from call to call."""
    varying = ("run_id", "metrics", "trace_path", "took_ms", "database_bytes")
    return {name: value for name, value in document.items() if name not in varying}


def test_a_run_is_recorded_as_asked_over_mcp_and_says_where_its_trace_is(data: Path) -> None:
    async def conversation(client: Client) -> tuple[Any, Any, list[tuple[float, str | None]]]:
        told: list[tuple[float, str | None]] = []

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, message))

        asked = {"question": "What about their depth?", "history": [QUESTION, {"question": "Where?"}], "pinned": [SITE]}
        run = (await client.call_tool("research_run", asked, progress_callback=progress)).structured_content
        return run, (await client.call_tool("research_get", {"run_id": run["run_id"]})).structured_content, told

    run, shown, told = talk(data, conversation)
    assert (shown["summary"]["surface"], shown["summary"]["status"]) == ("mcp", "done")
    assert shown["result"]["answer"] == run["answer"]
    assert (run["pack"], shown["result"]["pack"]) == (None, None)
    assert (data / run["trace_path"] / "run.json").exists()
    assert [step for step, _ in told] == sorted({step for step, _ in told})
    assert {"planning query", "retrieving evidence", "verifying citations"} <= {said for _, said in told}


def test_pages_of_a_search_and_of_a_text_join_without_gap_or_overlap(data: Path) -> None:
    async def conversation(client: Client) -> None:
        async def document(name: str, **arguments: Any) -> Any:
            return (await client.call_tool(name, arguments)).structured_content

        whole = (await document("search", query="kelp", limit=9, max_chars=500_000))["results"]
        pages = [await document("search", query="kelp", limit=3, offset=at) for at in (0, 3, 6)]
        assert [row for page in pages for row in page["results"]] == whole
        small = await client.call_tool("search", {"query": "kelp", "limit": 9, "max_chars": 4_000})
        assert small.structured_content["results"] == whole[: len(small.structured_content["results"])]
        assert f"More: offset={len(small.structured_content['results'])}." in text_of(small)

        text = (await document("get", lookup=SITE, content_mode="full", max_chars=500_000))["text"]
        read, at = "", 0
        while at < len(text):
            page = await document("get", lookup=SITE, content_mode="full", start=at, max_chars=200)
            assert (page["start"], page["length"]) == (at, len(text))
            read, at = read + page["text"], page["end"]
        assert read == text

    talk(data, conversation)


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("search", {}, "bad_input"),
    ("search", {"query": "   "}, "bad_input"),
    ("search", {"query": ["kelp"]}, "bad_input"),
    ("search", {"query": "kelp", "limit": 0}, "bad_input"),
    ("search", {"query": "kelp", "limit": 10**30}, "bad_input"),
    ("search", {"query": "kelp", "colour": "red"}, "bad_input"),
    ("search", {"query": "kelp", "since": "yesterday"}, "bad_input"),
    ("search", {"query": "kelp", "source_types": ["dream"]}, "bad_input"),
    ("search", {"query": "kelp", "collections": ["nowhere"]}, "not_found"),
    ("get", {"lookup": "note:vault/nowhere"}, "not_found"),
    ("get", {"lookup": "../../etc/passwd"}, "not_found"),
    ("get", {"lookup": SITE, "start": 5}, "bad_input"),
    ("get_many", {"lookups": []}, "bad_input"),
    ("related", {"lookup": "note:vault/nowhere"}, "not_found"),
    ("research_get", {"run_id": "../runs"}, "not_found"),
    ("research_run", {}, "bad_input"),
    ("research_run", {"question": "x", "brief": {}}, "bad_input"),
    ("research_run", {"question": "x", "history": [{"answer": "y"}]}, "bad_input"),
    ("research_run", {"brief": {"question": "x", "floor": 1}}, "bad_input"),
    ("research_run", {"brief": {"question": "x y"}, "question": "x y"}, "bad_input"),
    ("research_run", {"brief": {"question": "x y"}, "pinned": ["note:a"]}, "bad_input"),
    ("research_run", {"question": "x y", "fresh": True}, "bad_input"),
    ("research_note", {"path": "a.md"}, "unavailable"),
]


def test_what_cannot_be_done_is_an_error_of_the_tool_with_its_fix(data: Path) -> None:
    async def conversation(client: Client) -> None:
        for name, arguments, code in BAD:
            error = error_of(await client.call_tool(name, arguments))
            assert (error["code"], bool(error["message"]), bool(error["fix"])) == (code, True, True), (name, arguments)
        with pytest.raises(MCPError, match="Did you mean search"):
            await client.call_tool("serch", {})
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource("citewell://nowhere")
        with pytest.raises(MCPError, match="no prompt"):
            await client.get_prompt("ask", {"question": "x"})
        # Null is as good as nothing, and the server is as good as new.
        assert not (await client.call_tool("search", {"query": "kelp", "mode": None, "limit": 3.0})).is_error

    talk(data, conversation)


def test_the_tool_that_writes_is_there_only_where_it_is_enabled(data: Path) -> None:
    async def conversation(client: Client) -> tuple[list[str], Any]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        return names, error_of(await client.call_tool("research_note", {"path": "a.md"}))

    names, error = talk(data, conversation, CITEWELL_NOTE_TOOL="true")
    assert (names, error["code"]) == ([*TOOLS, "research_note"], "not_found")


def test_the_prompt_ends_with_the_question_and_guidance_can_be_read(data: Path) -> None:
    async def conversation(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert (prompt.name, [one.name for one in prompt.arguments or ()]) == ("brain_research", ["question"])
        (message,) = (await client.get_prompt("brain_research", {"question": QUESTION})).messages
        assert str(getattr(message.content, "text", "")).endswith(f"{QUESTION}\n")
        for resource in (await client.list_resources()).resources:
            (page,) = (await client.read_resource(str(resource.uri))).contents
            assert str(getattr(page, "text", "")).startswith("# ")
        assert "search" in (client.instructions or "")

    talk(data, conversation)


def test_reading_never_calls_a_model_though_one_is_set(data: Path) -> None:
    async def conversation(client: Client) -> None:
        for name, arguments in CALLS.items():
            if name != "research_run":
                assert not (await client.call_tool(name, arguments)).is_error

    with Citewell(data) as cw:
        cw.research(QUESTION)
    with ScriptedModelServer() as server:
        talk(
            *(data, conversation),
            CITEWELL_MODEL="openai:test",
            CITEWELL_PLANNER_MODEL="openai:test",
            CITEWELL_MODEL_BASE_URL=server.base_url,
        )
        assert server.requests == []


@pytest.mark.attack("L2")
def test_packs_that_wait_for_a_planner_hold_up_no_search(data: Path) -> None:
    async def conversation(client: Client) -> bool:
        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(
                    client.call_tool, "research_pack", {"question": "Who lit it?", "use_model_planner": True}
                )
            while len(model.requests) < 9:
                await anyio.sleep(0.05)
            assert not model.wait_until_left(0)  # more wait at a time than the server has threads for calls
            found = await client.call_tool("search", {"query": "kelp"})
            tasks.cancel_scope.cancel()
        return bool(found.is_error)

    with ScriptedModelServer(silent()) as model:
        is_error = talk(
            data,
            conversation,
            CITEWELL_PLANNER_MODEL="openai:test",
            CITEWELL_MODEL_BASE_URL=model.base_url,
        )
    assert not is_error
