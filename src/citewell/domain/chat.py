"""Talking to a language model, as values: what is asked, what comes back, what it cost, and how it can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

ChatRole = Literal["system", "user", "assistant"]
# What a call is for: budgets, traces and metrics tell them apart.
ChatPurpose = Literal["plan", "topics", "write", "repair", "review", "evaluate", "triage"]
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
class ChatMessage:
    role: ChatRole
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call. `model` is `provider:name`; with a `schema` the reply must be JSON that fits it."""

    purpose: ChatPurpose
    model: str
    messages: tuple[ChatMessage, ...]
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
