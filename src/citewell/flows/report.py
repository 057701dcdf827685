"""A brief becomes a cited report.

plan → every family for every sub-query, at once → pages → copies told apart → credibility (only then, so that no copy
is paid for) → evidence → written by a model, or quoted → each claim and the summary verified, as answers are
(`flows/write.py`) → citations bound to what was kept.

A report that cites what was not kept is none: the run fails and keeps all it gathered. A family of which every search
failed is skipped and named; what the others found stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from citewell.answer.evidence import (
    Likeness,
    PreparedSynthesis,
    Readings,
    merge_packs,
    merge_prepared,
)
from citewell.check.verdict import Draft
from citewell.flows.gather import ATTEMPTS_A_READ, Result, Sources, gather, keep_snippets
from citewell.flows.local import note_found
from citewell.flows.outside import BindingReply, Outside
from citewell.flows.state import (
    Findings,
    MayAsk,
    ask,
    fitted,
    may_write,
    note_asked,
    note_ceiling,
    note_cost,
    or_none,
    read_widely,
    retrieve,
    some,
)
from citewell.flows.write import (
    Writing,
    WritingForm,
    drafted_by,
    may_be_asked,
    packed_each,
    seconds_to_write,
    stop_reason,
)
from citewell.models.messages import ChatRequest, Usage, estimate_tokens
from citewell.reports.brief import (
    STRATEGY_NAMES,
    ClaimType,
    Duplicate,
    Family,
    ItemCredibility,
    ReportItem,
    ReportPlan,
    ReportRecord,
    ReportTask,
    SkippedFamily,
    SubQuestion,
    TopicSurvey,
    WrittenReport,
)
from citewell.reports.quotes import QuotedQuery
from citewell.reports.strategies import (
    MOST_TRIAGE_CHARS,
    TRIAGE_TOKENS,
    HybridCredibilityTriage,
    drafted,
    planned,
    strategy_of,
)
from citewell.reports.subqueries import PLAN_TOKENS, LlmQueryPlanner, topics_of
from citewell.reports.writing import compose_report, count, knowledge_items, page_items, read_report, report_request
from citewell.runs.journal import Abandoned, Failed, Run
from citewell.runs.run import Failure, Stage
from citewell.search.conversation import prompt_of
from citewell.search.pack import ResearchPack
from citewell.search.plan import plan_question
from citewell.search.query import QueryPlan
from citewell.text.secrets import kinds_of_secrets
from citewell.web.facts import WebUse

ROWS_A_QUERY = 8
HITS_A_QUERY = 8
# A model may be asked for a plan once, and once more to mend a reply that cannot be read.
_PLAN_TRIES = 2
_PLAN_SECONDS = 45.0
_TRIAGE_SECONDS = 45.0
_SEARCH_SECONDS = 10.0
_LEAST_CHARS = 1_500
_MOST_SNIPPETS = 4
_MOST_QUERY_CHARS = 200


@dataclass(slots=True)
class SubQueryProgress:
    """How far a sub-query has come."""

    sub_query: SubQuestion
    plan: QueryPlan
    # What the corpus has for it; `corpus_failed` says why it has nothing.
    pack: ResearchPack | None = None
    corpus_failed: str = ""
    # What pages have for it.
    pages: ResearchPack | None = None
    prepared: PreparedSynthesis | None = None

    @property
    def index(self) -> int:
        return self.sub_query.index

    @property
    def asked(self) -> str:
        """What the web is asked for it."""
        return self.sub_query.query[:_MOST_QUERY_CHARS]


async def report(run: Run, found: Findings) -> None:
    """Write the report of a brief."""
    assert run.request.report is not None
    await _Report(run, found, run.request.report).run_through()


class _Report:
    def __init__(self, run: Run, found: Findings, task: ReportTask) -> None:
        self.run, self.found, self.task = run, found, task
        self.plan: ReportPlan | None = None
        self.work: list[SubQueryProgress] = []
        self.web = Sources(run, found, run.request.web or WebUse(), self._next_page, hits_a_query=HITS_A_QUERY)
        self.web.search_seconds = _SEARCH_SECONDS
        # Of each page by its key: whence it came and who found it.
        self.origins: dict[str, tuple[Family, str]] = {}
        self.skipped: tuple[SkippedFamily, ...] = ()
        self.items: tuple[ReportItem, ...] = ()
        self.duplicates: tuple[Duplicate, ...] = ()
        self.credibility: tuple[ItemCredibility, ...] = ()
        self.is_triaged = False
        self.types: dict[str, ClaimType] = {}
        self.report: WrittenReport | None = None
        self.error = ""
        found.record = self.record

    async def run_through(self) -> None:
        run, found = self.run, self.found
        self._estimate_cost()
        self.plan = await self._planned()
        limits = replace(run.request.limits, limit=ROWS_A_QUERY, include_related=False)
        for one in self.plan.sub_queries:
            searches = plan_question(prompt_of(one.query), run.request.filters, limits, include_topic_brief=False)
            found.queries_tried += [variant.query for variant in searches.query_variants]
            self.work.append(SubQueryProgress(one, searches))
        await self._gather()
        await self._weigh()
        live = [one for one in self.work if self._of_query(one.index)]
        if not live:
            self._end_with_nothing()
        if await self._written(live):
            await self._bind()
        run.end(stop_reason(run, found))

    # Planning

    def _estimate_cost(self) -> None:
        use = self.run.request.models
        if use.writes:
            # A report is longer than an answer.
            written = may_write(self.run, 2 * use.max_output_tokens)
            planned = MayAsk(2 if use.planner else 0, Usage(1_000, PLAN_TOKENS), use.planner_price)
            each = Usage(estimate_tokens("x" * MOST_TRIAGE_CHARS), TRIAGE_TOKENS)
            triage = MayAsk(1 if self.task.triage == "hybrid" else 0, each, use.writer_price)
            note_cost(self.run, (planned, *written, triage))

    async def _planned(self) -> ReportPlan:
        """What is looked into: a model proposes it where one is set and the brief does not say it; else rules do."""
        run, task = self.run, self.task
        run.enter("plan")
        plan = await self._plan_of_model()
        if plan is None:
            plan = await self._plan_by_rules(None)
        has_corpus = any(use.family == "knowledge" for use in task.families) and not run.is_hurried
        topics = topics_of(task.brief.question) if has_corpus and plan.planned_by == "rules" else ()
        if topics:
            survey = await or_none(run, run.io(Outside.survey_topic, topics, run.request.filters), "plan")
            if survey is not None and survey.documents:
                plan = await self._plan_by_rules(survey)
        families = tuple(use.family for use in task.families)
        queries, by = [one.query for one in plan.sub_queries], plan.planned_by
        text = f"{len(queries)} sub-queries ({by}), to be looked for in {', '.join(families)}: {' | '.join(queries)}"
        run.note("sub_queries_planned", text, queries=queries, planned_by=by, families=families)
        return plan

    async def _plan_by_rules(self, survey: TopicSurvey | None) -> ReportPlan:
        name, brief = self.task.planner, self.task.brief
        if name in STRATEGY_NAMES["planner"]:
            return planned(name, brief, survey)
        try:
            return await self.run.io(Outside.plan_brief, name, brief, survey)
        except Abandoned:
            self._end_with_nothing()
        except Failed as failed:
            self._fail("plan", failed)

    async def _plan_of_model(self) -> ReportPlan | None:
        run, task, use = self.run, self.task, self.run.request.models
        if task.planner != "llm" or not use.planner or task.brief.sub_questions:
            return None
        unreadable: tuple[str, str] | None = None
        for _ in range(_PLAN_TRIES):
            if self.run.is_hurried:
                return None
            seconds = seconds_to_write(run, min(_PLAN_SECONDS, use.planner_seconds))
            request = fitted(run, self.found, LlmQueryPlanner().request(task.brief, use.planner, seconds, unreadable))
            if request is None:
                note_ceiling(run, self.found)
                run.warn("planner_failed_deterministic_used")
                return None
            note_asked(run, request)
            try:
                reply = await ask(run, self.found, request)
            except Abandoned:
                if run.is_hurried:
                    return None
                self._end_with_nothing()
            except Failed as failed:
                self._unplanned(failed.message)
                return None
            plan, error = LlmQueryPlanner().read(reply.text, task.brief, request.model)
            if plan is not None:
                return plan
            unreadable = (reply.text, error)
        self._unplanned(f"its reply could not be read: {unreadable[1] if unreadable else ''}")
        return None

    def _unplanned(self, why: str) -> None:
        """A model that gives no plan leaves the rules."""
        self.run.note("planner_failed", f"planned without the model: {why[:300]}", error=why[:300])
        self.run.warn("planner_failed_deterministic_used")

    # Gathering

    async def _gather(self) -> None:
        """Every family for every sub-query at the same time, then the best pages of every search, as items."""
        run, task, web = self.run, self.task, self.web
        families = {use.family for use in task.families}
        if "knowledge" in families:
            web.tasks += [run.spawn(self._look_up(work)) for work in self.work]
        # What was taken from the own documents of a user is never sent to anybody, nor what looks like a secret.
        asked = [one for one in self.work if not one.sub_query.places and not kinds_of_secrets(one.sub_query.query)]
        pairs = [(name, one.asked) for one in asked for use in task.families for name in use.providers]
        pairs = [] if run.is_late else list(dict.fromkeys(pairs))
        await gather(web, pairs[: web.use.max_queries])
        family_of = {name: use.family for use in task.families for name in use.providers}
        await self._keep_snippets(family_of)
        for page in web.pages:
            first = next((one for one in web.results if web.read.get(one.name) is page), None)
            self.origins[page.source_key] = (family_of[first.provider], first.provider) if first else ("web", "")
        await run.all(*(self._rank(work) for work in asked))
        pages = {page.source_key: page for page in web.pages}
        items: list[ReportItem] = []
        for work in self.work:
            items += knowledge_items(work.index, work.pack.evidence if work.pack else ())
            rows = work.pages.evidence if work.pages else ()
            items += page_items(work.index, rows, pages, self.origins, web.papers)
        self.items, self.skipped = tuple(items), tuple(self._failed_families())
        for one in self.skipped:
            text = f"{one.family} is left out: {one.reason}"
            self.run.note("family_skipped", text, family=one.family, reason=one.reason)
        if self.skipped:
            self.run.warn("source_family_failed")
        if not items:
            self._end_with_nothing()

    async def _look_up(self, work: SubQueryProgress) -> None:
        """Search the corpus; what was taken from its own sections is read where it stands."""
        run, found, query = self.run, self.found, work.sub_query.query
        try:
            if work.sub_query.places:
                pack = (await run.io(Outside.read_given, query, work.plan, work.sub_query.places)).pack
            else:
                own = self.task.own("retrieval")
                pack = await retrieve(run, found, query, work.plan, source=own)
                if run.request.models.writes and not own:
                    pack = await read_widely(run, pack, run.request.max_evidence_chars // len(self.work))
        except Abandoned:
            return
        except Failed as failed:
            work.corpus_failed = failed.message or failed.code
            run.gave_up("retrieve", failed)
            return
        work.pack = pack
        keys = [row.source_key for row in pack.evidence]
        found.saw(*keys)
        note_found(run, keys, pack.coverage.recall_note)

    def _next_page(self) -> tuple[Result, None] | None:
        """Once every search is in: the best page of every search first, as many as may be read."""
        web = self.web
        is_full = len(web.pages) + len(web.reading) >= web.use.max_reads
        if web.searching.total() or is_full or web.attempts >= web.use.max_reads * ATTEMPTS_A_READ:
            return None
        order = {one.asked: at for at, one in reversed(list(enumerate(self.work)))}
        return next(((one, None) for one in sorted(web.untried(), key=lambda one: (one.place, order[one.query]))), None)

    async def _keep_snippets(self, family_of: Mapping[str, Family]) -> None:
        """For a family of which no page could be read, what its providers showed of their results."""
        web = self.web
        for family in dict.fromkeys(family_of[one.provider] for one in web.results):
            found = [one for one in web.results if family_of[one.provider] == family]
            hits = [one.hit for one in found if one.hit.snippet][:_MOST_SNIPPETS]
            if not hits or any(web.read.get(one.name) for one in found) or self.run.is_late:
                continue
            await or_none(self.run, keep_snippets(web, hits), "read", "web_loop_failed")

    async def _rank(self, work: SubQueryProgress) -> None:
        """The passages of the pages that were read for a sub-query."""
        web = self.web
        found = [web.read.get(one.name) for one in web.results if one.query == work.asked]
        keys = {page.source_key for page in found if page is not None}
        paths = tuple(page.path for page in web.pages if page.source_key in keys)
        if not paths:
            return
        ranked = self.run.io(Outside.rank_pages, work.sub_query.query, work.plan, paths)
        work.pages = await or_none(self.run, ranked, "evaluate", "web_loop_failed")

    def _failed_families(self) -> Iterator[SkippedFamily]:
        for use in self.task.families:
            if use.family == "knowledge":
                reasons = [work.corpus_failed for work in self.work if work.corpus_failed]
                if reasons and all(work.pack is None for work in self.work):
                    yield SkippedFamily("knowledge", reasons[0])
                continue
            if self.web.answered & set(use.providers):
                continue
            failures = [
                f"{one.source}: {one.problem}: {one.message}" for one in self.web.failed if one.source in use.providers
            ]
            if failures:
                yield SkippedFamily(use.family, "; ".join(dict.fromkeys(failures))[:500])
            elif any(provider in use.providers for provider, _ in self.web.asked):
                yield SkippedFamily(use.family, "there was no time for it")

    # Copies and credibility

    async def _weigh(self) -> None:
        """Which items a report may be written from: no copies, and nothing below the floor of credibility."""
        run, task, items = self.run, self.task, self.items
        run.enter("evaluate")
        try:
            if task.deduplicator in STRATEGY_NAMES["deduplicator"]:
                self.duplicates = tuple(strategy_of("deduplicator", task.deduplicator).duplicates(items))
            else:
                self.duplicates = await run.io(Outside.find_duplicates, task.deduplicator, items)
            dropped = tuple(f"{one.ref_id}: {one.duplicate_of}" for one in self.duplicates)
            text = f"{some(len(items), 'passage')}, {len(dropped)} of them copies"
            run.note("duplicates_dropped", text, items=len(items), duplicates=dropped)
            copies = {one.ref_id for one in self.duplicates}
            outside = tuple(one for one in items if one.is_external and one.ref_id not in copies)
            if outside:
                await self._triage(outside)
        except Failed as failed:
            self._fail("evaluate", failed)
        self.is_triaged = True

    async def _triage(self, outside: tuple[ReportItem, ...]) -> None:
        """Judge what comes from outside: by rules, and by a model where it lets something through that it may doubt."""
        run, task, floor = self.run, self.task, self.task.brief.credibility_floor
        if task.triage not in STRATEGY_NAMES["triage"]:
            self.credibility = await run.io(Outside.triage, task.triage, outside, floor)
        else:
            triage = strategy_of("triage", task.triage)
            self.credibility = tuple(triage.verdicts(outside, floor))
            if isinstance(triage, HybridCredibilityTriage):
                await self._ask_triage(triage, outside, floor)
        verdicts = self.credibility
        kept, by = [one.ref_id for one in verdicts if one.kept], [one.judged_by for one in verdicts]
        dropped = [f"{one.ref_id}: {one.score} ({', '.join(one.reasons)})"[:300] for one in verdicts if not one.kept]
        text = f"{some(len(kept), 'source')} from outside kept, {len(dropped)} below the floor"
        run.note(
            "sources_triaged",
            text,
            kept=kept,
            dropped=dropped,
            judged_by=next((one for one in by if one != "rules"), "rules"),
        )

    async def _ask_triage(self, triage: HybridCredibilityTriage, outside: tuple[ReportItem, ...], floor: float) -> None:
        """Ask a model of the sources that rules let through, where one is set, and time and money are left."""
        run, use = self.run, self.run.request.models
        doubtful = triage.to_ask(outside, self.credibility, floor)
        if not doubtful or not use.writes or run.is_late:
            return
        request = fitted(
            run, self.found, triage.request(tuple(doubtful), use.writer, seconds_to_write(run, _TRIAGE_SECONDS))
        )
        if request is None:
            return
        note_asked(run, request)
        reply = await or_none(run, ask(run, self.found, request), "evaluate", "triage_failed_rules_used")
        if reply is None:
            return
        verdicts, error = triage.read(reply.text, outside, self.credibility, floor, request.model)
        self.credibility = tuple(verdicts)
        if error:
            run.warn("triage_failed_rules_used")

    @property
    def _retained(self) -> tuple[ReportItem, ...]:
        """The items a report may be written from."""
        copies = {one.ref_id for one in self.duplicates}
        dropped = {one.ref_id for one in self.credibility if not one.kept}
        return tuple(item for item in self.items if item.ref_id not in copies | dropped)

    def _of_query(self, index: int) -> tuple[ReportItem, ...]:
        """The retained items of a sub-query; in the place of a copy stands what it is a copy of."""
        kept = {item.ref_id: item for item in self._retained}
        copied = {one.ref_id: one.duplicate_of for one in self.duplicates}
        own = (copied.get(item.ref_id, item.ref_id) for item in self.items if item.sub_query == index)
        return tuple(kept[ref] for ref in dict.fromkeys(own) if ref in kept)

    # Writing

    async def _written(self, live: list[SubQueryProgress]) -> bool:
        """All evidence is ready: a model writes, or passages are quoted; whether what is written stands."""
        run, found, request, use = self.run, self.found, self.run.request, self.run.request.models
        run.enter("prepare_synthesis")
        by_model = use.writes and may_be_asked(run) and not self.task.own("synthesizer")
        packs = [self._pack(one) for one in live]
        parts = packed_each(run, packs, _LEAST_CHARS, is_shared=by_model)
        for one, part in zip(live, parts, strict=True):
            one.prepared = part
        prepared = merge_prepared(request.question, parts)
        found.pack, found.plan = merge_packs(packs), self.work[0].plan
        form = WritingForm(
            self._request, self._read, self._quote, self.task.own("synthesizer"), self.task.own("verifier")
        )
        return await Writing(run, found, form, prepared, self.work[0].plan).stands()

    def _pack(self, work: SubQueryProgress) -> ResearchPack:
        """The evidence of a sub-query: the items that were kept for it."""
        base = work.pack or work.pages or next(one.pack for one in self.work if one.pack is not None)
        rows = tuple(item.row for item in self._of_query(work.index))
        return replace(base, evidence=rows, exact_tag_evidence=(), next_steps=())

    def _request(self, prepared: PreparedSynthesis, seconds: float) -> ChatRequest:
        assert self.plan is not None
        use = self.run.request.models
        return report_request(
            *(self.task.brief, self.plan, prepared, use.writer, 2 * use.max_output_tokens, seconds),
            hosted=use.is_hosted,
        )

    def _read(self, reply: str, prepared: PreparedSynthesis, is_repair: bool, is_cut: bool) -> Draft:
        read = read_report(reply, prepared, is_repair=is_repair, is_cut=is_cut)
        self.types |= read.types
        return read.draft

    async def _quote(self, prepared: PreparedSynthesis, likeness: Likeness, readings: Readings) -> Draft:
        queries = tuple(QuotedQuery(one.sub_query, one.plan, one.prepared) for one in self.work if one.prepared)
        own = self.task.own("synthesizer")
        return await drafted_by(self.run, own, queries) if own else drafted("default", queries)

    # The end

    async def _bind(self) -> None:
        """A report whose every citation resolves, or a run that failed and keeps what it has."""
        run, found = self.run, self.found
        assert found.verification is not None
        assert self.plan is not None
        run.enter("verify")
        by_model = found.draft is not None and found.draft.written_by == "model"
        # Which retained item each citation stands in.
        binder, cited = self.task.binder, found.verification.citations
        if binder in STRATEGY_NAMES["binder"]:
            bound = BindingReply(*strategy_of("binder", binder).bind(cited, self._retained))
        else:
            try:
                bound = await run.io(Outside.bind, binder, cited, self._retained)
            except Failed as failed:
                self._fail("verify", failed)
        composed = compose_report(
            *(found.verification, self.plan, self.types, bound.citations, bound.unresolved), by_model=by_model
        )
        self.report, bad = composed.report, composed.unresolved if composed.report is None else ()
        claims, citations = (len(self.report.claims), len(self.report.citations)) if self.report else (0, 0)
        text = bad[0] if bad else f"{claims} claims, {citations} citations, all resolved"
        run.note("report_bound", text, claims=claims, citations=citations, unresolved=bad)
        if self.report is None:
            message = f"The report does not hold: {'; '.join(bad[:3])}."
            fix = "What was gathered is kept with the run; ask for a fresh attempt, or with another model."
            self._stop(Failure("verify", "unresolved_citations", message, fix))
        run.finishing = run.finishing or "enough_evidence"

    def record(self) -> ReportRecord:
        """Everything that was gathered and came of it."""
        task = self.task
        retained = tuple(item.ref_id for item in self._retained) if self.is_triaged else ()
        searches: Counter[str] = Counter(
            use.family for use in task.families for provider, _ in self.web.asked if provider in use.providers
        )
        searches["knowledge"] = sum(one.pack is not None or bool(one.corpus_failed) for one in self.work)
        read = sum("snippet" not in page.flags for page in self.web.pages)
        return ReportRecord(
            brief_id=task.brief_id,
            brief=task.brief,
            created_by=task.created_by,
            plan=self.plan,
            # What ranked an item says nothing to who reads the report.
            items=tuple(
                replace(
                    one, row=replace(one.row, signals=(), sections=(), matched_terms=(), missing_terms=(), lanes=())
                )
                for one in self.items
            ),
            duplicates=self.duplicates,
            credibility=self.credibility,
            retained=retained,
            skipped=self.skipped,
            methodology=count(
                *(self.plan, task.families, searches, self.items, self.duplicates, self.credibility),
                *(retained, self.report, read),
            ),
            report=self.report,
            error=self.error,
        )

    def _end_with_nothing(self) -> NoReturn:
        """Nothing to write from."""
        failed = "; ".join(f"{one.family}: {one.reason}" for one in self.skipped)
        why = f"Nothing could be searched: {failed}" if failed else "Nothing that was found speaks of the brief."
        if failed and not self.items and len(self.skipped) == len(self.task.families):
            self._stop(Failure("retrieve", "sources_failed", f"{why}.", fix="See 'citewell doctor'."))
        self.error, self.is_triaged = why, True
        self.run.end(self.run.finishing or "no_evidence")

    def _fail(self, stage: Stage, failed: Failed) -> NoReturn:
        self.run.gave_up(stage, failed)
        self._stop(Failure(stage, failed.code, failed.message, failed.fix))

    def _stop(self, failure: Failure) -> NoReturn:
        self.error = failure.message
        self.run.end("synthesis_failed", failure)
