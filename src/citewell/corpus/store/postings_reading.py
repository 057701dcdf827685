"""Reading the index that ranks: the postings of a query's terms, what is known of each chunk, and caches of both.

Segments never change, so what was read of one stays true; chunks are read again where `index_state` says they changed.
Everything belongs to the read transaction of the search, so a writer next door never shows half of its work.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import apsw

from citewell.corpus.postings.scoring import TermPostings, norms, score_many, score_simply
from citewell.corpus.store.filters import condition
from citewell.corpus.store.postings_layout import CHUNKS_A_BLOCK, State, is_complete, read_postings, read_state
from citewell.corpus.store.postings_words import FEW_CHUNKS, Weighed, Words
from citewell.database.sqlite import fetch_one, fetch_rows
from citewell.domain.counts import CorpusMatches
from citewell.domain.queries import Filters, LexicalQuery

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
        self._words = Words()
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
        weighed = [Weighed(term, norms, self._words) for term in terms]
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
