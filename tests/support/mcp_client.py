"""The official MCP client over the real program (`talk`), and a bare pipe for what no client sends."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

Found = TypeVar("Found")
# The handshake of 2025, and the envelopes of 2026.
Era = Literal["legacy", "auto"]


def command(data: Path) -> list[str]:
    return [sys.executable, "-m", "citewell", "--data-dir", str(data), "mcp"]


def talk(
    data: Path,
    conversation: Callable[[Client], Awaitable[Found]],
    *,
    era: Era = "auto",
    errors: TextIO | None = None,
    **environment: str,
) -> Found:
    """What a conversation with a server of its own comes to."""
    program, *arguments = command(data)
    server = StdioServerParameters(command=program, args=arguments, env={**os.environ, **environment})

    async def conversing() -> Found:
        with anyio.fail_after(120):
            async with Client(stdio_client(server, errors or sys.stderr), mode=era) as client:
                return await conversation(client)

    return asyncio.run(conversing())


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def error_of(result: CallToolResult) -> Any:
    """The error envelope of a call that failed."""
    assert result.is_error
    assert result.structured_content is None
    return json.loads(text_of(result))["error"]


class Pipe:
    """A server and the two ends of its pipe."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: Any = None) -> int:
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method}
        self.send({**asked, **({"params": params} if params is not None else {})})
        return self._number

    def call(self, tool: str, arguments: Any, **meta: Any) -> int:
        return self.request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def greet(self) -> None:
        who = {"name": "test", "version": "0"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})
        assert self.read()["result"]["serverInfo"]["name"] == "citewell"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def rest(self, seconds: float = 60) -> list[Any]:
        """Close the input and read every message until the server ends."""
        out, _ = self.process.communicate(timeout=seconds)
        return [json.loads(line) for line in out.splitlines()]


@contextmanager
def pipe(data: Path, **environment: str) -> Iterator[Pipe]:
    process = subprocess.Popen(
        command(data),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield Pipe(process)
    finally:
        process.kill()
        process.communicate()
