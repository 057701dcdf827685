"""The tools, prompts and resources that the official conformance suite asks for by name, on our own stack.

What is tested with it is everything below the tools: the SDK as it is set up here, streamable HTTP, gate and server.

    python -m support.mcp_fixture DATA_FOLDER        # prints the address, serves until it is told to stop
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from citewell import Citewell
from citewell.api.app import MountedApp
from citewell.api.security import Gatekeeper
from citewell.api.server import serve
from citewell.mcp.http import over_http

Context = ServerRequestContext[Any, Any]
Call = Callable[[Context, dict[str, Any]], Awaitable[list[Any]]]
# One red pixel, and a sound of no length.
PIXEL = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx"
    b"\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()
SOUND = base64.b64encode(
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data"
    b"\x00\x00\x00\x00"
).decode()


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def resource(uri: str, kind: str, content: str) -> types.EmbeddedResource:
    inner = types.TextResourceContents(uri=uri, mime_type=kind, text=content)
    return types.EmbeddedResource(type="resource", resource=inner)


async def simple_text(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    return [text("This is a simple text response for testing.")]


async def image_content(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    return [image()]


async def audio_content(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    return [types.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


async def embedded_resource(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    return [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


async def several_kinds(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    data = resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return [text("Multiple content types test:"), image(), data]


async def with_logging(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
        await anyio.sleep(0.05)
    return [text("Done, with three messages on the way.")]


async def with_progress(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(0.05)
    return [text("Done, step by step.")]


async def failing(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    raise ValueError("This tool intentionally returns an error for testing")


async def sampling(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    asked = types.SamplingMessage(role="user", content=text(str(arguments["prompt"])))
    reply = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
    content = reply.content
    return [text(f"LLM response: {content.text if isinstance(content, types.TextContent) else content}")]


async def _elicited(ctx: Context, message: str, properties: dict[str, Any], required: list[str]) -> types.ElicitResult:
    schema = {"type": "object", "properties": properties, "required": required}
    return await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)


async def elicitation(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    asked = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    given = await _elicited(ctx, str(arguments["message"]), asked, ["username", "email"])
    return [text(f"User response: action={given.action}, content={json.dumps(given.content)}")]


async def defaults(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    asked = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    given = await _elicited(ctx, "Defaults of every kind", asked, [])
    return [text(f"Elicitation completed: action={given.action}, content={json.dumps(given.content)}")]


async def enums(ctx: Context, arguments: dict[str, Any]) -> list[Any]:
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": title} for n, title in enumerate(("First", "Second", "Third"), start=1)]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    asked = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    given = await _elicited(ctx, "Choices of every kind", asked, [])
    return [text(f"Elicitation completed: action={given.action}, content={json.dumps(given.content)}")]


NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def wants(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


TOOLS: dict[str, tuple[dict[str, Any], Call]] = {
    "test_simple_text": (NOTHING, simple_text),
    "test_image_content": (NOTHING, image_content),
    "test_audio_content": (NOTHING, audio_content),
    "test_embedded_resource": (NOTHING, embedded_resource),
    "test_multiple_content_types": (NOTHING, several_kinds),
    "test_tool_with_logging": (NOTHING, with_logging),
    "test_tool_with_progress": (NOTHING, with_progress),
    "test_error_handling": (NOTHING, failing),
    "test_sampling": (wants("prompt"), sampling),
    "test_elicitation": (wants("message"), elicitation),
    "test_elicitation_sep1034_defaults": (NOTHING, defaults),
    "test_elicitation_sep1330_enums": (NOTHING, enums),
    "json_schema_2020_12_tool": (SCHEMA_2020, simple_text),
}


async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    listed = [types.Tool(name=name, description=name, input_schema=form) for name, (form, _) in TOOLS.items()]
    return types.ListToolsResult(tools=listed)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    _, call = TOOLS[params.name]
    try:
        return types.CallToolResult(content=await call(ctx, params.arguments or {}))
    except ValueError as error:
        return types.CallToolResult(content=[text(str(error))], is_error=True)


PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=name,
                arguments=[types.PromptArgument(name=one, description=one, required=True) for one in names],
            )
            for name, names in PROMPTS.items()
        ]
    )


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            said: list[Any] = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            said = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            embedded = resource(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            said = [embedded, text("Please process the embedded resource above.")]
        case _:
            said = [image(), text("Please analyze the image above.")]
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in said])


async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    names = {"test://static-text": "text/plain", "test://static-binary": "image/png", "test://watched-resource": ""}
    listed = [types.Resource(uri=uri, name=uri, mime_type=kind or "text/plain") for uri, kind in names.items()]
    return types.ListResourcesResult(resources=listed)


async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template="test://template/{id}/data", name="data of an id")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    found: Any
    if uri == "test://static-binary":
        found = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    elif uri.startswith("test://template/"):
        number = uri.removeprefix("test://template/").removesuffix("/data")
        content = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
        found = types.TextResourceContents(uri=uri, mime_type="application/json", text=content)
    elif uri in ("test://static-text", "test://watched-resource"):
        said = "This is the content of the static text resource."
        found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=said)
    else:
        raise MCPError(code=types.INVALID_PARAMS, message="There is no such resource.")
    return types.ReadResourceResult(contents=[found])


async def nothing(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park", "party"], total=3, has_more=False))


def fixture_server() -> Server[Any]:
    return Server(
        "citewell-fixture",
        version="0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_set_logging_level=nothing,
        on_completion=complete,
    )


def mounts(cw: Citewell, keeper: Gatekeeper) -> tuple[MountedApp, ...]:
    served = over_http(fixture_server(), hosts=keeper.hosts, on_closing=lambda: None)
    return (MountedApp("/mcp", served.app, served.lifespan, is_endpoint=True),)


if __name__ == "__main__":
    with Citewell(Path(sys.argv[1])) as opened:
        serve(opened, host="127.0.0.1", port=0, mounts=mounts, tell=lambda url: print(f"{url}/mcp", flush=True))
