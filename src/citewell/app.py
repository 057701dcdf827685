"""The composition root: settings become an Engine. The only place that chooses adapters.

Every surface calls the same Engine; it returns values and streams of events, and never prints.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from citewell.corpus.store.sqlite import SqliteCorpus
from citewell.domain.documents import ContentMode, DocumentView, SourceType
from citewell.domain.errors import BadInput
from citewell.domain.lanes import SemanticUse
from citewell.domain.ports import Clock, Reranker
from citewell.domain.queries import Filters
from citewell.domain.results import DocumentList, RelatedResult, SearchMode, SearchResult
from citewell.packs.document_views import DocumentViews, no_document
from citewell.packs.options import OPTION_PROFILES, ProfileName, check_between
from citewell.packs.related import related_rows
from citewell.packs.searching import Searcher
from citewell.planning.normalizer import check_question
from citewell.settings import Settings, secret_values
from citewell.text.canonical import canonicalize

# A search from a cold shell must not wait for what only runs, packs or diagnoses need: they import it themselves.
if TYPE_CHECKING:
    from citewell.domain.chat import ChatModel
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
    from citewell.domain.packs import ResearchPack
    from citewell.domain.run_reports import CitedSource, PruneSummary, RunView
    from citewell.domain.runs import ModelChoice, RunProfile, RunResult, Surface
    from citewell.domain.topics import EntityMap, TopicBrief
    from citewell.models.embeddings import Embedder, OpenEmbedder
    from citewell.recording.store import RunStore
    from citewell.retrieval.semantic import SemanticLane
    from citewell.runner.desk import RunDesk
    from citewell.runner.driver import Perform

MAX_TOPIC_CHARS = 200


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class PackOptions:
    """What a caller may choose about a pack; None leaves the surface's default."""

    limit: int | None = None
    max_chars_per_doc: int | None = None
    include_related: bool | None = None
    related_limit: int | None = None
    topic: str | None = None
    topic_brief: bool | None = None
    semantic: bool = True


class Engine:
    """Everything Citewell can do, independent of how it is called."""

    def __init__(
        self, settings: Settings, clock: Clock | None = None, open_embedder: OpenEmbedder | None = None
    ) -> None:
        self.settings = settings
        self._clock = clock or SystemClock()
        self._chats: dict[str, ChatModel] = {}
        self._open_embedder = open_embedder or self._chosen_embedder

    @cached_property
    def corpus(self) -> SqliteCorpus:
        return SqliteCorpus(self.settings.corpus_path)

    @cached_property
    def run_store(self) -> RunStore:
        from citewell.recording.store import RunStore

        return RunStore(self.settings.runs_path)

    @cached_property
    def runs(self) -> RunDesk:
        """Runs: start, resume, watch, replay, compare, put away."""
        from citewell.runner.desk import RunDesk

        return RunDesk(lambda: self.run_store, self._outside, self._clock, self.settings.data_dir, self._redact)

    def _outside(self, run_id: str | None) -> Perform:
        """The corpus as a run reaches it; a run that leaves no trace keeps no texts either."""
        from citewell.runner.outside import Outside

        def view(lookup: str, query: str, max_chars: int) -> DocumentView:
            return DocumentViews(self.corpus).view(lookup, query, "evidence", max_chars)

        def keep(texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
            return self.corpus.keep_texts(run_id, texts) if run_id else ()

        return Outside(self.corpus, view, keep, self.semantic_lane, self.chat, self._redact, self.reranker).perform

    def chat(self, model: str) -> ChatModel:
        """The language model of that name; the key that is set goes to the provider it is set for, and to no other."""
        from citewell.models.chat import open_chat
        from citewell.models.endpoints import EXTRACTIVE

        if model not in self._chats:
            # With no model set, the key is meant for the one that is chosen now.
            settings = replace(self.settings, model=model) if self.settings.model == EXTRACTIVE else self.settings
            self._chats[model] = open_chat(settings)
        return self._chats[model]

    def _redact(self, text: str) -> str:
        from citewell.recording.redaction import Redactor

        return Redactor(secret_values(self.settings), self.settings.data_dir).redact(text)

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

    def _semantic_use(self, wanted: bool = True) -> SemanticUse:
        """How meaning takes part. Nothing is encoded yet: words answer, and `status` and `doctor` say so."""
        match self.settings.embeddings:
            case "shadow" | "on" as use if wanted and self.corpus.vectors.has_any():
                return use
            case _:
                return "off"

    def close(self) -> None:
        self.__dict__.pop("runs", None)
        for name in ("corpus", "run_store"):
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

        yield from self.add(path, collection=collection, source_type=source_type, excludes=excludes)
        for _ in changes(path.expanduser().resolve(), stop):
            yield from self.add(path, source_type=source_type)

    def encode(self, most_seconds: float | None = None) -> Iterator[EncodeProgress | EncodeReport]:
        """Give every chunk that lacks one its vector; the last event is the report. It goes on where it stopped."""
        from citewell.retrieval.encoding import encode_corpus

        return encode_corpus(self.corpus.vectors, self.embedder, self._clock, most_seconds)

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
        recorded = self.settings.runs_path.exists()
        citing = tuple(self.run_store.citing(unique)) if recorded else ()
        purged = tuple(self.run_store.mentioning(unique)) if recorded and purge else ()
        if purged:
            self.runs.forget(purged)
            self.corpus.release_texts(purged)
        self.corpus.remove(unique)
        self.corpus.database.fold_log()
        if purged:
            self.run_store.database.fold_log()
        dropped = tuple(name for path in paths for name in self.corpus.drop_empty_collections(path))
        from citewell.domain.library import RemoveReport

        return RemoveReport(unique, len(unique), dropped, citing, purged)

    def _keys_named(self, name: str) -> tuple[list[str], Path | None]:
        if self.corpus.find(name) is not None:
            return [name], None
        path = Path(name).expanduser().resolve()
        keys = self.corpus.keys_under(path)
        if not keys:
            raise no_document(self.corpus, name)
        return keys, path

    def status(self, *, with_secrets: bool = False) -> CorpusStatus:
        """What is in the corpus, file by file; on demand also where secrets seem to stand."""
        from citewell.domain.library import CorpusStatus

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
        from citewell.domain.library import CollectionList

        return CollectionList(self.corpus.collections())

    def stats(self) -> Stats:
        return self.corpus.stats()

    # Reading

    def search(
        self,
        query: str,
        *,
        limit: int = 8,
        filters: Filters | None = None,
        max_chars: int = 700,
        mode: SearchMode | None = None,
    ) -> SearchResult:
        """Documents that match a query, best first, by the lanes asked for; without a mode, as the settings say.

        Meaning that cannot be asked leaves the words, with a warning; only a search by meaning alone fails without it.
        """
        check_between("limit", limit, 1, 1_000)
        use: SemanticUse = "off" if mode == "lexical" else "on" if mode == "hybrid" else self._semantic_use()
        searcher = Searcher(self.corpus, self.semantic_lane, self.reranker, self._clock)
        return searcher.search(query, filters or Filters(), limit, max_chars, use, by_meaning_alone=mode == "semantic")

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
        views = DocumentViews(self.corpus)
        return DocumentList(tuple(views.view(lookup, query, content_mode, max_chars) for lookup in lookups))

    def related(self, key: str, *, limit: int = 8, max_chars: int = 700) -> RelatedResult:
        """What a document links to and what links to it."""
        check_between("limit", limit, 1, 200)
        if self.corpus.find(key) is None:
            raise no_document(self.corpus, key)
        rows = related_rows(self.corpus, key, max_chars, limit)
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
        named = _topic(check_question(topic)) or ""
        return briefs.TopicBriefs(self.corpus).brief(named, filters or Filters(), seeds, related)

    def entity_map(self, name: str, *, limit: int | None = None, filters: Filters | None = None) -> EntityMap:
        """What a name means, its other names, and where it is mentioned; several meanings are listed."""
        from citewell.packs import entity_map as maps

        most = maps.DOCUMENT_LIMIT if limit is None else limit
        check_between("limit", most, 1, maps.MAX_DOCUMENTS)
        return maps.EntityMaps(self.corpus).map(canonicalize(name), filters or Filters(), most)

    # Research

    def research_pack(
        self,
        question: str,
        *,
        options: PackOptions | None = None,
        filters: Filters | None = None,
        profile: ProfileName = "cli",
    ) -> ResearchPack:
        """The evidence for a question, without writing a trace."""
        from citewell.packs.build import PackBuilder
        from citewell.packs.topic_brief import TopicBriefs, with_brief
        from citewell.planning.chat_prompt import checked_prompt
        from citewell.planning.strategy import plan_question
        from citewell.synthesis.answerability import with_estimate

        chosen = options or PackOptions()
        limits = OPTION_PROFILES[profile].limits(
            chosen.limit, chosen.max_chars_per_doc, chosen.include_related, chosen.related_limit
        )
        prompt = checked_prompt(check_question(question))
        plan = plan_question(
            *(prompt, filters or Filters(), limits),
            topic=_topic(chosen.topic),
            include_topic_brief=chosen.topic_brief,
        )
        use = self._semantic_use(chosen.semantic)
        with self.corpus.snapshot():
            pack = with_estimate(PackBuilder(self.corpus, use, self.semantic_lane, self.reranker).build(question, plan))
            if not plan.include_topic_brief or not plan.topic:
                return pack
            return with_brief(pack, TopicBriefs(self.corpus).brief(plan.topic, plan.filters))

    def research(
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
    ) -> AsyncIterator[RunEvent | RunResult]:
        """Answer a question in a recorded run; events come as they happen, the result comes last."""
        from citewell.domain.runs import ModelChoice, RunRequest
        from citewell.planning.chat_prompt import checked_prompt
        from citewell.runner.choosing import model_use
        from citewell.runner.profiles import PROFILES
        from citewell.synthesis.packing import MAX_EVIDENCE_CHARS

        evidence_chars = MAX_EVIDENCE_CHARS if max_evidence_chars is None else max_evidence_chars
        if profile not in PROFILES:
            raise BadInput(f"The profile '{profile}' is not available.", fix=f"Choose from: {', '.join(PROFILES)}.")
        chosen = options or PackOptions()
        limits = OPTION_PROFILES["cli"].limits(
            chosen.limit, chosen.max_chars_per_doc, chosen.include_related, chosen.related_limit
        )
        if chosen.limit is None:
            limits = replace(limits, limit=PROFILES[profile].rows)
        check_between("max_evidence_chars", evidence_chars, 500, 500_000)
        checked_prompt(check_question(question))
        request = RunRequest(
            question=canonicalize(check_question(question)),
            profile=profile,
            surface=surface,
            filters=filters or Filters(),
            limits=limits,
            max_evidence_chars=evidence_chars,
            topic=_topic(chosen.topic),
            topic_brief=chosen.topic_brief,
            deadline_seconds=deadline_seconds,
            models=model_use(self.settings, self.chat, models or ModelChoice()),
            semantic=self._semantic_use(chosen.semantic),
        )
        return self.runs.start(request, traced=traced)

    def show_run(self, run_id: str, *, with_events: bool = False) -> RunView:
        """A run as it was, and what became of its sources since."""
        return self.runs.show(run_id, self._source_state, with_events=with_events)

    def _source_state(self, key: str, content_hash: str) -> CitedSource:
        from citewell.domain.run_reports import CitedSource

        document = self.corpus.find(key)
        if document is None:
            return CitedSource(key, content_hash, "removed")
        return CitedSource(key, content_hash, "unchanged" if document.content_hash == content_hash else "changed")

    def prune_runs(self, *, keep_all: bool = False) -> PruneSummary:
        """Put old runs away by the settings in force, with the texts only they kept."""
        summary = self.runs.prune(
            keep=self.settings.trace_keep,
            max_age_days=self.settings.trace_max_age_days,
            keep_all=keep_all or self.settings.trace_keep_all,
        )
        if summary.removed:
            self.corpus.release_texts(summary.removed)
        return summary

    # Diagnosis

    def doctor(self) -> DoctorReport:
        """What is configured, reachable and missing, with the fix for each."""
        from citewell.diagnosis import examine

        return examine(self.settings)


def _topic(topic: str | None) -> str | None:
    """A topic the caller named, checked; a blank one is none."""
    named = " ".join(canonicalize(topic or "").split())
    if len(named) > MAX_TOPIC_CHARS:
        raise BadInput(f"The topic has {len(named):,} characters.", fix="Name it in a few words, or ask a question.")
    return named or None


def open_engine(settings: Settings, clock: Clock | None = None, open_embedder: OpenEmbedder | None = None) -> Engine:
    """An engine over the settings in force. Databases and models open when first needed."""
    return Engine(settings, clock, open_embedder)
