"""MCP over streamable HTTP: an app for the server that has the gate, and a small server for this machine alone.

    over_http = http_app(cw)
    Route("/mcp", endpoint=over_http.app)      # within over_http.lifespan()

A gate that checks Host, Origin and token stands before the app. By itself (`serve_http`) it is served on the loopback
only, where Host and Origin must be this server's own: it does not tell the programs of this machine apart.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from citewell.domain.errors import Unavailable
from citewell.public import Citewell
from citewell.surfaces.mcp.server import Door

_MOST_BODY_BYTES = 1_000_000
_IDLE_SECONDS = 1_800.0
_MOST_SESSIONS = 200
_GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The app, for whatever path it is put at, and what must run around it."""

    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[None]]
    # To be called before connections are closed: runs of calls that end then are interrupted, not cancelled.
    leave: Callable[[], None]


def http_app(cw: Citewell, *, hosts: frozenset[str] = frozenset()) -> HttpApp:
    """The same server as over stdio. With `hosts` the SDK checks Host and Origin a second time, behind the gate."""
    door = Door(cw)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts),
        allowed_hosts=sorted(hosts),
        allowed_origins=sorted(f"http://{host}" for host in hosts),
    )
    manager = StreamableHTTPSessionManager(
        door.server(),
        security_settings=security,
        max_request_body_size=_MOST_BODY_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_SESSIONS,
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with manager.run():
            try:
                yield
            finally:
                leave()

    def leave() -> None:
        door.is_closing = True

    return HttpApp(StreamableHTTPASGIApp(manager), lifespan, leave)


def serve_http(cw: Citewell, port: int, tell: Callable[[str], None]) -> None:
    """Serve on the loopback until a signal comes. `tell` gets the address once requests are taken."""
    listening = socket.socket()
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        raise Unavailable(f"Port {port} cannot be used: {error.strerror}.", fix="Choose another --port.") from None
    with listening:
        actual = listening.getsockname()[1]
        over_http = http_app(cw, hosts=frozenset({f"127.0.0.1:{actual}", f"localhost:{actual}"}))
        app = Starlette(routes=[Route("/mcp", endpoint=over_http.app)], lifespan=lambda _: over_http.lifespan())
        config = uvicorn.Config(
            app,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        _Server(config, over_http.leave, lambda: tell(f"http://127.0.0.1:{actual}/mcp")).run([listening])


class _Server(uvicorn.Server):
    """uvicorn, that says when it is there and when it is about to go."""

    def __init__(self, config: uvicorn.Config, leave: Callable[[], None], on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._leave = leave
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._leave()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first signal stops in order. uvicorn would raise it again at the end."""
        loop = asyncio.get_running_loop()
        handled = (signal.SIGINT, signal.SIGTERM)
        for one in handled:
            loop.add_signal_handler(one, self.handle_exit, one, None)
        try:
            yield
        finally:
            for one in handled:
                loop.remove_signal_handler(one)
