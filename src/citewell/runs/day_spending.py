"""A ceiling over all calls of models of a day: no call is made whose whole cost the day has no room for.

It counts days of UTC, in a table that every run and every process of a store shares. A call is reserved in full before
it is made and put right when it is over; one whose cost is not known in the end, that nobody waited for, or whose
process is gone, counts as it was reserved. Amounts are whole billionths of a USD: no sum of them is rounded.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from citewell.clock import Clock
from citewell.models.messages import ChatFailed, ChatModel, ChatReply, ChatRequest, Price, Usage, estimate_prompt
from citewell.store.database import Session, Sessions, one

VARIABLE = "CITEWELL_MAX_COST_USD_DAY"
# Calls of the days before are of no use to anybody.
_FORGET = "DELETE FROM model_spending WHERE day < ?"
_SUM = "SELECT coalesce(sum(nano_usd), 0) FROM model_spending WHERE day = ?"
_PUT = "INSERT INTO model_spending(day, call_id, nano_usd) VALUES (?,?,?) ON CONFLICT (day, call_id) DO NOTHING"
_SETTLE = "UPDATE model_spending SET nano_usd = ? WHERE day = ? AND call_id = ?"


class DaySpending:
    """What calls of a day cost, over the database of the runs."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def reserve(self, day: str, call_id: str, nano_usd: int, most: int) -> int | None:
        """Reserve what a call may cost; where that is more than the day has left, what is taken of it already."""

        def work(session: Session) -> int | None:
            # One reservation at a time: a row of the day that everybody locks first.
            session.execute(_PUT, (day, "", 0))
            session.rows(
                f"SELECT 1 FROM model_spending WHERE day = ? AND call_id = ''{self._sessions.dialect.for_update}",
                (day,),
            )
            known = one(session, "SELECT 1 FROM model_spending WHERE day = ? AND call_id = ?", (day, call_id))
            if known is not None:  # done before, and the word of it was lost
                return None
            taken = _sum(session, day)
            if taken + nano_usd > most:
                return taken
            session.execute(_PUT, (day, call_id, nano_usd))
            session.execute(_FORGET, (day,))
            return None

        return self._sessions.write(work)

    def settle(self, day: str, call_id: str, nano_usd: int) -> None:
        """Put what a call did cost in the place of what was reserved for it."""
        self._sessions.write(lambda session: session.execute(_SETTLE, (nano_usd, day, call_id)))

    def spent(self, day: str) -> int:
        """What is spent and reserved on a day."""
        return self._sessions.read(lambda session: _sum(session, day))


def _sum(session: Session, day: str) -> int:
    row = one(session, _SUM, (day,))
    assert row is not None
    return int(row[0])


@dataclass(frozen=True, slots=True)
class DayLimited:
    """A model that is asked only where the day has room for it."""

    model: ChatModel
    spending: Callable[[], DaySpending]
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
