"""MCP over streamable HTTP: an app for the server that has the gate, where Host, Origin and token are checked.

    over_http = http_app(cw)
    MountedApp("/mcp", over_http.app, over_http.lifespan, is_endpoint=True)

By itself it asks nobody who he is; with `hosts` it checks Host and Origin a second time, behind the gate. Sessions that
nobody uses lock nobody out: when a new one makes them too many, the one idle longest ends, as if its client had left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.engine import Citewell
from citewell.mcp.server import Door

_MOST_BODY_BYTES = 1_000_000
_IDLE_SECONDS = 1_800.0
_MOST_SESSIONS = 200
# More than that only while each of them has a call under way.
_MOST_BUSY_SESSIONS = 2 * _MOST_SESSIONS
_SESSION = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The app, for whatever path it is put at, and what must run around it."""

    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[None]]


def http_app(cw: Citewell, *, hosts: frozenset[str] = frozenset()) -> HttpApp:
    """The same server as over stdio. With `hosts` the SDK checks Host and Origin a second time, behind the gate."""
    door = Door(cw)

    def on_closing() -> None:
        # Runs of calls that end now are interrupted, not cancelled.
        door.is_closing = True

    return over_http(door.server(), hosts=hosts, on_closing=on_closing, is_busy=door.is_busy)


def over_http(
    server: Server[Any],
    *,
    hosts: frozenset[str],
    on_closing: Callable[[], None],
    is_busy: Callable[[str], bool] = lambda session: False,
) -> HttpApp:
    """Any server of the SDK, with the limits that ours has."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts),
        allowed_hosts=sorted(hosts),
        allowed_origins=sorted(f"http://{host}" for host in hosts),
    )
    manager = StreamableHTTPSessionManager(
        server,
        security_settings=security,
        max_request_body_size=_MOST_BODY_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_BUSY_SESSIONS,
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with manager.run():
            try:
                yield
            finally:
                on_closing()

    return HttpApp(_Sessions(StreamableHTTPASGIApp(manager), is_busy), lifespan)


class _Sessions:
    """Knows which session was used last, and ends the one idle longest where a new one makes them too many.

    A session is used by what its client posts; a stream that is only held open is no use. One with a call under way
    stays, also where its client no longer waits for the answer.
    """

    def __init__(self, app: ASGIApp, is_busy: Callable[[str], bool]) -> None:
        self._app = app
        self._is_busy = is_busy
        self._posting: Counter[str] = Counter()
        # In the order of their last use. One that ended by itself stays listed until it is the first.
        self._used: dict[str, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = Headers(scope=scope).get(_SESSION)
        if session is None:
            await self._app(scope, receive, self._noting_new(scope, send))
        elif scope["method"] == "POST" and session in self._used:
            self._posting[session] += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._posting -= Counter({session: 1})
                if session in self._used:
                    del self._used[session]
                    self._used[session] = None
        else:
            await self._app(scope, receive, send)

    def _noting_new(self, scope: Scope, send: Send) -> Send:
        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = Headers(raw=message["headers"]).get(_SESSION)
                if opened is not None:
                    await self._end_idle(scope)
                    self._used[opened] = None
            await send(message)

        return noting

    async def _end_idle(self, scope: Scope) -> None:
        """Make room for a new session: the way a client ends its own."""
        while len(self._used) >= _MOST_SESSIONS:
            session = next((one for one in self._used if not self._posting[one] and not self._is_busy(one)), None)
            if session is None:
                return
            del self._used[session]
            host = [(name, value) for name, value in scope["headers"] if name == b"host"]
            ending = {**scope, "method": "DELETE", "headers": [*host, (_SESSION.encode(), session.encode())]}
            await self._app(ending, _no_body, _unread)


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unread(message: Message) -> None:
    return None
