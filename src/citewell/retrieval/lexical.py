"""The lexical lane: chunks ranked by the words of a query, the best of them looked at twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.domain.errors import CitewellError
from citewell.domain.evidence import Signal
from citewell.domain.ports import Candidate, Reranker, RerankQuery, RerankText
from citewell.domain.queries import Filters, LexicalQuery
from citewell.domain.values import dataclass
from citewell.retrieval.proximity_rerank import CANDIDATES, ProximityReranker
from citewell.retrieval.rows import rarity, term_chunks

if TYPE_CHECKING:
    from citewell.domain.corpus_port import CorpusReader

# Which reranker a row's place is due to, where it is not the one that is always there.
UNAVAILABLE = "reranker_unavailable"
PROVENANCE = ("cross_encoder", UNAVAILABLE, "summary")
# A summary of the document has words of the query; what is shown is the document all the same.
SUMMARY = "summary"
_SUMMARY_TOLD = "words of the query stand in a summary of it"
_SHIPPED = ProximityReranker()


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate with the signals its score is the sum of."""

    candidate: Candidate
    score: float
    signals: tuple[Signal, ...]


def rank(
    store: CorpusReader,
    query: LexicalQuery,
    filters: Filters,
    limit: int,
    text: str = "",
    reranker: Reranker | None = None,
) -> list[Found]:
    """The best chunk of each of the best `limit` documents; a reranker sees the query as the text it was asked in."""
    ranked = store.rank(query, filters, max(limit, CANDIDATES))
    looked = _look(store, query, ranked[:CANDIDATES], text, reranker or _SHIPPED)
    found = [_found(candidate, looked[at] if at < len(looked) else ()) for at, candidate in enumerate(ranked)]
    # Whoever was not looked at stays behind those who were.
    head = sorted(found[: len(looked)], key=lambda row: (-row.score, row.candidate.document.source_key))
    return (head + found[len(looked) :])[:limit]


def _found(candidate: Candidate, more: Sequence[Signal]) -> Found:
    by_words = round(candidate.score - candidate.summary_score, 6)
    base = Signal("bm25", by_words, "words of the query, rarer ones heavier, title twice")
    told = (Signal(SUMMARY, candidate.summary_score, _SUMMARY_TOLD),) if candidate.summary_score else ()
    signals = (base, *told, *(signal for signal in more if signal.value or signal.name in PROVENANCE))
    return Found(candidate, round(sum(signal.value for signal in signals), 6), signals)


def _look(
    store: CorpusReader, query: LexicalQuery, candidates: Sequence[Candidate], text: str, reranker: Reranker
) -> Sequence[tuple[Signal, ...]]:
    if len(candidates) < 2 or not query.terms:
        return [() for _ in candidates]
    weights = rarity(term_chunks(store, query), store.chunk_count())
    words = [(term.forms, weights.get(term.text, 0.0)) for term in query.terms]
    asked = RerankQuery(text or " ".join(term.text for term in query.terms), words, store.commonness())
    bodies = store.slices([(c.document.content_hash, c.chunk.start, c.chunk.end) for c in candidates])
    texts = [
        RerankText(candidate.document.title, body, candidate.document.language, candidate.score)
        for candidate, body in zip(candidates, bodies, strict=True)
    ]
    try:
        return reranker.rerank(asked, texts)
    except CitewellError as error:
        problem = error.message
    except Exception as error:  # noqa: BLE001 - whatever a model's libraries raise, words still find
        problem = f"The reranker {reranker.name} failed: {type(error).__name__}: {error}"
    said = Signal(UNAVAILABLE, 0.0, problem)
    return [(*signals, said) for signals in _SHIPPED.rerank(asked, texts)]
