"""A note: its topics, what other documents say of them, and a section written into it.

read the note → topics (a model, or its layout) → search each, all at once, in the corpus and, where it may be asked,
on the web → findings (a model writes, once for all topics or, deep, once a topic; without one, passages are quoted) →
every sentence verified → links → the section → the file. A topic that fails is skipped and told; what serves all of
them and fails ends the run, and the note stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from citewell.answer.draft import read_answer
from citewell.answer.evidence import PreparedSynthesis, merge_packs, merge_prepared
from citewell.answer.passages import injections_in
from citewell.answer.prompt import faults_of, repair_request
from citewell.check.tokens import content_stems
from citewell.check.verdict import Draft, Verification
from citewell.check.verify import verify
from citewell.flows.gather import LEAST_BYTES, Result, Sources, gather, note_round
from citewell.flows.judge import merged, why_left_out
from citewell.flows.outside import Outside
from citewell.flows.state import (
    Findings,
    MayAsk,
    ask,
    fitted,
    note_asked,
    note_cost,
    or_none,
    read_widely,
    retrieve,
    some,
)
from citewell.flows.write import (
    DAY_LIMIT,
    UNAVAILABLE,
    at_ceiling,
    badness,
    judge_draft,
    keep_texts,
    may_be_asked,
    packed_each,
    seconds_to_write,
)
from citewell.models.messages import ChatRequest, Usage, estimate_tokens
from citewell.notes.findings import (
    MOST_FINDINGS,
    TOPICS_TOKENS,
    TopicFindings,
    by_topic,
    compose_section,
    disagreements_with,
    find_passages,
    held,
    merge_findings,
    read_topics,
    related_keys,
    topics_request,
    write_request,
)
from citewell.notes.subjects import extract_topics, nearest_query, query_of, web_query_of
from citewell.notes.task import (
    ATTEMPTS_A_TOPIC,
    MAX_NOTE_CHARS,
    MAX_TOPICS,
    NOTES_A_TOPIC,
    PAGE_CHARS,
    PAGES_A_TOPIC,
    PREVIEW_CHARS,
    NoteChange,
    NoteTask,
    NoteText,
    NoteTopic,
    OfferedPages,
)
from citewell.readers.written_sections import HEADING
from citewell.runs.journal import Abandoned, Failed, Run
from citewell.runs.run import Failure, Stage, StopReason
from citewell.search.conversation import prompt_of
from citewell.search.inspect import PROMPT_CHARS
from citewell.search.pack import ResearchPack
from citewell.search.plan import plan_question
from citewell.search.query import QueryPlan
from citewell.text.untrusted import web_link
from citewell.text.urls import host_of
from citewell.web.credibility import credibility
from citewell.web.facts import PageFacts, PaperFacts, WebUse

HITS_A_TOPIC = 8
# A model may be asked for topics once, and once more to mend a reply that cannot be read.
_TOPICS_TRIES = 2
_TOPIC_SECONDS = 60.0
# What goes with a note or its evidence: the rules, and the topics of it.
_RULE_TOKENS = 1_500
_SILENT, _UNPROVEN = "nothing speaks of it", "what was written of it could not be confirmed"
# How much of a topic the title and snippet of a result must have to be offered unread.
_OWN = 0.6


@dataclass(slots=True)
class TopicProgress:
    """How far a topic of a note has come; `skipped` says why nothing more is done for it."""

    topic: NoteTopic
    query: str
    number: int
    plan: QueryPlan
    # What the web is asked for it; empty: nothing.
    asked: str = ""
    pack: ResearchPack | None = None
    # Pages that were taken up for it, by their names, in the order in which they count.
    tried: list[str] = field(default_factory=list)
    prepared: PreparedSynthesis | None = None
    draft: Draft | None = None
    skipped: str = ""


async def note(run: Run, found: Findings) -> None:
    """Research a note."""
    assert run.request.note is not None
    await _Note(run, found, run.request.note).run_through()


class _Note:
    def __init__(self, run: Run, found: Findings, task: NoteTask) -> None:
        self.run, self.found, self.task = run, found, task
        self.topics: list[TopicProgress] = []
        use = run.request.web
        self.web = Sources(run, found, use or WebUse(), self._next_page, self._refuse, HITS_A_TOPIC, with_copies=True)
        self.web.most_chars = PAGE_CHARS
        self.is_read = self.web.use.loops and task.depth == "deep"
        if self.web.use.providers:
            found.web = self.web.report
        # Whether a model is done without from here on.
        self._no_model = not run.request.models.writes
        # Sentences of a model that are left out, since nothing confirms them.
        self.unconfirmed = 0

    async def run_through(self) -> None:
        self.note = await self._read()
        self._estimate_cost()
        await self._choose_topics()
        await self._search()
        await self._write()
        await self._put()

    # The note and its topics

    async def _read(self) -> NoteText:
        try:
            return await self.run.io(Outside.read_note, self.task)
        except Abandoned:
            self._stop(Failure("plan", "timeout", "There was no time to read the note."))
        except Failed as failed:
            self._fail("plan", failed)

    def _estimate_cost(self) -> None:
        """The most that can be spent, told before a model is asked: every call in full, over this note."""
        use, is_deep = self.run.request.models, self.task.depth == "deep"
        if not use.writes:
            return
        note = estimate_tokens(self.note.expanded[:MAX_NOTE_CHARS]) + _RULE_TOKENS
        evidence = estimate_tokens("x" * self.run.request.max_evidence_chars) + _RULE_TOKENS
        written = Usage(evidence, (1 if is_deep else 2) * use.max_output_tokens)
        calls = [
            MayAsk(1, Usage(note, TOPICS_TOKENS), use.writer_price),
            MayAsk(_TOPICS_TRIES - 1, Usage(note + TOPICS_TOKENS, TOPICS_TOKENS), use.writer_price),
            MayAsk(MAX_TOPICS if is_deep else 1, written, use.writer_price),
            MayAsk(0 if is_deep else 1, written, use.writer_price),
            MayAsk((1 if is_deep else 2) if use.judge else 0, written, use.judge_price),
        ]
        note_cost(self.run, calls)

    async def _choose_topics(self) -> None:
        """A model names the topics where one is chosen; else layout and words do."""
        named = await self._topics_of_model()
        by_model = named is not None
        if named is None:
            named = extract_topics(self.note, self.task.focus)
        title = self.note.title
        queries = {query_of(topic, title): topic for topic in named[:MAX_TOPICS]}
        chosen = tuple(queries.values())
        request = self.run.request
        limits = replace(request.limits, limit=NOTES_A_TOPIC + 1, include_related=False)
        for number, (query, topic) in enumerate(queries.items(), start=1):
            plan = plan_question(prompt_of(query), request.filters, limits, include_topic_brief=False)
            asked = self._web_query(topic, chosen, by_model=by_model)
            self.topics.append(TopicProgress(topic, query, number, plan, asked))
        text = f"{some(len(chosen), 'topic')}: {' | '.join(one.topic for one in chosen)}"
        self.run.note("topics_chosen", text, topics=chosen, chosen_by="model" if by_model else "engine")

    def _web_query(self, topic: NoteTopic, chosen: Sequence[NoteTopic], *, by_model: bool) -> str:
        """What the web is asked for a topic: one of the queries that may be sent, and no words of a model's."""
        if not self.web.use.providers:
            return ""
        exact, may = web_query_of(topic, chosen, self.note.title), self.task.web_queries
        if may is None or exact in may:
            return exact
        return nearest_query(topic, may) if by_model else ""

    async def _topics_of_model(self) -> tuple[NoteTopic, ...] | None:
        run, use, unreadable = self.run, self.run.request.models, None
        for left in reversed(range(_TOPICS_TRIES)):
            if self._no_model or run.is_hurried:
                return None
            wanted = topics_request(
                *(self.note, self.task.focus, use.writer, seconds_to_write(run, _TOPIC_SECONDS), unreadable),
                hosted=use.is_hosted,
            )
            request = fitted(run, self.found, wanted)
            if request is None:
                at_ceiling(self.run, self.found)
                return None
            note_asked(run, request)
            try:
                reply = await ask(run, self.found, request)
            except Abandoned:
                self._no_model = True
                return None
            except Failed as failed:
                if failed.code != DAY_LIMIT:
                    self._fail("plan", failed)
                at_ceiling(self.run, self.found, failed.message)
                return None
            topics, error = read_topics(reply.text)
            if not error:
                return topics
            if not left:
                self._stop(Failure("plan", "bad_reply", f"The model's topics could not be read: {error}."))
            unreadable = (reply.text, error)
        return None

    # Evidence

    async def _search(self) -> None:
        """The corpus and the web for all topics, at the same time; then a prompt of each topic's evidence."""
        run = self.run
        run.enter("plan")
        for topic in self.topics:
            self.found.queries_tried += [variant.query for variant in topic.plan.query_variants]
        run.enter("retrieve")
        self.web.tasks += [run.spawn(self._retrieve(topic)) for topic in self._live]
        queries = () if run.is_late else tuple(dict.fromkeys(one.asked for one in self._live if one.asked))
        if queries:
            note_round(self.web, 1, 1, queries)
        pairs = [(provider, query) for provider in self.web.use.providers for query in queries]
        await gather(self.web, pairs[: self.web.use.max_queries])
        await run.all(*(self._add_passages(topic) for topic in self._live if topic.pack is not None))
        offers = {one.topic for one in self._offered()}
        for topic in self._live:
            if topic.pack is None:
                self._skip(topic, "there was no time to search for it")
            elif not topic.pack.evidence:
                unread = topic.topic in offers
                self._skip(topic, "nothing was found but pages that were not read" if unread else "nothing was found")
        if self._model_writes:
            await run.all(*(self._read_widely(topic) for topic in self._live if topic.pack is not None))
        run.enter("prepare_synthesis")
        live = [(topic, topic.pack) for topic in self._live if topic.pack is not None]
        parts = packed_each(run, [pack for _, pack in live], 2_000, is_shared=self._writes_once)
        for (topic, _), part in zip(live, parts, strict=True):
            topic.prepared = part

    async def _retrieve(self, topic: TopicProgress) -> None:
        """The rows of a topic: never the note itself, and no more than a few."""
        try:
            pack = await retrieve(self.run, self.found, topic.query, topic.plan)
        except Abandoned:
            return
        except Failed as failed:
            self._lose(topic, "retrieve", failed)
            return
        others = [row for row in pack.evidence if row.source_key != self.note.source_key]
        near = list(dict.fromkeys(row.source_key for row in others))[:NOTES_A_TOPIC]
        rows = tuple(row for row in others if row.source_key in near)
        topic.pack = replace(pack, evidence=rows, exact_tag_evidence=())
        self.found.saw(*(row.source_key for row in rows))
        # Where the web is asked too, it may have what the corpus lacks.
        if not rows and not topic.asked:
            self._skip(topic, "nothing was found")

    async def _read_widely(self, topic: TopicProgress) -> None:
        """More of a topic's documents, as far as there is room for it in a prompt."""
        assert topic.pack is not None
        room = self.run.request.max_evidence_chars // (len(self._live) if self._writes_once else 1)
        topic.pack = await read_widely(self.run, topic.pack, room - PROMPT_CHARS // 2)

    # Writing

    @property
    def _model_writes(self) -> bool:
        return not self._no_model and may_be_asked(self.run) and self.run.finishing != "cost_limit_reached"

    @property
    def _writes_once(self) -> bool:
        """A shallow run asks a model once for all topics; a deep one once a topic."""
        return self._model_writes and self.task.depth == "shallow"

    async def _write(self) -> None:
        """What is said of each topic, every sentence checked; where no model writes, passages are quoted."""
        run, title = self.run, self.note.title
        self.findings: list[tuple[NoteTopic, Verification, Draft]] = []
        live = [(topic, topic.prepared) for topic in self._live if topic.prepared is not None]
        prepared = merge_prepared(title, [part for _, part in live])
        if live and self._writes_once:
            written = await self._drafted([topic for topic, _ in live], prepared, 2)
            if written is not None:
                checked, draft = await self._held_best(written, prepared, live[0][0].plan)
                parts = by_topic(checked, [one.topic for one in self.topics]) if checked else []
                for named, of_topic in parts:
                    self._keep(named, of_topic, draft)
                if not self.findings:
                    self._note_skipped(title, _SILENT if checked is None else _UNPROVEN)
                return
        await run.all(*(self._write_topic(topic, part) for topic, part in live))
        drafts = [(topic, topic.draft) for topic, _ in live if topic.draft is not None and not topic.skipped]
        # All that was written goes to a judge at once.
        said = tuple(one for _, draft in drafts if draft.written_by == "model" for one in draft.sentences)
        await judge_draft(run, self.found, Draft(said, refused=False, written_by="model"), prepared)
        run.enter("verify")
        for topic, draft in drafts:
            part = topic.prepared if draft.written_by == "extractive" and topic.prepared is not None else prepared
            checked = self._checked(topic.query, draft, part, topic.plan)
            if not self._keep(topic.topic, checked, draft):
                self._skip(topic, _UNPROVEN)

    def _checked(self, query: str, draft: Draft, prepared: PreparedSynthesis, plan: QueryPlan) -> Verification:
        most = 4 * self.run.budget.citations
        return verify(query, draft, prepared, plan, most, judgements=self.found.verdicts)

    def _keep(self, topic: NoteTopic, checked: Verification, draft: Draft) -> bool:
        """Take up what holds of a topic, and count what could not be confirmed."""
        kept = held(checked)
        self.unconfirmed += sum(one.kind == "claim" for one in checked.sentences) - len(kept)
        if kept:
            self.findings.append((topic, checked, draft))
        return bool(kept)

    async def _held_best(
        self, written: tuple[ChatRequest, str, Draft], prepared: PreparedSynthesis, plan: QueryPlan
    ) -> tuple[Verification | None, Draft]:
        """The draft of all topics, judged; once more where a judge or the sources object, and the better of the two."""
        run, title = self.run, self.note.title
        request, text, draft = written
        if draft.refused or not draft.sentences:
            return None, draft
        await judge_draft(run, self.found, draft, prepared)
        run.enter("verify")
        checked = self._checked(title, draft, prepared, plan)
        faults = faults_of(draft, checked.sentences)
        if not faults or not self._model_writes:
            return checked, draft
        asked = fitted(run, self.found, repair_request(request, text, faults, seconds_to_write(run)))
        again = await or_none(run, self._asked(asked, prepared), "synthesize", "repair_failed") if asked else None
        if again is None or again[2].refused or not again[2].sentences:
            return checked, draft
        await judge_draft(run, self.found, again[2], prepared)
        second = self._checked(title, again[2], prepared, plan)
        # What nobody judged does not take the place of what was judged.
        is_better = len(held(second)) >= len(held(checked)) and badness(second) <= badness(checked)
        return (second, again[2]) if is_better else (checked, draft)

    async def _write_topic(self, topic: TopicProgress, prepared: PreparedSynthesis) -> None:
        try:
            written = await self._drafted([topic], prepared, 1) if self._model_writes else None
        except Failed as failed:
            self._lose(topic, "synthesize", failed)
            return
        topic.draft = written[2] if written is not None else None
        if topic.draft is None:
            self.run.enter("synthesize")
            topic.draft = find_passages(topic.topic, prepared, topic.plan, self.task.depth, self.note)
        if topic.draft.refused or not topic.draft.sentences:
            self._skip(topic, _SILENT)

    async def _drafted(
        self, topics: Sequence[TopicProgress], prepared: PreparedSynthesis, size: int
    ) -> tuple[ChatRequest, str, Draft] | None:
        """What a model writes; None where it is not waited for, or a ceiling has no room for it. Raises Failed."""
        run, use = self.run, self.run.request.models
        numbered, most = [(one.number, one.topic) for one in topics], size * use.max_output_tokens
        wanted = write_request(
            *(self.note, numbered, prepared, use.writer, most, seconds_to_write(run)),
            most=MOST_FINDINGS[self.task.depth],
            hosted=use.is_hosted,
        )
        request = fitted(run, self.found, wanted)
        if request is None:
            at_ceiling(run, self.found)
            return None
        try:
            return await self._asked(request, prepared)
        except Abandoned:
            run.warn("model_timeout")
            return None
        except Failed as failed:
            if failed.code == DAY_LIMIT:
                at_ceiling(run, self.found, failed.message)
                return None
            if self._writes_once:
                self._fail("synthesize", failed)
            raise

    async def _asked(self, request: ChatRequest, prepared: PreparedSynthesis) -> tuple[ChatRequest, str, Draft]:
        note_asked(self.run, request)
        reply = await ask(self.run, self.found, request)
        self.run.enter("synthesize")
        is_repair = request.purpose == "repair"
        return (
            request,
            reply.text,
            read_answer(reply.text, prepared, is_repair=is_repair, is_cut=reply.finish == "length"),
        )

    # The section

    async def _put(self) -> None:
        """Everything is written and checked: link the sources, and put the section into the note."""
        run, found, task = self.run, self.found, self.task
        offers = self._offered()
        evidence = [one.prepared for one in self.topics if one.prepared is not None]
        disagreements = disagreements_with(self.note, evidence)
        if not self.findings and not offers and not disagreements:
            self._end_with_nothing()
        whole = merge_findings(self.findings)
        packs = [one.pack for one in self.topics if one.pack is not None]
        pages = {page.source_key for page in self.web.pages}
        cited = {citation.source_key for citation in whole.verification.citations}
        apart = frozenset({*cited, *pages, *self.note.linked_keys, self.note.source_key or ""})
        related = related_keys(packs, apart)
        found.pack, found.prepared = merge_packs(packs), merge_prepared(self.note.title, evidence)
        found.draft, found.verification = whole.draft, whole.verification
        found.plan = self.topics[0].plan if self.topics else None
        keys = dict.fromkeys((*(source.source_key for source in found.prepared.sources), *related))
        try:
            links = await run.io(Outside.link_notes, task, tuple(key for key in keys if key not in pages))
            # Topics for which there are only pages to be offered stand among the others, in the note's order.
            told = {one.topic: one for one in whole.findings}
            told |= {one.topic: TopicFindings(one.topic, (), is_quoted=True) for one in offers if one.topic not in told}
            in_order = tuple(told[one.topic] for one in self.topics if one.topic in told)
            findings = in_order if offers else whole.findings
            lines = compose_section(
                findings,
                whole.verification.citations,
                disagreements,
                related,
                {
                    **{one.source_key: one.markdown for one in links},
                    **{page.source_key: _linked(page.title, page.final_url) for page in self.web.pages},
                },
                offered={one.topic: one.links for one in offers},
                unconfirmed=self.unconfirmed,
            )
            if not lines:
                self._end_with_nothing()
            change = await run.io(Outside.write_section, task, lines, self.note.basis)
        except Failed as failed:
            self._fail(run.stage, failed)
        self._note_written(change, lines)
        if citations := whole.verification.citations:
            await keep_texts(run, citations)
        run.end(run.finishing or ("enough_evidence" if citations or found.prepared.sources else "no_evidence"))

    def _note_written(self, change: NoteChange, lines: tuple[str, ...] = ()) -> None:
        task, section = self.task, "\n".join((HEADING, "", *lines)) if lines else ""
        done = "as it was" if not change.changed else "would be written" if task.dry_run else "written"
        self.run.note(
            "note_written",
            f"{task.path}: {done}",
            path=task.path,
            topics_researched=sum(one.pack is not None for one in self.topics),
            preview=section[:PREVIEW_CHARS],
            changed=change.changed,
            dry_run=task.dry_run,
            diff=change.diff,
            backup=change.backup,
            unconfirmed=self.unconfirmed,
        )

    def _note_skipped(self, topic: str, why: str) -> None:
        self.run.note("topic_skipped", f"left out {topic}: {why}", topic=topic, why=why)

    def _end_with_nothing(self) -> NoReturn:
        """Nothing to write: the note stays as it is."""
        self.found.draft = self.found.verification = None
        self._note_written(NoteChange(changed=False))
        self.run.end(self.run.finishing or "no_evidence")

    # The web in the section

    def _ordered(self, topic: TopicProgress) -> list[Result]:
        """The results of a topic, the best of each provider first, each page once."""
        rank = {name: at for at, name in enumerate(self.web.use.providers)}
        found = [one for one in self.web.results if one.query == topic.asked]
        listed = sorted(found, key=lambda one: (one.place, rank.get(one.provider, len(rank))))
        return list({one.name: one for one in reversed(listed)}.values())[::-1]

    def _next_page(self) -> tuple[Result, None] | None:
        """The next page of a topic whose searches and reads are in and that has not enough of them.

        Which pages count follows from the order of results, never from which of them came first.
        """
        web = self.web
        for topic in self._live if self.is_read else ():
            if web.searching[topic.asked]:
                continue
            ordered = self._ordered(topic)
            while not (waited := [name for name in topic.tried if name not in web.read]):
                room = min(PAGES_A_TOPIC - len(web.pages_of(topic.tried)), ATTEMPTS_A_TOPIC - len(topic.tried))
                fresh = [one.name for one in ordered if one.name not in topic.tried][: max(0, room)]
                if not fresh or web.bytes_left < LEAST_BYTES:
                    break
                topic.tried += fresh
            for one in ordered:
                if one.name in waited and one.name not in web.reading:
                    return one, None
        return None

    def _refuse(self, page: PageFacts, paper: PaperFacts | None) -> str:
        """A page that gives orders, shows a wall or is not to be believed: nothing of it is used."""
        return why_left_out(page, credibility(page, paper), self.web.use.credibility_floor)

    async def _add_passages(self, topic: TopicProgress) -> None:
        """A topic with what its pages say beside what the corpus does."""
        dated = {page.source_key: page.published for page in self.web.pages_of(topic.tried)}
        paths = tuple(page.path for page in self.web.pages_of(topic.tried))
        if not paths or topic.pack is None:
            return
        ranked = self.run.io(Outside.rank_pages, topic.query, topic.plan, paths)
        found = await or_none(self.run, ranked, "evaluate", "web_page_failed")
        rows = [replace(row, dated=dated[row.source_key]) for row in found.evidence] if found else []
        if found and rows:
            topic.pack = merged(topic.pack, found, rows, NOTES_A_TOPIC + PAGES_A_TOPIC)

    def _offered(self) -> tuple[OfferedPages, ...]:
        """Results whose title and snippet speak of a topic, none that speaks to programs; none where pages are read."""
        offers = []
        for topic in self.topics if not self.is_read else ():
            wanted, links = content_stems(topic.topic.topic), []
            for hit in (one.hit for one in self._ordered(topic)):
                shown = f"{hit.title}\n{hit.snippet}"
                if len(wanted & content_stems(shown)) >= _OWN * len(wanted) and not injections_in(shown):
                    links.append(_linked(hit.title, hit.url))
            if links:
                offers.append(OfferedPages(topic.topic, tuple(links[:PAGES_A_TOPIC])))
        return tuple(offers)

    # How topics and the run end

    @property
    def _live(self) -> list[TopicProgress]:
        return [one for one in self.topics if not one.skipped]

    def _skip(self, topic: TopicProgress, why: str) -> None:
        topic.skipped = why
        self._note_skipped(topic.topic.topic, why)

    def _lose(self, topic: TopicProgress, stage: Stage, failed: Failed) -> None:
        """A topic is lost; nothing but failures is no empty result."""
        self.run.gave_up(stage, failed)
        self._skip(topic, failed.message or failed.code)
        if all(one.skipped for one in self.topics):
            self._stop(Failure(stage, failed.code, failed.message, failed.fix))
        self.run.warn("topic_failed")

    def _fail(self, stage: Stage, failed: Failed) -> NoReturn:
        self.run.gave_up(stage, failed)
        self._stop(Failure(stage, failed.code, failed.message, failed.fix))

    def _stop(self, failure: Failure) -> NoReturn:
        """What serves all topics failed: the run is over, and the note as it was."""
        reason: StopReason = "synthesis_unavailable" if failure.code in UNAVAILABLE else "synthesis_failed"
        self.run.end(reason, failure)


def _linked(title: str, address: str) -> str:
    return web_link(title.strip() or host_of(address) or "page", address)
