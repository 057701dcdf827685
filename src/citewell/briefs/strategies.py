"""The strategies of a report by their names: what `ResearchConfig` chooses from, and a user's own beside them.

A strategy is named in the request of a run. The shipped ones are done again on a replay. What a user's own strategy
said is recorded like what comes from outside, so that a replay needs no code of theirs; a run that is still going needs
it, and says so where it is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from citewell.briefs.binding import CitationBinder
from citewell.briefs.deduplication import LexicalDeduplicator, NoDeduplicator
from citewell.briefs.planning import LlmQueryPlanner, RuleQueryPlanner
from citewell.briefs.quoting import QuotedQuery, quote_report
from citewell.briefs.triage import HeuristicCredibilityTriage, HybridCredibilityTriage, NoTriage
from citewell.domain.answers import Citation, Draft, PreparedSynthesis, Verification
from citewell.domain.briefs import (
    STRATEGY_NAMES,
    BoundCitation,
    Brief,
    Duplicate,
    ItemCredibility,
    ReportItem,
    ReportPlan,
    StrategyStage,
)
from citewell.domain.documents import DocumentView
from citewell.domain.errors import BadInput, Conflict, Unavailable, WorkFailed
from citewell.domain.evidence import EvidenceRow
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import JudgeResult
from citewell.domain.surveys import TopicSurvey
from citewell.synthesis.verify import verify

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
    """The rules that check answers (docs/verifier.md)."""

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
            fix="See the protocols in citewell.briefs.strategies.",
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
