"""MCP over streamable HTTP: an app for the server that has the gate, where Host, Origin and token are checked.

    over_http = http_app(cw)
    MountedApp("/mcp", over_http.app, over_http.lifespan, is_endpoint=True)

By itself it asks nobody who he is; with `hosts` it checks Host and Origin a second time, behind the gate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from citewell.public import Citewell
from citewell.surfaces.mcp.server import Door

_MOST_BODY_BYTES = 1_000_000
_IDLE_SECONDS = 1_800.0
_MOST_SESSIONS = 200


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

    return over_http(door.server(), hosts=hosts, on_closing=on_closing)


def over_http(server: Server[Any], *, hosts: frozenset[str], on_closing: Callable[[], None]) -> HttpApp:
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
        max_sessions=_MOST_SESSIONS,
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with manager.run():
            try:
                yield
            finally:
                on_closing()

    return HttpApp(StreamableHTTPASGIApp(manager), lifespan)
