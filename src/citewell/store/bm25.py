"""Reading the index that ranks: the postings of a query's terms, what is known of each chunk, and caches of both.

Segments never change, so what was read of one stays true; chunks are read again where `index_state` says they changed.
Everything belongs to the read transaction of the search, so a writer next door never shows half of its work.
"""

from __future__ import annotations

import heapq
import math
import sys
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, get_args

import apsw

from citewell.store.port import CorpusMatches, Filters, LexicalQuery
from citewell.store.read import condition
from citewell.store.sqlite import fetch_one, fetch_rows, fetch_value
from citewell.text.documents import Kind, SourceType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from citewell.store.port import ChunkTerms


# Ranking by BM25 over weighted fields: every chunk that has a term of the query, exactly. Pure.
#
# Terms are taken rarest first. Once the terms that are left could not lift a new chunk among the best, they are only
# looked up for the chunks already found: the result is the same, most of a frequent term's postings are never weighed.
# A small query is scored without numpy, because importing that takes longer; both ways give the same bits.


K1 = 1.2
B = 0.75
HALF = 0.5
_SLACK = 1.0 + 1e-9  # more than rounding can do to a sum


@dataclass(frozen=True, slots=True)
class TermPostings:
    """One term of a query: the chunks that have it in rising order, with the bytes of their weights."""

    repeats: int  # how often the query says it; the second time says less than the first
    chunks: bytes
    body: bytes
    head: bytes

    @property
    def count(self) -> int:
        return len(self.body)


def idf(total: int, count: int) -> float:
    """How much a term says; never negative, so that a common term does not punish."""
    return math.log(1.0 + (total - count + 0.5) / (count + 0.5))


def score_simply(
    terms: Sequence[TermPostings], lengths: memoryview, average: float, total: int, depth: int
) -> list[tuple[int, float]]:
    """The best chunks with their scores, without numpy."""
    scores: dict[int, float] = {}
    for term in rarest_first(terms):
        weight = math.sqrt(term.repeats) * idf(total, term.count) * (K1 + 1.0)
        chunks = array("I", term.chunks)
        for chunk, body, head in zip(chunks, term.body, term.head, strict=True):
            frequency = body + head * HALF
            norm = K1 * (1.0 - B + B * (lengths[chunk] / average))
            scores[chunk] = scores.get(chunk, 0.0) + weight * (frequency / (frequency + norm))
    return heapq.nsmallest(depth, scores.items(), key=lambda entry: (-entry[1], entry[0]))


def rarest_first(terms: Sequence[TermPostings]) -> list[TermPostings]:
    """Ties keep the order of the query."""
    return sorted((term for term in terms if term.count), key=lambda term: term.count)


def norms(lengths: npt.NDArray[np.uint16], average: float) -> npt.NDArray[np.float64]:
    """What the length of each chunk does to its scores."""
    return K1 * (1.0 - B + B * (lengths / average))


class TermWeights(Protocol):
    """A term of a query whose postings can be weighed, all of them or some."""

    @property
    def postings(self) -> TermPostings: ...

    def factors(self) -> npt.NDArray[np.float64]:
        """What each of its chunks makes of it, before the term's own weight: 0 to 1."""
        ...

    def factors_at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The same, for the postings at these places."""
        ...


def score_many(
    terms: Sequence[TermWeights],
    dense: npt.NDArray[np.float64],
    total: int,
    allowed: npt.NDArray[np.bool_] | None,
    depth: int,
) -> list[tuple[int, float]]:
    """The same as `score_simply`, for any number of postings.

    `dense` has a zero for every chunk, and has it again afterwards.
    """
    import numpy as np

    ordered = sorted((term for term in terms if term.postings.count), key=lambda term: term.postings.count)
    weights = [math.sqrt(term.postings.repeats) * idf(total, term.postings.count) * (K1 + 1.0) for term in ordered]
    opened: list[npt.NDArray[np.uint32]] = []
    threshold = 0.0
    try:
        for number, term in enumerate(ordered):
            # A chunk without any term so far can gain at most this.
            if threshold > sum(weights[number:]) * _SLACK:
                break
            chunks = np.frombuffer(term.postings.chunks, np.uint32)
            gain = weights[number] * term.factors()
            if allowed is not None:
                at = np.flatnonzero(allowed[chunks])
                chunks, gain = chunks[at], gain[at]
            opened.append(chunks)
            dense[chunks] += gain
            # The scores only grow: what the best of these have by now is what a newcomer has to beat.
            if len(chunks) >= depth and sum(weights[: number + 1]) > sum(weights[number + 1 :]):
                threshold = max(threshold, float(np.partition(dense[chunks], -depth)[-depth]))
        late = list(zip(ordered, weights, strict=True))[len(opened) :]
        if late:
            # What the leaders come to with all terms is a higher bar than what they have by now.
            leaders = _hopeful(opened, dense, threshold)
            _, complete = _completed(leaders, dense[leaders], late, 0.0)
            threshold = max(threshold, float(np.partition(complete, -depth)[-depth]))
        found = _hopeful(opened, dense, threshold - sum(weights[len(opened) :]) * _SLACK)
        found, scores = _completed(found, dense[found], late, threshold)
    finally:
        for chunks in opened:
            dense[chunks] = 0.0
    if len(found) > depth:
        keep = scores >= np.partition(scores, -depth)[-depth]
        found, scores = found[keep], scores[keep]
    order = np.lexsort((found, -scores))[:depth]
    return [(int(found[at]), float(scores[at])) for at in order]


def _completed(
    found: npt.NDArray[np.uint32],
    scores: npt.NDArray[np.float64],
    late: Sequence[tuple[TermWeights, float]],
    threshold: float,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """The chunks that still can reach the threshold, with the terms that were not opened too, each looked up."""
    import numpy as np

    for number, (term, weight) in enumerate(late):
        rest = sum(later for _, later in late[number:])
        hopeful = scores >= threshold / _SLACK - rest * _SLACK
        found, scores = found[hopeful], scores[hopeful]
        chunks = np.frombuffer(term.postings.chunks, np.uint32)
        places = np.searchsorted(chunks, found)
        places[places == len(chunks)] = 0
        has = chunks[places] == found
        scores[has] += weight * term.factors_at(places[has])
    return found, scores


def _hopeful(
    opened: Sequence[npt.NDArray[np.uint32]], dense: npt.NDArray[np.float64], least: float
) -> npt.NDArray[np.uint32]:
    """The chunks of all these lists that have at least so much by now, each once, in rising order."""
    import numpy as np

    hopeful = [chunks[dense[chunks] >= least / _SLACK] for chunks in opened]
    if len(hopeful) < 2:
        return hopeful[0] if hopeful else np.empty(0, np.uint32)
    # The lists are in order already: a stable sort merges them.
    merged = np.sort(np.concatenate(hopeful), kind="stable")
    is_new = np.ones(len(merged), bool)
    is_new[1:] = merged[1:] != merged[:-1]
    return merged[is_new]


def factor_of(
    term: TermPostings, lengths_norm: npt.NDArray[np.float64], places: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.float64]:
    """What each chunk makes of a term, before the term's own weight: 0 to 1."""
    import numpy as np

    chunks, body = np.frombuffer(term.chunks, np.uint32), np.frombuffer(term.body, np.uint8)
    head = np.frombuffer(term.head, np.uint8)
    if places is not None:
        chunks, body, head = chunks[places], body[places], head[places]
    frequency = body + head * HALF
    factor: npt.NDArray[np.float64] = frequency / (frequency + lengths_norm[chunks])
    return factor


# How the index that ranks lies in `corpus.db`; reading and writing share this. No numpy: a search may do without.


POSTINGS_A_BLOCK = 8_192
CHUNKS_A_BLOCK = 8_192
_SOURCE_TYPES: tuple[str, ...] = get_args(SourceType)


@dataclass(frozen=True, slots=True)
class State:
    """What the index says of itself."""

    change: int
    last_chunk: int
    chunks: int
    gone: int
    length: int
    segments: int


@dataclass(slots=True)
class IndexBatch:
    """What a transaction does to the index, gathered while it goes and written at its end."""

    next_chunk: int
    chunks: list[tuple[int, ChunkTerms]] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)

    def take(self, document_id: int, source_type: str, kind: Kind, terms: Sequence[ChunkTerms]) -> int:
        """Index these chunks of a document under new ids; the first of them."""
        first = self.next_chunk
        self.next_chunk += len(terms)
        self.chunks.extend(enumerate(terms, start=first))
        self.documents.extend([document_id] * len(terms))
        self.kinds.extend([kind_code(source_type, kind)] * len(terms))
        return first


def kind_code(source_type: str, kind: Kind) -> int:
    """Source type and kind of a document in one byte."""
    return _SOURCE_TYPES.index(source_type) * 2 + (kind == "source")


def read_state(connection: apsw.Connection) -> State:
    row = fetch_one(connection, "SELECT change, last_chunk, chunks, gone, length, segments FROM index_state")
    return State(*row) if row else State(0, 0, 0, 0, 0, 0)


# Each with its terms and its last postings: a table somebody emptied shows.
_WHOLE_SEGMENTS = f"""
SELECT count(*) FROM index_segments s WHERE s.postings = 0 OR (
    EXISTS (SELECT 1 FROM index_terms t WHERE t.segment_id = s.id)
    AND EXISTS (SELECT 1 FROM index_chunks)
    AND EXISTS (
        SELECT 1 FROM index_postings p WHERE p.segment_id = s.id AND p.number = (s.postings - 1) / {POSTINGS_A_BLOCK}
    )
)
"""


def is_complete(connection: apsw.Connection, state: State) -> bool:
    """Whether every chunk is in the index, and all of the index is there."""
    last = int(fetch_value(connection, "SELECT coalesce(max(id), 0) FROM chunks"))
    segments = int(fetch_value(connection, _WHOLE_SEGMENTS))
    return last <= state.last_chunk and segments == state.segments and (last == 0 or state.chunks > 0)


def read_postings(connection: apsw.Connection, segment_id: int, start: int, end: int) -> tuple[bytes, bytes, bytes]:
    """The postings of a segment from one number to another."""
    first = start // POSTINGS_A_BLOCK
    rows = fetch_rows(
        connection,
        "SELECT chunks, body, head FROM index_postings WHERE segment_id = ? AND number BETWEEN ? AND ? ORDER BY number",
        (segment_id, first, max(start, end - 1) // POSTINGS_A_BLOCK),
    )
    low, high = start - first * POSTINGS_A_BLOCK, end - first * POSTINGS_A_BLOCK
    chunks, body, head = zip(*rows, strict=True) if rows else ((), (), ())
    return b"".join(chunks)[low * 4 : high * 4], b"".join(body)[low:high], b"".join(head)[low:high]


def read_common(connection: apsw.Connection) -> tuple[dict[str, int], int]:
    """The commonest terms with the chunks that have them, and of how many."""
    rows = fetch_rows(connection, "SELECT term, chunks, total FROM index_common")
    return {str(term): int(chunks) for term, chunks, _ in rows}, int(rows[0][2]) if rows else 0


# What was made of the words of earlier searches: common ones come again and again, and cost most to put together.


FEW_CHUNKS = 4_000  # fewer are handled faster one by one
# Fourteen bytes each with what is made of them.
_KEPT_POSTINGS = 10_000_000
_MOST_COUNTS = 100_000


class WordCache:
    """What was made of the words of earlier searches, for as long as the index does not change.

    Long lists only, the latest used: a common word costs milliseconds to put together and is in every other question.
    """

    def __init__(self) -> None:
        self._change = -1
        self._kept: OrderedDict[tuple[str, ...], TermPostings] = OrderedDict()
        self._factors: dict[int, Any] = {}
        self._postings = 0
        self.counts: dict[str, int] = {}
        self.segments: tuple[int, ...] | None = None

    def refresh(self, state: State) -> None:
        """Forget what another state of the index was made of."""
        if state.change == self._change and len(self.counts) <= _MOST_COUNTS:
            return
        self._kept.clear()
        self._factors.clear()
        self._postings = 0
        self.counts.clear()
        self.segments = None
        self._change = state.change

    def find(self, forms: tuple[str, ...]) -> TermPostings | None:
        known = self._kept.get(forms)
        if known is not None:
            self._kept.move_to_end(forms)
        return known

    def keep(self, forms: tuple[str, ...], word: TermPostings) -> None:
        if word.count < FEW_CHUNKS:
            return
        self._kept[forms] = word
        self._postings += word.count
        while self._postings > _KEPT_POSTINGS:
            _, dropped = self._kept.popitem(last=False)
            self._postings -= dropped.count
            self._factors.pop(id(dropped.chunks), None)

    def keep_factors(self, term: TermPostings, factors: npt.NDArray[np.float64]) -> None:
        """Keep them as long as the postings they belong to."""
        if any(kept.chunks is term.chunks for kept in self._kept.values()):
            self._factors[id(term.chunks)] = factors

    def factors(self, term: TermPostings) -> npt.NDArray[np.float64] | None:
        return self._factors.get(id(term.chunks))


class CachedTerm:
    """A term with what is known of the chunks that have it."""

    def __init__(self, postings: TermPostings, norms: npt.NDArray[np.float64], words: WordCache) -> None:
        self.postings = postings
        self._norms = norms
        self._words = words

    def factors(self) -> npt.NDArray[np.float64]:
        known = self._words.factors(self.postings)
        if known is None:
            known = factor_of(self.postings, self._norms)
            self._words.keep_factors(self.postings, known)
        return known

    def factors_at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        known = self._words.factors(self.postings)
        return known[places] if known is not None else factor_of(self.postings, self._norms, places)


_CACHED_BYTES = 96_000_000
# Importing numpy takes as long as scoring so many postings without it.
_FEW_POSTINGS = 200_000
_FEW_SEARCHES = 2
_MASKS = 8


class PostingsIndex:
    """The index of one corpus, shared by the threads of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._searches = 0
        self._postings: OrderedDict[tuple[int, str], tuple[bytes, bytes, bytes]] = OrderedDict()
        self._postings_bytes = 0
        self._facts = _ChunkFacts()
        self._masks: OrderedDict[Filters, tuple[int, Any]] = OrderedDict()
        self._words = WordCache()
        self._dense: Any = None

    def rank(
        self,
        connection: apsw.Connection,
        query: LexicalQuery,
        phrases: Sequence[Sequence[int]],
        filters: Filters,
        limit: int,
    ) -> list[tuple[int, float]] | None:
        """The best chunk of each of the best documents with its score; None where the index lags behind."""
        state = read_state(connection)
        if not is_complete(connection, state):
            return None
        with self._lock:
            self._facts.refresh(connection, state)
            terms = self._terms(connection, query, state)
            self._searches += 1
            terms += [_phrase_postings(chunks) for chunks in phrases if chunks]
            return self._ranked(connection, terms, filters, state, limit)

    def count(self, connection: apsw.Connection, query: LexicalQuery, filters: Filters) -> CorpusMatches | None:
        """How many documents have any term of the query; None where the index lags behind."""
        state = read_state(connection)
        if not is_complete(connection, state):
            return None
        import numpy as np

        with self._lock:
            self._facts.refresh(connection, state)
            terms = self._terms(connection, query, state)
            has = np.zeros(self._facts.size, bool)
            for term in terms:
                has[np.frombuffer(term.chunks, np.uint32)] = True
            allowed = self._allowed(connection, filters, state)
            if allowed is not None:
                has &= allowed
            documents, kinds = self._facts.documents()[has], self._facts.kinds()[has]
            # By a table with a place for every document: counting a million of them by sorting takes longer.
            is_matched = np.zeros((2, int(documents.max(initial=0)) + 1), bool)
            is_matched[kinds % 2, documents] = True
            items, sources = (int(count) for count in is_matched.sum(axis=1))
            return CorpusMatches(items, sources)

    def frequencies(self, connection: apsw.Connection, forms: Sequence[str]) -> dict[str, int] | None:
        """In how many chunks each form occurs; forms that occur nowhere are left out."""
        state = read_state(connection)
        if not is_complete(connection, state):
            return None
        with self._lock:
            self._facts.refresh(connection, state)
            self._words.refresh(state)
            found = {form: self._count(connection, form, state) for form in dict.fromkeys(forms)}
        return {form: count for form, count in found.items() if count}

    def eligible(
        self, connection: apsw.Connection, filters: Filters
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]] | None:
        """The document of each chunk, and which chunks are there and let through; None where the index lags behind."""
        state = read_state(connection)
        if not is_complete(connection, state):
            return None
        with self._lock:
            self._facts.refresh(connection, state)
            there = self._facts.lengths() > 0
            allowed = self._allowed(connection, filters, state)
            return self._facts.documents(), there if allowed is None else there & allowed

    # Terms

    def _terms(self, connection: apsw.Connection, query: LexicalQuery, state: State) -> list[TermPostings]:
        """The postings of each different term of the query; the forms of a term count as one word."""
        repeats: dict[tuple[str, ...], int] = {}
        for term in query.terms:
            repeats[term.forms] = repeats.get(term.forms, 0) + 1
        self._words.refresh(state)
        words = ((self._word(connection, forms, state), times) for forms, times in repeats.items())
        return [TermPostings(times, word.chunks, word.body, word.head) for word, times in words if word.count]

    def _word(self, connection: apsw.Connection, forms: tuple[str, ...], state: State) -> TermPostings:
        """All forms of a word as one term; a long list is kept, for the common words are asked for again and again."""
        known = self._words.find(forms)
        if known is not None:
            return known
        found = [self._form(connection, form, state) for form in forms]
        word = _as_one([postings for postings in found if postings.count])
        self._words.keep(forms, word)
        return word

    def _count(self, connection: apsw.Connection, form: str, state: State) -> int:
        known = self._words.counts.get(form)
        if known is None:
            known = self._words.counts[form] = self._form(connection, form, state).count
        return known

    def _form(self, connection: apsw.Connection, form: str, state: State) -> TermPostings:
        if self._words.segments is None:
            rows = fetch_rows(connection, "SELECT id FROM index_segments ORDER BY first_chunk")
            self._words.segments = tuple(int(row[0]) for row in rows)
        pieces = [self._segment_postings(connection, segment_id, form) for segment_id in self._words.segments]
        pieces = [piece for piece in pieces if piece[1]]
        if len(pieces) == 1:
            term = TermPostings(1, *pieces[0])
        else:
            chunks, body, head = zip(*pieces, strict=True) if pieces else ((), (), ())
            term = TermPostings(1, b"".join(chunks), b"".join(body), b"".join(head))
        return self._facts.without_gone(term) if state.gone and term.count else term

    def _segment_postings(self, connection: apsw.Connection, segment_id: int, form: str) -> tuple[bytes, bytes, bytes]:
        known = self._postings.get((segment_id, form))
        if known is not None:
            self._postings.move_to_end((segment_id, form))
            return known
        start, end = _find_term(connection, segment_id, form)
        postings = read_postings(connection, segment_id, start, end) if end > start else (b"", b"", b"")
        self._postings[segment_id, form] = postings
        self._postings_bytes += len(postings[1]) * 6 + 200
        while self._postings_bytes > _CACHED_BYTES:
            _, dropped = self._postings.popitem(last=False)
            self._postings_bytes -= len(dropped[1]) * 6 + 200
        return postings

    # Scores

    def _ranked(
        self,
        connection: apsw.Connection,
        terms: Sequence[TermPostings],
        filters: Filters,
        state: State,
        limit: int,
    ) -> list[tuple[int, float]]:
        if not terms or not state.chunks:
            return []
        average = state.length / state.chunks
        depth = limit * 2
        while True:
            if self._is_small(terms, filters):
                scored = score_simply(terms, self._facts.lengths_view(), average, state.chunks, depth)
            else:
                allowed = self._allowed(connection, filters, state)
                scored = self._score_many(terms, average, state, allowed, depth)
            best = self._best_of_documents(scored)
            if len(best) >= limit or len(scored) < depth:
                return best[:limit]
            depth *= 4

    def _score_many(
        self,
        terms: Sequence[TermPostings],
        average: float,
        state: State,
        allowed: npt.NDArray[np.bool_] | None,
        depth: int,
    ) -> list[tuple[int, float]]:
        import numpy as np

        if self._dense is None or len(self._dense) != self._facts.size:
            self._dense = np.zeros(self._facts.size)
        norms = self._facts.norms(average)
        weighed = [CachedTerm(term, norms, self._words) for term in terms]
        return score_many(weighed, self._dense, state.chunks, allowed, depth)

    def _is_small(self, terms: Sequence[TermPostings], filters: Filters) -> bool:
        """Whether numpy is not worth its import: for a process that asks once and ends, as a command does."""
        if "numpy" in sys.modules or not filters.is_empty or self._searches > _FEW_SEARCHES:
            return False
        return sum(term.count for term in terms) <= _FEW_POSTINGS

    def _best_of_documents(self, scored: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        documents = self._facts.documents_view()
        best: dict[int, tuple[int, float]] = {}
        for chunk, score in scored:
            best.setdefault(documents[chunk], (chunk, score))
        return list(best.values())

    def _allowed(self, connection: apsw.Connection, filters: Filters, state: State) -> npt.NDArray[np.bool_] | None:
        """Which chunks the filters let through; None where they let all."""
        if filters.is_empty:
            return None
        known = self._masks.get(filters)
        if known is not None and known[0] == state.change:
            return known[1]  # type: ignore[no-any-return]
        import numpy as np

        where = condition(filters)
        rows = fetch_rows(connection, f"SELECT d.id FROM documents d WHERE {where.sql}", where.bindings)
        ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        documents = self._facts.documents()
        is_wanted = np.zeros(int(max(documents.max(initial=0), ids.max(initial=0))) + 1, bool)
        is_wanted[ids] = True
        allowed: npt.NDArray[np.bool_] = is_wanted[documents]
        self._masks[filters] = (state.change, allowed)
        while len(self._masks) > _MASKS:
            self._masks.popitem(last=False)
        return allowed


class _ChunkFacts:
    """What is known of each chunk, by its id: read once, then only where it changed."""

    def __init__(self) -> None:
        self._change = -1
        self._blocks: dict[int, tuple[bytes, bytes, bytes]] = {}
        self._columns = (b"", b"", b"")
        self._norms: tuple[float, npt.NDArray[np.float64]] | None = None

    @property
    def size(self) -> int:
        return len(self._columns[2])

    def refresh(self, connection: apsw.Connection, state: State) -> None:
        if state.change == self._change:
            return
        if state.change < self._change:
            self._blocks.clear()
            self._change = -1
        rows = fetch_rows(
            connection,
            "SELECT number, documents, lengths, kinds FROM index_chunks WHERE change > ?",
            (self._change,),
        )
        self._blocks.update({number: columns for number, *columns in rows})
        empty = (bytes(CHUNKS_A_BLOCK * 4), bytes(CHUNKS_A_BLOCK * 2), bytes(CHUNKS_A_BLOCK))
        ordered = [self._blocks.get(number, empty) for number in range(max(self._blocks, default=-1) + 1)]
        documents, lengths, kinds = zip(*ordered, strict=True) if ordered else ((), (), ())
        self._columns = (b"".join(documents), b"".join(lengths), b"".join(kinds))
        self._change = state.change
        self._norms = None

    def documents_view(self) -> memoryview:
        return memoryview(self._columns[0]).cast("I")

    def lengths_view(self) -> memoryview:
        return memoryview(self._columns[1]).cast("H")

    def documents(self) -> npt.NDArray[np.uint32]:
        import numpy as np

        return np.frombuffer(self._columns[0], np.uint32)

    def lengths(self) -> npt.NDArray[np.uint16]:
        import numpy as np

        return np.frombuffer(self._columns[1], np.uint16)

    def kinds(self) -> npt.NDArray[np.uint8]:
        import numpy as np

        return np.frombuffer(self._columns[2], np.uint8)

    def norms(self, average: float) -> npt.NDArray[np.float64]:
        import numpy as np

        if self._norms is None or self._norms[0] != average:
            self._norms = (average, norms(np.frombuffer(self._columns[1], np.uint16), average))
        return self._norms[1]

    def without_gone(self, term: TermPostings) -> TermPostings:
        """The postings of chunks that are still there."""
        if term.count > FEW_CHUNKS:
            import numpy as np

            numbers = np.frombuffer(term.chunks, np.uint32)
            there = np.frombuffer(self._columns[1], np.uint16)[numbers] > 0
            columns = (numbers, np.frombuffer(term.body, np.uint8), np.frombuffer(term.head, np.uint8))
            return TermPostings(term.repeats, *(column[there].tobytes() for column in columns))
        lengths = self.lengths_view()
        chunks = array("I", term.chunks)
        kept = [at for at, chunk in enumerate(chunks) if lengths[chunk]]
        if len(kept) == len(chunks):
            return term
        return TermPostings(
            term.repeats,
            array("I", [chunks[at] for at in kept]).tobytes(),
            bytes(term.body[at] for at in kept),
            bytes(term.head[at] for at in kept),
        )


def _find_term(connection: apsw.Connection, segment_id: int, form: str) -> tuple[int, int]:
    """From which posting of the segment to which a term's postings go."""
    row = fetch_one(
        connection,
        "SELECT first_posting, terms, counts FROM index_terms WHERE segment_id = ? AND first_term <= ?"
        " ORDER BY first_term DESC LIMIT 1",
        (segment_id, form),
    )
    if row is None:
        return 0, 0
    terms = row[1].split("\n")
    at = bisect_left(terms, form)
    if at == len(terms) or terms[at] != form:
        return 0, 0
    counts = array("I", row[2])
    start = int(row[0]) + sum(counts[:at])
    return start, start + counts[at]


def _as_one(found: Sequence[TermPostings]) -> TermPostings:
    """Several forms of a word as one term: a chunk has it as often as it has all of them together."""
    if len(found) < 2:
        return found[0] if found else TermPostings(1, b"", b"", b"")
    if sum(term.count for term in found) > FEW_CHUNKS:
        return _many_as_one(found)
    weights: dict[int, tuple[int, int]] = {}
    for term in found:
        for chunk, body, head in zip(array("I", term.chunks), term.body, term.head, strict=True):
            before = weights.get(chunk, (0, 0))
            weights[chunk] = (min(before[0] + body, 255), min(before[1] + head, 255))
    chunks = sorted(weights)
    return TermPostings(
        1,
        array("I", chunks).tobytes(),
        bytes(weights[chunk][0] for chunk in chunks),
        bytes(weights[chunk][1] for chunk in chunks),
    )


def _many_as_one(found: Sequence[TermPostings]) -> TermPostings:
    """The shorter lists are let into the longest, one after the other."""
    import numpy as np

    longest, *shorter = sorted(found, key=lambda term: term.count, reverse=True)
    chunks = np.frombuffer(longest.chunks, np.uint32)
    body, head = (np.frombuffer(column, np.uint8).astype(np.uint16) for column in (longest.body, longest.head))
    for term in shorter:
        added = np.frombuffer(term.chunks, np.uint32)
        columns = [np.frombuffer(column, np.uint8) for column in (term.body, term.head)]
        places = np.searchsorted(chunks, added)
        has = chunks[np.minimum(places, len(chunks) - 1)] == added
        for kept, column in zip((body, head), columns, strict=True):
            kept[places[has]] += column[has]
        is_new = ~has
        if is_new.any():
            at = places[is_new]
            chunks = np.insert(chunks, at, added[is_new])
            body, head = (
                np.insert(kept, at, column[is_new]) for kept, column in zip((body, head), columns, strict=True)
            )
    counts = (np.minimum(column, 255).astype(np.uint8).tobytes() for column in (body, head))
    return TermPostings(1, chunks.tobytes(), *counts)


def _phrase_postings(chunks: Sequence[int]) -> TermPostings:
    """A phrase counts like a word that these chunks say once."""
    return TermPostings(1, array("I", chunks).tobytes(), bytes([1]) * len(chunks), bytes(len(chunks)))
