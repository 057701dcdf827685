"""What a run asks of the world: one function each, with its stage and until when it is waited for.

A flow names these functions (`run.io(Outside.retrieve, …)`); a replay or a test needs nothing of them. What a
keyword-only parameter says is for who performs a call and not part of it. What comes from outside is masked here,
before it is recorded and before the flow sees it: content keeps its length (`text/secrets.py`), errors are redacted in
full (`text/redaction.py`). An address comes from a provider's results or from the person's own question, never out
of a page or a model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from citewell.answer.evidence import PreparedSynthesis, Read
from citewell.check.verdict import Citation, Draft, Verification
from citewell.errors import CitewellError, NotFound, Unavailable
from citewell.flows.kept_pages import Web
from citewell.models.entailment import AnswerSpans, ClaimPair, Entailment, Entails
from citewell.models.messages import ChatFailed, ChatModel, ChatPurpose, ChatReply, ChatRequest
from citewell.models.rerank import Reranker
from citewell.notes.task import NoteChange, NoteLink, NoteTask, NoteText
from citewell.readers.pages import shortened
from citewell.reports.brief import BoundCitation, Brief, Duplicate, ItemCredibility, ReportItem, ReportPlan, TopicSurvey
from citewell.reports.quotes import QuotedQuery
from citewell.reports.strategies import drafted, expanded, inspected, planned, retrieved, searches_of, strategy_of
from citewell.reports.survey import TopicSurveys
from citewell.runs.journal import Failed, step
from citewell.runs.run import JudgeResult, Stage
from citewell.search.given import reread
from citewell.search.inspect import Found, Window, inspect_rows, window_of_view, with_contexts
from citewell.search.lanes import OpenLane, SemanticUse, near_parts
from citewell.search.pack import PackBuilder, ResearchPack, RetrievalReport
from citewell.search.query import QueryPlan
from citewell.search.related import related_rows
from citewell.search.rows import EvidenceRow, GivenRow
from citewell.search.topic_brief import TopicBriefs
from citewell.search.topics import TopicBrief
from citewell.store.port import CorpusReader, Filters
from citewell.text.documents import DocumentView
from citewell.text.secrets import MaskedStream, Masker
from citewell.text.urls import host_of
from citewell.web.facts import PageFacts, SearchHit, SentRequest
from citewell.web.fetch import READERS, PageReader
from citewell.web.fetch import ReadPage as FetchedPage
from citewell.web.guard import FetchFailed
from citewell.web.search import MAX_BYTES, SiteRules

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


class View(Protocol):
    """Reads one document around a query, as `get` does, or around what is shown of it."""

    def __call__(
        self, lookup: str, query: str, max_chars: int, shown: tuple[int, int] | None = None
    ) -> DocumentView: ...


class NoteFiles(Protocol):
    """The note a run is about, and the vault around it."""

    def read(self, task: NoteTask) -> NoteText: ...

    def link(self, task: NoteTask, keys: Sequence[str]) -> tuple[NoteLink, ...]: ...

    def write(self, task: NoteTask, lines: Sequence[str], basis: str) -> NoteChange: ...


Keep = Callable[[Sequence[tuple[str, str]]], tuple[str, ...]]
# What a judge or a reader is given at a time.
_AT_ONCE = 4
_log = logging.getLogger("citewell.runs")
# Pages fail every day: unless somebody wants to read of it, nothing is printed.
_web_log = logging.getLogger("citewell.web")
_web_log.addHandler(logging.NullHandler())


_ASK_STAGES: dict[ChatPurpose, Stage] = {
    "plan": "plan",
    "topics": "plan",
    "write": "synthesize",
    "repair": "synthesize",
    "judge": "verify",
    "evaluate": "evaluate",
    "triage": "evaluate",
}


@dataclass(frozen=True, slots=True)
class PackReply:
    pack: ResearchPack
    report: RetrievalReport | None = None


@dataclass(frozen=True, slots=True)
class GivenRead:
    """What the store has of the given rows; `refused` says which it does not have, and why."""

    pack: ResearchPack
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Similarities:
    """How near the parts of documents come that have a vector; none, and why, where there is no model that can tell."""

    parts: tuple[tuple[str, int, int, float], ...]
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
class BindingReply:
    citations: tuple[BoundCitation, ...]
    unresolved: tuple[int, ...]


class Outside:
    """The corpus, the models, the web and the note. Blocking work is done off the event loop, waiting on it."""

    def __init__(
        self,
        store: CorpusReader,
        view: View,
        keep: Keep,
        open_lane: OpenLane,
        open_chat: Callable[[str], ChatModel],
        redact: Callable[[str], str] = str,
        reranker: Reranker | None = None,
        masker: Masker | None = None,
        open_judge: Callable[[], Entailment | None] | None = None,
        open_reader: Callable[[], AnswerSpans | None] | None = None,
        open_notes: Callable[[], NoteFiles] | None = None,
        web: Web | None = None,
    ) -> None:
        self._open_notes = open_notes
        self._open_judge = open_judge
        self._open_reader = open_reader
        self._web = web
        self._reranker = reranker
        self._masker = masker or Masker()
        # A key that holds a secret is known to the run by its masked form only.
        self._real_keys: dict[str, str] = {}
        self._open_chat = open_chat
        self._redact = redact
        self._store = store
        self._open_lane = open_lane
        self._view = view
        self._keep = keep

    # Models

    @step(
        lambda asked: _ASK_STAGES[asked["request"].purpose],
        lambda asked: "writing" if asked["request"].purpose in ("write", "repair", "judge") else "gathering",
    )
    async def ask(self, request: ChatRequest, *, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """One call of a model. Failed with `usage`, `cost_usd` and `attempts` where it gave no usable reply."""
        _log.info("asking %s to %s", request.model, request.purpose)
        streams = request.purpose in ("write", "repair") and on_text is not None
        try:
            model = await asyncio.to_thread(self._open_chat, request.model)
            shown = MaskedStream(self._masker, on_text or _nowhere)
            reply = await model.chat(request, shown.feed if streams else None)
            shown.close()
        except ChatFailed as failed:
            message, fix = self._redact(failed.message), self._redact(failed.fix)
            _log.warning("the model gave no reply to %s: %s", request.purpose, message)
            spent = {"usage": failed.usage, "cost_usd": failed.cost_usd, "attempts": failed.attempts}
            raise Failed(failed.problem, message, fix, msgspec.to_builtins(spent)) from None
        return self._masker.mask_value(reply)

    @step("verify", "writing")
    async def judge_claims(self, judge: str, pairs: tuple[ClaimPair, ...], seconds: float) -> tuple[Entails, ...]:
        """Whether quotes entail the sentences that rest on them, by the judge, in at most so many seconds."""
        scores = await self._in_batches("judge", self._open_judge, lambda opened: opened.judge, pairs, seconds)
        # To four places: the last digits differ between machines, and nothing may hang on them.
        return tuple(Entails(round(one.entails, 4), round(one.neutral, 4), round(one.contradicts, 4)) for one in scores)

    @step("prepare_synthesis", "writing")
    async def read_answers(
        self, reader: str, question: str, texts: tuple[str, ...], seconds: float
    ) -> tuple[Read, ...]:
        """How likely each of these texts answers the question, and where, by the reader, in at most so many seconds."""
        readings = await self._in_batches(
            "reader", self._open_reader, lambda opened: partial(opened.read, question), texts, seconds
        )
        places = [(one.spans[0].start, one.spans[0].end) if one.spans else (0, 0) for one in readings]
        return tuple(Read(round(1.0 - one.no_answer, 4), *place) for one, place in zip(readings, places, strict=True))

    async def _in_batches(
        self,
        name: str,
        open_model: Callable[[], T | None] | None,
        ask: Callable[[T], Callable[[Sequence[A]], Sequence[B]]],
        items: Sequence[A],
        seconds: float,
    ) -> list[B]:
        """A model of this machine over so many items: time that runs out is noticed between two batches."""
        said: list[B] = []
        try:
            async with asyncio.timeout(seconds):
                opened = await asyncio.to_thread(open_model) if open_model is not None else None
                if opened is None:
                    raise Unavailable(f"No {name} is set.", fix=f"Set CITEWELL_{name.upper()}.")
                for first in range(0, len(items), _AT_ONCE):
                    said += await asyncio.to_thread(ask(opened), items[first : first + _AT_ONCE])
        except TimeoutError:
            raise Unavailable(f"The {name} took longer than {seconds:g} s.") from None
        return said

    @step("inspect_top", "end")
    async def compare(self, question: str, windows: tuple[tuple[str, int, int], ...]) -> Similarities:
        """How near the parts of these windows come to the question in meaning, by the vectors that are stored."""

        def compared() -> Similarities:
            try:
                return Similarities(near_parts(self._open_lane, question, windows))
            except CitewellError as error:
                return Similarities((), self._redact(error.message)[:500])

        return await asyncio.to_thread(compared)

    # The corpus

    # What a first search finds is all there is to answer from: it gets a moment to end.
    @step(
        lambda asked: "retrieve" if asked["attempt"] == 1 else "optional_expand_or_retry",
        lambda asked: "search" if asked["attempt"] == 1 else "gathering",
    )
    async def retrieve(
        self, question: str, plan: QueryPlan, attempt: int = 1, semantic: SemanticUse = "off", source: str = ""
    ) -> PackReply:
        """Search every variant of a plan and build the pack; `source` is the user's own retrieval source."""
        _log.info("searching by %d variants", len(plan.query_variants))

        def found() -> PackReply:
            builder = PackBuilder(self._store, semantic, self._open_lane, self._reranker)
            if source:
                return PackReply(retrieved(source, question, plan, partial(builder.build, question)))
            pack, report = builder.build_with_report(question, plan)
            return PackReply(pack, report)

        return await self._reading(found)

    @step("retrieve", "search")
    async def read_given(self, question: str, plan: QueryPlan, rows: tuple[GivenRow, ...]) -> GivenRead:
        """Read rows anew that somebody gave by their place."""

        def read() -> GivenRead:
            found = reread(self._store, plan, rows)
            pack = replace(
                PackBuilder(self._store).build(question, plan),
                evidence=found.evidence,
                exact_tag_evidence=found.exact_tag_evidence,
            )
            return GivenRead(pack, found.refused)

        return await self._reading(read)

    @step("retrieve", "gathering")
    async def brief_topic(self, topic: str, filters: Filters, seed_limit: int, related_limit: int) -> TopicBrief:
        """The brief of a topic; it goes beside the evidence and never into it."""
        return await self._reading(lambda: TopicBriefs(self._store).brief(topic, filters, seed_limit, related_limit))

    @step("plan", "gathering")
    async def survey_topic(self, topics: tuple[str, ...], filters: Filters) -> TopicSurvey:
        """The documents that speak of a topic, and their sections."""
        return await self._reading(lambda: TopicSurveys(self._store).survey(topics, filters))

    @step("inspect_top", "search")
    async def inspect(
        self,
        question: str,
        queries: tuple[str, ...],
        rows: tuple[Found, ...],
        max_chars: int,
        per_document: int | None = None,
        semantic: SemanticUse = "off",
        inspector: str = "",
    ) -> tuple[Window, ...]:
        """More of what was found: the parts of all documents that say most.

        The user's own inspector reads around what each row shows, so many characters of each.
        """
        real = tuple(replace(row, source_key=self._real(row.source_key)) for row in rows)
        places = {row.source_key: (row.start, row.end) for row in rows}

        def read(lookup: str) -> DocumentView | None:
            try:
                return self._view(self._real(lookup), question, max_chars, places.get(lookup))
            except NotFound:
                return None  # removed since it was found: the row keeps the window it had

        def windows() -> tuple[Window, ...]:
            if not inspector:
                lane = self._open_lane if semantic == "on" else None
                return inspect_rows(self._store, lane, question, queries, real, max_chars, per_document)
            views = inspected(inspector, tuple(places), question, read)
            return with_contexts(self._store, tuple(map(window_of_view, views)))

        return await self._reading(windows)

    @step("optional_expand_or_retry", "gathering")
    async def expand(self, lookup: str, limit: int, max_chars: int, expander: str = "") -> tuple[EvidenceRow, ...]:
        """Follow the links of one row."""

        def related(key: str) -> tuple[EvidenceRow, ...]:
            return tuple(related_rows(self._store, self._real(key), max_chars, limit))

        return await self._reading(lambda: expanded(expander, lookup, related) if expander else related(lookup))

    @step("persist_trace", "end")
    async def keep_texts(self, texts: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        """Keep the texts an answer cites for as long as the run exists; the keys that are gone."""
        return await self._masked(lambda: self._keep([(self._real(key), digest) for key, digest in texts]))

    # The web

    @step("search", "gathering")
    async def search_web(
        self, provider: str, query: str, limit: int, seconds: float, sites: SiteRules, max_bytes: int | None = None
    ) -> WebSearched:
        """Ask one provider one query. Failed with `requests` where nothing came of it."""
        _web_log.info("asking %s, %d characters", provider, len(query))

        async def searched() -> WebSearched:
            web = self._on_web
            at = web.providers.get(provider)
            if at is None:
                raise FetchFailed("other", f"{provider} is no longer turned on")
            # What is found will be read: the readers get ready meanwhile.
            await asyncio.to_thread(web.readers.warm, READERS)
            most = max_bytes if max_bytes is not None else MAX_BYTES
            found = await web.searcher.search(at, query, limit, seconds, sites, most)
            return WebSearched(found.hits, found.requests, found.dropped)

        seen = await self._fetching(f"searching at {provider}", searched())
        _web_log.info("%s: %d results, %d bytes", provider, len(seen.hits), sum(one.received for one in seen.requests))
        return seen

    @step("read", "gathering")
    async def read_page(
        self, url: str, seconds: float, max_bytes: int, sites: SiteRules, max_chars: int | None = None
    ) -> PageRead:
        """Fetch a page that a search found or a person named, and keep what it says. Failed as `search_web`."""
        host = host_of(url)
        _web_log.info("reading a page of %s", host)

        async def read() -> PageRead:
            web = self._on_web
            permits = sites.permits
            page = await PageReader(web.guard, web.readers, seconds, max_bytes, permits).read(url)
            if max_chars is not None:
                page = replace(page, read=shortened(page.read, max_chars))
            requests = tuple(SentRequest(one.host, one.sent, one.received) for one in page.fetched.requests)
            return PageRead(await asyncio.to_thread(self._kept, web, page), requests)

        seen = await self._fetching(f"reading at {host}", read())
        _web_log.info("%s: %d characters read", host, seen.page.length)
        return seen

    def _kept(self, web: Web, page: FetchedPage) -> PageFacts:
        facts = web.pages().put(page, web.clock.now())
        web.keep(facts)
        return facts

    @step("read", "weighing")
    async def keep_snippets(self, hits: tuple[SearchHit, ...]) -> tuple[PageFacts, ...]:
        """Keep what a provider showed of pages that are not read."""

        def kept() -> tuple[PageFacts, ...]:
            web = self._on_web
            store, at = web.pages(), web.clock.now()
            pages = tuple(store.put_snippet(hit, at) for hit in hits)
            for facts in pages:
                web.keep(facts)
            return pages

        return await self._masked(kept)

    @step("evaluate", "weighing")
    async def rank_pages(self, question: str, plan: QueryPlan, paths: tuple[str, ...]) -> ResearchPack:
        """The passages of the pages that were read, for the question."""
        return await self._masked(lambda: self._on_web.pages().rank(question, plan, paths))

    @property
    def _on_web(self) -> Web:
        if self._web is None:
            raise Unavailable("The web is not wired.")
        return self._web

    async def _fetching(self, what: str, fetching: Awaitable[T]) -> T:
        """What was fetched, masked; what fails outside keeps the requests it took."""
        try:
            return self._masker.mask_value(await fetching)
        except FetchFailed as failed:
            _web_log.warning("%s failed: %s", what, failed.problem)
            requests = [{"host": one.host, "sent": one.sent, "received": one.received} for one in failed.requests]
            message = self._masker.mask(failed.message[:300])
            raise Failed(failed.problem, message, details={"requests": requests}) from None

    # The note

    @step("plan", "gathering")
    async def read_note(self, task: NoteTask) -> NoteText:
        """The note a run is about, without what we wrote in it and with what it embeds."""
        return await self._masked(lambda: self._notes.read(task))

    @step("verify", "end")
    async def link_notes(self, task: NoteTask, keys: tuple[str, ...]) -> tuple[NoteLink, ...]:
        """How documents are linked from the note."""
        return await self._masked(lambda: self._notes.link(task, tuple(map(self._real, keys))))

    @step("persist_trace", "end")
    async def write_section(self, task: NoteTask, lines: tuple[str, ...], basis: str) -> NoteChange:
        """Put the section into the note, if that is still the one that was read (`basis`); or say what would change."""
        return await self._masked(lambda: self._notes.write(task, lines, basis))

    @property
    def _notes(self) -> NoteFiles:
        if self._open_notes is None:
            raise Unavailable("Notes cannot be written here.")
        return self._open_notes()

    # What a component of the user's own says is on record, so that a replay needs no code of theirs.

    @step("plan", "gathering")
    async def plan_searches(self, planner: str, question: str, plan: QueryPlan) -> QueryPlan:
        """The searches for a question, from those that rules made."""
        return await self._masked(lambda: searches_of(planner, question, plan))

    @step("judge_coverage", "weighing")
    async def judge_evidence(
        self, judge: str, pack: ResearchPack, retries_left: int, expansions_left: int, tried: tuple[str, ...]
    ) -> JudgeResult:
        """Whether the evidence is enough, and if not, the one thing worth trying."""
        verdict = strategy_of("judge", judge).judge
        return await self._masked(lambda: verdict(pack, retries_left, expansions_left, tried))

    @step("plan", "gathering")
    async def plan_brief(self, planner: str, brief: Brief, survey: TopicSurvey | None) -> ReportPlan:
        """Which questions are looked into for a brief."""
        return await self._masked(lambda: planned(planner, brief, survey))

    @step("evaluate", "weighing")
    async def find_duplicates(self, deduplicator: str, items: tuple[ReportItem, ...]) -> tuple[Duplicate, ...]:
        """Which items say what another one says."""
        return await self._masked(lambda: tuple(strategy_of("deduplicator", deduplicator).duplicates(items)))

    @step("evaluate", "weighing")
    async def triage(self, triage: str, items: tuple[ReportItem, ...], floor: float) -> tuple[ItemCredibility, ...]:
        """How far the sources from outside are to be believed."""
        return await self._masked(lambda: tuple(strategy_of("triage", triage).verdicts(items, floor)))

    @step("synthesize", "end")
    async def draft_report(self, synthesizer: str, queries: tuple[QuotedQuery, ...]) -> Draft:
        """The report as a draft: sentences, each with the exact quotes it rests on."""
        return await self._masked(lambda: drafted(synthesizer, queries))

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
        check = strategy_of("verifier", verifier).verify
        return await self._masked(lambda: check(question, draft, prepared, plan, max_citations))

    @step("verify", "end")
    async def bind(
        self, binder: str, citations: tuple[Citation, ...], retained: tuple[ReportItem, ...]
    ) -> BindingReply:
        """Which retained item each citation stands in, and which citations stand in none."""
        return await self._masked(lambda: BindingReply(*strategy_of("binder", binder).bind(citations, retained)))

    # Small things

    async def _reading(self, read: Callable[[], T]) -> T:
        """Read the corpus in one state of it: what is removed meanwhile is still there for the row just ranked."""

        def snapshot() -> T:
            with self._store.snapshot():
                return read()

        return await self._masked(snapshot)

    async def _masked(self, work: Callable[[], T]) -> T:
        """Blocking work, off the event loop; what it gives is masked."""
        return await asyncio.to_thread(lambda: self._masker.mask_value(work(), self._remember_key))

    def _remember_key(self, field: str, before: str, after: str) -> None:
        if field == "source_key":
            self._real_keys[after] = before

    def _real(self, key: str) -> str:
        """The key in the store of one that the run knows by its masked form only."""
        return self._real_keys.get(key, key)


def _nowhere(text: str) -> None:
    """Text of a call that shows nothing."""
