"""`cw.runs`: recorded runs, and what may be done with each of them here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.errors import BadInput, Conflict, NotFound
from citewell.flows.play import FLOWS, begin, egress_of
from citewell.runs.records import read_start, stored_result
from citewell.runs.reports import CitedSource, ControlReport, EgressLedger, PruneSummary, RunList, RunView
from citewell.runs.run import RunResult, RunStatus
from citewell.runs.service import RunService
from citewell.runs.store import open_runs
from citewell.runs.transfer import move_runs
from citewell.search.query import RunProfile, Surface
from citewell.wiring import Parts

if TYPE_CHECKING:
    from citewell.export.formats import Exportable, ExportedFile, ExportForm
    from citewell.runs.reports import MigrationReport


class Runs(RunService):
    """What can be done with recorded runs."""

    def __init__(self, parts: Parts, on_result: Callable[[RunResult], None]) -> None:
        super().__init__(
            lambda: parts.run_store,
            parts.effects,
            parts.clock,
            parts.settings.data_dir,
            partial(begin, flows=parts.flows or FLOWS),
            parts.redactor.redact,
            max_running=parts.settings.max_runs,
            max_waiting=parts.max_waiting_runs,
            adopts=parts.adopts,
            on_result=on_result,
        )
        self._parts = parts

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
        return self._store().latest(
            limit, behind=behind, statuses=statuses, profile=profile, surface=surface, words=words
        )

    def resume(self, run_id: str, *, finish: bool = False) -> int:
        """Go on with an interrupted run, without repeating what is on record; returns the last entry it had."""
        self._parts.permit_run(read_start(self.events(run_id)[0]).request)
        return super().resume(run_id, finish=finish)

    def cancel(self, run_id: str) -> ControlReport:
        """Stop a run for good. What it gathered stays on record."""
        return self.control(run_id, "cancel")

    def finish(self, run_id: str) -> ControlReport:
        """Have a run answer now, with what is there."""
        return self.control(run_id, "finish")

    def exported(self, run_id: str, form: ExportForm) -> ExportedFile:
        """A finished run as Markdown, Word, PDF, BibTeX or RIS; one that failed its own checks is not exported."""
        from citewell.export.formats import export_file

        return export_file(form, self._exportable(run_id))

    def exported_conversation(self, conversation_id: str, asked: Sequence[tuple[str, str]]) -> ExportedFile:
        """Questions and the runs that answered them, as one Markdown file; a run that may not be passed on is a gap."""
        from citewell.export.markdown_note import conversation_file

        turns = [(self._parts.masker.mask(question), self._exportable_or_none(run_id)) for question, run_id in asked]
        return conversation_file(conversation_id, turns)

    def _exportable_or_none(self, run_id: str) -> Exportable | None:
        try:
            return self._exportable(run_id) if run_id else None
        except (Conflict, NotFound):
            return None

    def share_page(self, run_id: str) -> str:
        """A finished run as a page to pass on, without anything of this machine."""
        from citewell.export.share import share_page

        return share_page(self._exportable(run_id))

    def _exportable(self, run_id: str) -> Exportable:
        from citewell.export.formats import Exportable, cited_documents, papers_of

        result = self.shareable(run_id)
        if result.answer_status in ("error", "unavailable"):
            raise Conflict(f"Run {run_id} has no answer to pass on.", fix="Ask the question again.")

        def about(key: str) -> tuple[str | None, str | None]:
            real = self._parts.real_key(key)
            document = self._parts.web.store_of(real).find(real)
            return (document.author, document.created or document.modified) if document else (None, None)

        documents = cited_documents(result.citations, about, papers_of(result))
        return Exportable(result, self.started_at(run_id), documents)

    def show(self, run_id: str, *, with_events: bool = False) -> RunView:
        """A run as it was, and what became of its sources since."""
        events = self.events(run_id)
        result = stored_result(events, self._data_dir)
        cited = dict.fromkeys((one.source_key, one.span.content_hash) for one in (result.citations if result else ()))
        sources = tuple(self._source_state(key, content_hash) for key, content_hash in cited)
        return RunView(self.summary(run_id), result, sources, tuple(events) if with_events else ())

    def _source_state(self, key: str, content_hash: str) -> CitedSource:
        real = self._parts.real_key(key)
        document = (self._parts.web.store_of(real) if ":online/" in real else self._parts.store).find(real)
        if document is None:
            return CitedSource(key, content_hash, "removed")
        return CitedSource(key, content_hash, "unchanged" if document.content_hash == content_hash else "changed")

    def egress(self, run_id: str) -> EgressLedger:
        """What a run sent, to whom and when."""
        return egress_of(self.events(run_id))

    def prune(
        self, *, keep: int | None = None, max_age_days: int | None = None, keep_all: bool = False
    ) -> PruneSummary:
        """Put old runs away by the settings in force, with the texts only they kept."""
        parts, settings = self._parts, self._parts.settings
        summary = super().prune(
            keep=settings.trace_keep if keep is None else keep,
            max_age_days=settings.trace_max_age_days if max_age_days is None else max_age_days,
            keep_all=keep_all or settings.trace_keep_all,
        )
        if summary.removed:
            parts.research_rows.delete(summary.removed)
            parts.store.release_texts(summary.removed)
            parts.web.release(summary.removed)
        return summary

    def migrate(
        self, to: str, source: str = "", tell: Callable[[int, int], None] = lambda done, of: None
    ) -> MigrationReport:
        """Bring runs and reports to another store: `sqlite`, `postgres` (as set) or `postgresql://…`; verified.

        The source is only read; `tell` hears how many runs of how many have been read. It goes on where it stopped.
        """
        here = self._store_named(source or ("postgres" if to == "sqlite" else "sqlite"))
        there = self._store_named(to)
        if here == there:
            raise BadInput("Runs would be moved to where they are.", fix="Name another place with --to or --from.")
        if isinstance(here, Path) and not here.exists():
            raise NotFound(f"There is no {here.name} in {here.parent}: nothing to move.", fix="See 'citewell doctor'.")
        with (
            closing(open_runs(here, self._parts.clock)) as left,
            closing(open_runs(there, self._parts.clock)) as arrived,
        ):
            return move_runs(left, arrived, self._parts.clock, tell=tell)

    def _store_named(self, name: str) -> str | Path:
        """A place of runs, by what a person calls it."""
        if name == "sqlite":
            return self._parts.settings.runs_path
        if "://" in name:
            return name
        if name != "postgres":
            raise BadInput(f"There is no store of runs called '{name}'.", fix="Use sqlite, postgres or postgresql://…")
        if not self._parts.settings.database_url:
            fix = "Set it (docs/postgres.md), or write the address itself: postgresql://USER@HOST/DATABASE"
            raise BadInput("CITEWELL_DATABASE_URL is not set: it is not known where PostgreSQL is.", fix=fix)
        return self._parts.settings.database_url

    def save_pages(self, run_id: str) -> tuple[str, ...]:
        """Put the pages of the web that a run cites into the corpus; their keys there."""
        cited = ((one.source_key, one.span.content_hash) for one in self.result(run_id).citations)
        return self._parts.web.save(tuple(dict.fromkeys(cited)))
