"""The MCP server over an open Citewell: tools, one prompt, guidance as resources. Transports are beside it.

Whatever goes wrong in a tool is the tool's result (`isError`, the error envelope of every surface), so that an agent
can read the fix; a tool or a resource that is not there is an error of the protocol. Nothing is echoed that holds the
value of a secret setting.
"""

from __future__ import annotations

import difflib
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from citewell.engine import Citewell
from citewell.errors import CitewellError, Unavailable, WorkFailed
from citewell.mcp import guidance
from citewell.mcp.arguments import NoteCall, PackCall, RunCall, checked, input_schema
from citewell.mcp.calls import answer, pack, research_note
from citewell.mcp.tools import WRITING, Outcome, Tool, tools_of
from citewell.version import __version__
from citewell.wire import error_document, to_document, to_json

Context = ServerRequestContext[Any, Any]
# Calls that may be in work at the same time; the rest wait their turn.
_CALLS = 8
# The lists never change while a server is there.
_HOUR_MS = 3_600_000
_log = logging.getLogger("citewell.mcp")


class Door:
    """What the handlers share: the engine, the tools, and whether the server is going away."""

    def __init__(self, cw: Citewell) -> None:
        self._cw = cw
        self._tools = tools_of(cw)
        self._listed = [_described(tool) for tool in self._tools.values()]
        self._limiter = anyio.CapacityLimiter(_CALLS)
        self.is_closing = False
        # Says whether the client is gone without a word, where the transport can tell.
        self.has_left: Callable[[], bool] = lambda: False
        # Calls under way of each session over HTTP.
        self._calls: Counter[str] = Counter()

    def is_busy(self, session: str) -> bool:
        """Whether a call of this session is under way, also one that its client no longer waits for."""
        return self._calls[session] > 0

    def server(self) -> Server[Any]:
        """The server, for any transport."""
        hint = CacheHint(ttl_ms=_HOUR_MS, scope="public")
        return Server(
            "citewell",
            version=__version__,
            title="Citewell",
            description="Answers from what you have saved, every sentence bound to the passage that supports it.",
            instructions=guidance.INSTRUCTIONS,
            cache_hints={
                "tools/list": hint,
                "prompts/list": hint,
                "resources/list": hint,
                "resources/templates/list": hint,
                "resources/read": hint,
            },
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        session = ctx.request.headers.get("mcp-session-id", "") if ctx.request is not None else ""
        self._calls[session] += 1
        try:
            tool = self._tool(params.name)
            outcome = await self._performed(ctx, tool, params.arguments or {})
            return self._result(outcome)
        except CitewellError as error:
            return self._error(error)
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary of the server: one broken call ends nothing else
            said = self._cw.without_secrets(f"{type(error).__name__}: {error}")
            _log.error("%s failed: %s", params.name[:40], said)
            return self._error(WorkFailed("The call failed inside Citewell.", fix="The server's log has the reason."))
        finally:
            self._calls -= Counter({session: 1})

    def _tool(self, name: str) -> Tool:
        found = self._tools.get(name)
        if found is not None:
            return found
        if any(tool.name == name for tool in WRITING):
            raise Unavailable(f"{name} is not enabled.", fix="The user can enable it with CITEWELL_NOTE_TOOL=true.")
        near = difflib.get_close_matches(name, self._tools, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(self._tools)}."
        raise MCPError(code=types.INVALID_PARAMS, message=f"There is no tool {name[:80]!r}. {hint}")

    async def _performed(self, ctx: Context, tool: Tool, arguments: dict[str, Any]) -> Outcome:
        call = checked(arguments, tool.form)

        async def report(step: int, said: str) -> None:
            await ctx.session.report_progress(step, None, said)

        def is_closing() -> bool:
            return self.is_closing or self.has_left()

        if isinstance(call, RunCall):
            return await answer(self._cw, call, report, is_closing)
        if isinstance(call, NoteCall):
            return await research_note(self._cw, call, report, is_closing)
        if isinstance(call, PackCall):
            return await pack(self._cw, call, self._limiter)
        assert tool.call is not None
        perform = tool.call
        return await anyio.to_thread.run_sync(
            lambda: perform(self._cw, call), limiter=self._limiter, abandon_on_cancel=True
        )

    def _result(self, outcome: Outcome) -> types.CallToolResult:
        text = types.TextContent(type="text", text=self._cw.without_secrets(outcome.text))
        return types.CallToolResult(content=[text], structured_content=self._masked(to_document(outcome.value)))

    def _error(self, error: CitewellError) -> types.CallToolResult:
        """The error envelope as text: clients check structured content against the tool's schema, errors too."""
        error.message, error.fix = self._cw.without_secrets(error.message), self._cw.without_secrets(error.fix)
        text = to_json(error_document(error)).decode("utf-8")
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)

    def _masked(self, document: Any) -> Any:
        """A document without the values of secret settings, wherever they stand in it."""
        encoded = msgspec.json.encode(document).decode("utf-8")
        if self._cw.without_secrets(encoded) == encoded:
            return document
        return _mapped(document, self._cw)

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        question = types.PromptArgument(name="question", description="What is asked.", required=True)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=guidance.PROMPT,
                    title="Research what was saved",
                    description="Answer a question from the user's saved documents, with citations and doubts.",
                    arguments=[question],
                )
            ]
        )

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != guidance.PROMPT:
            raise _bad_params(f"There is no prompt {params.name[:80]!r}. There is: {guidance.PROMPT}.")
        question = (params.arguments or {}).get("question", "").strip()
        if not question:
            raise _bad_params(f"{guidance.PROMPT} wants a question.")
        text = types.TextContent(type="text", text=guidance.research_prompt(question))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        listed = [
            types.Resource(
                uri=uri, name=page.name, title=page.title, description=page.description, mime_type="text/markdown"
            )
            for uri, page in guidance.PAGES.items()
        ]
        return types.ListResourcesResult(resources=listed)

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        page = guidance.PAGES.get(uri)
        if page is None:
            raise _bad_params(f"There is no resource {uri[:200]!r}. There are: {', '.join(guidance.PAGES)}.")
        content = types.TextResourceContents(uri=uri, mime_type="text/markdown", text=page.text())
        return types.ReadResourceResult(contents=[content])


def _bad_params(message: str) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=message)


def _described(tool: Tool) -> types.Tool:
    reads = tool.name != "research_run" and tool.group != "writing"
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.form),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=reads,
            destructive_hint=False if reads else tool.group == "writing",
            idempotent_hint=reads,
            # A run may search the web, where the user turned it on.
            open_world_hint=not reads,
        ),
    )


def _mapped(document: Any, cw: Citewell) -> Any:
    match document:
        case str():
            return cw.without_secrets(document)
        case dict():
            return {name: _mapped(entry, cw) for name, entry in document.items()}
        case list() | tuple():
            return [_mapped(entry, cw) for entry in document]
        case _:
            return document
