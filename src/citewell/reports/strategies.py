"""The strategies of a report by their names: what `ResearchConfig` chooses from, and a user's own beside them.

A strategy is named in the request of a run. The shipped ones are done again on a replay. What a user's own strategy
said is recorded like what comes from outside, so that a replay needs no code of theirs; a run that is still going needs
it, and says so where it is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator

from citewell.answer.evidence import PreparedSynthesis, inert
from citewell.check.verdict import Citation, Draft, Verification
from citewell.check.verify import verify
from citewell.errors import BadInput, Conflict, Unavailable, WorkFailed
from citewell.models.messages import ChatRequest, NoJson, PromptMessage, list_schema, read_list
from citewell.reports.brief import (
    STRATEGY_NAMES,
    BoundCitation,
    Brief,
    Duplicate,
    ItemCredibility,
    ReportItem,
    ReportPlan,
    StrategyStage,
    TopicSurvey,
)
from citewell.reports.quotes import QuotedQuery, quote_report
from citewell.reports.subqueries import LlmQueryPlanner, RuleQueryPlanner
from citewell.runs.run import JudgeResult
from citewell.search.pack import ResearchPack
from citewell.search.query import QueryPlan
from citewell.search.rows import EvidenceRow
from citewell.text.documents import DocumentView
from citewell.text.untrusted import TAG_RESEARCH_SOURCE, UNTRUSTED_DIRECTIVE, wrap_untrusted
from citewell.text.urls import canonical_url
from citewell.web.credibility import are_copies, credibility, sketch

# Binding: each citation of a report to the retained item it stands in. Pure.
#
#     [3] quotes characters 120–188 of note:notes/kelp   ->   knowledge-0-2, whose passage is 90–700 of that text
#
# What stands in no retained item is unresolved: a report with one is not shown.


class CitationBinder:
    """Resolves citations by key, hash and span."""

    name = "citation"

    def bind(
        self, citations: Sequence[Citation], retained: Sequence[ReportItem]
    ) -> tuple[tuple[BoundCitation, ...], tuple[int, ...]]:
        """The citations with their items, and the numbers of those that resolve to none."""
        bound: list[BoundCitation] = []
        unresolved: list[int] = []
        for citation in citations:
            item = next((one for one in retained if _holds(one, citation)), None)
            if item is None:
                unresolved.append(citation.n)
            else:
                bound.append(BoundCitation(item.ref_id, item.family, citation))
        return tuple(bound), tuple(unresolved)


def _holds(item: ReportItem, citation: Citation) -> bool:
    row, span = item.row, citation.span
    if row.source_key != citation.source_key or row.span.content_hash != span.content_hash:
        return False
    inside = row.span.start <= span.start <= span.end <= row.span.end
    # What stands above a window and belongs to it, such as the header of its table, came with the item.
    return inside or any((one.span.start, one.span.end) == (span.start, span.end) for one in row.context)


# Copies among the items of a report, found before anything is paid for. Pure.
#
#     two sub-queries find the same window, or two pages carry one press release   ->   one is kept, the others name it
#
# Same place, same content, same address with nearly the same text, or three-word runs shared by 85 in 100. The user's
# own document is kept where a page carries the same; else the one that came nearer.


class LexicalDeduplicator:
    """Tells copies by their words."""

    name = "lexical"

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]:
        """Every item that another one makes needless."""
        kept: list[tuple[ReportItem, tuple[int, ...]]] = []
        found: list[Duplicate] = []
        for item in sorted(items, key=lambda one: (one.is_external, one.sub_query, -one.relevance, one.ref_id)):
            marks = sketch(item.row.text)
            same = next(((other, why) for other, known in kept if (why := _same(item, marks, other, known))), None)
            if same is None:
                kept.append((item, marks))
            else:
                found.append(Duplicate(item.ref_id, same[0].ref_id, same[1]))
        return tuple(found)


class NoDeduplicator:
    """Keeps everything but the very same window."""

    name = "off"

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]:
        first: dict[tuple[str, int, int], str] = {}
        found: list[Duplicate] = []
        for item in items:
            known = first.setdefault(_place(item), item.ref_id)
            if known != item.ref_id:
                found.append(Duplicate(item.ref_id, known, "the same passage"))
        return tuple(found)


def _place(item: ReportItem) -> tuple[str, int, int]:
    return item.row.source_key, item.row.span.start, item.row.span.end


def _same(one: ReportItem, marks: tuple[int, ...], other: ReportItem, known: tuple[int, ...]) -> str:
    if _place(one) == _place(other):
        return "the same passage"
    if one.row.source_key != other.row.source_key and one.row.text.strip() == other.row.text.strip():
        return "the same text"
    if are_copies(marks, known):
        return "the same address" if _address(one) and _address(one) == _address(other) else "nearly the same text"
    return ""


def _address(item: ReportItem) -> str | None:
    return canonical_url(item.row.url) if item.row.url else None


# Whether a source from outside is to be believed: rules first, then a model for what they let through. Pure.
#
#     a signed, dated page of a university  ->  0.78 by rules; a model that reads its passage says 0.9  ->  0.84, kept
#
# The user's own documents are never judged. A source below the floor is dropped and listed. A model sees each source
# once, duplicates never, and what it says counts for half: alone it neither saves what rules reject nor praises it to
# 1.


TRIAGE_TOKENS = 1_200
MOST_TRIAGED = 40
_SNIPPET_CHARS = 600
# About the most that a model is shown of all sources together.
MOST_TRIAGE_CHARS = 2_000 + MOST_TRIAGED * (800 + _SNIPPET_CHARS)
# Rules alone reject what is this far below the floor; nearer to it a model may speak for it.
_PREFILTER = 0.15
_RULES = f"""You judge how far web sources can be relied on as evidence. Do not answer the brief.
Reply with one JSON object and nothing else: {{"sources": [{{"id": "...", "score": 0.0, "reason": "..."}}]}}, one entry
a source.
score: from 0 (invented, advertising, copied) to 1 (primary or well-edited, says who wrote it and how it is known).
Judge the source and how it argues, not whether you share its view. reason: at most 12 words.
{UNTRUSTED_DIRECTIVE}"""
TRIAGE_SCHEMA = list_schema(
    "sources",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "score", "reason"],
        "properties": {
            "id": {"type": "string"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "reason": {"type": "string", "maxLength": 200},
        },
    },
)


class _TriageReply(msgspec.Struct):
    id: str
    score: float
    reason: str = ""


class HeuristicCredibilityTriage:
    """Judges by what can be seen of a page."""

    name = "heuristic"

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]:
        """The verdict on every item from outside."""
        return tuple(self._verdict(item, floor) for item in items if item.is_external)

    def _verdict(self, item: ReportItem, floor: float) -> ItemCredibility:
        page = item.page
        if page is None:
            return ItemCredibility(item.ref_id, item.row.source_key, 0.0, ("nothing is known of it",), False)
        if page.injections:
            reasons = (f"it gives orders: {page.injections[0]}",)
            return ItemCredibility(item.ref_id, item.row.source_key, 0.0, reasons, False)
        if "walled" in page.flags:
            reasons = ("hardly more than a request to sign in or accept something",)
            return ItemCredibility(item.ref_id, item.row.source_key, 0.0, reasons, False)
        judged = credibility(page, item.paper)
        kept = judged.score >= floor
        return ItemCredibility(item.ref_id, item.row.source_key, judged.score, judged.reasons, kept)


class HybridCredibilityTriage(HeuristicCredibilityTriage):
    """Rules first; a model then reads what they let through."""

    name = "hybrid"

    def to_ask(
        self, items: Sequence[ReportItem], verdicts: Sequence[ItemCredibility], floor: float
    ) -> tuple[ReportItem, ...]:
        """The items worth a model's look: each source once, none that rules reject outright."""
        scores = {one.ref_id: one.score for one in verdicts}
        sources: dict[str, ReportItem] = {}
        for item in items:
            if item.is_external and scores.get(item.ref_id, 0.0) >= max(0.01, floor - _PREFILTER):
                sources.setdefault(item.row.source_key, item)
        return tuple(sources.values())[:MOST_TRIAGED]

    def request(self, items: Sequence[ReportItem], model: str, seconds: float) -> ChatRequest:
        shown = "\n".join(wrap_untrusted(TAG_RESEARCH_SOURCE, _shown(item)) for item in items)
        messages = (PromptMessage("system", _RULES), PromptMessage("user", shown))
        return ChatRequest("triage", model, messages, TRIAGE_TOKENS, seconds, TRIAGE_SCHEMA, "credibility")

    def read(
        self, reply: str, items: Sequence[ReportItem], verdicts: Sequence[ItemCredibility], floor: float, model: str
    ) -> tuple[tuple[ItemCredibility, ...], str]:
        """The verdicts with what the model said, or as they were and why it could not be read."""
        try:
            told = {one.id: one for one in read_list(reply, "sources", _TriageReply)}
        except NoJson as error:
            return tuple(verdicts), error.reason
        asked = {item.row.source_key: told[item.ref_id] for item in items if item.ref_id in told}
        if not asked:
            return tuple(verdicts), "it names none of the sources"
        return tuple(_with_model(one, asked.get(one.source_key), floor, model) for one in verdicts), ""


class NoTriage(HeuristicCredibilityTriage):
    """Keeps every source that gives no orders; its score is told."""

    name = "off"

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]:
        return super().verdicts(items, 0.01)


def _with_model(one: ItemCredibility, told: _TriageReply | None, floor: float, model: str) -> ItemCredibility:
    if told is None:
        return one
    score = round((one.score + min(1.0, max(0.0, told.score))) / 2, 3)
    reasons = (*one.reasons, *((f"{model}: {inert(told.reason)[:200]}",) if told.reason.strip() else ()))
    return ItemCredibility(one.ref_id, one.source_key, score, reasons, score >= floor, model)


def _shown(item: ReportItem) -> str:
    page = item.page
    facts = [f"id: {item.ref_id}", f"title: {inert(item.row.title)}"]
    if page is not None:
        facts.append(f"address: {inert(page.final_url)}")
        facts += [f"author: {inert(page.author)}"] if page.author else []
        facts += [f"published: {inert(page.published)}"] if page.published else []
    return "\n".join([*facts, f"passage: {inert(item.row.text)[:_SNIPPET_CHARS]}"])


T = TypeVar("T")


class QueryPlanner(Protocol):
    """Which questions are looked into for a brief."""

    def plan(self, brief: Brief, survey: TopicSurvey | None = None) -> ReportPlan: ...


# The corpus searched by a plan; it may be asked several times.
Search = Callable[[QueryPlan], ResearchPack]


class RetrievalSource(Protocol):
    """What of the corpus is evidence for a sub-query: rows that `search` gave, chosen and ordered."""

    def retrieve(self, question: str, plan: QueryPlan, search: Search) -> ResearchPack: ...


class Deduplicator(Protocol):
    """Which items say what another one says."""

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]: ...


class CredibilityTriage(Protocol):
    """How far sources from outside are to be believed."""

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]: ...


class Synthesizer(Protocol):
    """A draft: sentences, each with the exact quotes it rests on. A question is the only query of its answer."""

    def write(self, queries: Sequence[QuotedQuery]) -> Draft: ...


class Verifier(Protocol):
    """Whether each sentence is proven by what it cites."""

    def verify(
        self, question: str, draft: Draft, prepared: PreparedSynthesis, plan: QueryPlan, max_citations: int
    ) -> Verification: ...


class SearchPlanner(Protocol):
    """The searches for a question, from those that rules made; filters and limits stay as they were asked for."""

    def plan(self, question: str, plan: QueryPlan) -> QueryPlan: ...


# More of a document around the question; None where it was removed meanwhile.
ReadMore = Callable[[str], DocumentView | None]


class Inspector(Protocol):
    """More of the documents that come first: what `read` gives of some of them."""

    def inspect(self, keys: Sequence[str], query: str, read: ReadMore) -> Sequence[DocumentView]: ...


# The documents around one, by its key.
Related = Callable[[str], Sequence[EvidenceRow]]


class Expander(Protocol):
    """What belongs to a document beside it: some of what `related` gives."""

    def expand(self, key: str, related: Related) -> Sequence[EvidenceRow]: ...


class Judge(Protocol):
    """Whether evidence is enough, and if not, the one thing worth trying."""

    def judge(
        self, pack: ResearchPack, retries_left: int, expansions_left: int, tried: Sequence[str]
    ) -> JudgeResult: ...


class Binder(Protocol):
    """Which retained item each citation stands in, and which citations stand in none."""

    def bind(
        self, citations: Sequence[Citation], retained: Sequence[ReportItem]
    ) -> tuple[tuple[BoundCitation, ...], tuple[int, ...]]: ...


class QuotingSynthesizer:
    """What the evidence says of each sub-query, word for word; where a model is set it writes instead."""

    def write(self, queries: Sequence[QuotedQuery]) -> Draft:
        return quote_report(queries)


class RuleVerifier:
    """The rules that check answers (docs/measurements/verifier.md)."""

    def verify(
        self, question: str, draft: Draft, prepared: PreparedSynthesis, plan: QueryPlan, max_citations: int
    ) -> Verification:
        return verify(question, draft, prepared, plan, max_citations)


class CorpusRetrieval:
    """The corpus as it ranks."""

    def retrieve(self, question: str, plan: QueryPlan, search: Search) -> ResearchPack:
        return search(plan)


_SHIPPED: dict[StrategyStage, dict[str, Any]] = {
    "planner": {"llm": LlmQueryPlanner(), "rules": RuleQueryPlanner()},
    "retrieval": {"live": CorpusRetrieval()},
    "deduplicator": {"lexical": LexicalDeduplicator(), "off": NoDeduplicator()},
    "triage": {"hybrid": HybridCredibilityTriage(), "heuristic": HeuristicCredibilityTriage(), "off": NoTriage()},
    "synthesizer": {"default": QuotingSynthesizer()},
    "verifier": {"rules": RuleVerifier()},
    "binder": {"citation": CitationBinder()},
    "search_planner": {},
    "inspector": {},
    "expander": {},
    "judge": {},
}
_METHODS: dict[StrategyStage, str] = {
    "planner": "plan",
    "retrieval": "retrieve",
    "deduplicator": "duplicates",
    "triage": "verdicts",
    "synthesizer": "write",
    "verifier": "verify",
    "binder": "bind",
    "search_planner": "plan",
    "inspector": "inspect",
    "expander": "expand",
    "judge": "judge",
}
# The parts of a run that answers a question, and what kind of strategy each is.
COMPONENTS: dict[str, StrategyStage] = {
    "planner": "search_planner",
    "retriever": "retrieval",
    "inspector": "inspector",
    "expander": "expander",
    "judge": "judge",
    "synthesizer": "synthesizer",
    "verifier": "verifier",
}
_OWN: dict[StrategyStage, dict[str, Any]] = {stage: {} for stage in _SHIPPED}


def register_strategy(stage: StrategyStage, name: str, strategy: object) -> None:
    """Make a strategy of one's own known by a name, for this process.

    The name is part of what a run is: give a strategy that does otherwise another name.
    """
    if stage not in _SHIPPED:
        raise BadInput(f"There is no stage '{stage}'.", fix=f"Choose one of {', '.join(_SHIPPED)}.")
    if not name or name in STRATEGY_NAMES.get(stage, ()) or not all(char.isalnum() or char in "-_." for char in name):
        raise BadInput(
            f"A {stage} cannot be called '{name}'.", fix="Choose a name of letters, digits, '-', '_' and '.'."
        )
    if not callable(getattr(strategy, _METHODS[stage], None)):
        raise BadInput(
            f"{type(strategy).__name__} is no {stage}: it has no method `{_METHODS[stage]}`.",
            fix="See the protocols in citewell.reports.strategies.",
        )
    known = _OWN[stage].setdefault(name, strategy)
    if known is not strategy and type(known) is not type(strategy):
        raise Conflict(f"Another {stage} is called '{name}' already.", fix="Choose another name.")
    _OWN[stage][name] = strategy


def register_components(components: Mapping[str, object]) -> dict[str, str]:
    """Parts of one's own, known by their attribute `name`, else by the name of their class; the names by part."""
    if unknown := sorted(components.keys() - COMPONENTS.keys()):
        raise BadInput(f"A run has no part '{unknown[0]}'.", fix=f"Choose from {', '.join(COMPONENTS)}.")
    names = {part: str(getattr(one, "name", "") or type(one).__name__) for part, one in components.items()}
    for part, one in components.items():
        register_strategy(COMPONENTS[part], names[part], one)
    return names


def known_strategies(stage: StrategyStage) -> tuple[str, ...]:
    """The names of a stage's strategies, one's own last."""
    return (*STRATEGY_NAMES.get(stage, ()), *_OWN[stage])


def strategy_of(stage: StrategyStage, name: str) -> Any:
    """The strategy of a name; one's own must have been registered in this process."""
    found = _SHIPPED[stage].get(name) or _OWN[stage].get(name)
    if found is None:
        raise Unavailable(
            f"This run was begun with a {stage} of its user's own, '{name}', which is not known here.",
            fix=f'Register it in the process that runs it: register_strategy("{stage}", "{name}", …).',
        )
    return found


def planned(name: str, brief: Brief, survey: TopicSurvey | None) -> ReportPlan:
    """The plan of a strategy; one's own keeps to the brief's limit, is numbered, and is told by its name."""
    plan: ReportPlan = strategy_of("planner", name).plan(brief, survey)
    if name in STRATEGY_NAMES["planner"]:
        return plan
    kept = [one for one in plan.sub_queries if one.query.strip()][: brief.max_sub_queries]
    if not kept:
        raise WorkFailed(f"The planner '{name}' gave nothing to look into.")
    return ReportPlan(tuple(replace(one, index=at) for at, one in enumerate(kept)), name)


def drafted(name: str, queries: Sequence[QuotedQuery]) -> Draft:
    """The draft of a strategy; what one's own wrote is checked as strictly as what a model wrote."""
    draft: Draft = strategy_of("synthesizer", name).write(queries)
    return draft if name in STRATEGY_NAMES["synthesizer"] else replace(draft, written_by="model")


def retrieved(name: str, question: str, plan: QueryPlan, search: Search) -> ResearchPack:
    """What a retrieval source of one's own gives: only passages that the corpus gave it."""
    seen: set[tuple[object, ...]] = set()

    def searching(wanted: QueryPlan) -> ResearchPack:
        pack = search(wanted)
        seen.update((row.source_key, row.span, row.text) for row in pack.evidence)
        return pack

    pack: ResearchPack = strategy_of("retrieval", name).retrieve(question, plan, searching)
    if not all((row.source_key, row.span, row.text) in seen for row in pack.evidence):
        raise WorkFailed(
            f"The retrieval source '{name}' gave a passage that the corpus did not give it.",
            fix="Return rows of what `search` returned.",
        )
    return replace(pack, question=question)


def searches_of(name: str, question: str, plan: QueryPlan) -> QueryPlan:
    """The searches a planner of one's own wants; where it may look stays as it was asked for."""
    own: QueryPlan = strategy_of("search_planner", name).plan(question, plan)
    return replace(own, filters=plan.filters, limits=plan.limits)


def inspected(name: str, keys: Sequence[str], query: str, read: ReadMore) -> tuple[DocumentView, ...]:
    """What an inspector of one's own reads: only views that the corpus gave it."""
    seen: list[DocumentView | None] = []

    def reading(key: str) -> DocumentView | None:
        seen.append(read(key))
        return seen[-1]

    return _given("inspector", name, strategy_of("inspector", name).inspect(keys, query, reading), seen)


def expanded(name: str, key: str, related: Related) -> tuple[EvidenceRow, ...]:
    """What an expander of one's own adds: only rows that the corpus gave it."""
    seen: list[EvidenceRow] = []

    def around(one: str) -> Sequence[EvidenceRow]:
        rows = related(one)
        seen.extend(rows)
        return rows

    return _given("expander", name, strategy_of("expander", name).expand(key, around), seen)


def _given(part: str, name: str, chosen: Sequence[T], seen: Sequence[T | None]) -> tuple[T, ...]:
    if not all(one in seen for one in chosen):
        raise WorkFailed(
            f"The {part} '{name}' gave a passage that the corpus did not give it.", fix="Return what it was given."
        )
    return tuple(chosen)


# Which strategies make a report: each stage by the name of one (`reports/strategies.py`).


class ResearchConfig(BaseModel):
    """By default a model plans where one is set, else rules; rules and a model judge sources; words tell copies.

    With `retrieval="replay"` what the run `replay_of` found is found again, and nothing is asked of the corpus or the
    web; such a run is not recorded. Each name may also be that of a strategy of one's own (`register_strategy`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str = "llm"
    triage: str = "hybrid"
    deduplicator: str = "lexical"
    binder: str = "citation"
    # "default": a model writes where one is set, else passages are quoted.
    synthesizer: str = "default"
    verifier: str = "rules"
    retrieval: str = "live"
    replay_of: str | None = None
    # None: the one that is set (RESEARCH_MODEL, else CITEWELL_MODEL).
    model: str | None = None

    @field_validator("planner", "triage", "deduplicator", "binder", "synthesizer", "verifier", "retrieval")
    @classmethod
    def _is_known(cls, name: str, info: ValidationInfo) -> str:
        known = known_strategies(cast("StrategyStage", info.field_name))
        if name not in known:
            raise ValueError(f"there is no {info.field_name} {name!r}; known are {', '.join(known)}")
        return name

    @model_validator(mode="after")
    def _says_what_to_replay(self) -> ResearchConfig:
        if (self.retrieval == "replay") != (self.replay_of is not None):
            raise ValueError('`replay_of` names the run of `retrieval="replay"`, and of nothing else')
        return self
