"""Operations: each endpoint as data, from which both the routes and the OpenAPI document are made."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import anyio
import msgspec
from anyio import CapacityLimiter
from msgspec.inspect import (
    BoolType,
    Field,
    FloatType,
    IntType,
    ListType,
    Metadata,
    NoneType,
    StructType,
    UnionType,
    VarTupleType,
    type_info,
)
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive

from citewell.api.problems import JSON, Refused
from citewell.engine import Citewell
from citewell.wire import to_json

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
class OperationCall:
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
    value: Callable[[OperationCall], object] | None = None
    respond: Callable[[OperationCall], Awaitable[Response]] | None = None
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

    async def answered(self, call: OperationCall) -> Response:
        if self.respond is not None:
            return await self.respond(call)
        assert self.value is not None
        value, encoded = self.value, to_json

        def document() -> bytes:
            return encoded(value(call))

        content = await call.blocking(document, heavy=self.is_heavy)
        return Response(content, self.answer.status, media_type=JSON)


# Requests as typed values: bodies within a limit, queries parameter by parameter, each checked against its type.
#
# The types are msgspec Structs; the OpenAPI document is made from the same ones, so what it says is what is checked.


_Form = TypeVar("_Form")
# How long a body may take to come.
BODY_SECONDS = 60.0
_INT, _FLOAT = re.compile(r"-?[0-9]{1,18}"), re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a request may say; anything else is refused rather than ignored."""


def check_content_type(request: Request, allowed: Sequence[str] = (JSON,)) -> str:
    """The kind of body a request has; a page of another site can send forms and plain text without asking."""
    given = request.headers.getlist("content-type")
    kind = given[0].partition(";")[0].strip().lower() if len(given) == 1 else ""
    if kind not in allowed or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "unsupported_media_type", f"The body must be {' or '.join(allowed)}, not compressed.")
    return kind


async def read_body(request: Request, most: int) -> bytes:
    """The body, if it is no larger than allowed; a larger one is refused without being kept."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        raise Refused(408, "too_slow", "The body did not come in time.", headers={"connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "bad_request", "The body ended before it was whole.") from None
    return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(
        413,
        "too_large",
        f"The request is larger than {most:,} bytes.",
        fix="Send less, or raise CITEWELL_MAX_BODY_BYTES.",
        headers={"connection": "close"},
    )


async def drain(receive: Receive, most_bytes: int = 256_000_000, seconds: float = 3.0) -> None:
    """Let a client finish sending what was refused, so that it gets to read why; nothing is kept."""
    with anyio.move_on_after(seconds):
        while most_bytes > 0:
            message = await receive()
            most_bytes -= len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                return


def decode_body(content: bytes, form: type[_Form], *, invalid: int = 422) -> _Form:
    """A JSON body as its type. Not JSON, or no question, is 400; what else does not fit has a status of its own."""
    try:
        try:
            return msgspec.json.decode(content, type=form)
        except msgspec.ValidationError as error:
            if "got `float`" not in str(error):
                raise
            return msgspec.convert(_whole_numbers(msgspec.json.decode(content)), form)
    except msgspec.ValidationError as error:
        said = str(error)
        if "`$.question`" in said and "regex" in said:
            said = "the question is empty"
        is_basic = (
            "question is empty" in said
            or "`$.question`" in said
            or "field `question`" in said
            or "$" not in said.partition(" - at ")[2]
        )
        status = 400 if is_basic and "unknown field" not in said else invalid
        raise Refused(status, "bad_input", f"The body does not fit: {said}.", fix="See /openapi.json.") from None
    except RecursionError:
        raise Refused(400, "bad_input", "The body is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, "bad_json", f"The body is not JSON: {error}.") from None


def _whole_numbers(value: Any) -> Any:
    """JSON knows one kind of number: 3.0 is the integer 3."""
    match value:
        case dict():
            return {name: _whole_numbers(one) for name, one in value.items()}
        case list():
            return [_whole_numbers(one) for one in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def decode_query(pairs: Sequence[tuple[str, str]], form: type[_Form]) -> _Form:
    """The parameters of a query as their type; unknown and repeated ones are refused."""
    fields = {field.encode_name: field for field in _fields(form)}
    found: dict[str, Any] = {}
    for name, text in pairs:
        field = fields.get(name)
        if field is None:
            raise _bad(name, f"is no parameter; known are {', '.join(fields) or 'none'}")
        kind = _kind(field)
        if isinstance(kind, (ListType, VarTupleType)):
            found.setdefault(name, []).append(text)
        elif name in found:
            raise _bad(name, "is given twice")
        else:
            found[name] = _value(name, text, kind)
    try:
        return msgspec.convert(found, form)
    except msgspec.ValidationError as error:
        raise Refused(422, "bad_input", f"The query does not fit: {error}.", fix="See /openapi.json.") from None


def _fields(form: type) -> Sequence[Field]:
    described = type_info(form)
    assert isinstance(described, StructType)
    return described.fields


def _kind(field: Field) -> Any:
    kind = _bare(field.type)
    if isinstance(kind, UnionType):
        return _bare(next(one for one in kind.types if not isinstance(one, NoneType)))
    return kind


def _bare(kind: Any) -> Any:
    return kind.type if isinstance(kind, Metadata) else kind


def _value(name: str, text: str, kind: Any) -> Any:
    match kind:
        case BoolType() if text in ("true", "false"):
            return text == "true"
        case IntType() if _INT.fullmatch(text):
            return int(text)
        case FloatType() if _FLOAT.fullmatch(text):
            return float(text)
        case BoolType() | IntType() | FloatType():
            raise _bad(name, f"is {text[:40]!r}")
        case _:
            return text


def _bad(name: str, why: str) -> Refused:
    return Refused(422, "bad_input", f"The parameter {name[:80]!r} {why}.", fix="See /openapi.json.")
