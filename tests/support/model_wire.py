"""How replies look on the wire: OpenAI's chat completions and Anthropic's messages, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.model_script import ModelRequest, Reply


class OpenAiWire:
    """Chat completions."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request

    def whole(self, reply: Reply, text: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": reply.refusal or None}
        if reply.thoughts:
            message["reasoning_content"] = reply.thoughts
        choice = {"index": 0, "message": message, "finish_reason": reply.finish}
        return self._wrapped("chat.completion", [choice], reply)

    def error(self, reply: Reply) -> dict[str, Any]:
        return {"error": reply.error}

    def beginning(self, reply: Reply) -> Iterator[bytes]:
        yield self._event({"role": "assistant", "content": ""})
        if reply.thoughts:
            yield self._event({"reasoning_content": reply.thoughts})
        if reply.refusal:
            yield self._event({"refusal": reply.refusal})

    def piece(self, text: str) -> bytes:
        return self._event({"content": text})

    def ending(self, reply: Reply) -> Iterator[bytes]:
        if reply.error:
            yield _data({"error": reply.error})
            return
        if reply.finish:
            yield self._event({}, reply.finish)
        if reply.usage and (self._request.body.get("stream_options") or {}).get("include_usage"):
            yield _data(self._wrapped("chat.completion.chunk", [], reply))
        if reply.finish:
            yield b"data: [DONE]\n\n"

    def _event(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data(self._wrapped("chat.completion.chunk", [choice], None))

    def _wrapped(self, kind: str, choices: Sequence[Any], reply: Reply | None) -> dict[str, Any]:
        body: dict[str, Any] = {"id": "c1", "object": kind, "created": 1, "model": self._request.body.get("model")}
        body["choices"] = choices
        if reply is not None and reply.usage:
            body["usage"] = {"prompt_tokens": reply.usage[0], "completion_tokens": reply.usage[1]}
        return body


class AnthropicWire:
    """Messages."""

    _STOPS: Mapping[str | None, str] = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}

    def __init__(self, request: ModelRequest) -> None:
        self._request = request

    def whole(self, reply: Reply, text: str) -> dict[str, Any]:
        thoughts = [{"type": "thinking", "thinking": reply.thoughts, "signature": ""}] if reply.thoughts else []
        content = [*thoughts, {"type": "text", "text": text}]
        return {**self._message(reply), "content": content, "stop_reason": self._stop(reply)}

    def error(self, reply: Reply) -> dict[str, Any]:
        return {"type": "error", "error": reply.error}

    def beginning(self, reply: Reply) -> Iterator[bytes]:
        yield _named("message_start", {"message": {**self._message(reply), "content": []}})
        yield _named("ping", {})
        if reply.thoughts:
            yield _named("content_block_delta", {"delta": {"type": "thinking_delta", "thinking": reply.thoughts}})
        yield _named("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})

    def piece(self, text: str) -> bytes:
        return _named("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})

    def ending(self, reply: Reply) -> Iterator[bytes]:
        if reply.error:
            yield _named("error", {"error": reply.error})
            return
        yield _named("content_block_stop", {"index": 0})
        if reply.finish:
            usage = {"output_tokens": reply.usage[1]} if reply.usage else {}
            yield _named("message_delta", {"delta": {"stop_reason": self._stop(reply)}, "usage": usage})
            yield _named("message_stop", {})

    def _stop(self, reply: Reply) -> str | None:
        return self._STOPS.get(reply.finish, reply.finish)

    def _message(self, reply: Reply) -> dict[str, Any]:
        usage = {"input_tokens": reply.usage[0], "output_tokens": reply.usage[1]} if reply.usage else {}
        return {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": self._request.body["model"],
            "usage": usage,
        }


def _data(body: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def _named(event: str, body: Mapping[str, Any]) -> bytes:
    return f"event: {event}\n".encode() + _data({"type": event, **body})
