"""Talking to a language model, as values: what is asked, what comes back, what it cost, and how it can fail."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import msgspec

ChatRole = Literal["system", "user", "assistant"]
# What a call is for: budgets, traces and metrics tell them apart.
ChatPurpose = Literal["plan", "topics", "write", "repair", "judge", "evaluate", "triage"]
# `stop`: the model was done; `length`: its output limit cut it off; `refusal`: it declined or a filter did.
FinishReason = Literal["stop", "length", "refusal"]
ChatProblem = Literal[
    "unreachable",  # nothing answers at the address, or the connection broke before a reply began
    "unauthorized",  # no key, a wrong key, no permission
    "unknown_model",  # the endpoint does not have this model
    "rate_limited",  # 429 until the retries or the time were used up
    "server_error",  # 5xx, or an error inside a 200
    "too_long",  # the prompt does not fit into the model's context
    "rejected",  # any other 4xx: the request itself is not accepted
    "timeout",  # nothing, or not everything, came in time
    "cut_stream",  # a stream that ended before the model was done
    "bad_reply",  # a reply nobody can read: not JSON, no choices, undecodable
    "endless",  # more output than was asked for
    "day_limit",  # nothing was asked: the ceiling for all calls of the day has no room for it
]


@dataclass(frozen=True, slots=True)
class PromptMessage:
    role: ChatRole
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call. `model` is `provider:name`; with a `schema` the reply must be JSON that fits it."""

    purpose: ChatPurpose
    model: str
    messages: tuple[PromptMessage, ...]
    max_output_tokens: int
    timeout_seconds: float
    schema: Mapping[str, Any] | None = None
    schema_name: str = "reply"

    @property
    def input_chars(self) -> int:
        return sum(len(message.content) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `is_reported` is false where the provider said nothing and they were estimated."""

    input_tokens: int = 0
    output_tokens: int = 0
    is_reported: bool = False


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens, and where the figure comes from. A local model costs nothing."""

    input_usd: float
    output_usd: float
    source: Literal["setting", "catalogue", "local"]

    def cost(self, usage: Usage) -> float:
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1_000_000


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model answered. `cost_usd` is None where no price is known: unknown is never called nothing."""

    text: str
    finish: FinishReason
    provider: str
    model: str
    usage: Usage
    cost_usd: float | None
    attempts: int = 1


class ChatFailed(Exception):
    """A call that gave no usable reply: why, in a sentence for the user, what to do, and what was spent on it."""

    def __init__(
        self,
        problem: ChatProblem,
        message: str,
        *,
        fix: str = "",
        usage: Usage | None = None,
        cost_usd: float | None = 0.0,
        attempts: int = 1,
        partial_text: str = "",
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message
        self.fix = fix
        self.usage = usage or Usage()
        self.cost_usd = cost_usd
        self.attempts = attempts
        self.partial_text = partial_text


class ChatModel(Protocol):
    """Any language model: plain, structured and streamed."""

    async def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Ask once (retrying what is worth retrying). `on_text` gets the text as it comes, in order, once.

        Raises ChatFailed. Cancelling the task closes the connection.
        """
        ...

    def price(self, model: str) -> Price | None:
        """What a call of this model costs, None where nobody knows."""
        ...


# Tokens, estimated: for reserving money before a call, and for calls whose provider reports none. Pure.
#
# The rule: three ASCII characters are one token, three bytes of anything else are two. So English counts about half
# more than it is; code and German up to a fifth less; a Chinese or Japanese character counts 2 and a Cyrillic or Arabic
# letter 1.3, which is what a small vocabulary (SmolLM2, 49,000 entries) makes of them; larger ones make fewer.


# Each message is framed by a few tokens that no text shows.
FRAME_TOKENS = 8


def estimate_tokens(text: str) -> int:
    """About as many tokens as a small vocabulary makes of this text."""
    size = len(text.encode("utf-8", "surrogatepass"))
    ascii_chars = size if text.isascii() else sum(character < "\x80" for character in text)
    return -(-(ascii_chars + 2 * (size - ascii_chars)) // 3)


def estimate_prompt(messages: Iterable[PromptMessage]) -> int:
    """The same for all of these messages together."""
    return sum(estimate_tokens(message.content) + FRAME_TOKENS for message in messages)


# Structured replies: JSON out of whatever a model wrote around it, checked against a type. Pure.
#
# Accepted: a fence, prose before and after, trailing commas, a byte order mark. Refused: NaN and infinity, a key given
# twice, single quotes, more than a megabyte, more than sixty-four levels. The first value in the text that fits counts.


T = TypeVar("T")
MAX_CHARS = 1_000_000
MAX_DEPTH = 64
# A reply that mentions more brackets than this before its JSON is no structured reply.
_MAX_STARTS = 40
_MAX_SCANNED = 4 * MAX_CHARS
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]|"', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"|,(?=\s*+[}\]])', re.DOTALL)
_PAIRS = {"{": "}", "[": "]"}


class NoJson(ValueError):
    """A reply without JSON that fits, and why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_json(text: str, type: type[T]) -> T:
    """The value of this type that the reply holds; raises NoJson with the reason."""
    if len(text) > MAX_CHARS:
        raise NoJson(f"the reply is longer than {MAX_CHARS:,} characters")
    reason = ""
    for found in _values(text):
        if isinstance(found, NoJson):
            reason = reason or found.reason
            continue
        try:
            return msgspec.convert(_clean(json.loads(found, **_STRICT)), type)
        except msgspec.ValidationError as error:
            # What was read as JSON and does not fit says more than a bracket in prose that was none.
            reason = f"the JSON does not fit: {error}"
        except (ValueError, RecursionError) as error:
            reason = reason or f"the JSON cannot be read: {_short(error)}"
    raise NoJson(reason or "the reply holds no JSON")


def read_list(text: str, name: str, type: type[T]) -> list[T]:
    """The list in a reply that is `{name: [...]}`, or the list alone, as many models reply."""
    try:
        return read_json(text, dict[str, list[type]])[name]  # type: ignore[valid-type]
    except (NoJson, KeyError):
        return read_json(text, list[type])  # type: ignore[valid-type]


def list_schema(name: str, items: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    """The schema of such a reply: strict schemas of hosted models have an object at their root."""
    listed = {"type": "array", "items": items} | ({"maxItems": most} if most else {})
    return {"type": "object", "additionalProperties": False, "required": [name], "properties": {name: listed}}


def _values(text: str) -> Iterator[str | NoJson]:
    """Everything in the text that is bracketed like JSON, outermost first, without trailing commas."""
    at, scanned = 0, 0
    for _ in range(_MAX_STARTS):
        start = min((place for place in (text.find("{", at), text.find("[", at)) if place >= 0), default=-1)
        if start < 0:
            return
        end = _end_of_value(text, start)
        if isinstance(end, NoJson):
            yield end
            scanned += len(text) - start
            at = start + 1
        else:
            yield _STRING_OR_COMMA.sub(lambda match: "" if match[0] == "," else match[0], text[start:end])
            scanned += 2 * (end - start)
            # Prose such as "[1]" may stand before; what is inside of a value that did not fit is not looked at.
            at = end
        if scanned > _MAX_SCANNED:
            return


def _end_of_value(text: str, start: int) -> int | NoJson:
    """Where the bracket that opens here is closed."""
    awaited: list[str] = []
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        if token in _PAIRS:
            awaited.append(_PAIRS[token])
            if len(awaited) > MAX_DEPTH:
                return NoJson(f"the JSON is nested more than {MAX_DEPTH} levels deep")
        elif token == '"':
            return NoJson("the JSON is cut off inside of a text")
        elif token in ("}", "]"):
            if awaited.pop() != token:
                return NoJson("the brackets of the JSON do not match")
            if not awaited:
                return match.end()
    return NoJson("the JSON is cut off")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        twice = next(key for key in values if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {twice[:40]!r} is given twice")
    return values


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


_STRICT: dict[str, Any] = {"object_pairs_hook": _unique, "parse_constant": _constant, "parse_float": _number}


def _clean(value: Any) -> Any:
    """Half a character (a lone surrogate) cannot be stored: it becomes the mark for an unreadable one."""
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not value.isascii() else value
        case list():
            return [_clean(entry) for entry in value]
        case dict():
            return {_clean(key): _clean(entry) for key, entry in value.items()}
        case _:
            return value


def _short(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__
