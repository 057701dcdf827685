"""A ceiling over all calls of models of a day: no call is made whose whole cost the day has no room for.

It counts days of UTC. A call whose cost is not known in the end, or that nobody waited for, counts as it was reserved.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Protocol

from citewell.domain.chat import ChatFailed, ChatModel, ChatReply, ChatRequest, Price, Usage
from citewell.domain.ports import Clock
from citewell.models.tokens import estimate_prompt

VARIABLE = "CITEWELL_MAX_COST_USD_DAY"


class Spending(Protocol):
    """Where it is kept what calls of a day cost (`recording/spending.py`)."""

    def reserve(self, day: str, call_id: str, nano_usd: int, most: int) -> int | None: ...

    def settle(self, day: str, call_id: str, nano_usd: int) -> None: ...


@dataclass(frozen=True, slots=True)
class DayLimited:
    """A model that is asked only where the day has room for it."""

    model: ChatModel
    spending: Callable[[], Spending]
    max_usd: float
    clock: Clock

    def price(self, model: str) -> Price | None:
        return self.model.price(model)

    async def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        price = self.price(request.model)
        if price is not None and not price.input_usd and not price.output_usd:
            return await self.model.chat(request, on_text)
        day, call_id = self.clock.now()[:10], uuid.uuid4().hex
        await asyncio.to_thread(self._reserve, request, price, day, call_id)
        try:
            reply = await self.model.chat(request, on_text)
        except ChatFailed as failed:
            await self._settle(day, call_id, failed.cost_usd)
            raise
        await self._settle(day, call_id, reply.cost_usd)
        return reply

    def _reserve(self, request: ChatRequest, price: Price | None, day: str, call_id: str) -> None:
        again = date.fromisoformat(day) + timedelta(days=1)
        if price is None:
            raise ChatFailed(
                "day_limit",
                f"The price of {request.model} is not known: the day's limit of {self.max_usd:g} USD cannot be kept.",
                fix=f"Set it: CITEWELL_PRICES='{request.model}=INPUT/OUTPUT' (USD per million tokens).",
                attempts=0,
            )
        worst = price.cost(Usage(estimate_prompt(request.messages), request.max_output_tokens))
        taken = self.spending().reserve(day, call_id, _nano(worst), _nano(self.max_usd))
        if taken is not None:
            raise ChatFailed(
                "day_limit",
                f"The day's limit of {self.max_usd:g} USD for models leaves no room for the next call"
                f" ({taken / 1e9:.6g} USD are spent or reserved). It starts again at 00:00 UTC on {again}.",
                fix=f"Wait until then, or raise {VARIABLE}.",
                attempts=0,
            )

    async def _settle(self, day: str, call_id: str, cost_usd: float | None) -> None:
        if cost_usd is not None:
            await asyncio.to_thread(self.spending().settle, day, call_id, _nano(cost_usd))


def _nano(usd: float) -> int:
    return round(usd * 1e9)
