"""The server as an ASGI app: the table of operations behind the gate.

Another app (MCP, the web page) is given as `mounts`: it stands behind the same gate, and its lifespan is run with ours.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec
from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from citewell.api.library import READING
from citewell.api.openapi import openapi_document
from citewell.api.operations import (
    Answer,
    Operation,
    OperationCall,
    ServerState,
    check_content_type,
    decode_body,
    decode_query,
    drain,
    read_body,
)
from citewell.api.problems import JSON, Refused, error_response, internal_error
from citewell.api.research import RESEARCH
from citewell.api.runs import EVALS, NOTES, PASSING_ON, REPORTS, RUNS
from citewell.api.security import AccessGate, Gatekeeper
from citewell.engine import Citewell
from citewell.errors import CitewellError
from citewell.export.typst import has_pdf
from citewell.models.endpoints import askable_providers, set_models
from citewell.models.entailment import judge_called
from citewell.search.query import RunProfile
from citewell.version import __version__
from citewell.wire import learn_types

# What can be asked of this server as it is set up: a page shows controls for that and for nothing else.


_EXPORTS = ("md", "docx", *(("pdf",) if has_pdf() else ()), "bibtex", "ris", "json", "zip")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`model` is `extractive` where none is set; an empty `planner_model` means that rules alone plan.

    A run may name one of `models`, or `PROVIDER:NAME` with one of `model_providers`.
    """

    version: str
    profiles: tuple[RunProfile, ...]
    model: str
    planner_model: str
    exports: tuple[str, ...]
    notes: bool
    models: tuple[str, ...] = ()
    model_providers: tuple[str, ...] = ()
    # Who reads the sentences of a model against their passages; empty: nobody.
    judge: str = ""


def _capabilities(call: OperationCall) -> Capabilities:
    settings = call.cw.settings
    # Without a provider the other profiles ask nobody: they would answer from the corpus, as `local` does.
    profiles: tuple[RunProfile, ...] = ("local", "chat", "deep") if settings.search.strip() else ("local",)
    return Capabilities(
        __version__,
        profiles,
        settings.model,
        settings.planner_model,
        _EXPORTS,
        notes=settings.note_tool,
        models=set_models(settings),
        model_providers=askable_providers(settings),
        judge=judge_called(settings),
    )


CAPABILITIES: tuple[Operation, ...] = (
    Operation(
        *("GET", "/api/capabilities", "capabilities", "What can be asked of this server."),
        Answer(Capabilities, description="Profiles, models, forms of export."),
        value=_capabilities,
        tag="state",
    ),
)


OPERATIONS: tuple[Operation, ...] = (*READING, *RESEARCH, *RUNS, *REPORTS, *PASSING_ON, *NOTES, *EVALS, *CAPABILITIES)

# Blocking calls at the same time; those that keep a processor busy are few, so that they do not starve the rest.
_THREADS, _HEAVY_THREADS = 32, 3
# How often a server looks for runs that another one left: they are taken over so much after their lease at the latest.
_TAKE_OVER_SECONDS = 5.0
_log = logging.getLogger("citewell.server")


@dataclass(frozen=True, slots=True)
class MountedApp:
    """Another app on the same server, at a path of its own, with what must run around it."""

    path: str
    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    # At exactly this path, where a mount takes only what lies below it.
    is_endpoint: bool = False


def create_app(cw: Citewell, keeper: Gatekeeper, mounts: tuple[MountedApp, ...] = ()) -> tuple[ASGIApp, ServerState]:
    """The whole server over an open Citewell, and what its requests share."""
    learn_types(form for one in OPERATIONS for form in (one.query, one.body) if form is not None)
    state = ServerState(cw, anyio.Event(), CapacityLimiter(_THREADS), CapacityLimiter(_HEAVY_THREADS))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for mount in mounts:
                if mount.lifespan is not None:
                    await stack.enter_async_context(mount.lifespan())
            # What is loaded now stays: a collection that walks it all would stop every stream for a moment.
            gc.collect()
            gc.freeze()
            if cw.settings.database_url:
                tasks = await stack.enter_async_context(anyio.create_task_group())
                stack.callback(tasks.cancel_scope.cancel)
                tasks.start_soon(_take_over, cw)
            yield

    # Longest paths first, so that a key with slashes takes nothing that has a route of its own.
    ordered = sorted(OPERATIONS, key=lambda one: ("{" in one.path, -len(one.path)))
    routes: list[BaseRoute] = [*_routes(ordered, state), _openapi_route()]
    routes += [
        Route(mount.path, endpoint=mount.app) if mount.is_endpoint else Mount(mount.path, app=mount.app)
        for mount in mounts
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            CitewellError: _on_error,
            HTTPException: _on_http_error,
        },
    )
    app.router.redirect_slashes = False
    return AccessGate(_Unbreakable(app, cw), keeper), state


async def _take_over(cw: Citewell) -> None:
    """Now and then, go on with runs that another server on the same database left when it was killed."""
    while True:
        await anyio.sleep(_TAKE_OVER_SECONDS)
        try:
            await anyio.to_thread.run_sync(cw.runs.adopt_left, abandon_on_cancel=True)
        except CitewellError:
            continue  # the database is away for a moment


def _routes(operations: list[Operation], state: ServerState) -> list[BaseRoute]:
    """One route for each path; its methods are told apart inside, so that another one is 405 with what is allowed."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [_route(path, methods, state) for path, methods in by_path.items()]


def _route(path: str, methods: Mapping[str, Operation], state: ServerState) -> Route:
    # Keys, topics and names may hold slashes; ids of runs do not.
    route_path = path
    for name in ("key", "topic", "name"):
        route_path = route_path.replace(f"{{{name}}}", f"{{{name}:path}}")
    return Route(route_path, _Endpoint(methods, state))


class _Endpoint:
    """What is at one path, whatever the method: one that is not there is refused here, and no other path is tried."""

    def __init__(self, methods: Mapping[str, Operation], state: ServerState) -> None:
        self._methods = methods
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answered(request)
        except CitewellError as error:
            response = _shown(error, self._state.cw)
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        operation = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if operation is None:
            allowed = [*self._methods, *(["HEAD"] if "GET" in self._methods else [])]
            raise Refused(
                405,
                "method_not_allowed",
                f"{request.method[:20]} is not allowed here.",
                headers={"allow": ", ".join(allowed)},
            )
        return await operation.answered(await _call(request, operation, self._state))


async def _call(request: Request, operation: Operation, state: ServerState) -> OperationCall:
    """The request, read and checked as its operation says."""
    _check_path(request.path_params, operation)
    form = operation.query
    pairs = request.query_params.multi_items()
    if form is None and pairs:
        raise Refused(422, "bad_input", f"{operation.path} takes no parameters.", fix="See /openapi.json.")
    query = decode_query(pairs, form) if form is not None else None
    body: Any = None
    content, kind = b"", ""
    if operation.method == "POST":
        most = state.cw.settings.max_body_bytes
        if operation.body is not None or operation.other_bodies:
            kinds = (*((JSON,) if operation.body is not None else ()), *operation.other_bodies)
            kind = check_content_type(request, kinds)
            content = await read_body(request, most)
            if kind == JSON and operation.body is not None:
                body = decode_body(content, operation.body, invalid=operation.invalid)
        else:
            await _check_no_body(request)
    return OperationCall(request, state, request.path_params, query, body, kind, content)


def _check_path(given: Mapping[str, str], operation: Operation) -> None:
    """An id that cannot be one is not looked for."""
    for name, parameter in operation.parameters.items():
        value = given[name]
        if not parameter.fits(value):
            raise Refused(404, "not_found", f"There is no {name} {value[:80]!r}.", fix=parameter.description)


async def _check_no_body(request: Request) -> None:
    if request.headers.get("content-type"):
        check_content_type(request)
    if await read_body(request, 1_000) not in (b"", b"{}"):
        raise Refused(422, "bad_input", "This takes no body.", fix="Send none, or {}.")


def _openapi_route() -> Route:
    encoded = msgspec.json.encode(openapi_document(OPERATIONS))

    async def endpoint(request: Request) -> Response:
        return Response(encoded, media_type=JSON)

    return Route("/openapi.json", endpoint, methods=["GET"])


def _shown(error: CitewellError, cw: Citewell) -> Response:
    """An error as it may be shown: without the values of secrets."""
    error.message, error.fix = cw.without_secrets(error.message), cw.without_secrets(error.fix)
    return error_response(error)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, CitewellError)
    return error_response(error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    """What routing itself refuses: no such path, not this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        refused = Refused(
            405, "method_not_allowed", f"{request.method} is not allowed here.", headers={"allow": allowed}
        )
    elif error.status_code == 404:
        refused = Refused(404, "not_found", "There is nothing at this address.", fix="See /openapi.json.")
    else:
        refused = Refused(error.status_code, "bad_request", str(error.detail))
    return error_response(refused)


class _Unbreakable:
    """Whatever goes wrong inside becomes one answer; what it was is for the terminal, without secrets."""

    def __init__(self, app: ASGIApp, cw: Citewell) -> None:
        self._app = app
        self._cw = cw

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def sending(message: Any) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start" and message["status"] == 413 and not _waits(scope):
                # A client that is still sending would never read an answer on a connection that is closed on it.
                await drain(receive)
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # the boundary of the server: one broken request ends nothing else
            if scope["type"] == "lifespan":
                raise
            said = self._cw.without_secrets(f"{type(error).__name__}: {error}")
            _log.error("a request failed: %s", said)
            if not has_begun:
                await error_response(internal_error())(scope, receive, send)


def _waits(scope: Scope) -> bool:
    """Whether a client sends its body only once it is told to."""
    return any(name == b"expect" for name, _ in scope["headers"])
