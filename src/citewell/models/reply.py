"""One exchange with an endpoint: what an adapter is given, and how the errors of its vendor's client become faults."""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, Protocol

from citewell.errors import Unavailable
from citewell.models import faults
from citewell.models.endpoints import Endpoint
from citewell.models.messages import ChatRequest, FinishReason, Usage

# Thinking aloud: the block some models begin their reply with is no part of the answer. Pure.
#
# Only a block that opens the reply is taken out; a tag further on is text somebody wrote. A block that never ends is
# all the reply there was.


_BLOCKS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>"))


class ThinkFilter:
    """Takes a reply in pieces and gives back what may be shown, as early as that is certain."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._at: Literal["start", "inside", "gap", "answer"] = "start"

    def feed(self, piece: str) -> str:
        """What of the reply so far can be shown in addition."""
        self._held += piece
        if self._at == "start":
            self._look_for_opening()
        if self._at == "inside":
            self._look_for_closing()
        if self._at == "gap":
            # White space between the block and the answer belongs to neither.
            self._held = self._held.lstrip()
            self._at = "answer" if self._held else "gap"
        if self._at != "answer":
            return ""
        shown, self._held = self._held, ""
        return shown

    def finish(self) -> str:
        """What was held back in case it opened a block; nothing if one is still open."""
        shown, self._held = self._held if self._at == "start" else "", ""
        return shown

    def _look_for_opening(self) -> None:
        start = self._held.lstrip().lower()
        for opening, closing in _BLOCKS:
            if start.startswith(opening):
                self._at, self._closing = "inside", closing
                self._held = self._held.lstrip()[len(opening) :]
                return
        if not any(opening.startswith(start) for opening, _ in _BLOCKS):
            self._at = "answer"

    def _look_for_closing(self) -> None:
        at = self._held.lower().find(self._closing)
        if at >= 0:
            self._at = "gap"
            self._held = self._held[at + len(self._closing) :]
        else:
            # Only the tail can be the beginning of the closing tag.
            self._held = self._held[-len(self._closing) :]


# An incoming reply: pieces become text as they come, without the model's thinking and never more than asked for.


# A token is rarely longer than eight characters; the slack is for replies that are only a little over.
CHARS_A_TOKEN = 8
SLACK_CHARS = 2_000
# A streamed token is wrapped in a few hundred bytes.
_BYTES_A_TOKEN = 2_000
_SLACK_BYTES = 1_000_000


def max_bytes(output_tokens: int) -> int:
    """How many bytes a reply of so many tokens can take."""
    return _SLACK_BYTES + _BYTES_A_TOKEN * output_tokens


class Endless(Exception):
    """The model goes on far beyond the limit it was given."""


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """What one event of a reply says, anyone who the provider is."""

    text: str = ""
    thought: str = ""
    finish: FinishReason | None = None
    usage: Usage | None = None


class ReplyReader:
    """One reply on its way. `on_text` gets what belongs to the answer, once and in order."""

    def __init__(self, output_tokens: int, on_text: Callable[[str], None] | None) -> None:
        self._left = output_tokens * CHARS_A_TOKEN + SLACK_CHARS
        self._on_text = on_text
        self._thinking = ThinkFilter()
        self._shown: list[str] = []
        self.finish: FinishReason | None = None
        self.usage: Usage | None = None
        self._written: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._shown)

    @property
    def has_begun(self) -> bool:
        return bool(self._written)

    @property
    def output(self) -> str:
        """All the model wrote, its thinking included."""
        return "".join(self._written)

    def take(self, piece: ReplyPiece) -> None:
        """Add one piece; raises Endless."""
        new = piece.thought + piece.text
        if new:
            self._written.append(new)
            self._left -= len(new)
        if piece.text:
            self._show(self._thinking.feed(piece.text))
        if piece.finish is not None:
            # A refusal stays one, whatever is said afterwards.
            self.finish = "refusal" if self.finish == "refusal" else piece.finish
        self.usage = piece.usage or self.usage
        if self._left < 0:
            raise Endless

    def end(self) -> None:
        """No more comes."""
        self._show(self._thinking.finish())

    def _show(self, text: str) -> None:
        if text:
            self._shown.append(text)
            if self._on_text is not None:
                self._on_text(text)


INSTALL = "pip install openai anthropic genai-prices"


@dataclass(slots=True)
class Exchange:
    """A request on its way to its endpoint. Every request that is sent is counted."""

    request: ChatRequest
    endpoint: Endpoint
    is_streamed: bool
    seconds: float
    time_of_day: Callable[[], float]
    sent: Callable[[], None]

    @contextmanager
    def telling_faults(self, began: Callable[[], bool]) -> Iterator[None]:
        """Errors of the vendor's client and of the connection leave as faults; all others as they are."""
        try:
            yield
        except (faults.CallFault, Endless):
            raise
        except Exception as error:
            fault = fault_of(error, self.endpoint, began=began(), seconds=self.seconds, now=self.time_of_day())
            if fault is None:
                raise
            raise fault from None


class Adapter(Protocol):
    """Speaks the protocol of a family of endpoints."""

    def pieces(self, exchange: Exchange) -> AsyncGenerator[ReplyPiece, None]:
        """The reply as it comes; raises CallFault. Closing it closes the connection."""
        ...


# The part of a client that answers; it would load it in the middle of the first call.
_CALLED = {"openai": "openai.resources.chat.completions", "anthropic": "anthropic.resources.messages"}


def load_client(package: str) -> Any:
    """The vendor's package, loaded when first needed with all that its first call needs; raises Unavailable."""
    if find_spec(package) is None:
        raise Unavailable(f"Models need the package {package}, which is not installed.", fix=f"Install it: {INSTALL}")
    connection = importlib.import_module("citewell.models.connection")
    connection.trusted_certificates()
    importlib.import_module(_CALLED[package])
    return importlib.import_module(package)


def fault_of(
    error: BaseException, endpoint: Endpoint, *, began: bool, seconds: float, now: float
) -> faults.CallFault | None:
    """What an error of a vendor's client or of the connection means; None where it is none of theirs."""
    import httpx2

    from citewell.models.connection import TooMuch

    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and response is not None:
        body = getattr(error, "body", None)
        if status < 300:
            return faults.of_error_inside(body, endpoint)
        return faults.of_status(status, body, dict(response.headers), endpoint, now)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, (httpx2.TransportError, TooMuch)):
        cause = cause.__cause__
    match cause:
        case TooMuch():
            return faults.endless(endpoint)
        case httpx2.ConnectTimeout() | httpx2.ConnectError() | httpx2.UnsupportedProtocol():
            return faults.unreachable(endpoint)
        case httpx2.TimeoutException():
            return faults.timed_out(endpoint, round(seconds, 1))
        case httpx2.TransportError():
            return faults.cut_off(endpoint) if began else faults.unreachable(endpoint, is_broken=True)
    if hasattr(error, "body") and hasattr(error, "request"):
        # An error event inside of a stream.
        return faults.of_error_inside(error.body, endpoint)
    if isinstance(error, (ValueError, RecursionError)):
        return faults.unreadable(endpoint, "it is not the JSON it should be")
    return None


def read_body(data: bytes, endpoint: Endpoint) -> Mapping[str, Any]:
    """A whole reply; raises CallFault where it is none, or an error."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise faults.unreadable(endpoint, "it is not JSON") from None
    if not isinstance(body, dict):
        raise faults.unreadable(endpoint, "it is no JSON object")
    if body.get("error"):
        raise faults.of_error_inside(body["error"], endpoint)
    return body


# Asking for JSON in words, for endpoints that cannot be held to a schema. Pure.


def schema_instruction(schema: Mapping[str, Any]) -> str:
    shown = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON value and nothing else, no explanation and no code fence. Its JSON Schema:\n{shown}"


def instructed(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages with the instruction at the end of the last one, where small models heed it most."""
    *before, last = messages
    asked = {"role": last["role"], "content": f"{last['content']}\n\n{schema_instruction(schema)}"}
    return [*(dict(message) for message in before), asked]
