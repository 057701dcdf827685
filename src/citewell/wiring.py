"""The composition root: settings become adapters. The only place that chooses them; nothing opens before it is asked.

`Citewell` (`engine.py`) is one of these, with everything that can be done with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.clock import Clock
from citewell.models.endpoints import EXTRACTIVE
from citewell.models.messages import ChatModel
from citewell.models.rerank import CrossEncoder, Reranker
from citewell.search.lanes import SemanticLane, SemanticUse
from citewell.settings import Settings, secret_values
from citewell.store.corpus import SqliteCorpus
from citewell.text.secrets import MASK, Masker

if TYPE_CHECKING:
    from citewell.flows.kept_pages import WebAccess
    from citewell.flows.play import Flow
    from citewell.models.embeddings import Embedder, OpenEmbedder
    from citewell.models.entailment import AnswerSpans, Entailment
    from citewell.notes.vault import NoteVault, RunNotes
    from citewell.policy import ActionClass, Approve
    from citewell.runs.execute import Perform
    from citewell.runs.run import RunRequest
    from citewell.runs.store import ResearchTables, RunStore
    from citewell.search.query import RunProfile, Surface
    from citewell.search.views import DocumentViews
    from citewell.store.port import CorpusStore
    from citewell.text.documents import DocumentView
    from citewell.text.redaction import Redactor
    from citewell.web.guard import Resolve


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()


class Parts:
    """What a data folder and its settings come to: stores, models, the web, the clock, and what may not be told."""

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
        self.flows = flows
        self.clock = clock or SystemClock()
        self._chats: dict[str, ChatModel] = {}
        self._open_embedder = open_embedder or self._chosen_embedder
        # A program that waits for its own runs may queue any number; a server sets how many it lets wait.
        self.max_waiting_runs: int | None = None
        # Of which surfaces a server takes runs over whose owner is gone.
        self.adopts: tuple[Surface, ...] = ()
        # Parts of the user's own that runs of questions have, by what they are; each is registered by its name.
        self.components: dict[str, str] = {}
        # Who is asked where a policy wants somebody to be asked; None: nobody can be.
        self.approve: Approve | None = None

    @cached_property
    def store(self) -> CorpusStore:
        return self.open_store()

    def open_store(self) -> CorpusStore:
        return SqliteCorpus(self.settings.corpus_path, searches_summaries=self.settings.summaries == "on")

    @property
    def views(self) -> DocumentViews:
        from citewell.search.views import DocumentViews

        return DocumentViews(self.store)

    @cached_property
    def run_store(self) -> RunStore:
        return self.open_run_store()

    def open_run_store(self) -> RunStore:
        """Where runs are kept: in PostgreSQL where one is set, else in a file of the data folder."""
        from citewell.runs.store import open_runs

        return open_runs(self.settings.database_url or self.settings.runs_path, self.clock)

    def has_runs(self) -> bool:
        """Whether there may be runs; where not, nothing is made just to look."""
        return bool(self.settings.database_url) or self.settings.runs_path.exists()

    @cached_property
    def research_rows(self) -> ResearchTables:
        """The table of the runs of briefs."""
        from citewell.runs.store import ResearchTables

        return ResearchTables(self.run_store.sessions)

    def effects(self, run_id: str | None) -> Perform:
        """The corpus as a run reaches it; a run that leaves no trace keeps no texts either."""
        from citewell.flows.outside import Outside
        from citewell.runs.execute import performing

        web = self.web.of_run(run_id)

        def view(lookup: str, query: str, max_chars: int, shown: tuple[int, int] | None = None) -> DocumentView:
            return self.views_of(web.store_of(lookup)).view(lookup, query, "evidence", max_chars, shown)

        redact = self.redactor.redact
        effects = Outside(
            *(self.store, view, web.keep_texts, self.semantic_lane, self.chat, redact, self.reranker, self.masker),
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
        from citewell.notes.file import NoteRewriter
        from citewell.notes.vault import NoteVault

        private = (self.settings.data_dir,)
        return NoteVault(self.store, NoteRewriter(self.settings.data_dir, self.clock), private)

    @cached_property
    def web(self) -> WebAccess:
        """The web: what may be fetched, who searches it, where its pages are kept. Nothing opens before it is asked."""
        from citewell.flows.kept_pages import WebAccess

        return WebAccess(self.settings, self.clock, lambda: self.store, SqliteCorpus, self._resolve)

    def chat(self, model: str) -> ChatModel:
        """The language model of that name; the key that is set goes to the provider it is set for, and to no other."""
        from citewell.models.chat import open_chat

        if model not in self._chats:
            # With no model set, the key is meant for the one that is chosen now.
            settings = replace(self.settings, model=model) if self.settings.model == EXTRACTIVE else self.settings
            self._chats[model] = self._limited(open_chat(settings))
        return self._chats[model]

    def _limited(self, model: ChatModel) -> ChatModel:
        """A model under the ceiling for all calls of a day, where one is set."""
        if not self.settings.max_cost_usd_day:
            return model
        from citewell.runs.day_spending import DayLimited, DaySpending

        limit = self.settings.max_cost_usd_day
        return DayLimited(model, lambda: DaySpending(self.run_store.sessions), limit, self.clock)

    @cached_property
    def masker(self) -> Masker:
        """Masks the secrets that are set, wherever they stand in content."""
        return Masker(secret_values(self.settings))

    @cached_property
    def redactor(self) -> Redactor:
        """Takes secrets and paths out of the program's own words."""
        from citewell.text.redaction import Redactor

        folder = self.settings.data_dir
        return Redactor(self.masker, os.path.abspath(folder), os.path.realpath(folder))

    def now(self) -> str:
        """What the clock of this engine says, in UTC."""
        return self.clock.now()

    def without_secrets(self, text: str) -> str:
        """A text that may be shown to anybody: the values of the secrets that are set are masked."""
        return self.masker.mask(text)

    @cached_property
    def embedder(self) -> Embedder:
        """The model of the semantic lane; raises Unavailable with the way to get it."""
        return self._open_embedder()

    def _chosen_embedder(self) -> Embedder:
        from citewell.models.embeddings import open_embedder

        return open_embedder(self.settings)

    def semantic_lane(self) -> SemanticLane:
        """The lane that searches by meaning, whatever the settings say of using it."""
        return SemanticLane(self.store.vectors, self.embedder)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The model that looks at the best rows again, where one is named; opened when it is first needed."""
        if not self.settings.reranker:
            return None
        return CrossEncoder(Path(self.settings.reranker))

    @cached_property
    def judge(self) -> Entailment | None:
        """The model that judges whether quotes entail sentences, where one is set; opened when it is first asked."""
        from citewell.models.entailment import open_judge

        return open_judge(self.settings)

    @cached_property
    def reader(self) -> AnswerSpans | None:
        """The model that finds answers in passages, where one is set; opened when it is first asked."""
        from citewell.models.entailment import open_reader

        return open_reader(self.settings)

    def semantic_use(self, wanted: bool = True) -> SemanticUse:
        """How meaning takes part. Nothing is encoded yet: words answer, and `status` and `doctor` say so."""
        match self.settings.embeddings:
            case "shadow" | "on" as use if wanted and self.store.vectors.has_any():
                return use
            case _:
                return "off"

    def close(self) -> None:
        """Close every file."""
        self.__dict__.pop("research_rows", None)
        for name in ("web", "store", "run_store"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    def views_of(self, store: CorpusStore) -> DocumentViews:
        from citewell.search.views import DocumentViews

        return self.views if store is self.store else DocumentViews(store)

    # Policy

    def permit_run(self, request: RunRequest) -> None:
        """Whether a run may be begun, and may ask the world outside, where it would."""
        self.store  # noqa: B018  a damaged one is refused here, before there is a run that could not go on
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
        from citewell.policy import Permission, permit

        field = f"policy_{action.replace(':', '_')}"
        permit(Permission(action, what), getattr(self.settings, field), self.approve)

    def real_key(self, recorded: str) -> str:
        """The key that a record has, perhaps in its masked form."""
        if MASK not in recorded:
            return recorded
        keys = (key for info in self.store.collections() for key in self.store.keys_under(str(Path(info.root))))
        return next((key for key in keys if self.masker.mask(key) == recorded), recorded)
