"""What a run may spend on models: an estimate before it starts, a reservation before each call, what was spent. Pure.

A call is made only if the whole of its prompt and of the output it may give fits under the ceilings, in USD and in
tokens, so they hold whatever the model does. Tokens of a prompt are estimated high; what a call really cost is what the
provider says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from citewell.domain.chat import ChatReply, ChatRequest, Price, Usage
from citewell.domain.decisions import CostLimitReached
from citewell.domain.runs import ModelCall, ModelUse, Spend
from citewell.models.tokens import estimate_prompt, estimate_tokens
from citewell.runner.actions import Ask, AskFailed
from citewell.runner.state import RunState

# What a result is marked with where the ceiling for all runs of a day was reached.
DAY_LIMIT = "day_limit_reached"
# An answer shorter than this is not worth a call.
LEAST_OUTPUT_TOKENS = 150


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most a run can spend on models; `usd` is None where a price is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Reserved:
    """The most that the calls under way can use."""

    usd: float = 0.0
    tokens: int = 0


NOTHING = Reserved()


def fitted(
    request: ChatRequest, price: Price | None, spend: Spend, use: ModelUse, reserved: Reserved = NOTHING
) -> ChatRequest | None:
    """The call with as much output as the ceilings leave room for; None where they leave room for too little.

    What calls still under way may use in full is reserved already.
    """
    rooms = (_affordable(request, price, spend, use, reserved.usd), _tokens_left(request, spend, use, reserved.tokens))
    most = min((room for room in rooms if room is not None), default=request.max_output_tokens)
    if most >= request.max_output_tokens:
        return request
    return replace(request, max_output_tokens=most) if most >= LEAST_OUTPUT_TOKENS else None


def _affordable(
    request: ChatRequest, price: Price | None, spend: Spend, use: ModelUse, reserved_usd: float
) -> int | None:
    """Tokens of output that the ceiling in USD leaves room for; None where there is no such ceiling."""
    if use.max_cost_usd is None:
        return None
    if price is None or spend.unpriced_calls:
        return 0
    left = use.max_cost_usd - spend.cost_usd - reserved_usd - price.cost(Usage(estimate_prompt(request.messages), 0))
    if price.output_usd <= 0:
        return request.max_output_tokens if left >= 0 else 0
    return int(left * 1_000_000 / price.output_usd) if left > 0 else 0


def _tokens_left(request: ChatRequest, spend: Spend, use: ModelUse, reserved_tokens: int) -> int | None:
    """The same of the ceiling in tokens."""
    if use.max_tokens is None:
        return None
    used = spend.tokens + spend.unmetered_tokens + reserved_tokens + estimate_prompt(request.messages)
    return max(0, use.max_tokens - used)


def reserved(state: RunState) -> Reserved:
    """The most that the calls under way can use."""
    asked = [action.request for action in state.open if isinstance(action, Ask)]
    usd = sum(_worst_cost(request, state.request.models) for request in asked)
    return Reserved(usd, sum(map(worst_tokens, asked)))


def worst_tokens(request: ChatRequest) -> int:
    """The most a call can use: its prompt, and all of the output it may give."""
    return estimate_prompt(request.messages) + request.max_output_tokens


def ceiling_reached(state: RunState, of_day: str = "") -> CostLimitReached:
    """What is told where a ceiling leaves no room for the next call; `of_day` where it is that of all runs of a day."""
    use, spend = state.request.models, state.spend
    return CostLimitReached(use.max_cost_usd, spend.cost_usd, use.max_tokens, spend.tokens, of_day)


def _worst_cost(request: ChatRequest, use: ModelUse) -> float:
    price = price_of(request, use)
    return price.cost(Usage(estimate_prompt(request.messages), request.max_output_tokens)) if price else 0.0


def price_of(request: ChatRequest, use: ModelUse) -> Price | None:
    """What the model of a call costs."""
    prices = {"plan": use.planner_price, "review": use.reviewer_price, "evaluate": use.evaluator_price}
    return prices.get(request.purpose, use.writer_price)


@dataclass(frozen=True, slots=True)
class MoreCalls:
    """Calls a run may make beside planning, writing and reviewing: how many, what each may use, and its price."""

    calls: int
    each: Usage
    price: Price | None


def estimate(
    use: ModelUse,
    evidence_chars: int,
    repairs: int,
    planner_output_tokens: int,
    reviewer_output_tokens: int,
    more: MoreCalls | None = None,
) -> Estimate:
    """The most a run can spend, before anything is known but its limits: every call it may make, in full."""
    calls, given, taken, usd = 0, 0, 0, 0.0
    known = True
    if use.planner:
        calls, given, taken = 2, 2 * 1_000, 2 * planner_output_tokens
        known = use.planner_price is not None
        usd += use.planner_price.cost(Usage(given, taken)) if use.planner_price else 0.0
    if use.writes:
        times = 1 + repairs
        prompt = estimate_tokens("x" * evidence_chars)
        written = Usage(prompt + repairs * (prompt + use.max_output_tokens), times * use.max_output_tokens)
        calls, given, taken = calls + times, given + written.input_tokens, taken + written.output_tokens
        known = known and use.writer_price is not None
        usd += use.writer_price.cost(written) if use.writer_price else 0.0
    if use.reviewer:
        read = Usage(estimate_tokens("x" * evidence_chars) + use.max_output_tokens, reviewer_output_tokens)
        calls, given, taken = calls + 1, given + read.input_tokens, taken + read.output_tokens
        known = known and use.reviewer_price is not None
        usd += use.reviewer_price.cost(read) if use.reviewer_price else 0.0
    if more is not None and more.calls:
        whole = Usage(more.calls * more.each.input_tokens, more.calls * more.each.output_tokens)
        calls, given, taken = calls + more.calls, given + whole.input_tokens, taken + whole.output_tokens
        known = known and more.price is not None
        usd += more.price.cost(whole) if more.price else 0.0
    return Estimate(calls, given, taken, round(usd, 6) if known else None)


def call_of(request: ChatRequest, seen: ChatReply | AskFailed) -> ModelCall:
    """A call as the metrics tell it."""
    is_reply = isinstance(seen, ChatReply)
    return ModelCall(
        purpose=request.purpose,
        model=seen.model if isinstance(seen, ChatReply) else request.model.partition(":")[2],
        provider=seen.provider if isinstance(seen, ChatReply) else request.model.partition(":")[0],
        input_chars=request.input_chars,
        output_chars=len(seen.text) if isinstance(seen, ChatReply) else 0,
        input_tokens=seen.usage.input_tokens,
        output_tokens=seen.usage.output_tokens,
        tokens_are_reported=seen.usage.is_reported,
        cost_usd=seen.cost_usd,
        attempts=seen.attempts,
        problem="" if is_reply else str(getattr(seen, "problem", "")),
    )


def dropped_call(request: ChatRequest, price: Price | None) -> ModelCall:
    """A call that was given up half-way: what it cost is known only where it costs nothing."""
    free = price is not None and price.input_usd == 0 and price.output_usd == 0
    provider, _, model = request.model.partition(":")
    return ModelCall(
        purpose=request.purpose,
        model=model,
        provider=provider,
        input_chars=request.input_chars,
        cost_usd=0.0 if free else None,
        problem="given_up",
    )


def spent(spend: Spend, call: ModelCall, unmetered_tokens: int = 0) -> Spend:
    """What is spent with this call too; of one that was given up, the most it may have used."""
    return replace(
        spend,
        model_calls=spend.model_calls + 1,
        tokens=spend.tokens + call.input_tokens + call.output_tokens,
        cost_usd=round(spend.cost_usd + (call.cost_usd or 0.0), 9),
        unpriced_calls=spend.unpriced_calls + (call.cost_usd is None),
        unmetered_tokens=spend.unmetered_tokens + unmetered_tokens,
    )
