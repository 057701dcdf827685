"""One search: a query is understood, put to the lanes, and what is found is shown with what a person should know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.domain.lanes import SemanticUse
from citewell.domain.ports import Clock, Reranker
from citewell.domain.queries import Concept, Filters, LexicalQuery
from citewell.domain.results import SearchResult
from citewell.planning.exclusions import take_exclusions
from citewell.planning.lexical import lexical_query
from citewell.planning.normalizer import check_question, normalize
from citewell.planning.spelling import doubtful_words
from citewell.retrieval.evidence_rows import evidence_rows
from citewell.retrieval.hybrid import LaneRow
from citewell.retrieval.lanes import OpenLane, Ranked, by_meaning, search_lanes
from citewell.retrieval.spelling import respell

if TYPE_CHECKING:
    from citewell.domain.corpus_port import CorpusReader

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
                found = Ranked(by_meaning(self._open_lane().rank(normalized.text, filters, wanted)))
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
        from citewell.packs.adjustments import exclusions, is_left_out
        from citewell.packs.concepts import Passage

        languages = self._corpus.languages()
        places = [(row.candidate.document.content_hash, row.candidate.chunk) for row in rows]
        texts = self._corpus.slices([(digest, chunk.start, chunk.end) for digest, chunk in places])
        top = max((row.score for row in rows), default=0.0)
        kept: list[LaneRow] = []
        for row, text in zip(rows, texts, strict=True):
            document, chunk = row.candidate.document, row.candidate.chunk
            title = " ".join((document.title, *document.aliases))
            passage = Passage.of(document, f"{title} {' '.join((*chunk.heading_path, *document.user_tags))}\n\n{text}")
            if is_left_out(excluded, passage, languages):
                continue
            told = [
                replace(signal, value=round(signal.value * top, 6))
                for signal in exclusions(excluded, passage, Passage.of(document, title), languages)
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
