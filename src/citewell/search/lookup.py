"""One search: a query is understood, put to the lanes, and what is found is shown with what a person should know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from citewell.clock import Clock
from citewell.models.rerank import Reranker
from citewell.search.lanes import LaneResult, LaneRow, OpenLane, SemanticReport, SemanticUse, by_meaning, search_lanes
from citewell.search.query import Concept, check_question, doubtful_words, lexical_query, normalize, take_exclusions
from citewell.search.rows import (
    LOOK_THROUGH,
    EvidenceRow,
    evidence_row,
    rarity,
    read_many,
    shown_from,
    term_chunks,
    with_context,
)
from citewell.search.spelling import respell
from citewell.store.port import Filters, LexicalQuery
from citewell.text.documents import Attachment, DocumentView

if TYPE_CHECKING:
    from citewell.search.spelling import SpellingResult
    from citewell.store.port import CorpusReader


# What looking something up gives: rows of a search, documents, neighbours.


SearchMode = Literal["lexical", "semantic", "hybrid"]


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    mode: SearchMode
    took_ms: float
    results: tuple[EvidenceRow, ...]
    terms: tuple[str, ...] = ()
    eligible_documents: int = 0
    warnings: tuple[str, ...] = ()
    semantic: SemanticReport | None = None


@dataclass(frozen=True, slots=True)
class DocumentList:
    documents: tuple[DocumentView, ...]


@dataclass(frozen=True, slots=True)
class LookupProblem:
    """Why a lookup gave no document, and what to do."""

    code: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class MissingDocument:
    """The place of a document that nobody has, in a list of several."""

    lookup: str
    error: LookupProblem


@dataclass(frozen=True, slots=True)
class DocumentEntries:
    """What `get` returns for several keys: each document, or why it is not there, in the order asked."""

    documents: tuple[DocumentView | MissingDocument, ...]


@dataclass(frozen=True, slots=True)
class RelatedResult:
    source_key: str
    related: tuple[EvidenceRow, ...]
    unresolved: tuple[str, ...]
    attachments: tuple[Attachment, ...] = ()


# From ranked documents to evidence rows: each shows the window that matches best, and what belongs to it.


def evidence_rows(
    store: CorpusReader,
    query: LexicalQuery,
    ranked: Sequence[LaneRow],
    max_chars: int,
    spelled: SpellingResult | None = None,
) -> tuple[EvidenceRow, ...]:
    """These documents, each with its window and why it is here; `spelled` says which words were read as others."""
    weights = rarity(term_chunks(store, query), store.chunk_count())
    found = [(row.candidate.document, row.candidate.chunk) for row in ranked]
    chunks = [(document, shown_from(store, document, chunk, query)) for document, chunk in found]
    readings = read_many(store, chunks, query, LOOK_THROUGH)
    shown = [
        evidence_row(
            *(*chunk, reading, query, weights, max_chars), score=row.score, signals=row.signals, lanes=row.lanes
        )
        for row, chunk, reading in zip(ranked, chunks, readings, strict=True)
    ]
    rows = with_context(store, shown)
    if spelled is None or not spelled.spellings:
        return rows
    return tuple(replace(row, signals=(*row.signals, *spelled.signals(row.matched_terms))) for row in rows)


# How many rows are looked at for each that is shown, where the query leaves something out.
_DEEPER = 3


class Searcher:
    """Searches one corpus."""

    def __init__(self, corpus: CorpusReader, open_lane: OpenLane, reranker: Reranker | None, clock: Clock) -> None:
        self._corpus = corpus
        self._open_lane = open_lane
        self._reranker = reranker
        self._clock = clock

    def search(
        self,
        query: str,
        filters: Filters,
        limit: int,
        max_chars: int,
        use: SemanticUse,
        *,
        by_meaning_alone: bool = False,
    ) -> SearchResult:
        """Documents that match a query, best first.

        Meaning that cannot be asked leaves the words, with a warning; only a search by meaning alone fails without it.
        """
        started = self._clock.monotonic()
        kept = take_exclusions(check_question(query))
        normalized = normalize(kept.text)
        wanted = limit if not kept.concepts else limit * _DEEPER
        with self._corpus.snapshot():
            asked = lexical_query(normalized.text, self._corpus.languages(), normalized.phrases)
            spelled = respell(self._corpus, asked, doubtful_words(normalized.text, normalized.phrases))
            if by_meaning_alone:
                found = LaneResult(by_meaning(self._open_lane().rank(normalized.text, filters, wanted)))
            else:
                put = (self._corpus, self._open_lane, use, normalized.text, spelled.query, filters, wanted)
                found = search_lanes(*put, self._reranker)
            if kept.concepts:
                found = replace(found, rows=self._without(kept.concepts, found.rows)[:limit])
            rows = evidence_rows(self._corpus, spelled.query, found.rows, max_chars, spelled)
            eligible = self._corpus.eligible_documents(filters)
        report = found.report
        is_hybrid = report is not None and report.use == "on" and not report.problem
        warnings = (
            *_warnings(spelled.query, eligible, filters),
            *(f"{spelling}." for spelling in spelled.spellings),
            *((f"Searched by words only. {report.problem}",) if report is not None and report.problem else ()),
        )
        return SearchResult(
            query=query,
            mode="semantic" if by_meaning_alone else "hybrid" if is_hybrid else "lexical",
            took_ms=round((self._clock.monotonic() - started) * 1000, 3),
            results=rows,
            terms=tuple(dict.fromkeys(term.text for term in asked.terms)),
            eligible_documents=eligible,
            warnings=warnings,
            semantic=report,
        )

    def _without(self, excluded: Sequence[Concept], rows: Sequence[LaneRow]) -> list[LaneRow]:
        """Rows about what the query rules out by name are left out; those about other things it excludes come later."""
        from citewell.search.concepts import ConceptText, exclusions, is_left_out

        languages = self._corpus.languages()
        places = [(row.candidate.document.content_hash, row.candidate.chunk) for row in rows]
        texts = self._corpus.slices([(digest, chunk.start, chunk.end) for digest, chunk in places])
        top = max((row.score for row in rows), default=0.0)
        kept: list[LaneRow] = []
        for row, text in zip(rows, texts, strict=True):
            document, chunk = row.candidate.document, row.candidate.chunk
            title = " ".join((document.title, *document.aliases))
            passage = ConceptText.of(
                document, f"{title} {' '.join((*chunk.heading_path, *document.user_tags))}\n\n{text}"
            )
            if is_left_out(excluded, passage, languages):
                continue
            told = [
                replace(signal, value=round(signal.value * top, 6))
                for signal in exclusions(excluded, passage, ConceptText.of(document, title), languages)
            ]
            score = round(row.score + sum(signal.value for signal in told), 6)
            kept.append(replace(row, score=score, signals=(*row.signals, *told)))
        return sorted(kept, key=lambda row: (-row.score, row.key))


def _warnings(query: LexicalQuery, eligible: int, filters: Filters) -> tuple[str, ...]:
    if eligible == 0 and filters.is_empty:
        return ("The corpus is empty: add a folder with 'citewell add PATH'.",)
    if eligible == 0:
        return ("The filters leave no document to search.",)
    if query.is_empty:
        return ("The query has no letters or digits to search for.",)
    return ()
