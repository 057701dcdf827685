"""Chat over the protocol that OpenAI began and most servers speak.

Small servers know only parts of it. What is optional is left out step by step where a server refuses it: a JSON Schema
becomes JSON mode, then an instruction in the prompt; what worked is remembered for that model at that address.
"""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Literal

from citewell.models import faults
from citewell.models.endpoints import Endpoint
from citewell.models.messages import ChatRequest, FinishReason, Usage
from citewell.models.reply import Exchange, ReplyPiece, instructed, load_client, max_bytes, read_body

_MOST_REFUSALS = 5
# Events of lines of text of bytes: each is let go by the one around it.
_NESTED_STREAMS = 8
_FINISHES: dict[str, FinishReason] = {"length": "length", "max_tokens": "length", "content_filter": "refusal"}


@dataclass(frozen=True, slots=True)
class _Form:
    """Which optional parts of the protocol a request uses."""

    structure: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    # Only then do most servers report tokens of a stream.
    has_stream_options: bool = True
    has_temperature: bool = True

    def without(self, said: str, is_structured: bool, is_streamed: bool) -> _Form | None:
        """The next simpler form after a refusal, None where there is nothing left to leave out."""
        if self.limit == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, limit="max_completion_tokens")
        if self.limit == "max_completion_tokens" and re.search(r"max_completion_tokens|max_tokens", said):
            return replace(self, limit="max_tokens")
        if self.has_temperature and "temperature" in said:
            return replace(self, has_temperature=False)
        if self.has_stream_options and is_streamed and "stream_options" in said:
            return replace(self, has_stream_options=False)
        if not is_structured or self.structure == "prompt":
            return None
        return replace(self, structure="json_object" if self.structure == "json_schema" else "prompt")


class OpenAiChat:
    """Any endpoint of this protocol."""

    def __init__(self) -> None:
        self._forms: dict[tuple[str, str], _Form] = {}

    async def pieces(self, exchange: Exchange) -> AsyncGenerator[ReplyPiece, None]:
        place = (exchange.endpoint.base_url, exchange.endpoint.name)
        form = self._forms.get(place) or _first_form(exchange.endpoint)
        for refusal in range(_MOST_REFUSALS):
            try:
                async with aclosing(_exchanged(exchange, form)) as pieces:
                    async for piece in pieces:
                        self._forms[place] = form
                        yield piece
                return
            except faults.CallFault as fault:
                if fault.status not in (400, 422) or fault.problem != "rejected":
                    raise
                simpler = form.without(fault.said, exchange.request.schema is not None, exchange.is_streamed)
                if simpler is None or refusal == _MOST_REFUSALS - 1:
                    raise
                form = simpler


async def _exchanged(exchange: Exchange, form: _Form) -> AsyncGenerator[ReplyPiece, None]:
    sdk = load_client("openai")
    from citewell.models.connection import Watch, async_client, time_limits

    watch = Watch(max_bytes(exchange.request.max_output_tokens))
    async with async_client(exchange.endpoint, watch, exchange.seconds) as http:
        client = sdk.AsyncOpenAI(
            # The connection puts the real key in, and no other.
            api_key="none",
            base_url=exchange.endpoint.base_url,
            max_retries=0,
            timeout=time_limits(exchange.seconds),
            http_client=http,
        )
        exchange.sent()
        with exchange.telling_faults(lambda: watch.began):
            if exchange.is_streamed:
                async with aclosing(_streamed(client, exchange, form)) as pieces:
                    has_finished = False
                    async for piece in pieces:
                        has_finished = has_finished or piece.finish is not None
                        yield piece
                if not has_finished:
                    if not watch.is_done:
                        raise faults.cut_off(exchange.endpoint)
                    yield ReplyPiece(finish="stop")
            else:
                raw = await client.chat.completions.with_raw_response.create(**_arguments(exchange, form))
                yield _whole(read_body(raw.http_response.content, exchange.endpoint), exchange.endpoint)


async def _streamed(client: Any, exchange: Exchange, form: _Form) -> AsyncGenerator[ReplyPiece, None]:
    stream = await client.chat.completions.create(stream=True, **_arguments(exchange, form))
    if "json" in stream.response.headers.get("content-type", ""):
        # Some servers ignore the wish for a stream, above all for errors.
        yield _whole(read_body(await stream.response.aread(), exchange.endpoint), exchange.endpoint)
        return
    try:
        async for event in stream:
            if not hasattr(event, "to_dict"):
                raise faults.unreadable(exchange.endpoint, "an event of the stream is no object")
            yield _piece(event.to_dict(warnings=False), "delta")
    except Exception as error:
        await _let_go(error)
        raise


async def _let_go(error: Exception) -> None:
    """Close what the client left open of a stream that failed: later, when it is collected, its loop may be gone."""
    traceback.clear_frames(error.__traceback__)
    for _ in range(_NESTED_STREAMS):
        await asyncio.sleep(0)


def _first_form(endpoint: Endpoint) -> _Form:
    if endpoint.provider.name == "openai" and endpoint.is_default_address:
        # OpenAI's own newer models refuse the older name, and any temperature but theirs.
        return _Form(limit="max_completion_tokens", has_temperature=False)
    return _Form()


def _arguments(exchange: Exchange, form: _Form) -> dict[str, Any]:
    request = exchange.request
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    arguments: dict[str, Any] = {"model": exchange.endpoint.name, form.limit: request.max_output_tokens}
    if form.has_temperature:
        # The same evidence should give the same answer, as far as a model can.
        arguments["temperature"] = 0
    if exchange.is_streamed and form.has_stream_options:
        arguments["stream_options"] = {"include_usage": True}
    if request.schema is not None:
        if form.structure == "json_schema":
            arguments["response_format"] = _schema_format(request, request.schema)
        else:
            messages = instructed(messages, request.schema)
        if form.structure == "json_object":
            arguments["response_format"] = {"type": "json_object"}
    return {**arguments, "messages": messages}


def _schema_format(request: ChatRequest, schema: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {"name": request.schema_name, "schema": dict(schema), "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": wanted}


def _is_strict(schema: Any) -> bool:
    """Whether every object of the schema names all it may have, as strict mode demands."""
    if isinstance(schema, list):
        return all(_is_strict(entry) for entry in schema)
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(_is_strict(entry) for entry in schema.values())


def _whole(body: Mapping[str, Any], endpoint: Endpoint) -> ReplyPiece:
    if not isinstance(body.get("choices"), list) or not body["choices"]:
        raise faults.unreadable(endpoint, "it has no choices")
    piece = _piece(body, "message")
    # A whole body was not cut off.
    return piece if piece.finish is not None else replace(piece, finish="stop")


def _piece(body: Mapping[str, Any], part: Literal["message", "delta"]) -> ReplyPiece:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    said = choice.get(part)
    said = said if isinstance(said, Mapping) else {}
    refusal = _text(said.get("refusal"))
    ended = choice.get("finish_reason")
    finish: FinishReason | None = _FINISHES.get(ended, "stop") if isinstance(ended, str) and ended else None
    return ReplyPiece(
        text=_text(said.get("content")) or refusal,
        thought=_text(said.get("reasoning_content")) or _text(said.get("reasoning")),
        finish="refusal" if refusal else finish,
        usage=_usage(body.get("usage")),
    )


def _text(value: object) -> str:
    """Text, or the texts of the parts some servers split it into."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return ""


def _usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    asked, given = value.get("prompt_tokens"), value.get("completion_tokens")
    if not (isinstance(asked, int) and isinstance(given, int)) or asked < 0 or given < 0 or asked + given == 0:
        return None
    return Usage(asked, given, is_reported=True)
