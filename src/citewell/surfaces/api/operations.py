"""Operations: each endpoint as data, from which both the routes and the OpenAPI document are made."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response

from citewell.engine import Citewell
from citewell.surfaces.api.errors import JSON
from citewell.surfaces.wire import to_json

Method = Literal["GET", "POST"]


@dataclass(slots=True)
class ServerState:
    """What the requests of one server share."""

    cw: Citewell
    # Set once the server stops: streams end.
    closing: anyio.Event
    # Blocking work of Citewell at the same time; and the part of it that keeps a processor busy.
    threads: CapacityLimiter
    heavy: CapacityLimiter
    syntheses: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read and checked."""

    request: Request
    state: ServerState
    path: Mapping[str, str]
    query: Any
    body: Any
    # The kind and bytes of a body that is not JSON.
    content_type: str = ""
    content: bytes = b""

    @property
    def cw(self) -> Citewell:
        return self.state.cw

    async def blocking(self, function: Callable[..., Any], *args: Any, heavy: bool = False) -> Any:
        """A blocking call of Citewell, off the event loop."""
        limiter = self.state.heavy if heavy else self.state.threads
        return await anyio.to_thread.run_sync(function, *args, limiter=limiter, abandon_on_cancel=True)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A part of the path: what it may be, and one that it could be."""

    description: str
    example: str
    pattern: str = ""
    max_length: int = 1_000

    def fits(self, value: str) -> bool:
        return 0 < len(value) <= self.max_length and (not self.pattern or bool(re.search(self.pattern, value)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation answers when it goes well: a type, or a schema or media of its own."""

    form: Any = None
    status: int = 200
    description: str = ""
    media: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    example: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # Other good answers, which have no body.
    also: Mapping[int, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint. `value` is one blocking call whose result is the answer; `respond` answers by itself."""

    method: Method
    path: str
    name: str
    summary: str
    answer: Answer
    tag: str = "reading"
    value: Callable[[Call], object] | None = None
    respond: Callable[[Call], Awaitable[Response]] | None = None
    is_heavy: bool = False
    query: type | None = None
    body: type | None = None
    # What else than JSON the body may be, and as what it is documented.
    other_bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    body_example: Any = None
    invalid: int = 422
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    header_parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    # What each event of a stream holds.
    events: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""

    async def answered(self, call: Call) -> Response:
        if self.respond is not None:
            return await self.respond(call)
        assert self.value is not None
        value, encoded = self.value, to_json

        def document() -> bytes:
            return encoded(value(call))

        content = await call.blocking(document, heavy=self.is_heavy)
        return Response(content, self.answer.status, media_type=JSON)
