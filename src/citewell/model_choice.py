"""What a run may ask: which models, what the caller chose over what is set; what of the web, how much, for how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from citewell.ask import Ask
from citewell.errors import BadInput, Conflict
from citewell.models.chat import check_model
from citewell.models.endpoints import EXTRACTIVE, is_hosted, names_model
from citewell.models.entailment import is_automatic, judge_folder
from citewell.models.messages import ChatModel, Price
from citewell.notes.task import MAX_TOPICS, PAGE_SECONDS, PAGES_A_TOPIC
from citewell.runs.run import ModelUse
from citewell.search.query import RunProfile
from citewell.settings import Settings
from citewell.web.facts import WebUse
from citewell.web.providers import PROVIDERS, enabled, enabled_names

MAX_OUTPUT_TOKENS = 32_000


def model_use(settings: Settings, chat: Callable[[str], ChatModel], choice: Ask, evaluator: str = "") -> ModelUse:
    """The models of a run; `evaluator` is asked between rounds on the web.

    A ceiling in USD, for a run or for a day, needs every price to be known: without it nothing starts.
    """
    writer = choice.model or settings.model or EXTRACTIVE
    planner = _planner(settings, choice, writer)
    ceiling = _ceiling(settings, choice)
    kept = ceiling if ceiling is not None else settings.max_cost_usd_day or None
    seconds = choice.planner_timeout if choice.planner_timeout is not None else settings.planner_seconds
    if not 0 < seconds <= 600:
        raise BadInput(f"The planner's time is {seconds} s.", fix="Give it between 1 and 600 seconds.")
    if choice.planner_timeout is not None and not planner:
        raise Conflict("No model plans, so a time for planning does nothing.", fix="Name one with --planner-model.")
    if not 1 <= settings.max_output_tokens <= MAX_OUTPUT_TOKENS:
        raise BadInput(
            f"CITEWELL_MAX_OUTPUT_TOKENS is {settings.max_output_tokens}.", fix=f"Choose 1 to {MAX_OUTPUT_TOKENS:,}."
        )
    judge = _judge(settings, writer)
    asked = [model for model in (writer, planner, judge, evaluator) if model and model != EXTRACTIVE]
    for model in asked:
        check_model(model, settings)
    return ModelUse(
        writer=writer,
        planner=planner,
        writer_price=_price(chat, writer, kept) if writer != EXTRACTIVE else None,
        planner_price=_price(chat, planner, kept) if planner else None,
        judge=judge,
        judge_price=_price(chat, judge, kept) if judge else None,
        evaluator_price=_price(chat, evaluator, kept) if evaluator else None,
        is_hosted=any(is_hosted(model, settings) for model in asked),
        max_cost_usd=ceiling,
        max_output_tokens=settings.max_output_tokens,
        planner_seconds=seconds,
        max_tokens=_most_tokens(settings, choice),
    )


def _judge(settings: Settings, writer: str) -> str:
    """The chat model that judges sentences, where a model writes and no small model of this machine judges them."""
    if writer == EXTRACTIVE:
        return ""
    if names_model(settings.judge):
        return settings.judge.strip()
    if not is_automatic(settings.judge) or judge_folder(settings) is not None:
        return ""
    return settings.review_model if settings.review_model not in ("", EXTRACTIVE) else writer


def _planner(settings: Settings, choice: Ask, writer: str) -> str:
    """The model that plans: the one named, the one set, or with `--planner` and in a chat the one that writes."""
    if choice.planner is False:
        return ""
    named = choice.planner_model or settings.planner_model
    if not named and choice.planner is None and is_chat(choice):
        named = writer
    if named or not choice.planner:
        return "" if named == EXTRACTIVE else named
    if writer == EXTRACTIVE:
        raise Conflict(
            "No model is chosen that could plan.", fix="Name one with --planner-model, or set CITEWELL_PLANNER_MODEL."
        )
    return writer


def is_chat(choice: Ask) -> bool:
    """Whether somebody asks in a conversation: on the page, or with the profile of one."""
    return choice.surface == "web_chat" or choice.profile == "chat"


def _ceiling(settings: Settings, choice: Ask) -> float | None:
    if choice.max_cost is not None:
        if not 0 <= choice.max_cost < 1_000_000:
            raise BadInput(f"--max-cost is {choice.max_cost}.", fix="Give it in USD, such as 0.05.")
        return choice.max_cost
    if settings.max_cost_usd < 0:
        raise BadInput(f"CITEWELL_MAX_COST_USD is {settings.max_cost_usd}.", fix="Give it in USD, or 0 for none.")
    return settings.max_cost_usd or None


def _most_tokens(settings: Settings, choice: Ask) -> int | None:
    if choice.max_tokens is not None:
        if not 0 <= choice.max_tokens <= 1_000_000_000:
            raise BadInput(f"--max-tokens is {choice.max_tokens}.", fix="Give a number of tokens, such as 20000.")
        return choice.max_tokens
    return settings.max_tokens or None


def _price(chat: Callable[[str], ChatModel], model: str, ceiling: float | None) -> Price | None:
    price = chat(model).price(model)
    if price is None and ceiling is not None:
        raise Conflict(
            f"The price of {model} is not known, so a ceiling of {ceiling} USD cannot be kept.",
            fix=f"Set it: CITEWELL_PRICES='{model}=INPUT/OUTPUT' (USD per million tokens), or leave the ceiling out.",
        )
    return price


# What is reckoned for the reply to a query, in bytes.
_A_REPLY = 250_000


def web_use(settings: Settings, profile: RunProfile, model: str, deny: Sequence[str] = ()) -> WebUse | None:
    """What a run of this profile may use of the web, if anything; `model` is asked between rounds."""
    if profile == "note":
        return _note_web(settings)
    if profile not in ("chat", "deep", "report"):
        return None
    enabled(settings)  # what is turned on without what it needs is said before anything starts
    # A report reads as much as a deep run; what a model says of its pages is asked in its own steps.
    is_deep = profile in ("deep", "report")
    most_reads = settings.deep_research_max_sources_read if is_deep else settings.chat_research_max_sources_read
    most_queries = settings.deep_research_max_search_queries if is_deep else settings.chat_research_max_search_queries
    may_loop = settings.agentic_research_deep_enabled if is_deep else settings.agentic_research_chat_enabled
    return WebUse(
        providers=enabled_names(settings),
        loops=may_loop,
        max_loops=settings.deep_research_max_loops if is_deep else settings.chat_research_max_loops,
        max_reads=most_reads,
        max_queries=most_queries,
        max_bytes=_most_bytes(settings, most_reads, most_queries),
        fetch_seconds=settings.research_source_fetch_timeout_seconds,
        page_bytes=settings.research_source_max_bytes,
        allow=_sites(settings.web_allow),
        deny=(*_sites(settings.web_deny), *deny),
        model=model,
        from_notes=settings.web_queries_from_notes,
        families={name: PROVIDERS[name].family for name in enabled_names(settings)},
    )


def _most_bytes(settings: Settings, reads: int, queries: int) -> int:
    """What a run may receive from the web in all; unless it is set, twice what its pages may have, and its searches."""
    return settings.research_max_bytes or settings.research_source_max_bytes * max(1, reads) * 2 + queries * _A_REPLY


def _note_web(settings: Settings) -> WebUse | None:
    """What a run about a note may use: providers that are turned on, unless nothing may be asked outside."""
    providers = tuple(one.provider.name for one in enabled(settings))
    if not providers or settings.policy_external_data_request == "deny":
        return None
    reads = PAGES_A_TOPIC * MAX_TOPICS
    return WebUse(
        providers=providers,
        loops=settings.agentic_research_deep_enabled,
        max_loops=1,
        max_reads=reads,
        max_queries=2 * MAX_TOPICS,
        max_bytes=_most_bytes(settings, reads, 2 * MAX_TOPICS),
        fetch_seconds=min(PAGE_SECONDS, settings.research_source_fetch_timeout_seconds),
        page_bytes=settings.research_source_max_bytes,
        allow=_sites(settings.web_allow),
        deny=_sites(settings.web_deny),
    )


def _sites(listed: str) -> tuple[str, ...]:
    return tuple(site.strip().lower() for site in listed.split(",") if site.strip())
