"""The tool `research` inside two agent frameworks, each with a scripted model that calls it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openai import AsyncOpenAI

from citewell import BadInput, Citewell
from citewell.reports import ResearchTool, ResearchToolFactory
from reports.lighthouse import QUESTION
from support.model_script import ModelRequest, Reply, sends
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow
FINAL = "Josiah Pell lit it [1]."


def completion(message: dict[str, Any], finish: str) -> Reply:
    body = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "test",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return sends(json.dumps(body).encode(), content_type="application/json")


def calls_the_tool_once(request: ModelRequest) -> Reply:
    """Asks for the report first; once it is there, answers."""
    messages = request.body["messages"]
    if any(message["role"] == "tool" for message in messages):
        return completion({"content": FINAL}, "stop")
    call = {"name": "research", "arguments": json.dumps({"question": QUESTION})}
    return completion(
        {"content": None, "tool_calls": [{"id": "t1", "type": "function", "function": call}]}, "tool_calls"
    )


def reported(server: ScriptedModelServer) -> str:
    """What the tool gave the model."""
    (told,) = (one for one in server.requests[-1].body["messages"] if one["role"] == "tool")
    return str(told["content"])


def tool_of(cw: Citewell) -> ResearchTool:
    return ResearchToolFactory(cw.reports()).build(task_id="lighthouse")


def assert_reported(cw: Citewell, server: ScriptedModelServer) -> None:
    offered = server.requests[0].body["tools"][0]["function"]
    assert offered["name"] == "research"
    assert "question" in offered["parameters"]["properties"]
    said = reported(server)
    assert "812 gallons" in said
    assert "## Sources" in said
    (run,) = cw.reports().list().runs
    assert run.run_id in said
    assert cw.reports().get(run.run_id).created_by == "lighthouse"


def test_it_is_a_callable_with_a_json_schema(data: Path) -> None:
    with Citewell(data, embeddings="off") as cw:
        tool = tool_of(cw)
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        jsonschema.validate({"question": QUESTION, "fresh": True}, tool.parameters)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"question": QUESTION, "floor": 1}, tool.parameters)
        first = tool(question=QUESTION)
        assert tool.call_json(json.dumps({"question": QUESTION})) == first
        assert tool(question=QUESTION, fresh=True) != first
        with pytest.raises(BadInput, match="field `questoin`"):
            tool(question=QUESTION, questoin="x")


def test_pydantic_ai_calls_it(data: Path) -> None:
    from pydantic_ai import Agent, Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    with ScriptedModelServer(calls_the_tool_once) as server, Citewell(data, embeddings="off") as cw:
        tool = tool_of(cw)

        async def conversing() -> str:
            async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
                model = OpenAIChatModel("test", provider=OpenAIProvider(openai_client=client))
                given = Tool.from_schema(tool, tool.name, tool.description, tool.parameters)
                return str((await Agent(model, tools=[given]).run("Who lit the lamp?")).output)

        assert asyncio.run(conversing()) == FINAL
        assert_reported(cw, server)


def test_the_openai_agents_sdk_calls_it(data: Path) -> None:
    from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, RunConfig, Runner

    with ScriptedModelServer(calls_the_tool_once) as server, Citewell(data, embeddings="off") as cw:
        tool = tool_of(cw)

        async def invoked(context: Any, arguments: str) -> str:
            return await asyncio.to_thread(tool.call_json, arguments)

        async def conversing() -> str:
            async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
                given = FunctionTool(
                    name=tool.name,
                    description=tool.description,
                    params_json_schema=tool.parameters,
                    on_invoke_tool=invoked,
                    strict_json_schema=False,
                )
                agent = Agent(name="a", model=OpenAIChatCompletionsModel("test", client), tools=[given])
                ended = await Runner.run(agent, "Who lit the lamp?", run_config=RunConfig(tracing_disabled=True))
                return str(ended.final_output)

        assert asyncio.run(conversing()) == FINAL
        assert_reported(cw, server)
