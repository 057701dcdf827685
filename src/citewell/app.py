"""The composition root: settings become an Engine. The only place that chooses adapters.

Every surface calls the same Engine; it returns values and streams of events, and never prints.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from citewell.corpus.store.sqlite import SqliteCorpus
from citewell.domain.documents import ContentMode, DocumentView, SourceType
from citewell.domain.errors import BadInput, CitewellError, Conflict, NotFound, WorkFailed
from citewell.domain.lanes import SemanticUse
from citewell.domain.ports import Clock, Reranker
from citewell.domain.queries import Filters
from citewell.domain.results import DocumentEntries, DocumentList, RelatedResult, SearchMode, SearchResult
from citewell.packs.options import OPTION_PROFILES, PackOptions, ProfileName, check_between, checked_topic
from citewell.packs.search import Searcher
from citewell.planning.normalizer import check_question
from citewell.settings import Settings, secret_values

# How much of a document a report sees around what it is about.
REPORT_WINDOW_CHARS = 2_000

__all__ = ["Engine", "PackOptions", "SystemClock", "open_engine"]

# A search from a cold shell must not wait for what only runs, packs or diagnoses need: they import it themselves.
if TYPE_CHECKING:
    from citewell.domain.answers import Likeness
    from citewell.domain.backups import AcceptSettings, BackupReport, RestoreReport
    from citewell.domain.briefs import ReportTask, StrategyStage
    from citewell.domain.chat import ChatModel
    from citewell.domain.corpus_port import CorpusStore
    from citewell.domain.events import RunEvent
    from citewell.domain.library import (
        AddReport,
        CollectionList,
        CorpusStatus,
        DoctorReport,
        EncodeProgress,
        EncodeReport,
        Problem,
        RemoveReport,
        Stats,
        SyncProgress,
    )
    from citewell.domain.migrations import MigrationReport
    from citewell.domain.notes import NoteDepth, NoteResult
    from citewell.domain.packs import Explanation, ResearchPack
    from citewell.domain.policy import ActionClass, Approve
    from citewell.domain.ports import AnswerSpans, Entailment
    from citewell.domain.research_runs import ResearchRunRepository
    from citewell.domain.run_reports import CitedSource, EgressPreview, PruneSummary, RunView
    from citewell.domain.run_store import RunStore
    from citewell.domain.runs import Conversation, ModelChoice, RunProfile, RunRequest, RunResult, Surface
    from citewell.domain.summaries import SummaryProgress, SummaryReport
    from citewell.domain.topics import EntityMap, TopicBrief
    from citewell.domain.transcripts import ChatTranscript, TranscriptList
    from citewell.exporting.exported import Exportable, ExportedFile, ExportForm
    from citewell.flows.play import Flow
    from citewell.models.embeddings import Embedder, OpenEmbedder
    from citewell.notes.vault import NoteVault, RunNotes
    from citewell.packs.document_views import DocumentViews
    from citewell.recording.redaction import Redactor
    from citewell.reports.config import ResearchConfig
    from citewell.reports.service import ResearchService
    from citewell.retrieval.semantic import SemanticLane
    from citewell.runner.requests import Requests
    from citewell.runner.service import RunService
    from citewell.runner.web_access import WebAccess
    from citewell.runs.execute import Perform
    from citewell.text.masking import Masker
    from citewell.web.guard import Resolve


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()


class Engine:
    """Everything Citewell can do, independent of how it is called."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        open_embedder: OpenEmbedder | None = None,
        flows: Mapping[RunProfile, Flow] | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self.settings = settings
        self._resolve = resolve
        # Other flows than the shipped ones, for tests of what holds whatever a run does.
        self._flows = flows
        self._clock = clock or SystemClock()
        self._chats: dict[str, ChatModel] = {}
        self._replaying: tuple[str, RunService] | None = None
        self._open_embedder = open_embedder or self._chosen_embedder
        # A program that waits for its own runs may queue any number; a server sets how many it lets wait.
        self.max_waiting_runs: int | None = None
        # Of which surfaces a server takes runs over whose owner is gone.
        self.adopts: tuple[Surface, ...] = ()
        # Parts of the user's own that runs of questions have, by what they are; each is registered by its name.
        self.components: dict[str, str] = {}
        # Asks a person where a policy wants it; None: nobody can be asked.
        self.approve: Approve | None = None

    @cached_property
    def corpus(self) -> CorpusStore:
        return self._open_corpus()

    def _open_corpus(self) -> CorpusStore:
        return SqliteCorpus(self.settings.corpus_path, searches_summaries=self.settings.summaries == "on")

    @property
    def _views(self) -> DocumentViews:
        from citewell.packs.document_views import DocumentViews

        return DocumentViews(self.corpus)

    @cached_property
    def run_store(self) -> RunStore:
        return self._open_runs()

    def _open_runs(self) -> RunStore:
        """Where runs are kept: in PostgreSQL where one is set, else in a file of the data folder."""
        from citewell.recording.opening import open_runs

        return open_runs(self.settings.database_url or self.settings.runs_path, self._clock)

    def _has_runs(self) -> bool:
        """Whether there may be runs; where not, nothing is made just to look."""
        return bool(self.settings.database_url) or self.settings.runs_path.exists()

    @cached_property
    def runs(self) -> RunService:
        """Runs: start, resume, watch, replay, compare, put away."""
        from citewell.flows.play import FLOWS
        from citewell.runner.service import RunService

        return RunService(
            lambda: self.run_store,
            self._effects,
            self._clock,
            self.settings.data_dir,
            self._redactor.redact,
            flows=self._flows or FLOWS,
            max_running=self.settings.max_runs,
            max_waiting=self.max_waiting_runs,
            adopts=self.adopts,
            on_result=self._keep_report,
        )

    @cached_property
    def research_rows(self) -> ResearchRunRepository:
        """The table of the runs of briefs."""
        from citewell.recording.opening import reports_beside

        return reports_beside(self.run_store)

    def _keep_report(self, result: RunResult) -> None:
        if result.report is not None:
            self.research_service().keep(result)

    def _effects(self, run_id: str | None) -> Perform:
        """The corpus as a run reaches it; a run that leaves no trace keeps no texts either."""
        from citewell.flows.outside import Outside
        from citewell.runs.execute import performing

        web = self.web.of_run(run_id)

        def view(lookup: str, query: str, max_chars: int, shown: tuple[int, int] | None = None) -> DocumentView:
            return self._views_of(web.store_of(lookup)).view(lookup, query, "evidence", max_chars, shown)

        redact = self._redactor.redact
        effects = Outside(
            *(self.corpus, view, web.keep_texts, self.semantic_lane, self.chat, redact, self.reranker, self._masker),
            open_judge=lambda: self.judge,
            open_reader=lambda: self.reader,
            open_notes=lambda: self._run_notes(run_id),
            web=web.effects(),
        )
        return performing(effects)

    def _run_notes(self, run_id: str | None) -> RunNotes:
        from citewell.notes.vault import RunNotes

        return RunNotes(self.notes, run_id)

    @cached_property
    def notes(self) -> NoteVault:
        """The notes of the folders that were added, and the only way anything is written into them."""
        from citewell.notes.rewriting import NoteRewriter
        from citewell.notes.vault import NoteVault

        private = (self.settings.data_dir,)
        return NoteVault(self.corpus, NoteRewriter(self.settings.data_dir, self._clock), private)

    @cached_property
    def web(self) -> WebAccess:
        """The web: what may be fetched, who searches it, where its pages are kept. Nothing opens before it is asked."""
        from citewell.runner.web_access import WebAccess

        return WebAccess(self.settings, self._clock, lambda: self.corpus, SqliteCorpus, self._resolve)

    def chat(self, model: str) -> ChatModel:
        """The language model of that name; the key that is set goes to the provider it is set for, and to no other."""
        from citewell.models.chat import open_chat
        from citewell.models.endpoints import EXTRACTIVE

        if model not in self._chats:
            # With no model set, the key is meant for the one that is chosen now.
            settings = replace(self.settings, model=model) if self.settings.model == EXTRACTIVE else self.settings
            self._chats[model] = self._limited(open_chat(settings))
        return self._chats[model]

    def _limited(self, model: ChatModel) -> ChatModel:
        """A model under the ceiling for all calls of a day, where one is set."""
        if not self.settings.max_cost_usd_day:
            return model
        from citewell.recording.opening import spending_beside
        from citewell.runner.day_limit import DayLimited

        return DayLimited(model, lambda: spending_beside(self.run_store), self.settings.max_cost_usd_day, self._clock)

    @cached_property
    def _masker(self) -> Masker:
        """Masks the secrets that are set, wherever they stand in content."""
        from citewell.text.masking import Masker

        return Masker(secret_values(self.settings))

    @cached_property
    def _redactor(self) -> Redactor:
        """Takes secrets and paths out of the program's own words."""
        from citewell.recording.redaction import Redactor

        return Redactor(self._masker, self.settings.data_dir)

    def now(self) -> str:
        """What the clock of this engine says, in UTC."""
        return self._clock.now()

    def without_secrets(self, text: str) -> str:
        """A text that may be shown to anybody: the values of the secrets that are set are masked."""
        return self._masker.mask(text)

    @cached_property
    def embedder(self) -> Embedder:
        """The model of the semantic lane; raises Unavailable with the way to get it."""
        return self._open_embedder()

    def _chosen_embedder(self) -> Embedder:
        from citewell.models.embeddings import open_embedder

        return open_embedder(self.settings)

    def semantic_lane(self) -> SemanticLane:
        """The lane that searches by meaning, whatever the settings say of using it."""
        from citewell.retrieval.semantic import SemanticLane

        return SemanticLane(self.corpus.vectors, self.embedder)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The model that looks at the best rows again, where one is named; opened when it is first needed."""
        if not self.settings.reranker:
            return None
        from citewell.models.cross_encoder import CrossEncoder

        return CrossEncoder(Path(self.settings.reranker))

    @cached_property
    def judge(self) -> Entailment | None:
        """The model that judges whether quotes entail sentences, where one is set; opened when it is first asked."""
        from citewell.models.judges import open_judge

        return open_judge(self.settings)

    @cached_property
    def reader(self) -> AnswerSpans | None:
        """The model that finds answers in passages, where one is set; opened when it is first asked."""
        from citewell.models.judges import open_reader

        return open_reader(self.settings)

    def _judge_name(self) -> str:
        return self.judge.name if self.judge is not None else ""

    def _reader_name(self) -> str:
        return self.reader.name if self.reader is not None else ""

    def _semantic_use(self, wanted: bool = True) -> SemanticUse:
        """How meaning takes part. Nothing is encoded yet: words answer, and `status` and `doctor` say so."""
        match self.settings.embeddings:
            case "shadow" | "on" as use if wanted and self.corpus.vectors.has_any():
                return use
            case _:
                return "off"

    def close(self) -> None:
        """Interrupt what runs here, resumably, and close every file."""
        if self._replaying is not None:
            self._replaying[1].close()
            self._replaying = None
        if "runs" in self.__dict__:
            self.__dict__.pop("runs").close()
        self.__dict__.pop("research_rows", None)
        for name in ("web", "corpus", "run_store"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    # Corpus

    def add(
        self,
        path: Path,
        *,
        collection: str | None = None,
        source_type: SourceType | None = None,
        excludes: Sequence[str] = (),
    ) -> Iterator[SyncProgress | AddReport]:
        """Bring the corpus up to date with a file or folder; the last event is the report."""
        # Readers are the heaviest imports: only adding needs them.
        from citewell.corpus.ingest import AddRequest, Sync

        check_between("max_file_mb", self.settings.max_file_mb, 1, 1_000)
        limit = self.settings.max_file_mb * 1_000_000
        request = AddRequest(path, collection, source_type, tuple(excludes), limit)
        return Sync(self.corpus, self._clock, request, private=(self.settings.data_dir,)).events()

    def watch(
        self,
        path: Path,
        stop: Event,
        *,
        collection: str | None = None,
        source_type: SourceType | None = None,
        excludes: Sequence[str] = (),
    ) -> Iterator[SyncProgress | AddReport]:
        """Add a path, then follow it: a report each time it has changed, until told to stop."""
        from citewell.corpus.watch import changes
        from citewell.corpus.watchers import announced

        yield from self.add(path, collection=collection, source_type=source_type, excludes=excludes)
        followed = path.expanduser().resolve()
        with announced(self.settings.data_dir, followed):
            for _ in changes(followed, stop):
                yield from self.add(path, source_type=source_type)

    def encode(self, most_seconds: float | None = None) -> Iterator[EncodeProgress | EncodeReport]:
        """Give every chunk that lacks one its vector; the last event is the report. It goes on where it stopped."""
        from citewell.retrieval.encoding import encode_corpus

        return encode_corpus(self.corpus.vectors, self.embedder, self._clock, most_seconds)

    def summarize(
        self, keys: Sequence[str] = (), *, model: str = "", max_cost_usd: float | None = None
    ) -> Iterator[SummaryProgress | SummaryReport]:
        """Store summaries of these documents (none named: of all) that lack them; the last event is the report."""
        from citewell.runner.choosing import model_use
        from citewell.runner.summarizing import SummaryModel, check_ceiling, summarize_documents

        for key in keys:
            if self.corpus.find(key) is None:
                raise self._views.missing(key)
        writer = None
        if model:
            from citewell.domain.runs import ModelChoice

            alone = replace(self.settings, review_model="")
            use = model_use(alone, self.chat, ModelChoice(model, planner=False, max_cost_usd=max_cost_usd))
            check_ceiling(use)
            writer = SummaryModel(use.writer, self.chat(use.writer), use, self._masker.mask)
        return summarize_documents(self.corpus, keys or None, writer, self._clock)

    def remove(self, names: Sequence[str], *, purge: bool = False) -> RemoveReport:
        """Forget documents by key or by path, with everything derived from them.

        Runs that cite them are named; what they quote is kept unless it is to be purged with them.
        """
        keys: list[str] = []
        paths: list[Path] = []
        for name in names:
            found, path = self._keys_named(name)
            keys += found
            paths += [path] if path else []
        unique = tuple(dict.fromkeys(keys))
        recorded = self._has_runs()
        # Runs know a key that holds a secret by its masked form.
        known_as = tuple(dict.fromkeys((*unique, *map(self._masker.mask, unique))))
        citing = tuple(self.run_store.citing(known_as)) if recorded else ()
        purged = tuple(self.run_store.mentioning(known_as)) if recorded and purge else ()
        if purged:
            self.runs.forget(purged)
            self.research_rows.delete(purged)
            self.corpus.release_texts(purged)
            self.web.release(purged)
        self.corpus.remove(unique)
        self.corpus.erase_removed()
        if purged:
            self.run_store.shrink()
        dropped = tuple(name for path in paths for name in self.corpus.drop_empty_collections(str(path)))
        from citewell.domain.library import RemoveReport

        return RemoveReport(unique, len(unique), dropped, citing, purged)

    def _keys_named(self, name: str) -> tuple[list[str], Path | None]:
        if self.corpus.find(name) is not None:
            return [name], None
        path = Path(name).expanduser().resolve()
        keys = self.corpus.keys_under(str(path))
        if not keys:
            raise self._views.missing(name)
        return keys, path

    def status(self, *, with_secrets: bool = False) -> CorpusStatus:
        """What is in the corpus, file by file; on demand also where secrets seem to stand."""
        from citewell.domain.library import CorpusStatus

        with self.corpus.snapshot():
            return CorpusStatus(
                self.corpus.document_count(),
                self.corpus.chunk_count(),
                self.corpus.by_source_type(),
                self.corpus.files(),
                self.corpus.exclusions(),
                self.corpus.secrets() if with_secrets else (),
                self.corpus.vectors.coverage(),
            )

    def collections(self) -> CollectionList:
        from citewell.corpus.watchers import watched_by_root, watched_paths
        from citewell.domain.library import CollectionList

        found = self.corpus.collections()
        watched = watched_by_root([one.root for one in found], watched_paths(self.settings.data_dir))
        return CollectionList(tuple(replace(one, watched=watched.get(one.root, ())) for one in found))

    def stats(self) -> Stats:
        return self.corpus.stats()

    # Reading

    def search(
        self,
        query: str,
        *,
        limit: int = 8,
        filters: Filters | None = None,
        max_chars: int | None = None,
        mode: SearchMode | None = None,
    ) -> SearchResult:
        """Documents that match a query, best first, by the lanes asked for; without a mode, as the settings say.

        Meaning that cannot be asked leaves the words, with a warning; only a search by meaning alone fails without it.
        """
        check_between("limit", limit, 1, 1_000)
        use: SemanticUse = "off" if mode == "lexical" else "on" if mode == "hybrid" else self._semantic_use()
        searcher = Searcher(self.corpus, self.semantic_lane, self.reranker, self._clock)
        window = self.settings.max_chars_per_doc if max_chars is None else max_chars
        return searcher.search(query, filters or Filters(), limit, window, use, by_meaning_alone=mode == "semantic")

    def get(
        self,
        lookups: Sequence[str],
        *,
        query: str | None = None,
        content_mode: ContentMode = "evidence",
        max_chars: int = 4_000,
    ) -> DocumentList:
        """Documents by key, or `KEY@CONTENT_HASH` for an earlier text: whole, or the window around a query."""
        check_between("max_chars", max_chars, 50, 10_000_000)
        with self.corpus.snapshot():
            views = ((self._views_at(lookup), lookup) for lookup in lookups)
            return DocumentList(tuple(view.view(lookup, query, content_mode, max_chars) for view, lookup in views))

    def get_many(
        self,
        lookups: Sequence[str],
        *,
        query: str | None = None,
        content_mode: ContentMode = "evidence",
        max_chars: int = 4_000,
    ) -> DocumentEntries:
        """Documents as `get` reads them, in the order asked; what nobody has is an entry that says so."""
        check_between("max_chars", max_chars, 50, 10_000_000)
        with self.corpus.snapshot():
            views = ((self._views_at(lookup), lookup) for lookup in lookups)
            return DocumentEntries(tuple(view.entry(lookup, query, content_mode, max_chars) for view, lookup in views))

    def _views_at(self, lookup: str) -> DocumentViews:
        """What shows a document: of the corpus, or of the pages that runs have read."""
        # Only a key of the web's own makes the web worth loading.
        return self._views_of(self.web.store_of(lookup)) if ":online/" in lookup else self._views

    def _views_of(self, store: CorpusStore) -> DocumentViews:
        from citewell.packs.document_views import DocumentViews

        return self._views if store is self.corpus else DocumentViews(store)

    def related(self, key: str, *, limit: int = 8, max_chars: int | None = None) -> RelatedResult:
        """What a document links to and what links to it."""
        from citewell.packs.related import related_rows

        check_between("limit", limit, 1, 200)
        window = self.settings.max_chars_per_doc if max_chars is None else max_chars
        with self.corpus.snapshot():
            if self.corpus.find(key) is None:
                raise self._views.missing(key)
            rows = related_rows(self.corpus, key, window, limit)
            return RelatedResult(key, tuple(rows), self.corpus.unresolved_links(key), self.corpus.attachments(key))

    def topic_brief(
        self,
        topic: str,
        *,
        seed_limit: int | None = None,
        related_limit: int | None = None,
        filters: Filters | None = None,
    ) -> TopicBrief:
        """How a topic hangs together in the corpus: documents, tags, entities, and what connects them."""
        from citewell.packs import topic_brief as briefs

        seeds = briefs.SEED_LIMIT if seed_limit is None else seed_limit
        related = briefs.RELATED_LIMIT if related_limit is None else related_limit
        check_between("limit", seeds, 1, briefs.MAX_SEEDS)
        check_between("related_limit", related, 0, briefs.MAX_RELATED)
        named = checked_topic(check_question(topic)) or ""
        with self.corpus.snapshot():
            return briefs.TopicBriefs(self.corpus).brief(named, filters or Filters(), seeds, related)

    def entity_map(self, name: str, *, limit: int | None = None, filters: Filters | None = None) -> EntityMap:
        """What a name means, its other names, and where it is mentioned; several meanings are listed."""
        from citewell.packs import entity_map as maps
        from citewell.text.canonical import canonicalize

        most = maps.DOCUMENT_LIMIT if limit is None else limit
        check_between("limit", most, 1, maps.MAX_DOCUMENTS)
        with self.corpus.snapshot():
            return maps.EntityMaps(self.corpus).map(canonicalize(name), filters or Filters(), most)

    # Research

    @cached_property
    def _requests(self) -> Requests:
        from citewell.runner.requests import Requests

        models = (self.chat, self._semantic_use, self._judge_name, self._reader_name)
        return Requests(self.settings, self._masker, *models, self.components)

    def research_pack(
        self,
        question: str,
        *,
        options: PackOptions | None = None,
        filters: Filters | None = None,
        profile: ProfileName = "cli",
        use_model_planner: bool | None = None,
        models: ModelChoice | None = None,
        conversation: Conversation | None = None,
    ) -> ResearchPack:
        """The evidence for a question, without writing a trace.

        A model helps to plan where the option profile or the caller wants it and one is set; else rules alone plan.
        """
        run_id = self.start_pack(
            question,
            options=options,
            filters=filters,
            profile=profile,
            use_model_planner=use_model_planner,
            models=models,
            conversation=conversation,
        )
        if run_id is not None:
            return pack_of(self.runs.wait(run_id))
        return self._pack_by_rules(question, options or PackOptions(), filters or Filters(), profile, conversation)

    def start_pack(
        self,
        question: str,
        *,
        options: PackOptions | None = None,
        filters: Filters | None = None,
        profile: ProfileName = "cli",
        use_model_planner: bool | None = None,
        models: ModelChoice | None = None,
        conversation: Conversation | None = None,
    ) -> str | None:
        """Start the run of a pack that a model helps to plan, and return its id; None where rules alone plan."""
        from citewell.domain.runs import ModelChoice
        from citewell.runner.requests import Asked

        wanted = OPTION_PROFILES[profile].use_model_planner if use_model_planner is None else use_model_planner
        planning = self._requests.planning_models(models or ModelChoice()) if wanted else None
        if planning is None:
            return None
        chosen, kept = options or PackOptions(), filters or Filters()
        asked = Asked(question, chosen, kept, models=planning, conversation=conversation)
        request = self._requests.request(replace(asked, goal="pack", option_profile=profile))
        return self.runs.start(request, traced=False)

    def _pack_by_rules(
        self,
        question: str,
        chosen: PackOptions,
        filters: Filters,
        profile: ProfileName,
        conversation: Conversation | None,
    ) -> ResearchPack:
        from citewell.packs.build import PackBuilder
        from citewell.packs.topic_brief import TopicBriefs, with_brief
        from citewell.planning.chat_prompt import asked_in, prompt_of
        from citewell.planning.strategy import plan_question
        from citewell.synthesis.answerability import with_estimate

        typed = self._masker.mask(check_question(question))
        prompt = prompt_of(*asked_in(typed, self._masker.mask_value(conversation)))
        plan = plan_question(
            *(prompt, filters, self._requests.limits(profile, chosen)),
            topic=checked_topic(chosen.topic),
            include_topic_brief=chosen.topic_brief,
        )
        use = self._semantic_use(chosen.semantic)
        with self.corpus.snapshot():
            builder = PackBuilder(self.corpus, use, self.semantic_lane, self.reranker)
            pack = builder.build(prompt.current, plan)
            pack = with_estimate(pack, self._likeness(pack) if use == "on" else None)
            if plan.include_topic_brief and plan.topic:
                pack = with_brief(pack, TopicBriefs(self.corpus).brief(plan.topic, plan.filters))
        return self._masker.mask_value(pack)

    def _likeness(self, pack: ResearchPack) -> Likeness | None:
        """How near the best passages of a pack come to its question, as a run would find it."""
        from citewell.domain.answers import Likeness as Found
        from citewell.retrieval.comparing import similarities
        from citewell.synthesis.answerability import direct_evidence
        from citewell.synthesis.likeness import texts_to_compare

        texts = texts_to_compare(direct_evidence(pack), pack.query_plan)
        found = similarities(self.semantic_lane, pack.query_plan.text_query, texts)
        return Found(texts, found) if found else None

    def explain(self, pack: ResearchPack) -> Explanation:
        """Why a search came to what it came to, in sentences and without a model; also where it found nothing."""
        from citewell.packs.explaining import explain_pack

        return explain_pack(pack)

    def start_synthesis(
        self,
        question: str,
        pack: ResearchPack,
        *,
        model: str = "",
        max_evidence_chars: int | None = None,
        surface: Surface = "web_research_api",
    ) -> str:
        """Begin to answer from the rows of a pack, each read anew by key and hash; nothing is recorded on disk."""
        from citewell.domain.packs import PACK_SCHEMA_VERSION
        from citewell.domain.runs import ModelChoice
        from citewell.packs.rereading import given_rows
        from citewell.runner.requests import Asked

        if pack.schema_version != PACK_SCHEMA_VERSION:
            raise BadInput(f"The pack is {pack.schema_version}; this version reads {PACK_SCHEMA_VERSION}.")
        asked = Asked(question, surface=surface, max_evidence_chars=max_evidence_chars, goal="synthesis")
        chosen = replace(asked, models=ModelChoice(model or None, planner=False), given=given_rows(pack))
        return self.runs.start(self._requests.request(chosen), traced=False)

    def synthesize(self, question: str, pack: ResearchPack, **options: Any) -> RunResult:
        """An answer from the rows of a pack (`start_synthesis`), waited for."""
        return self.runs.wait(self.start_synthesis(question, pack, **options))

    def start_research(
        self,
        question: str,
        *,
        options: PackOptions | None = None,
        filters: Filters | None = None,
        surface: Surface = "cli",
        profile: RunProfile = "local",
        max_evidence_chars: int | None = None,
        deadline_seconds: float | None = None,
        traced: bool = True,
        models: ModelChoice | None = None,
        conversation: Conversation | None = None,
        conversation_id: str = "",
    ) -> str:
        """Begin to answer a question in a recorded run, and return its id; the run outlives whoever asks.

        A question that comes without earlier ones goes on with the conversation that is named.
        """
        if conversation_id and (conversation is None or not conversation.history):
            conversation = self._gone_on_with(conversation_id, conversation)
        request = self.run_request(
            question,
            options=options or PackOptions(),
            filters=filters or Filters(),
            surface=surface,
            profile=profile,
            max_evidence_chars=max_evidence_chars,
            deadline_seconds=deadline_seconds,
            models=models,
            conversation=conversation,
            conversation_id=conversation_id,
        )
        self._permit_run(request)
        return self.runs.start(request, traced=traced)

    def _gone_on_with(self, conversation_id: str, said: Conversation | None) -> Conversation | None:
        """What was asked before in a conversation: its last run says it, else the conversation as it was saved."""
        from citewell.domain.runs import SESSION_TURNS, Conversation, PriorQuestion
        from citewell.recording.transcripts import read_transcript

        asked = self.runs.asked_in(conversation_id)
        if not asked:
            try:
                turns = read_transcript(self.settings.data_dir, conversation_id).turns
            except CitewellError:
                return said
            asked = tuple(PriorQuestion(turn.run_id or turn.question_id, turn.question) for turn in turns)
        return replace(said or Conversation(), history=asked[-SESSION_TURNS:])

    async def research(
        self, question: str, *, traced: bool = True, **options: Any
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        """Answer a question in a recorded run and watch it; the result comes last. Options as for `start_research`."""
        import asyncio

        # Off the event loop: the first time, this loads what runs need.
        run_id = await asyncio.to_thread(lambda: self.start_research(question, traced=traced, **options))
        async with aclosing(self.runs.watched(run_id)) as events:
            async for event in events:
                yield event

    def run_request(self, question: str, **options: Any) -> RunRequest:
        """What a run is to do, checked; options as for `start_research`."""
        from citewell.runner.requests import Asked

        return self._requests.request(
            Asked(question, **{name: one for name, one in options.items() if one is not None})
        )

    # Notes

    def start_note(
        self,
        path: str,
        *,
        depth: NoteDepth = "shallow",
        focus: str | None = None,
        dry_run: bool = False,
        base: Path | None = None,
        only_known: bool = False,
        claims: bool | None = None,
        web_queries: Sequence[str] | None = None,
        surface: Surface = "note",
        models: ModelChoice | None = None,
        max_cost_usd: float | None = None,
    ) -> str:
        """Begin research for a note, in a recorded run that writes its section; returns the id of the run.

        With `only_known` the note must be in the corpus (`NoteVault.known_place`). `claims` lets the web be asked for
        what the note states too (None: as it is set), `web_queries` for nothing but what is among them.
        """
        request = self._note_request(
            path, depth, focus, dry_run, base, only_known, claims, web_queries, surface, models, max_cost_usd
        )
        self._permit_run(request)
        return self.runs.start(request)

    def preview_note(
        self,
        path: str,
        *,
        depth: NoteDepth = "shallow",
        focus: str | None = None,
        base: Path | None = None,
        claims: bool | None = None,
    ) -> EgressPreview:
        """What research for a note would send, to whom, before it does."""
        return self.web.preview(self._note_request(path, depth, focus, True, base, False, claims))

    def _note_request(
        self,
        path: str,
        depth: NoteDepth,
        focus: str | None,
        dry_run: bool,
        base: Path | None,
        only_known: bool,
        claims: bool | None,
        agreed: Sequence[str] | None = None,
        surface: Surface = "note",
        models: ModelChoice | None = None,
        max_cost_usd: float | None = None,
    ) -> RunRequest:
        from citewell.domain.notes import NoteTask
        from citewell.domain.runs import ModelChoice
        from citewell.notes.topics import web_queries
        from citewell.runner.requests import Asked
        from citewell.text.canonical import canonicalize

        if depth not in ("shallow", "deep"):
            raise BadInput(f"The depth is '{depth}'.", fix="Choose shallow or deep.")
        if focus is not None:
            focus = self._masker.mask(canonicalize(check_question(focus)))
        place = self.notes.known_place(path) if only_known else self.notes.place(path, base)
        task = NoteTask(place.root, place.path, self._clock.now()[:10], depth, focus, dry_run)
        note = self.notes.read(task)
        with_claims = self.settings.note_claims_to_web if claims is None else claims
        queries = tuple(
            query
            for query in web_queries(note, focus, with_claims=with_claims)
            if self._masker.mask(query) == query and (agreed is None or query in agreed)
        )
        chosen = models or ModelChoice(model=self.settings.research_model or None, max_cost_usd=max_cost_usd)
        window = PackOptions(max_chars_per_doc=2_000 if depth == "deep" else None)
        asked = Asked(
            f"Research for {place.path}",
            window,
            surface=surface,
            profile="note",
            note=replace(task, web_queries=queries),
        )
        return self._requests.request(replace(asked, models=replace(chosen, planner=False)))

    # Reports

    def research_service(
        self, config: ResearchConfig | None = None, strategies: Mapping[StrategyStage, object] | None = None
    ) -> ResearchService:
        """What makes reports of briefs, with the strategies that are chosen."""
        from citewell.reports.service import ResearchParts, build_research_service

        parts = ResearchParts(
            lambda: self._runs_of(config), lambda: self.research_rows, self._report_request, self._permit_run, self.now
        )
        return build_research_service(parts, config, strategies)

    def _runs_of(self, config: ResearchConfig | None) -> RunService:
        """The runs; those that find again what another run found have no record of their own."""
        if config is None or config.replay_of is None:
            return self.runs
        from citewell.flows.play import FLOWS
        from citewell.reports.replay import ReplayRetrievalSource
        from citewell.runner.service import RunService

        if self._replaying is None or self._replaying[0] != config.replay_of:
            source = ReplayRetrievalSource(self.runs.events(config.replay_of))
            service = RunService(
                lambda: self.run_store,
                lambda run_id: source.over(self._effects(run_id)),
                self._clock,
                self.settings.data_dir,
                self._redactor.redact,
                flows=self._flows or FLOWS,
            )
            self._replaying = (config.replay_of, service)
        return self._replaying[1]

    def _report_request(self, task: ReportTask, config: ResearchConfig, surface: Surface) -> RunRequest:
        """What a run of a brief is to do."""
        from citewell.domain.runs import ModelChoice
        from citewell.models.endpoints import EXTRACTIVE
        from citewell.runner.requests import Asked

        brief, settings = task.brief, self.settings
        model = config.model or settings.research_model or None
        writes = (model or settings.model) not in ("", EXTRACTIVE)
        models = ModelChoice(model, (True if writes else None), max_cost_usd=brief.max_cost_usd)
        return self._requests.request(
            Asked(
                brief.question,
                PackOptions(max_chars_per_doc=REPORT_WINDOW_CHARS),
                Filters(tags=brief.tags, collections=brief.collections),
                surface=surface,
                profile="report",
                deadline_seconds=brief.max_seconds,
                models=models,
                report=task,
            )
        )

    # Policy

    def _permit_run(self, request: RunRequest) -> None:
        """Whether a run may be begun, and may ask the world outside, where it would."""
        self.corpus  # noqa: B018  a damaged one is refused here, before there is a run that could not go on
        self._permit("research:run", f"answer “{request.question[:80]}” in a recorded run")
        providers = request.web.providers if request.web is not None else ()
        what = ", and read the pages they find"
        if request.report is not None:
            providers = tuple(name for use in request.report.families for name in use.providers)
        elif request.note is not None and request.note.web_queries is not None:
            queries = request.note.web_queries
            providers = providers if queries else ()
            read = what if request.note.depth == "deep" else ""
            what = f" for {', '.join(f'“{query}”' for query in queries)}{read}"
        if providers:
            self._permit("external_data:request", f"ask {', '.join(providers)}{what}")

    def _permit(self, action: ActionClass, what: str) -> None:
        from citewell.domain.policy import Permission, permit

        field = f"policy_{action.replace(':', '_')}"
        permit(Permission(action, what), getattr(self.settings, field), self.approve)

    def permit_resume(self, run_id: str) -> None:
        """Whether a run that was begun may be gone on with."""
        from citewell.flows.play import read_start

        self._permit_run(read_start(self.runs.events(run_id)[0]).request)

    def note_result(self, run_id: str) -> NoteResult:
        """What a run about a note came to, once it has ended; raises what made it fail."""
        from citewell.runner.note_results import note_result

        return note_result(self.runs.result(run_id), self.runs.decisions(run_id))

    def research_note(self, path: str, **options: Any) -> NoteResult:
        """Research for a note (`start_note`), waited for."""
        run_id = self.start_note(path, **options)
        self.runs.wait(run_id)
        return self.note_result(run_id)

    def undo_note(self, path: str, *, base: Path | None = None) -> NoteResult:
        """Take back what was last written into a note."""
        from citewell.domain.notes import NoteResult

        place = self.notes.place(path, base)
        change = self.notes.undo(place)
        return NoteResult(place.path, 0, "", change.changed, change.diff, change.backup)

    def preview(self, question: str, **options: Any) -> EgressPreview:
        """What a run would send, to whom, before it does; options as for `start_research`."""
        return self.web.preview(self.run_request(question, **options))

    def save_pages(self, run_id: str) -> tuple[str, ...]:
        """Put the pages a run cites into the corpus, as saved pages; their keys there."""
        cited = ((one.source_key, one.span.content_hash) for one in self.runs.result(run_id).citations)
        return self.web.save(tuple(dict.fromkeys(cited)))

    def load(self) -> None:
        """Open and import what the first question would otherwise wait for."""
        from citewell.synthesis import answerability, extract, verify  # noqa: F401

        self.runs  # noqa: B018
        if self._has_runs():
            self.run_store.latest(1)
        self._requests  # noqa: B018
        for model in dict.fromkeys((self.settings.model, self.settings.planner_model)):
            if model not in ("", "extractive"):
                self._load_client(model)
        if self._semantic_use() != "off":
            try:
                self.semantic_lane()
            except CitewellError:
                return  # words answer without it, and say so
        self._pack_by_rules("anything", PackOptions(limit=1), Filters(), "cli", None)

    def _load_client(self, model: str) -> None:
        """Import the client of a model's provider, which takes longer than most calls of it."""
        from citewell.models.chat import check_model
        from citewell.models.exchange import load_client

        try:
            load_client(check_model(model, self.settings).provider.protocol)
        except CitewellError:
            return  # whoever asks it is told

    def show_run(self, run_id: str, *, with_events: bool = False) -> RunView:
        """A run as it was, and what became of its sources since."""
        return self.runs.show(run_id, self._source_state, with_events=with_events)

    def save_transcript(self, transcript: ChatTranscript) -> ChatTranscript:
        """Keep a conversation, its secrets masked."""
        from citewell.recording.transcripts import save_transcript

        return save_transcript(self.settings.data_dir, self._masker.mask_value(transcript))

    def transcripts(self, limit: int = 20) -> TranscriptList:
        """The conversations that were saved last."""
        from citewell.recording.transcripts import list_transcripts

        return list_transcripts(self.settings.data_dir, limit)

    def transcript(self, conversation_id: str) -> ChatTranscript:
        """A saved conversation by its id."""
        from citewell.recording.transcripts import read_transcript

        return read_transcript(self.settings.data_dir, conversation_id)

    def export_run(self, run_id: str, form: ExportForm) -> ExportedFile:
        """A finished run in a form people keep; one that failed its own checks is not exported."""
        from citewell.exporting.exported import export_file

        return export_file(form, self._exportable(run_id))

    def export_conversation(self, conversation_id: str, asked: Sequence[tuple[str, str]]) -> ExportedFile:
        """Questions and the runs that answered them as one Markdown file; a run that may not be passed on is a gap."""
        from citewell.exporting.markdown import conversation_file

        turns = [(self._masker.mask(question), self._exportable_or_none(run_id)) for question, run_id in asked]
        return conversation_file(conversation_id, turns)

    def _exportable_or_none(self, run_id: str) -> Exportable | None:
        try:
            return self._exportable(run_id) if run_id else None
        except (Conflict, NotFound):
            return None

    def share_page(self, run_id: str) -> str:
        """A finished run as a page to pass on, without anything of this machine."""
        from citewell.exporting.share_page import share_page

        return share_page(self._exportable(run_id))

    def _exportable(self, run_id: str) -> Exportable:
        from citewell.exporting.exported import Exportable, cited_documents, papers_of

        result = self.runs.shareable(run_id)
        if result.answer_status in ("error", "unavailable"):
            raise Conflict(f"Run {run_id} has no answer to pass on.", fix="Ask the question again.")

        def about(key: str) -> tuple[str | None, str | None]:
            real = self._real_key(key)
            document = self.web.store_of(real).find(real)
            return (document.author, document.created or document.modified) if document else (None, None)

        documents = cited_documents(result.citations, about, papers_of(result))
        return Exportable(result, self.runs.started_at(run_id), documents)

    def _source_state(self, key: str, content_hash: str) -> CitedSource:
        from citewell.domain.run_reports import CitedSource

        real = self._real_key(key)
        document = (self.web.store_of(real) if ":online/" in real else self.corpus).find(real)
        if document is None:
            return CitedSource(key, content_hash, "removed")
        return CitedSource(key, content_hash, "unchanged" if document.content_hash == content_hash else "changed")

    def _real_key(self, recorded: str) -> str:
        """The key that a record has, perhaps in its masked form."""
        from citewell.text.masking import MASK

        if MASK not in recorded:
            return recorded
        keys = (key for info in self.corpus.collections() for key in self.corpus.keys_under(str(Path(info.root))))
        return next((key for key in keys if self._masker.mask(key) == recorded), recorded)

    def prune_runs(self, *, keep_all: bool = False) -> PruneSummary:
        """Put old runs away by the settings in force, with the texts only they kept."""
        summary = self.runs.prune(
            keep=self.settings.trace_keep,
            max_age_days=self.settings.trace_max_age_days,
            keep_all=keep_all or self.settings.trace_keep_all,
        )
        if summary.removed:
            self.research_rows.delete(summary.removed)
            self.corpus.release_texts(summary.removed)
            self.web.release(summary.removed)
        return summary

    def migrate(
        self, to: str, source: str = "", tell: Callable[[int, int], None] = lambda done, of: None
    ) -> MigrationReport:
        """Bring runs and reports from one store to another: `sqlite`, `postgres` (the one that is set) or an address.

        The source is only read. It may be done again at any time, and goes on where it was stopped.
        """
        from citewell.recording.moving import move_runs
        from citewell.recording.opening import open_records

        here = self._store_named(source or ("postgres" if to == "sqlite" else "sqlite"))
        there = self._store_named(to)
        if here == there:
            raise BadInput("Runs would be moved to where they are.", fix="Name another place with --to or --from.")
        if isinstance(here, Path) and not here.exists():
            raise NotFound(f"There is no {here.name} in {here.parent}: nothing to move.", fix="See 'citewell doctor'.")
        with open_records(here, self._clock) as left, open_records(there, self._clock) as arrived:
            return move_runs(left, arrived, self._clock, tell=tell)

    def _store_named(self, name: str) -> str | Path:
        """A place of runs, by what a person calls it."""
        if name == "sqlite":
            return self.settings.runs_path
        if "://" in name:
            return name
        if name != "postgres":
            raise BadInput(f"There is no store of runs called '{name}'.", fix="Use sqlite, postgres or postgresql://…")
        if not self.settings.database_url:
            fix = "Set it (docs/postgres.md), or write the address itself: postgresql://USER@HOST/DATABASE"
            raise BadInput("CITEWELL_DATABASE_URL is not set: it is not known where PostgreSQL is.", fix=fix)
        return self.settings.database_url

    # Backup and diagnosis

    def backup(self, target: Path, *, force: bool = False) -> BackupReport:
        """Everything of the data folder in one file, without secrets of the settings; others may write meanwhile."""
        from citewell.backup.making import make_backup

        gather = self._gather_runs if self.settings.database_url else None
        return make_backup(self.settings.data_dir, target, self._clock, force=force, gather=gather)

    def _gather_runs(self, path: Path) -> tuple[Problem, ...]:
        """Put the runs that are kept in PostgreSQL into a file; those that could not be read are told."""
        from citewell.domain.library import Problem
        from citewell.recording.moving import move_runs
        from citewell.recording.opening import open_records

        with (
            open_records(self.settings.database_url, self._clock) as shared,
            open_records(path, self._clock) as gathered,
        ):
            report = move_runs(shared, gathered, self._clock, with_executed=True)
        return tuple(Problem(f"run {left.run_id}", left.reason) for left in report.left)

    def restore(
        self, archive: Path, *, force: bool = False, accept: AcceptSettings = lambda changes: False
    ) -> RestoreReport:
        """Put what a backup holds in the place of the data folder; what was there is kept aside.

        Settings that send data elsewhere or permit more than now are put in place where `accept` says so.
        """
        from citewell.backup.restoring import restore_backup

        self.close()
        return restore_backup(archive, self.settings.data_dir, self._clock, force=force, accept=accept)

    def doctor(self) -> DoctorReport:
        """What is configured, reachable and missing, with the fix for each."""
        from citewell.diagnosis import examine

        return examine(self.settings, self._open_corpus, self._open_runs, self._clock.now()[:10])


def pack_of(result: RunResult) -> ResearchPack:
    """What the run of a pack found."""
    if result.pack is None:
        raise WorkFailed(result.failure.message if result.failure else "The evidence could not be gathered.")
    return result.pack


def open_engine(settings: Settings, clock: Clock | None = None, open_embedder: OpenEmbedder | None = None) -> Engine:
    """An engine over the settings in force. Databases and models open when first needed."""
    return Engine(settings, clock, open_embedder)
