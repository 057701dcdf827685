"""What a run asks of the world: one function each, with its stage and until when it is waited for.

A flow names these functions (`run.io(Outside.retrieve, …)`); `flows/effects.py` performs them, and a test or a replay
needs nothing of it. A new step is one function here, one there, and one line of a flow. What comes back is masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from citewell.briefs.quoting import QuotedQuery
from citewell.domain.answers import Citation, Draft, Entails, PreparedSynthesis, Verification
from citewell.domain.briefs import BoundCitation, Brief, Duplicate, ItemCredibility, ReportItem, ReportPlan
from citewell.domain.chat import ChatPurpose, ChatReply, ChatRequest
from citewell.domain.documents import DocumentView
from citewell.domain.evidence import EvidenceRow, GivenRow
from citewell.domain.judging import ClaimPair
from citewell.domain.lanes import SemanticUse
from citewell.domain.notes import NoteChange, NoteLink, NoteTask, NoteText
from citewell.domain.packs import ResearchPack, RetrievalReport
from citewell.domain.queries import Filters, QueryPlan
from citewell.domain.runs import Stage
from citewell.domain.surveys import TopicSurvey
from citewell.domain.topics import TopicBrief
from citewell.domain.web import PageFacts, SearchHit, SentRequest
from citewell.runs.journal import Until, step

_ASK_STAGES: dict[ChatPurpose, Stage] = {
    "plan": "plan",
    "topics": "plan",
    "write": "synthesize",
    "repair": "synthesize",
    "review": "verify",
    "evaluate": "evaluate",
    "triage": "evaluate",
}


def _ask_stage(asked: Mapping[str, Any]) -> Stage:
    return _ASK_STAGES[asked["request"].purpose]


def _ask_until(asked: Mapping[str, Any]) -> Until:
    return "writing" if asked["request"].purpose in ("write", "repair", "review") else "gathering"


def _retrieve_stage(asked: Mapping[str, Any]) -> Stage:
    return "retrieve" if asked["attempt"] == 1 else "optional_expand_or_retry"


def _retrieve_until(asked: Mapping[str, Any]) -> Until:
    # What a first search finds is all there is to answer from: it gets a moment to end.
    return "search" if asked["attempt"] == 1 else "gathering"


@dataclass(frozen=True, slots=True)
class Retrieved:
    pack: ResearchPack
    report: RetrievalReport | None = None


@dataclass(frozen=True, slots=True)
class GivenRead:
    """What the store has of the given rows; `refused` says which it does not have, and why."""

    pack: ResearchPack
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """The similarities, in the order of the texts; none, and why, where there is no model that can tell."""

    similarities: tuple[float, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class WebSearched:
    """What a provider found, in its order, and the requests it took."""

    hits: tuple[SearchHit, ...]
    requests: tuple[SentRequest, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page that was read and is kept."""

    page: PageFacts
    requests: tuple[SentRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    citations: tuple[BoundCitation, ...]
    unresolved: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sites:
    """Sites that may be read and sites that may not, wherever an address leads."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Outside(Protocol):
    """The corpus, the models, the web and the note, as runs reach them."""

    @step(_ask_stage, _ask_until)
    async def ask(self, request: ChatRequest) -> ChatReply:
        """One call of a model. Failed with `usage`, `cost_usd` and `attempts` where it gave no usable reply."""
        ...

    @step(_retrieve_stage, _retrieve_until)
    async def retrieve(
        self, question: str, plan: QueryPlan, attempt: int = 1, semantic: SemanticUse = "off", source: str = ""
    ) -> Retrieved:
        """Search every variant of a plan and build the pack; `source` is the user's own retrieval source."""
        ...

    @step("retrieve", "search")
    async def read_given(self, question: str, plan: QueryPlan, rows: tuple[GivenRow, ...]) -> GivenRead:
        """Read rows anew that somebody gave by their place."""
        ...

    @step("retrieve", "gathering")
    async def brief_topic(self, topic: str, filters: Filters, seed_limit: int, related_limit: int) -> TopicBrief:
        """The brief of a topic; it goes beside the evidence and never into it."""
        ...

    @step("plan", "gathering")
    async def survey_topic(self, topics: tuple[str, ...], filters: Filters) -> TopicSurvey:
        """The documents that speak of a topic, and their sections."""
        ...

    @step("inspect_top", "search")
    async def inspect(
        self, lookups: tuple[str, ...], query: str, max_chars: int, shown: tuple[tuple[int, int], ...] = ()
    ) -> tuple[DocumentView, ...]:
        """More of the top rows: around what each of them shows, in its place of the same order."""
        ...

    @step("optional_expand_or_retry", "gathering")
    async def expand(self, lookup: str, limit: int, max_chars: int) -> tuple[EvidenceRow, ...]:
        """Follow the links of one row."""
        ...

    @step("prepare_synthesis", "end")
    async def compare(self, question: str, texts: tuple[str, ...]) -> Compared:
        """How near these texts come to the question in meaning, by the embedding model."""
        ...

    @step("prepare_synthesis", "writing")
    async def read_answers(
        self, reader: str, question: str, texts: tuple[str, ...], seconds: float
    ) -> tuple[float, ...]:
        """How likely each of these texts answers the question, by the reader, in at most so many seconds."""
        ...

    @step("verify", "writing")
    async def judge_claims(self, judge: str, pairs: tuple[ClaimPair, ...], seconds: float) -> tuple[Entails, ...]:
        """Whether quotes entail the sentences that rest on them, by the judge, in at most so many seconds."""
        ...

    @step("persist_trace", "end")
    async def keep_texts(self, texts: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        """Keep the texts an answer cites for as long as the run exists; the keys that are gone."""
        ...

    @step("search", "gathering")
    async def search_web(
        self, provider: str, query: str, limit: int, seconds: float, sites: Sites, max_bytes: int | None = None
    ) -> WebSearched:
        """Ask one provider one query. Failed with `requests` where nothing came of it."""
        ...

    @step("read", "gathering")
    async def read_page(
        self, url: str, seconds: float, max_bytes: int, sites: Sites, max_chars: int | None = None
    ) -> PageRead:
        """Fetch a page that a search found or a person named, and keep what it says. Failed as `search_web`."""
        ...

    @step("read", "weighing")
    async def keep_snippets(self, hits: tuple[SearchHit, ...]) -> tuple[PageFacts, ...]:
        """Keep what a provider showed of pages that are not read."""
        ...

    @step("evaluate", "weighing")
    async def rank_pages(self, question: str, plan: QueryPlan, paths: tuple[str, ...]) -> ResearchPack:
        """The passages of the pages that were read, for the question."""
        ...

    @step("plan", "gathering")
    async def read_note(self, task: NoteTask) -> NoteText:
        """The note a run is about, without what we wrote in it and with what it embeds."""
        ...

    @step("verify", "end")
    async def link_notes(self, task: NoteTask, keys: tuple[str, ...]) -> tuple[NoteLink, ...]:
        """How documents are linked from the note."""
        ...

    @step("persist_trace", "end")
    async def write_section(self, task: NoteTask, lines: tuple[str, ...], basis: str) -> NoteChange:
        """Put the section into the note, if that is still the one that was read (`basis`); or say what would change."""
        ...

    # What a strategy of the user's own says is recorded, so that a replay needs no code of theirs.

    @step("plan", "gathering")
    async def plan_brief(self, planner: str, brief: Brief, survey: TopicSurvey | None) -> ReportPlan:
        """Which questions are looked into for a brief."""
        ...

    @step("evaluate", "weighing")
    async def find_duplicates(self, deduplicator: str, items: tuple[ReportItem, ...]) -> tuple[Duplicate, ...]:
        """Which items say what another one says."""
        ...

    @step("evaluate", "weighing")
    async def triage(self, triage: str, items: tuple[ReportItem, ...], floor: float) -> tuple[ItemCredibility, ...]:
        """How far the sources from outside are to be believed."""
        ...

    @step("synthesize", "end")
    async def draft_report(self, synthesizer: str, queries: tuple[QuotedQuery, ...]) -> Draft:
        """The report as a draft: sentences, each with the exact quotes it rests on."""
        ...

    @step("verify", "end")
    async def verify(
        self,
        verifier: str,
        question: str,
        draft: Draft,
        prepared: PreparedSynthesis,
        plan: QueryPlan,
        max_citations: int,
    ) -> Verification:
        """Whether each sentence is proven by what it cites."""
        ...

    @step("verify", "end")
    async def bind(self, binder: str, citations: tuple[Citation, ...], retained: tuple[ReportItem, ...]) -> Bound:
        """Which retained item each citation stands in, and which citations stand in none."""
        ...
