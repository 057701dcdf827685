"""MCP over stdin and stdout: one client, until it closes the pipe.

Every request that was read before the end of the input is answered, then the program exits. Where nobody reads the
answers any more it exits at once, and runs stay resumable. Only messages go to stdout: what else is printed anywhere
in the process goes to stderr, and a line that is no message is answered as such.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from citewell.engine import Citewell
from citewell.mcp.server import Door

_LOOK_SECONDS = 0.05
_log = logging.getLogger("citewell.mcp")
Message = SessionMessage | Exception


def serve_stdio(cw: Citewell) -> bool:
    """Serve until the input ends or a signal comes; whether it ended by itself. The process is to exit then.

    The thread that reads the input cannot be told to stop: it is left waiting, and with it what waits for it.
    """
    loop = asyncio.new_event_loop()
    ended: asyncio.Future[bool] = loop.create_future()
    serving = loop.create_task(_serve(cw, ended))
    serving.add_done_callback(lambda task: _tell(ended, task))
    return loop.run_until_complete(ended)


def _tell(ended: asyncio.Future[bool], task: asyncio.Task[None]) -> None:
    """Where serving ends without having said how: an error that is none of the pipe's is passed on."""
    error = None if task.cancelled() else task.exception()
    if not ended.done():
        ended.set_exception(error) if error is not None else ended.set_result(False)


async def _serve(cw: Citewell, ended: asyncio.Future[bool]) -> None:
    door = Door(cw)
    watched = _output_descriptor()
    try:
        async with stdio_server() as (read, write):
            pipe = _Pipe(read, write, watched)
            door.has_left = pipe.is_unread
            try:
                with anyio.CancelScope() as scope, _signals(door, scope):
                    await pipe.serve(door)
            except* OSError:
                ended.set_result(False)
            finally:
                if not ended.done() and (scope.cancelled_caught or pipe.is_unread()):
                    ended.set_result(False)
            # The transport takes an answer before it has written it: it has written all once it is left.
            await write.aclose()
    except* OSError:
        _log.info("nobody reads what is written")
        if not ended.done():
            ended.set_result(False)
    if not ended.done():
        ended.set_result(True)


class _Pipe:
    """Stands between the transport and the server, and knows which requests are not answered yet."""

    def __init__(self, read: Any, write: Any, watched: int | None) -> None:
        self._read = read
        self._write = write
        self._watched = watched
        self._open: set[str] = set()

    async def serve(self, door: Door) -> None:
        to_server, from_client = anyio.create_memory_object_stream[Message](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        server = door.server()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_in, to_server, door)
            tasks.start_soon(self._pass_out, from_server)
            await server.run(from_client, to_client, server.create_initialization_options())

    async def _pass_in(self, to_server: MemoryObjectSendStream[Message], door: Door) -> None:
        async with to_server:
            async for item in self._read:
                if isinstance(item, Exception):
                    await self._write.send(SessionMessage(_no_message()))
                    continue
                self._note(item.message)
                await to_server.send(item)
            while self._open and not self.is_unread():
                await anyio.sleep(_LOOK_SECONDS)
            door.is_closing = True

    async def _pass_out(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for item in from_server:
                await self._write.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._open.discard(_key(item.message.id))

    def _note(self, message: Any) -> None:
        match message:
            case types.JSONRPCRequest(id=number):
                self._open.add(_key(number))
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                # A request that was called off gets no answer.
                self._open.discard(_key((params or {}).get("requestId")))

    def is_unread(self) -> bool:
        """Whether nobody is left to read the answers."""
        if self._watched is None or not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._watched, 0)
        return any(events & (select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0))


def _key(number: Any) -> str:
    """Ids are compared as the protocol's own code does: 7 and "7" are the same request."""
    return str(number)


def _no_message() -> types.JSONRPCError:
    error = types.ErrorData(code=types.PARSE_ERROR, message="The line is no JSON-RPC message.")
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _output_descriptor() -> int | None:
    """Where answers go, kept beside: the transport moves the standard descriptor out of the way of stray prints."""
    try:
        return os.dup(sys.stdout.fileno())
    except (OSError, ValueError):
        return None


@contextmanager
def _signals(door: Door, scope: anyio.CancelScope) -> Iterator[None]:
    """The first signal ends the server in order."""
    loop = asyncio.get_running_loop()
    handled = (signal.SIGINT, signal.SIGTERM)

    def on_signal() -> None:
        door.is_closing = True
        scope.cancel()

    for one in handled:
        loop.add_signal_handler(one, on_signal)
    try:
        yield
    finally:
        for one in handled:
            loop.remove_signal_handler(one)
