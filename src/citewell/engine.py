"""`Citewell`: the one façade. The command line, the API, the tools of agents and programs of people call it.

    with Citewell("data-folder") as cw:
        cw.add("notes")
        answer = cw.research("How many passengers did the Halvard carry?")
        print(answer.answer, answer.citations[0].quote, answer.run_id)

`cw.corpus` holds what can be done with documents, `cw.runs` what can be done with recorded runs. Methods block unless
they are asynchronous; results are typed, frozen values, the same documents that `--json` prints. It never prints.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from citewell.ask import OPTION_PROFILES, Ask, asked, checked, checked_topic, signature
from citewell.corpus_api import Corpus, Place
from citewell.errors import BadInput, CitewellError, Conflict, WorkFailed
from citewell.models.endpoints import EXTRACTIVE
from citewell.search.lanes import near_parts
from citewell.search.query import check_question
from citewell.settings import Settings, load_settings, setting_fields
from citewell.text.canonical import canonicalize
from citewell.wiring import Parts

# A search from a cold shell must not wait for what only runs, packs or diagnoses need: they import it themselves.
if TYPE_CHECKING:
    from citewell.answer.evidence import Likeness
    from citewell.clock import Clock
    from citewell.doctor import DoctorReport
    from citewell.evals.kept import KeptEvals
    from citewell.flows.play import Flow
    from citewell.models.embeddings import OpenEmbedder
    from citewell.notes.task import NoteDepth, NoteResult, NoteTask
    from citewell.reports.brief import ReportTask, StrategyStage
    from citewell.reports.model import ResearchBrief, ResearchRun
    from citewell.reports.service import ResearchService, StartedReport
    from citewell.reports.strategies import ResearchConfig
    from citewell.runs.events import RunEvent
    from citewell.runs.reports import ChatTranscript, EgressPreview, TranscriptList
    from citewell.runs.run import RunGoal, RunRequest, RunResult
    from citewell.runs.service import RunService
    from citewell.runs_api import Runs
    from citewell.search.conversation import Conversation
    from citewell.search.lookup import SearchResult
    from citewell.search.pack import Explanation, ResearchPack
    from citewell.search.query import RunProfile, Surface
    from citewell.search.rows import GivenRow
    from citewell.store.port import AddReport
    from citewell.web.facts import WebUse
    from citewell.web.guard import Resolve

# How much of a document a report and a deep note see around what they are about.
WIDE_WINDOW_CHARS = 2_000


class Citewell(Parts):
    """A data folder, opened: documents to add and search, questions to ask, runs to look at."""

    def __init__(
        self,
        data_dir: Place | Settings | None = None,
        clock: Clock | None = None,
        open_embedder: OpenEmbedder | None = None,
        flows: Mapping[RunProfile, Flow] | None = None,
        resolve: Resolve | None = None,
        *,
        surface: Surface = "python",
        components: Mapping[str, object] | None = None,
        **settings: Any,
    ) -> None:
        """Settings are keywords (`model="ollama:qwen3:8b"`); what is not given comes as it does for the program.

        `components` are parts of one's own for runs that answer questions, such as `{"judge": MyJudge()}`. A `Settings`
        in the place of the folder is taken as it is; the rest stands in for what is real.
        """
        chosen = data_dir if isinstance(data_dir, Settings) else load_settings(Path(data_dir) if data_dir else None)
        known = {entry.name for entry in setting_fields()}
        if unknown := sorted(settings.keys() - known):
            raise BadInput(f"There is no setting {', '.join(unknown)}.", fix=f"Known are: {', '.join(sorted(known))}.")
        super().__init__(replace(chosen, **settings), clock, open_embedder, flows, resolve)
        if components:
            from citewell.reports.strategies import register_components

            self.components = register_components(components)
        self._surface = surface
        self._replaying: tuple[str, RunService] | None = None
        self.corpus = Corpus(self, lambda run_ids: self.runs.forget(run_ids))

    @cached_property
    def runs(self) -> Runs:
        """Recorded runs: looked at, resumed, replayed, compared, put away."""
        from citewell.runs_api import Runs

        return Runs(self, self._keep_report)

    @cached_property
    def evals(self) -> KeptEvals:
        """Cases that were made from runs, and reports of asking them again."""
        from citewell.evals.kept import KeptEvals

        return KeptEvals(self)

    def close(self) -> None:
        """Close every file. A run that is still executed here is interrupted and can be resumed."""
        if self._replaying is not None:
            self._replaying[1].close()
            self._replaying = None
        if "runs" in self.__dict__:
            self.__dict__.pop("runs").close()
        super().close()

    def __enter__(self) -> Citewell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Citewell:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def add(self, *paths: Place, **options: Any) -> AddReport:
        """Bring the corpus up to date with files or folders; options as for `corpus.sync`. The last one's report."""
        reports = [self.corpus.add(path, **options) for path in paths]
        if not reports:
            raise BadInput("Nothing was named to add.", fix="Name a file or a folder.")
        return reports[-1]

    def search(self, query: str, **options: Any) -> SearchResult:
        """Documents that match a query, best first; options as for `corpus.search`."""
        return self.corpus.search(query, **options)

    # Questions

    def start(self, question: str | Ask, **options: Any) -> str:
        """Begin to answer a question and return the run's id; the options of `citewell research`, in snake case.

        `history` holds the earlier questions of a conversation, oldest first (texts, or `{"id": …, "question": …}`),
        `pinned` the keys of documents that must be among the evidence. `surface` is what the record says of who asked.
        `conversation_id` is recorded; without a `history` the run goes on with what was asked in that conversation.
        The run outlives anyone who asks. An `Ask` (`citewell.ask`) holds the same as one value.
        """
        ask = asked(question, options)
        if ask.timeout is not None and not 0 < ask.timeout < 86_400:
            raise BadInput(
                f"The time of the run (--timeout) is {ask.timeout} s.", fix="Give it at least a second or two."
            )
        request = self.request(ask, conversation=self._gone_on_with(ask))
        self.permit_run(request)
        return self.runs.start(request, traced=ask.trace)

    def research(self, question: str | Ask, **options: Any) -> RunResult:
        """Answer a question in a recorded run and wait for it; options as for `start`."""
        return self.runs.wait(self.start(question, **options))

    async def research_async(self, question: str | Ask, **options: Any) -> RunResult:
        """The same without blocking the event loop."""
        import asyncio

        run_id = await asyncio.to_thread(lambda: self.start(question, **options))
        return await self.runs.ended(run_id)

    async def stream(self, question: str | Ask, **options: Any) -> AsyncIterator[RunEvent | RunResult]:
        """Answer a question and see every event of the run as it comes; the result comes last.

        Who stops listening leaves the run alone: it goes on, and `runs` has its result.
        """
        import asyncio

        # Off the event loop: the first time, this loads what runs need.
        run_id = await asyncio.to_thread(lambda: self.start(question, **options))
        async with aclosing(self.runs.watched(run_id)) as events:
            async for event in events:
                yield event

    def preview(self, question: str | Ask, **options: Any) -> EgressPreview:
        """What a run would send to others, before it does; nothing is sent. Options as for `start`."""
        return self.web.preview(self.request(asked(question, options)))

    def _gone_on_with(self, ask: Ask) -> Conversation | None:
        """What was asked before: as it is given, or else in the conversation that is named.

        Its last run says it, else the conversation as it was saved.
        """
        from citewell.runs.folder import read_transcript
        from citewell.search.conversation import SESSION_TURNS, Conversation, PriorQuestion

        said = _conversation(ask)
        if not ask.conversation_id or (said is not None and said.history):
            return said
        before = self.runs.asked_in(ask.conversation_id)
        if not before:
            try:
                turns = read_transcript(self.settings.data_dir, ask.conversation_id).turns
            except CitewellError:
                return said
            before = tuple(PriorQuestion(turn.run_id or turn.question_id, turn.question) for turn in turns)
        return replace(said or Conversation(), history=before[-SESSION_TURNS:])

    def request(
        self,
        ask: Ask,
        *,
        goal: RunGoal = "answer",
        given: tuple[GivenRow, ...] = (),
        note: NoteTask | None = None,
        report: ReportTask | None = None,
        conversation: Conversation | None = None,
    ) -> RunRequest:
        """What a run is to do: what is asked, checked, masked, and with the settings in force, before it starts."""
        from citewell.answer.evidence import EvidenceReserves
        from citewell.flows.play import PROFILES
        from citewell.model_choice import model_use, web_use
        from citewell.runs.run import RunRequest
        from citewell.search.conversation import asked_in
        from citewell.web.providers import enabled_names

        settings, profile, mask = self.settings, ask.profile, self.masker.mask_value
        enabled_names(settings)  # a provider nobody knows is refused whatever is asked
        misses = (profile == "note") != (note is not None) or (profile == "report") != (report is not None)
        if profile not in PROFILES or misses:
            known = ", ".join(name for name in PROFILES if name not in ("note", "report"))
            raise BadInput(f"The profile '{profile}' is not available.", fix=f"Choose from: {known}.")
        chars = settings.max_evidence_chars if ask.max_evidence_chars is None else ask.max_evidence_chars
        checked("max_evidence_chars", chars)
        typed = self.masker.mask(canonicalize(check_question(ask.question)))
        current, before = asked_in(typed, mask(conversation or _conversation(ask)))
        filters = ask.filters
        if mask(filters) != filters:  # masked ones would find something else
            raise BadInput(
                "A filter holds the value of a secret that is set, so the run could not be recorded.",
                fix="Filter by something else, or search with 'citewell search'.",
            )
        if goal != "pack" and (ask.include_related or ask.related_limit is not None):
            raise BadInput(
                "A run adds linked documents by itself, where what it found asks for them.",
                fix="Leave include_related and related_limit out, or ask for the evidence alone.",
            )
        if mask(note) != note:  # under a masked name it could not be found again
            raise BadInput("The note's path holds the value of a secret that is set.", fix="Rename the note.")
        seconds = {
            "chat": settings.chat_research_timeout_seconds,
            "deep": settings.deep_research_timeout_seconds,
        }.get(profile)
        most_citations = (
            settings.research_max_citations_deep if profile == "deep" else settings.research_max_citations_chat
        )
        model = settings.research_model or ask.model or settings.model
        evaluator = "" if model == EXTRACTIVE else model
        web = web_use(settings, profile, evaluator, filters.exclude_domains) if goal == "answer" else None
        is_judged = goal != "pack" and note is None
        return RunRequest(
            question=current,
            profile=profile,
            surface=ask.surface or self._surface,
            filters=filters,
            limits=ask.limits(settings.max_chars_per_doc, None if goal == "pack" else PROFILES[profile].rows),
            max_evidence_chars=chars,
            per_document=ask.max_chars_per_doc,
            topic=mask(checked_topic(ask.topic)),
            topic_brief=ask.topic_brief,
            deadline_seconds=seconds if ask.timeout is None else ask.timeout,
            models=model_use(settings, self.chat, ask, web.model if web and web.providers else ""),
            semantic=self.semantic_use(ask.semantic),
            conversation=before,
            original_question=typed if typed != current else "",
            reserves=EvidenceReserves(
                settings.exact_tag_reserved_chars,
                settings.topic_brief_min_remaining_chars,
                settings.topic_brief_summary_max_chars,
            ),
            max_citations=None if report else most_citations,
            goal=goal,
            given=given,
            judge=self.judge.name if is_judged and self.judge is not None else "",
            reader=self.reader.name if is_judged and self.reader is not None else "",
            note=note,
            web=web,
            report=mask(_active(report, web)) if report is not None else None,
            conversation_id=self.masker.mask(ask.conversation_id),
            components=self.components if profile in ("local", "chat", "deep") else {},
        )

    # Evidence, and answers from given evidence

    def pack(self, question: str | Ask, **options: Any) -> ResearchPack:
        """The evidence for a question, without an answer and without a record; options as for `start`.

        A model helps to plan where `planner` or the option profile wants it and one is set; else rules alone plan.
        """
        ask = asked(question, options)
        run_id = self.start_pack(ask)
        return self._pack_by_rules(ask) if run_id is None else pack_of(self.runs.wait(run_id))

    def start_pack(self, question: str | Ask, **options: Any) -> str | None:
        """Start a pack that a model helps to plan; None where none does, and `pack` needs no waiting."""
        ask, settings = asked(question, options), self.settings
        wanted = OPTION_PROFILES[ask.option_profile].use_model_planner if ask.planner is None else ask.planner
        model = ask.planner_model or settings.planner_model or ask.model or settings.model
        if not wanted or model in ("", EXTRACTIVE):
            return None
        planned = msgspec.structs.replace(ask, model=EXTRACTIVE, planner=True, planner_model=model, surface="cli")
        return self.runs.start(self.request(planned, goal="pack"), traced=False)

    async def planned_pack(self, run_id: str) -> ResearchPack:
        """The pack that was started, once it is there; no thread is held meanwhile."""
        return pack_of(await self.runs.ended(run_id))

    def _pack_by_rules(self, ask: Ask) -> ResearchPack:
        from citewell.answer.quote import with_estimate
        from citewell.search.conversation import asked_in, prompt_of
        from citewell.search.pack import PackBuilder
        from citewell.search.plan import plan_question
        from citewell.search.topic_brief import TopicBriefs, with_brief

        typed = self.masker.mask(check_question(ask.question))
        prompt = prompt_of(*asked_in(typed, self.masker.mask_value(_conversation(ask))))
        plan = plan_question(
            *(prompt, ask.filters, ask.limits(self.settings.max_chars_per_doc)),
            topic=checked_topic(ask.topic),
            include_topic_brief=ask.topic_brief,
        )
        use = self.semantic_use(ask.semantic)
        with self.store.snapshot():
            builder = PackBuilder(self.store, use, self.semantic_lane, self.reranker)
            pack = builder.build(prompt.current, plan)
            pack = with_estimate(pack, self._likeness(pack) if use == "on" else None)
            if plan.include_topic_brief and plan.topic:
                pack = with_brief(pack, TopicBriefs(self.store).brief(plan.topic, plan.filters))
        return self.masker.mask_value(pack)

    def _likeness(self, pack: ResearchPack) -> Likeness | None:
        """How near the evidence of a pack comes to its question, as a run would find it."""
        from citewell.answer.confidence import windows_to_compare
        from citewell.answer.evidence import Likeness
        from citewell.answer.quote import direct_evidence

        windows = windows_to_compare(direct_evidence(pack))
        try:
            return Likeness(near_parts(self.semantic_lane, pack.query_plan.text_query, windows))
        except CitewellError:
            return None

    def explain(self, pack: ResearchPack) -> Explanation:
        """Why a search came to what it came to, in sentences and without a model; also where it found nothing."""
        from citewell.search.pack import explain_pack

        return explain_pack(pack)

    def synthesize(self, question: str, pack: ResearchPack, **options: Any) -> RunResult:
        """An answer from the rows of a pack, each read anew from the corpus by key and hash; nothing is recorded."""
        return self.runs.wait(self.start_synthesis(question, pack, **options))

    def start_synthesis(self, question: str, pack: ResearchPack, **options: Any) -> str:
        """Begin such an answer and return the id of its run, which is in this process's memory only.

        Of the options of a question it takes `model`, `max_evidence_chars` and `surface`.
        """
        from citewell.search.given import given_rows
        from citewell.search.pack import PACK_SCHEMA_VERSION

        if pack.schema_version != PACK_SCHEMA_VERSION:
            raise BadInput(f"The pack is {pack.schema_version}; this version reads {PACK_SCHEMA_VERSION}.")
        if useless := sorted(options.keys() - {"model", "max_evidence_chars", "surface"}):
            raise TypeError(f"an answer from a pack has no option {', '.join(useless)}")
        options["model"] = options.get("model") or None
        ask = asked(question, {"surface": "web_research_api", **options, "planner": False})
        return self.runs.start(self.request(ask, goal="synthesis", given=given_rows(pack)), traced=False)

    # Notes

    def note(self, path: Place, **options: Any) -> NoteResult:
        """Research for a note, written into its `## Research` section. Options as for `start_note`."""
        run_id = self.start_note(path, **options)
        self.runs.wait(run_id)
        return self.note_result(run_id)

    def start_note(
        self,
        path: Place,
        *,
        depth: NoteDepth = "shallow",
        focus: str | None = None,
        dry_run: bool = False,
        max_cost: float | None = None,
        claims: bool | None = None,
        web_queries: Sequence[str] | None = None,
        from_here: bool = True,
        surface: Surface | None = None,
        model: str | None = None,
    ) -> str:
        """Begin research for a note, and return the id of the run, which writes the section at its end.

        A path is taken from the working directory, or as one below an added folder; with `from_here` off only so, and
        the note must be in the corpus. `max_cost` is a ceiling in USD on what models may cost: at it, passages are
        quoted instead. The web is asked for what `preview_note` shows, `web_queries` leaves only what is among them.
        """
        request = self._note_request(
            path, depth, focus, dry_run, from_here, claims, web_queries, surface, model, max_cost
        )
        self.permit_run(request)
        return self.runs.start(request)

    def preview_note(
        self, path: Place, *, depth: NoteDepth = "shallow", focus: str | None = None, claims: bool | None = None
    ) -> EgressPreview:
        """What research for a note would send, and to whom. Nothing is sent and nothing is recorded.

        `claims` asks the web for what the note states and links to as well; None: as CITEWELL_NOTE_CLAIMS_TO_WEB says.
        """
        return self.web.preview(self._note_request(path, depth, focus, True, True, claims))

    def _note_request(
        self,
        path: Place,
        depth: NoteDepth,
        focus: str | None,
        dry_run: bool,
        from_here: bool,
        claims: bool | None,
        agreed: Sequence[str] | None = None,
        surface: Surface | None = None,
        model: str | None = None,
        max_cost: float | None = None,
    ) -> RunRequest:
        from citewell.notes.subjects import web_queries
        from citewell.notes.task import NoteTask

        if depth not in ("shallow", "deep"):
            raise BadInput(f"The depth is '{depth}'.", fix="Choose shallow or deep.")
        if focus is not None:
            focus = self.masker.mask(canonicalize(check_question(focus)))
        place = self.notes.place(str(path), Path.cwd()) if from_here else self.notes.known_place(str(path))
        task = NoteTask(place.root, place.path, self.clock.now()[:10], depth, focus, dry_run)
        with_claims = self.settings.note_claims_to_web if claims is None else claims
        queries = tuple(
            query
            for query in web_queries(self.notes.read(task), focus, with_claims=with_claims)
            if self.masker.mask(query) == query and (agreed is None or query in agreed)
        )
        ask = Ask(
            f"Research for {place.path}",
            profile="note",
            max_chars_per_doc=WIDE_WINDOW_CHARS if depth == "deep" else None,
            model=model or self.settings.research_model or None,
            planner=False,
            max_cost=max_cost,
            surface=surface,
        )
        return self.request(ask, note=replace(task, web_queries=queries))

    def note_result(self, run_id: str) -> NoteResult:
        """What a run about a note came to; raises what made it fail, and then the note is as it was."""
        from citewell.notes.findings import note_result

        return note_result(self.runs.result(run_id), self.runs.decisions(run_id))

    def undo_note(self, path: Place, *, from_here: bool = True) -> NoteResult:
        """Take back what was last written into a note."""
        from citewell.notes.task import NoteResult

        place = self.notes.place(str(path), Path.cwd() if from_here else None)
        change = self.notes.undo(place)
        return NoteResult(place.path, 0, "", change.changed, change.diff, change.backup)

    # Reports

    def report(self, brief: ResearchBrief | Mapping[str, Any] | str, *, fresh: bool = False) -> ResearchRun:
        """The report of a brief, or of a question, in a recorded run: the stored one of an identical request.

        A run that came to no report has status `failed`, says why, and keeps all it gathered. `fresh` makes another
        attempt.
        """
        return self.reports().wait(self.start_report(brief, fresh=fresh))

    def start_report(
        self,
        brief: ResearchBrief | Mapping[str, Any] | str,
        *,
        fresh: bool = False,
        created_by: str | None = None,
        surface: Surface | None = None,
    ) -> StartedReport:
        """Begin the run of a brief, or find the one of an identical request."""
        from citewell.reports.model import ResearchBrief, brief_of

        if isinstance(brief, str):
            brief = {"question": brief}
        given = brief if isinstance(brief, ResearchBrief) else brief_of(brief)
        kept = surface or self._surface
        return self.reports().start(given, created_by=created_by or kept, fresh=fresh, surface=kept)

    def reports(
        self, config: ResearchConfig | None = None, strategies: Mapping[StrategyStage, object] | None = None
    ) -> ResearchService:
        """The service that makes reports of briefs, with the strategies that are chosen; the defaults otherwise.

        `strategies` holds objects of one's own by stage, such as `{"planner": MyPlanner()}` (docs/reports.md).
        """
        from citewell.reports.service import ResearchParts, build_research_service

        parts = ResearchParts(
            *(lambda: self._runs_of(config), lambda: self.research_rows, self._report_request, self.permit_run),
            self.clock.now,
        )
        return build_research_service(parts, config, strategies)

    def _runs_of(self, config: ResearchConfig | None) -> RunService:
        """The runs; those that find again what another run found have no record of their own."""
        if config is None or config.replay_of is None:
            return self.runs
        from citewell.flows.play import FLOWS, begin
        from citewell.reports.service import ReplayRetrievalSource
        from citewell.runs.service import RunService

        if self._replaying is None or self._replaying[0] != config.replay_of:
            source = ReplayRetrievalSource(self.runs.events(config.replay_of))
            service = RunService(
                lambda: self.run_store,
                lambda run_id: source.over(self.effects(run_id)),
                self.clock,
                self.settings.data_dir,
                partial(begin, flows=self.flows or FLOWS),
                self.redactor.redact,
            )
            self._replaying = (config.replay_of, service)
        return self._replaying[1]

    def _report_request(self, task: ReportTask, config: ResearchConfig, surface: Surface) -> RunRequest:
        """What a run of a brief is to do."""
        brief, settings = task.brief, self.settings
        model = config.model or settings.research_model or None
        writes = (model or settings.model) not in ("", EXTRACTIVE)
        ask = Ask(
            brief.question,
            profile="report",
            max_chars_per_doc=WIDE_WINDOW_CHARS,
            tags=brief.tags,
            collections=brief.collections,
            surface=surface,
            timeout=brief.max_seconds,
            model=model,
            planner=True if writes else None,
            max_cost=brief.max_cost_usd,
        )
        return self.request(ask, report=task)

    def _keep_report(self, result: RunResult) -> None:
        if result.report is not None:
            self.reports().keep(result)

    # Conversations that are kept, and how things are

    def save_transcript(self, transcript: ChatTranscript) -> ChatTranscript:
        """Keep a conversation (`chat-transcripts/`), its secrets masked; it is never indexed."""
        from citewell.runs.folder import save_transcript

        return save_transcript(self.settings.data_dir, self.masker.mask_value(transcript))

    def transcripts(self, limit: int = 20) -> TranscriptList:
        """The conversations that were saved last."""
        from citewell.runs.folder import list_transcripts

        return list_transcripts(self.settings.data_dir, limit)

    def transcript(self, conversation_id: str) -> ChatTranscript:
        """A saved conversation by its id."""
        from citewell.runs.folder import read_transcript

        return read_transcript(self.settings.data_dir, conversation_id)

    def doctor(self) -> DoctorReport:
        """What is configured, reachable and missing, with the fix for each."""
        from citewell.doctor import examine

        return examine(self.settings, self.open_store, self.open_run_store, self.clock.now()[:10])

    def serve_mode(self) -> None:
        """Be ready for many callers: load what questions need, and let only so many runs wait as the settings say."""
        self.max_waiting_runs = self.settings.max_waiting_runs
        if self.settings.database_url:
            # Servers on one database stand in for each other; runs of a person's own program wait for the person.
            self.adopts = ("web_chat", "web_research_api", "rest")
        self.load()

    def load(self) -> None:
        """Open and import what the first question would otherwise wait for."""
        from citewell.check import verify  # noqa: F401
        from citewell.models.chat import check_model
        from citewell.models.reply import load_client

        self.runs  # noqa: B018
        if self.has_runs():
            self.run_store.latest(1)
        for model in dict.fromkeys((self.settings.model, self.settings.planner_model)):
            if model in ("", "extractive"):
                continue
            try:
                load_client(check_model(model, self.settings).provider.protocol)
            except CitewellError:
                continue  # anyone who asks it is told
        if self.semantic_use() != "off":
            try:
                self.semantic_lane()
            except CitewellError:
                return  # words answer without it, and say so
        self._pack_by_rules(Ask("anything", limit=1))


# What a program sees of a method that takes a question: the options are declared in `Ask` alone.
for _method in ("start", "research", "research_async", "stream"):
    vars(Citewell)[_method].__signature__ = signature()


def _conversation(ask: Ask) -> Conversation | None:
    """What came before a question, as a run records it."""
    from citewell.search.conversation import Conversation, PriorQuestion

    if not ask.history and not ask.pinned:
        return None
    turns = [("", one) if isinstance(one, str) else (one.id, one.question) for one in ask.history]
    history = (PriorQuestion(known or f"q{number}", text) for number, (known, text) in enumerate(turns, start=1))
    return Conversation(tuple(history), tuple(ask.pinned))


def _active(task: ReportTask, web: WebUse | None) -> ReportTask:
    """A brief with the families that take part: wanted by it, with somebody to ask for them."""
    from citewell.reports.brief import FAMILIES, FamilyUse
    from citewell.web.providers import PROVIDERS

    providers = web.providers if web is not None else ()
    able = {family: tuple(name for name in providers if PROVIDERS[name].family == family) for family in FAMILIES}
    families = tuple(
        FamilyUse(family, able[family])
        for family in FAMILIES
        if family in task.brief.sources and (family == "knowledge" or able[family])
    )
    if not families:
        wanted = ", ".join(task.brief.sources) or "none"
        raise Conflict(
            f"No source of this brief can be asked (it wants: {wanted}).",
            fix="Turn `knowledge` on in the brief, or set CITEWELL_SEARCH to a provider of what it wants.",
        )
    return replace(task, families=families)


def pack_of(result: RunResult) -> ResearchPack:
    """What the run of a pack found."""
    if result.pack is None:
        raise WorkFailed(result.failure.message if result.failure else "The evidence could not be gathered.")
    return result.pack
