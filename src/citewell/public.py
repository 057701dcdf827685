"""Citewell from Python: `from citewell import Citewell`. The command line is written with the same objects.

    with Citewell("data-folder") as cw:
        cw.add("notes")
        answer = cw.research("How many passengers did the Halvard carry?")
        print(answer.answer, answer.citations[0].quote, answer.run_id)

`cw.corpus` holds what can be done with documents, `cw.runs` what can be done with recorded runs. Methods block unless
they are asynchronous; results are typed, frozen values, the same documents that `--json` prints.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from citewell.app import Engine, PackOptions, open_engine
from citewell.domain.errors import BadInput, CitewellError
from citewell.domain.queries import Filters, checked_filters
from citewell.settings import Settings, load_settings, setting_fields

if TYPE_CHECKING:
    from citewell.domain.backups import AcceptSettings, BackupReport, RestoreReport
    from citewell.domain.briefs import StrategyStage
    from citewell.domain.documents import ContentMode, SourceType
    from citewell.domain.events import RunEvent
    from citewell.domain.library import (
        AddReport,
        CollectionList,
        CorpusStatus,
        DoctorReport,
        EncodeProgress,
        EncodeReport,
        RemoveReport,
        Stats,
        SyncProgress,
    )
    from citewell.domain.migrations import MigrationReport
    from citewell.domain.notes import NoteDepth, NoteResult
    from citewell.domain.packs import Explanation, ResearchPack
    from citewell.domain.policy import Approve
    from citewell.domain.results import DocumentEntries, DocumentList, RelatedResult, SearchMode, SearchResult
    from citewell.domain.run_reports import (
        ControlReport,
        EgressLedger,
        EgressPreview,
        ExportReport,
        PruneSummary,
        ReplayReport,
        RunDiff,
        RunList,
        RunView,
    )
    from citewell.domain.runs import Conversation, ModelChoice, RunProfile, RunResult, RunStatus, RunSummary, Surface
    from citewell.domain.summaries import SummaryProgress, SummaryReport
    from citewell.domain.topics import EntityMap, TopicBrief
    from citewell.domain.transcripts import ChatTranscript, TranscriptList
    from citewell.evals.kept import KeptEvals
    from citewell.exporting.exported import ExportedFile, ExportForm
    from citewell.reports.config import ResearchConfig
    from citewell.reports.models import ResearchBrief, ResearchRun
    from citewell.reports.service import Begun, ResearchService

Place = str | Path
History = Sequence[str | Mapping[str, str]]


class Citewell:
    """A data folder, opened: documents to add and search, questions to ask, runs to look at."""

    def __init__(
        self,
        data_dir: Place | None = None,
        *,
        surface: Surface = "python",
        components: Mapping[str, object] | None = None,
        **settings: Any,
    ) -> None:
        """Settings are keywords (`model="ollama:qwen3:8b"`); what is not given comes as it does for the program.

        `components` are parts of one's own for runs that answer questions, such as `{"judge": MyJudge()}`.
        """
        self._engine = open_engine(_settings(data_dir, settings))
        if components:
            from citewell.briefs.strategies import register_components

            self._engine.components = register_components(components)
        self._surface = surface
        self.corpus = Corpus(self._engine)
        self.runs = Runs(self._engine)

    @cached_property
    def evals(self) -> KeptEvals:
        """Cases that were made from runs, and reports of asking them again."""
        from citewell.evals.kept import KeptEvals

        return KeptEvals(self._engine)

    @property
    def settings(self) -> Settings:
        return self._engine.settings

    def close(self) -> None:
        """Close every file. A run that is still executed here is interrupted and can be resumed."""
        self._engine.close()

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
        report: AddReport | None = None
        for path in paths:
            report = self.corpus.add(path, **options)
        if report is None:
            raise BadInput("Nothing was named to add.", fix="Name a file or a folder.")
        return report

    def search(self, query: str, **options: Any) -> SearchResult:
        """Documents that match a query, best first; options as for `corpus.search`."""
        return self.corpus.search(query, **options)

    def research(self, question: str, **options: Any) -> RunResult:
        """Answer a question in a recorded run and wait for it; options as for `start`."""
        return self.runs.wait(self.start(question, **options))

    async def research_async(self, question: str, **options: Any) -> RunResult:
        """The same without blocking the event loop."""
        import asyncio

        run_id = await asyncio.to_thread(lambda: self.start(question, **options))
        return await self.runs.ended(run_id)

    async def stream(self, question: str, **options: Any) -> AsyncIterator[RunEvent | RunResult]:
        """Answer a question and see every event of the run as it comes; the result comes last.

        Who stops listening leaves the run alone: it goes on, and `runs` has its result.
        """
        import asyncio

        run_id = await asyncio.to_thread(lambda: self.start(question, **options))
        async with aclosing(self._engine.runs.watched(run_id)) as events:
            async for event in events:
                yield event

    def start(
        self,
        question: str,
        *,
        profile: RunProfile = "local",
        limit: int | None = None,
        max_chars_per_doc: int | None = None,
        source_types: Sequence[SourceType] = (),
        tags: Sequence[str] = (),
        collections: Sequence[str] = (),
        only: Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        not_in: Sequence[str] = (),
        not_from: Sequence[str] = (),
        topic: str | None = None,
        topic_brief: bool | None = None,
        planner: bool | None = None,
        planner_model: str | None = None,
        planner_timeout: float | None = None,
        model: str | None = None,
        max_evidence_chars: int | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
        semantic: bool = True,
        trace: bool = True,
        history: History = (),
        pinned: Sequence[str] = (),
        conversation_id: str = "",
        surface: Surface | None = None,
    ) -> str:
        """Begin to answer a question and return the run's id; the options of `citewell research`, in snake case.

        `history` holds the earlier questions of a conversation, oldest first (texts, or `{"id": …, "question": …}`),
        `pinned` the keys of documents that must be among the evidence. `surface` is what the record says of who asked.
        `conversation_id` is recorded; without a `history` the run goes on with what was asked in that conversation.
        """
        from citewell.domain.runs import ModelChoice

        if timeout is not None and not 0 < timeout < 86_400:
            raise BadInput(f"The time of the run (--timeout) is {timeout} s.", fix="Give it at least a second or two.")
        return self._engine.start_research(
            question,
            options=PackOptions(limit, max_chars_per_doc, None, None, topic, topic_brief, semantic),
            filters=_filters(source_types, tags, collections, only, since, until, not_in, not_from),
            surface=surface or self._surface,
            profile=profile,
            max_evidence_chars=max_evidence_chars,
            deadline_seconds=timeout,
            traced=trace,
            models=ModelChoice(model, planner, planner_model, planner_timeout, max_cost, max_tokens),
            conversation=_conversation(history, pinned),
            conversation_id=conversation_id,
        )

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
    ) -> str:
        """Begin research for a note, and return the id of the run, which writes the section at its end.

        A path is taken from the working directory, or as one below an added folder; with `from_here` off only so, and
        the note must be in the corpus. `max_cost` is a ceiling in USD on what models may cost: at it, passages are
        quoted instead. The web is asked for what `preview_note` shows, `web_queries` leaves only what is among them.
        """
        return self._engine.start_note(
            str(path),
            depth=depth,
            focus=focus,
            dry_run=dry_run,
            max_cost_usd=max_cost,
            claims=claims,
            web_queries=web_queries,
            base=Path.cwd() if from_here else None,
            only_known=not from_here,
            surface=surface or self._surface,
        )

    def preview_note(
        self, path: Place, *, depth: NoteDepth = "shallow", focus: str | None = None, claims: bool | None = None
    ) -> EgressPreview:
        """What research for a note would send, and to whom. Nothing is sent and nothing is recorded.

        `claims` asks the web for what the note states and links to as well; None: as CITEWELL_NOTE_CLAIMS_TO_WEB says.
        """
        return self._engine.preview_note(str(path), depth=depth, focus=focus, base=Path.cwd(), claims=claims)

    def note_result(self, run_id: str) -> NoteResult:
        """What a run about a note came to; raises what made it fail, and then the note is as it was."""
        return self._engine.note_result(run_id)

    def undo_note(self, path: Place, *, from_here: bool = True) -> NoteResult:
        """Take back what was last written into a note."""
        return self._engine.undo_note(str(path), base=Path.cwd() if from_here else None)

    def report(self, brief: ResearchBrief | Mapping[str, Any] | str, *, fresh: bool = False) -> ResearchRun:
        """The report of a brief, or of a question, in a recorded run: the stored one of an identical request.

        A run that came to no report has status `failed`, says why, and keeps all it gathered. `fresh` makes another
        attempt.
        """
        service = self.reports()
        return service.wait(self.start_report(brief, fresh=fresh))

    def start_report(
        self,
        brief: ResearchBrief | Mapping[str, Any] | str,
        *,
        fresh: bool = False,
        created_by: str | None = None,
        surface: Surface | None = None,
    ) -> Begun:
        """Begin the run of a brief, or find the one of an identical request."""
        from citewell.reports.files import brief_of
        from citewell.reports.models import ResearchBrief

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
        return self._engine.research_service(config, strategies)

    @property
    def approve(self) -> Approve | None:
        """Who is asked where a policy wants somebody to be asked."""
        return self._engine.approve

    @approve.setter
    def approve(self, approve: Approve | None) -> None:
        self._engine.approve = approve

    def preview(self, question: str, **options: Any) -> EgressPreview:
        """What a run would send to others, before it does; nothing is sent. Options: `profile`, `model`, `planner`."""
        from citewell.domain.runs import ModelChoice

        models = ModelChoice(options.pop("model", None), options.pop("planner", None))
        return self._engine.preview(question, models=models, **options)

    def pack(
        self,
        question: str,
        *,
        options: PackOptions | None = None,
        filters: Filters | None = None,
        use_model_planner: bool | None = None,
        models: ModelChoice | None = None,
        option_profile: Literal["cli", "web"] = "cli",
        history: History = (),
        pinned: Sequence[str] = (),
    ) -> ResearchPack:
        """The evidence for a question, without an answer and without a record."""
        return self._engine.research_pack(
            question,
            options=options,
            filters=filters,
            profile=option_profile,
            use_model_planner=use_model_planner,
            models=models,
            conversation=_conversation(history, pinned),
        )

    def start_pack(
        self,
        question: str,
        *,
        option_profile: Literal["cli", "web"] = "cli",
        history: History = (),
        pinned: Sequence[str] = (),
        **options: Any,
    ) -> str | None:
        """Start a pack that a model helps to plan; None where none does, and `pack` needs no waiting."""
        conversation = _conversation(history, pinned)
        return self._engine.start_pack(question, profile=option_profile, conversation=conversation, **options)

    async def planned_pack(self, run_id: str) -> ResearchPack:
        """The pack that was started, once it is there; no thread is held meanwhile."""
        from citewell.app import pack_of

        return pack_of(await self.runs.ended(run_id))

    def synthesize(
        self, question: str, pack: ResearchPack, *, model: str = "", max_evidence_chars: int | None = None
    ) -> RunResult:
        """An answer from the rows of a pack, each read anew from the corpus by key and hash; nothing is recorded."""
        return self._engine.synthesize(question, pack, model=model, max_evidence_chars=max_evidence_chars)

    def start_synthesis(
        self, question: str, pack: ResearchPack, *, model: str = "", max_evidence_chars: int | None = None
    ) -> str:
        """Begin such an answer and return the id of its run, which is in this process's memory only."""
        return self._engine.start_synthesis(question, pack, model=model, max_evidence_chars=max_evidence_chars)

    def explain(self, pack: ResearchPack) -> Explanation:
        """Why a search came to what it came to; also where it found nothing."""
        return self._engine.explain(pack)

    def save_transcript(self, transcript: ChatTranscript) -> ChatTranscript:
        """Keep a conversation (`chat-transcripts/`); it is never indexed."""
        return self._engine.save_transcript(transcript)

    def transcripts(self, limit: int = 20) -> TranscriptList:
        """The conversations that were saved last."""
        return self._engine.transcripts(limit)

    def transcript(self, conversation_id: str) -> ChatTranscript:
        """A saved conversation by its id."""
        return self._engine.transcript(conversation_id)

    def doctor(self) -> DoctorReport:
        """What is configured, reachable and missing, with the fix for each."""
        return self._engine.doctor()

    def serve_mode(self) -> None:
        """Be ready for many callers: load what questions need, and let only so many runs wait as the settings say."""
        self._engine.max_waiting_runs = self.settings.max_waiting_runs
        if self.settings.database_url:
            # Servers on one database stand in for each other; runs of a person's own program wait for the person.
            self._engine.adopts = ("web_chat", "web_research_api", "rest")
        self._engine.load()

    def without_secrets(self, text: str) -> str:
        """A text with the values of secret settings masked."""
        return self._engine.without_secrets(text)


class Corpus:
    """What can be done with documents."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, path: Place, **options: Any) -> AddReport:
        """Bring the corpus up to date with a file or folder; options as for `sync`."""
        from citewell.domain.library import AddReport

        for event in self.sync(path, **options):
            if isinstance(event, AddReport):
                return event
        raise AssertionError("a sync ends with its report")

    def sync(
        self,
        path: Place,
        *,
        collection: str | None = None,
        source_type: SourceType | None = None,
        excludes: Sequence[str] = (),
    ) -> Iterator[SyncProgress | AddReport]:
        """The same with its progress; the report comes last."""
        return self._engine.add(Path(path), collection=collection, source_type=source_type, excludes=excludes)

    def watch(self, path: Place, stop: Event, **options: Any) -> Iterator[SyncProgress | AddReport]:
        """Add a path, then follow it until told to stop; a report each time it has changed."""
        return self._engine.watch(Path(path), stop, **options)

    def encode(self, most_seconds: float | None = None) -> Iterator[EncodeProgress | EncodeReport]:
        """Give every passage that lacks one its vector, for search by meaning; it goes on where it stopped."""
        return self._engine.encode(most_seconds)

    def summarize(
        self, *keys: str, model: str = "", max_cost_usd: float | None = None
    ) -> Iterator[SummaryProgress | SummaryReport]:
        """Store summaries of these documents, without keys of all that lack one; it goes on where it stopped."""
        return self._engine.summarize(keys, model=model, max_cost_usd=max_cost_usd)

    def vectors_left(self) -> int:
        """How many passages have no vector yet."""
        return self._engine.corpus.vectors.coverage().left

    def remove(self, *names: str, purge: bool = False) -> RemoveReport:
        """Forget documents by key or path, with everything derived from them; `purge` also the runs that hold them."""
        return self._engine.remove(names, purge=purge)

    def status(self, *, with_secrets: bool = False) -> CorpusStatus:
        """What is in the corpus, file by file, and why anything was left out."""
        return self._engine.status(with_secrets=with_secrets)

    def collections(self) -> CollectionList:
        """The folders that were added, and how many documents each has."""
        return self._engine.collections()

    def stats(self) -> Stats:
        """How much of what is in the corpus."""
        return self._engine.stats()

    def search(
        self, query: str, *, limit: int = 8, filters: Filters | None = None, mode: SearchMode | None = None
    ) -> SearchResult:
        """Documents that match a query, best first, each with the passage that matches."""
        return self._engine.search(query, limit=limit, filters=filters, mode=mode)

    def get(
        self, *lookups: str, query: str | None = None, content_mode: ContentMode = "evidence", max_chars: int = 4_000
    ) -> DocumentList:
        """Documents by key, or `KEY@CONTENT_HASH` for an earlier text; an unknown key is an error."""
        return self._engine.get(lookups, query=query, content_mode=content_mode, max_chars=max_chars)

    def get_many(
        self, *lookups: str, query: str | None = None, content_mode: ContentMode = "evidence", max_chars: int = 4_000
    ) -> DocumentEntries:
        """The same, but an unknown key is an entry that says so."""
        return self._engine.get_many(lookups, query=query, content_mode=content_mode, max_chars=max_chars)

    def related(self, key: str, *, limit: int = 8) -> RelatedResult:
        """What a document links to and what links to it."""
        return self._engine.related(key, limit=limit)

    def topic_brief(self, topic: str, **options: Any) -> TopicBrief:
        """How a topic hangs together in the corpus."""
        return self._engine.topic_brief(topic, **options)

    def entity_map(self, name: str, **options: Any) -> EntityMap:
        """What a name means, its other names, and where it is mentioned."""
        return self._engine.entity_map(name, **options)

    def backup(self, target: Place, *, force: bool = False) -> BackupReport:
        """Everything of the data folder in one file, without secrets."""
        return self._engine.backup(Path(target), force=force)

    def restore(
        self, archive: Place, *, force: bool = False, accept_settings: bool | AcceptSettings = False
    ) -> RestoreReport:
        """Put what a backup holds in the place of the data folder; what was there is kept aside.

        Settings that send data elsewhere or permit more than now are left out unless they are accepted:
        `accept_settings` is True, or a function that is given them and says so.
        """
        accept = accept_settings if callable(accept_settings) else lambda changes: bool(accept_settings)
        return self._engine.restore(Path(archive), force=force, accept=accept)


class Runs:
    """What can be done with recorded runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(
        self,
        limit: int = 20,
        *,
        behind: str | None = None,
        statuses: Sequence[RunStatus] = (),
        profile: RunProfile | None = None,
        surface: Surface | None = None,
        words: str = "",
    ) -> RunList:
        """The latest runs, newest first: behind another one, in some states, with words in the question."""
        from citewell.domain.run_store import RunChoice

        return self._engine.runs.latest(limit, RunChoice(behind, tuple(statuses), profile, surface, words))

    def find(self, run: str) -> str:
        """The id of a run, by its id, by how it begins, or as `last`."""
        return self._engine.runs.find(run)

    def show(self, run_id: str, *, with_events: bool = False) -> RunView:
        """A run as it was, and what became of its sources since."""
        return self._engine.show_run(run_id, with_events=with_events)

    def result(self, run: str) -> RunResult:
        """The stored result of a finished run, by id or by the path of an exported one."""
        return self._engine.runs.result(run)

    def status(self, run_id: str) -> RunStatus:
        """How a run stands."""
        return self._engine.runs.status(run_id)

    def failure(self, run_id: str) -> CitewellError | None:
        """Why a run stopped in this process before its end, such as a damaged store; it may be resumed."""
        return self._engine.runs.failure(run_id)

    def last_entry(self, run_id: str) -> int:
        """The number of the last entry of a run's log, as far as it has come."""
        return self._engine.runs.last_entry(run_id)

    def wait(self, run_id: str, timeout: float | None = None) -> RunResult:
        """The result of a run that this process executes, once it has one."""
        return self._engine.runs.wait(run_id, timeout)

    async def ended(self, run_id: str) -> RunResult:
        """The same without a thread that waits; leaving changes nothing for the run."""
        return await self._engine.runs.ended(run_id)

    def follow(
        self, run_id: str, after: int = -1, *, until: Literal["ended", "left"] = "ended"
    ) -> AsyncGenerator[RunEvent, None]:
        """The events of a run that any process executes, from any point on; leaving changes nothing for the run."""
        return self._engine.runs.follow(run_id, after, until=until)

    def resume(self, run_id: str, *, finish: bool = False) -> int:
        """Go on with an interrupted run, without repeating what is on record; returns the last entry it had."""
        self._engine.permit_resume(run_id)
        return self._engine.runs.resume(run_id, finish=finish)

    def migrate(
        self, to: str, source: str = "", tell: Callable[[int, int], None] = lambda done, of: None
    ) -> MigrationReport:
        """Bring runs and reports to another store: `sqlite`, `postgres` (as set) or `postgresql://…`; verified.

        The source is only read. `tell` is told how many runs of how many have been looked at.
        """
        return self._engine.migrate(to, source, tell)

    def adopt(self) -> tuple[str, ...]:
        """Take over runs that wait for somebody: queued ones, and those whose process is gone."""
        return self._engine.runs.adopt()

    def adopt_left(self) -> tuple[str, ...]:
        """As a server: take over what other servers on the same database left behind."""
        return self._engine.runs.adopt_left()

    def interrupt(self, run_id: str) -> None:
        """Stop executing a run here; it stays resumable."""
        self._engine.runs.interrupt(run_id)

    def interrupt_all(self, seconds: float = 5.0) -> None:
        """Stop executing every run here and take no more; they stay resumable."""
        self._engine.runs.interrupt_all(seconds)

    def cancel(self, run_id: str) -> ControlReport:
        """Stop a run for good. What it gathered stays on record."""
        return self._engine.runs.control(run_id, "cancel")

    def finish(self, run_id: str) -> ControlReport:
        """Have a run answer now, with what is there."""
        return self._engine.runs.control(run_id, "finish")

    def replay(self, run: str, *, tolerant: bool = False) -> ReplayReport:
        """Play a run back from its record: the same result byte for byte, or today's code on what it observed."""
        return self._engine.runs.replay(run, tolerant=tolerant)

    def diff(self, a: str, b: str | None = None, *, ask_models: bool = False) -> RunDiff:
        """Compare two runs, or a run with what today's corpus and code make of its question."""
        return self._engine.runs.diff(a, b, ask_models=ask_models)

    async def diff_async(self, a: str, b: str | None = None) -> RunDiff:
        """The same, where no model is to be asked, without a thread that waits."""
        return await self._engine.runs.diff_async(a, b)

    def export(self, run_id: str, target: Place) -> ExportReport:
        """Write a finished run to one file that can be replayed on any machine."""
        return self._engine.runs.export(run_id, Path(target))

    def archive(self, run_id: str) -> bytes:
        """The bytes of such a file."""
        return self._engine.runs.archive(run_id)

    def exported(self, run_id: str, form: ExportForm) -> ExportedFile:
        """A finished run as Markdown, Word, PDF, BibTeX or RIS."""
        return self._engine.export_run(run_id, form)

    def exported_conversation(self, conversation_id: str, asked: Sequence[tuple[str, str]]) -> ExportedFile:
        """Questions and the runs that answered them, as one Markdown file."""
        return self._engine.export_conversation(conversation_id, asked)

    def shareable(self, run_id: str) -> RunResult:
        """The result of a run that may be passed on: one that ended, and not by failing its own checks."""
        return self._engine.runs.shareable(run_id)

    def share_page(self, run_id: str) -> str:
        """A finished run as a page to pass on, without anything of this machine."""
        return self._engine.share_page(run_id)

    def import_archive(self, content: bytes) -> RunSummary:
        """Put a run that was exported elsewhere on record here; everything of it is checked and nothing executed."""
        return self._engine.runs.import_archive(content)

    def save_pages(self, run_id: str) -> tuple[str, ...]:
        """Put the pages of the web that a run cites into the corpus; their keys there."""
        return self._engine.save_pages(run_id)

    def egress(self, run_id: str) -> EgressLedger:
        """What a run sent, to whom and when."""
        return self._engine.runs.egress(run_id)

    def prune(self, *, keep_all: bool = False) -> PruneSummary:
        """Put old runs away by the settings in force."""
        return self._engine.prune_runs(keep_all=keep_all)


def _settings(data_dir: Place | None, chosen: dict[str, Any]) -> Settings:
    """The settings in force, with what the caller says instead."""
    known = {entry.name for entry in setting_fields()}
    if unknown := sorted(chosen.keys() - known):
        raise BadInput(f"There is no setting {', '.join(unknown)}.", fix=f"Known are: {', '.join(sorted(known))}.")
    loaded = load_settings(Path(data_dir) if data_dir is not None else None)
    return replace(loaded, **chosen)


def _filters(
    source_types: Sequence[SourceType],
    tags: Sequence[str],
    collections: Sequence[str],
    only: Sequence[str],
    since: str | None,
    until: str | None,
    not_in: Sequence[str],
    not_from: Sequence[str],
) -> Filters:
    return checked_filters(
        Filters(
            source_types=tuple(source_types),
            tags=tuple(tags),
            collections=tuple(collections),
            only=tuple(only),
            since=since,
            until=until,
            exclude_paths=tuple(not_in),
            exclude_domains=tuple(not_from),
        )
    )


def _conversation(history: History, pinned: Sequence[str]) -> Conversation | None:
    """What came before a question, as values."""
    from citewell.domain.runs import Conversation, PriorQuestion

    if not history and not pinned:
        return None
    asked: list[PriorQuestion] = []
    for number, prior in enumerate(history, start=1):
        if isinstance(prior, str):
            asked.append(PriorQuestion(f"q{number}", prior))
        elif isinstance(prior, Mapping) and isinstance(prior.get("question"), str):
            asked.append(PriorQuestion(str(prior.get("id") or f"q{number}"), prior["question"]))
        else:
            raise BadInput(
                f"Question {number} of the history is {prior!r}.", fix='Give texts, or {"id": …, "question": …}.'
            )
    return Conversation(tuple(asked), tuple(pinned))
