"""What a scripted model server is told to do with a request: words, errors, silence, a cut, or bytes as they are."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Ending = Literal["complete", "cut", "stall", "endless"]


@dataclass(frozen=True)
class ModelRequest:
    """What a client asked."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def prompt(self) -> str:
        """The texts of all messages together."""
        system = self.body.get("system") or ""
        return "\n".join([system, *(message["content"] for message in self.body.get("messages", ()))]).strip()


@dataclass(frozen=True)
class Reply:
    """What the server does with one request; made by the functions below."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[str, ...] = ()
    finish: str | None = "stop"
    usage: tuple[int, int] | None = (11, 7)
    thoughts: str = ""
    refusal: str = ""
    ending: Ending = "complete"
    # Sent as they are, each by itself; None: the protocol's own form of the above.
    raw: tuple[bytes, ...] | None = None
    content_type: str = ""
    is_silent: bool = False
    error: Mapping[str, Any] | None = None
    # Nothing is sent before this is set.
    after: threading.Event | None = None


def says(text: str, *, finish: str | None = "stop", **more: Any) -> Reply:
    """A reply of words, streamed in pieces where a stream is asked for."""
    size = 7
    return Reply(pieces=tuple(text[at : at + size] for at in range(0, len(text), size)), finish=finish, **more)


def fails(status: int, message: str = "no", *, code: str = "", headers: Mapping[str, str] | None = None) -> Reply:
    """An error as a provider reports it."""
    return Reply(status, headers or {}, error={"message": message, "code": code or None, "type": code or "error"})


def says_error(message: str, *, code: str | int = "server_error", after: str = "") -> Reply:
    """An error object inside of a 200, in a stream after some text."""
    return Reply(pieces=(after,) if after else (), error={"message": message, "code": code, "type": str(code)})


def silent() -> Reply:
    """Takes the request and never says anything."""
    return Reply(is_silent=True)


def stalls(text: str) -> Reply:
    """Begins a stream, then nothing more."""
    return Reply(pieces=(text,), ending="stall")


def cuts(text: str) -> Reply:
    """Begins a reply, then closes the connection."""
    return Reply(pieces=(text,), ending="cut")


def endless(word: str = "more ") -> Reply:
    """Never stops."""
    return Reply(pieces=(word,), ending="endless")


def sends(*parts: bytes, content_type: str = "text/event-stream", status: int = 200) -> Reply:
    """Exactly these bytes."""
    return Reply(status, raw=parts, content_type=content_type)


Script = Reply | Sequence[Reply] | Callable[[ModelRequest], Reply]


def judges(request: ModelRequest, *, missing: Sequence[str] = ()) -> Reply | None:
    """A judge that finds every sentence in its first passage, but those with one of these; None: it is not asked."""
    if "You check sentences of an answer" not in request.prompt:
        return None
    asked = json.loads(request.body["messages"][-1]["content"])["sentences"]
    told = []
    for one in asked:
        is_missing = any(words in one["sentence"] for words in missing)
        lines = [line for passage in one["passages"] for line in passage["text"].split("\n")]
        words = "" if is_missing else max(lines, key=len)[:120]
        told.append({"n": one["n"], "verdict": "not" if is_missing else "says", "words": words, "wrong": ""})
    return says(json.dumps({"verdicts": told}))
