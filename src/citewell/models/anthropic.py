"""Chat over Anthropic's Messages protocol. A schema that is refused becomes an instruction in the prompt."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from citewell.models import faults
from citewell.models.messages import FinishReason, Usage
from citewell.models.reply import Exchange, ReplyPiece, instructed, load_client, max_bytes, read_body

_FINISHES: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicChat:
    """Anthropic, or a server that speaks its protocol."""

    def __init__(self) -> None:
        self._plain: set[tuple[str, str]] = set()

    async def pieces(self, exchange: Exchange) -> AsyncGenerator[ReplyPiece, None]:
        place = (exchange.endpoint.base_url, exchange.endpoint.name)
        is_structured = exchange.request.schema is not None and place not in self._plain
        try:
            async with aclosing(_exchanged(exchange, is_structured)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except faults.CallFault as fault:
            if not is_structured or fault.status not in (400, 422) or fault.problem != "rejected":
                raise
        async with aclosing(_exchanged(exchange, False)) as pieces:
            async for piece in pieces:
                self._plain.add(place)
                yield piece


async def _exchanged(exchange: Exchange, is_structured: bool) -> AsyncGenerator[ReplyPiece, None]:
    sdk = load_client("anthropic")
    from citewell.models.connection import Watch, async_client, time_limits

    watch = Watch(max_bytes(exchange.request.max_output_tokens))
    async with async_client(exchange.endpoint, watch, exchange.seconds) as http:
        client = sdk.AsyncAnthropic(
            # The connection puts the real key in; a key that is named keeps the client from looking for others.
            api_key="none",
            base_url=exchange.endpoint.base_url,
            max_retries=0,
            timeout=time_limits(exchange.seconds),
            http_client=http,
            open_telemetry=False,
        )
        exchange.sent()
        with exchange.telling_faults(lambda: watch.began):
            arguments = _arguments(exchange, is_structured)
            if exchange.is_streamed:
                async with aclosing(_streamed(client, exchange, arguments)) as pieces:
                    has_finished = False
                    async for piece in pieces:
                        has_finished = has_finished or piece.finish is not None
                        yield piece
                if not has_finished:
                    raise faults.cut_off(exchange.endpoint)
            else:
                raw = await client.messages.with_raw_response.create(**arguments)
                yield _whole(read_body(raw.http_response.content, exchange.endpoint), exchange)


async def _streamed(client: Any, exchange: Exchange, arguments: Mapping[str, Any]) -> AsyncGenerator[ReplyPiece, None]:
    stream = await client.messages.create(stream=True, **arguments)
    if "json" in stream.response.headers.get("content-type", ""):
        yield _whole(read_body(await stream.response.aread(), exchange.endpoint), exchange)
        return
    asked = 0
    async for event in stream:
        if not hasattr(event, "to_dict"):
            raise faults.unreadable(exchange.endpoint, "an event of the stream is no object")
        body = event.to_dict(warnings=False)
        match body.get("type"):
            case "message_start":
                asked = _input_tokens(_mapping(_mapping(body.get("message")).get("usage")))
            case "content_block_delta":
                delta = _mapping(body.get("delta"))
                yield ReplyPiece(text=_text(delta.get("text")), thought=_text(delta.get("thinking")))
            case "message_delta":
                given = _mapping(body.get("usage")).get("output_tokens")
                usage = Usage(asked, given, is_reported=True) if asked and isinstance(given, int) else None
                yield ReplyPiece(finish=_finish(_mapping(body.get("delta")).get("stop_reason")), usage=usage)
            case _:
                pass


def _arguments(exchange: Exchange, is_structured: bool) -> dict[str, Any]:
    request = exchange.request
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    messages = [
        {"role": message.role, "content": message.content} for message in request.messages if message.role != "system"
    ]
    arguments: dict[str, Any] = {"model": exchange.endpoint.name, "max_tokens": request.max_output_tokens}
    if system:
        arguments["system"] = system
    if request.schema is not None:
        if is_structured:
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
        else:
            messages = instructed(messages, request.schema)
    return {**arguments, "messages": messages}


def _whole(body: Mapping[str, Any], exchange: Exchange) -> ReplyPiece:
    content = body.get("content")
    if not isinstance(content, list):
        raise faults.unreadable(exchange.endpoint, "it has no content")
    parts = [part for part in content if isinstance(part, Mapping)]
    usage = _mapping(body.get("usage"))
    asked, given = _input_tokens(usage), usage.get("output_tokens")
    return ReplyPiece(
        text="".join(_text(part.get("text")) for part in parts if part.get("type") == "text"),
        thought="".join(_text(part.get("thinking")) for part in parts if part.get("type") == "thinking"),
        finish=_finish(body.get("stop_reason")) or "stop",
        usage=Usage(asked, given, is_reported=True) if asked and isinstance(given, int) else None,
    )


def _input_tokens(usage: Mapping[str, Any]) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(value for name in names if isinstance(value := usage.get(name), int))


def _finish(reason: object) -> FinishReason | None:
    return _FINISHES.get(reason, "stop") if isinstance(reason, str) and reason else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""
