"""Chat with whichever model a request names: the endpoint is found, asked, asked again where that may help, and paid.

A model is asked where its name says and nowhere else: nothing here falls back to another endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib.util import find_spec

from citewell.errors import Unavailable
from citewell.models import faults
from citewell.models.anthropic import AnthropicChat
from citewell.models.endpoints import Endpoint, PriceList, Protocol, resolve
from citewell.models.faults import Pace, persist
from citewell.models.messages import ChatReply, ChatRequest, Price, Usage, estimate_prompt, estimate_tokens
from citewell.models.openai import OpenAiChat
from citewell.models.reply import INSTALL, Adapter, Endless, Exchange, ReplyPiece, ReplyReader, load_client
from citewell.settings import Settings

# Once a reply has begun, silence this long means that it will not go on. Before, a local model may need minutes.
IDLE_SECONDS = 30.0


def open_chat(settings: Settings, pace: Pace | None = None, idle_seconds: float = IDLE_SECONDS) -> EndpointChat:
    """Every model the settings can reach; raises BadInput where the prices cannot be read. Connects to nothing."""
    return EndpointChat(settings, pace or Pace(), idle_seconds)


def check_model(model: str, settings: Settings) -> Endpoint:
    """Where this model would be asked; raises BadInput for its name or address, Unavailable for a missing package."""
    endpoint = resolve(model, settings)
    package = endpoint.provider.protocol
    if find_spec(package) is None:
        raise Unavailable(
            f"{endpoint.model} needs the package {package}, which is not installed.", fix=f"Install it: {INSTALL}"
        )
    return endpoint


class EndpointChat:
    """A ChatModel over all endpoints."""

    def __init__(self, settings: Settings, pace: Pace, idle_seconds: float) -> None:
        self._settings = settings
        self._pace = pace
        self._idle = idle_seconds
        self._prices = PriceList(settings.prices)
        self._adapters: dict[Protocol, Adapter] = {"openai": OpenAiChat(), "anthropic": AnthropicChat()}

    def price(self, model: str) -> Price | None:
        """What a call of this model costs, None where nobody knows; raises BadInput."""
        return self._prices.price(resolve(model, self._settings))

    async def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Ask once; raises ChatFailed, and BadInput or Unavailable where there is nobody to ask."""
        endpoint = check_model(request.model, self._settings)
        # Loading a client takes seconds: in a thread, and before the time of the call begins.
        await asyncio.to_thread(load_client, endpoint.provider.protocol)
        price = self._prices.price(endpoint)
        attempts, spent = 0, Usage(is_reported=True)

        def sent() -> None:
            nonlocal attempts
            attempts += 1

        async def attempt(seconds: float) -> ReplyReader:
            nonlocal spent
            incoming = ReplyReader(request.max_output_tokens, on_text)
            exchange = Exchange(request, endpoint, on_text is not None, seconds, self._pace.time_of_day, sent)
            try:
                await self._receive(exchange, incoming)
            except faults.CallFault as fault:
                spent = _sum(spent, _usage_of_failed(fault, incoming, request))
                fault.partial_text = incoming.text
                raise
            spent = _sum(spent, incoming.usage or _estimated(incoming, request))
            return incoming

        try:
            reply = await persist(attempt, request.timeout_seconds, self._pace)
        except faults.CallFault as fault:
            fault.usage, fault.attempts = spent, attempts
            fault.cost_usd = _cost(price, spent)
            raise
        return ChatReply(
            reply.text,
            reply.finish or "stop",
            endpoint.provider.name,
            endpoint.name,
            spent,
            _cost(price, spent),
            attempts,
        )

    async def _receive(self, exchange: Exchange, incoming: ReplyReader) -> None:
        """Take in the whole reply, within its time."""
        endpoint = exchange.endpoint
        adapter = self._adapters[endpoint.provider.protocol]
        try:
            async with asyncio.timeout(exchange.seconds), aclosing(adapter.pieces(exchange)) as pieces:
                while (piece := await self._next(pieces, incoming, endpoint)) is not None:
                    incoming.take(piece)
                    # Pieces that came together would be taken in together: others are waiting for this loop too.
                    await asyncio.sleep(0)
        except TimeoutError:
            raise faults.timed_out(endpoint, exchange.request.timeout_seconds) from None
        except Endless:
            raise faults.endless(endpoint) from None
        incoming.end()

    async def _next(
        self, pieces: AsyncGenerator[ReplyPiece, None], incoming: ReplyReader, endpoint: Endpoint
    ) -> ReplyPiece | None:
        try:
            async with asyncio.timeout(self._idle if incoming.has_begun else None):
                return await anext(pieces, None)
        except TimeoutError:
            raise faults.timed_out(endpoint, self._idle, is_idle=True) from None


def _usage_of_failed(fault: faults.CallFault, incoming: ReplyReader, request: ChatRequest) -> Usage:
    """What was not answered is not billed; what broke off or came too late probably is."""
    if incoming.has_begun or fault.problem in ("timeout", "cut_stream", "endless", "bad_reply"):
        return incoming.usage or _estimated(incoming, request)
    return Usage(is_reported=True)


def _estimated(incoming: ReplyReader, request: ChatRequest) -> Usage:
    return Usage(estimate_prompt(request.messages), estimate_tokens(incoming.output))


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.is_reported and other.is_reported,
    )


def _cost(price: Price | None, usage: Usage) -> float | None:
    if not usage.input_tokens and not usage.output_tokens:
        return 0.0
    return None if price is None else price.cost(usage)
