"""Writing the index that ranks: each function is one step inside the transaction of what it describes."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from citewell.store.bm25 import (
    CHUNKS_A_BLOCK,
    POSTINGS_A_BLOCK,
    IndexBatch,
    State,
    kind_code,
    read_postings,
    read_state,
)
from citewell.store.port import ChunkTerms
from citewell.store.prepare import DocumentTerms, terms_of_chunk
from citewell.store.read import text_slice
from citewell.store.sqlite import fetch_one, fetch_rows, fetch_value
from citewell.store.vectors_write import forget_vectors
from citewell.text.documents import Kind

# One segment of the index: for every term, the chunks it occurs in and how heavily. Pure.
#
# Terms are in order, and the postings of a term are in the order of the chunks. A posting has two weights: how often
# the body of the chunk says the term, and how much its title, headings, tags and compounds do, counted in halves.


Numbers: TypeAlias = npt.NDArray[np.uint32]
Keys: TypeAlias = npt.NDArray[np.uint64]
Weights: TypeAlias = npt.NDArray[np.uint8]

# In halves of a word of the body: a title counts twice, headings one and a half times, a whole compound half.
_TITLE, _HEADINGS, _TAGS, _COMPOUNDS = 4, 3, 2, 1

_MOST = 255
_CHUNK_BITS = np.uint64(32)
_CHUNK_MASK = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of all terms one after the other; `counts[i]` of them belong to `terms[i]`."""

    terms: Sequence[str]
    counts: Numbers
    chunks: Numbers
    body: Weights
    head: Weights


class _Vocabulary(dict[str, int]):
    """Numbers terms in the order they are first seen."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def chunk_length(terms: ChunkTerms) -> int:
    """How long a chunk is to the ranking: the words of its title, headings and body."""
    return sum(column.count(" ") + 1 for column in (terms.title, terms.headings, terms.body) if column)


def build_segment(chunks: Sequence[tuple[int, ChunkTerms]]) -> Segment:
    """The segment of some chunks, given with rising ids."""
    vocabulary = _Vocabulary()
    body, body_sizes = _numbered(vocabulary, (terms.body for _, terms in chunks))
    columns = [
        (_numbered(vocabulary, (getattr(terms, name) for _, terms in chunks)), weight)
        for name, weight in (("title", _TITLE), ("headings", _HEADINGS), ("tags", _TAGS), ("compounds", _COMPOUNDS))
    ]
    names = sorted(vocabulary)
    order = np.empty(len(names), np.uint64)
    numbers = np.fromiter(map(vocabulary.__getitem__, names), np.int64, len(names))
    order[numbers] = np.arange(len(names), dtype=np.uint64)

    body_keys, body_counts = _counted(_keys(order, body, body_sizes))
    head_keys = np.concatenate([_keys(order, found, sizes) for (found, sizes), _ in columns])
    head_weights = np.concatenate([np.full(len(found), weight, np.int64) for (found, _), weight in columns])
    sorting = np.argsort(head_keys)
    head_keys, starts = _firsts(head_keys[sorting])
    head_sums = np.add.reduceat(head_weights[sorting], starts) if len(starts) else starts

    keys, _ = _firsts(np.sort(np.concatenate((body_keys, head_keys)), kind="stable"))
    in_body, in_head = np.zeros(len(keys), np.uint8), np.zeros(len(keys), np.uint8)
    in_body[np.searchsorted(keys, body_keys)] = np.minimum(body_counts, _MOST)
    in_head[np.searchsorted(keys, head_keys)] = np.minimum(head_sums, _MOST)
    ids = np.fromiter((chunk_id for chunk_id, _ in chunks), np.uint32, len(chunks))
    return Segment(
        terms=names,
        counts=np.bincount((keys >> _CHUNK_BITS).astype(np.int64), minlength=len(names)).astype(np.uint32),
        chunks=ids[(keys & _CHUNK_MASK).astype(np.int64)],
        body=in_body,
        head=in_head,
    )


def _numbered(vocabulary: _Vocabulary, texts: Iterable[str]) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Every term of every text by its number, and how many each text has."""
    numbers, sizes = array("I"), array("q")
    number = vocabulary.__getitem__
    for text in texts:
        words = text.split()
        numbers.extend(map(number, words))
        sizes.append(len(words))
    return np.frombuffer(numbers, np.uint32), np.frombuffer(sizes, np.int64)


def _keys(order: npt.NDArray[np.uint64], numbers: Numbers, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Term and chunk in one number that sorts by both."""
    chunks = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    return (order[numbers] << _CHUNK_BITS) | chunks


def _firsts(keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Each of these sorted keys once, and where it stands first."""
    is_first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return keys[starts], starts


def _counted(keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Each key once, in order, with how often it occurs."""
    keys.sort()
    distinct, starts = _firsts(keys)
    return distinct, np.diff(starts, append=len(keys))


# Several segments become one, without the chunks that are gone. Pure; a bounded part of them is held at a time.


_PART_POSTINGS = 2_000_000
_PART_TERMS = 60_000  # fits the 16 bits that numpy sorts fastest

Postings = tuple[Numbers, Weights, Weights]
Live = Callable[[Numbers], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class SegmentSource:
    """A segment to be merged: its terms are in memory, its postings are read in stretches."""

    terms: Sequence[str]
    counts: Numbers
    read: Callable[[int, int], Postings]


def merge(sources: Sequence[SegmentSource], is_live: Live) -> Iterator[Segment]:
    """The merged segment, in parts that follow each other in the order of the terms.

    The sources are given in the order of their chunks, of which no two share any.
    """
    names = sorted(set().union(*(source.terms for source in sources)))
    place = {name: number for number, name in enumerate(names)}
    places = [np.fromiter(map(place.__getitem__, source.terms), np.int64, len(source.terms)) for source in sources]
    totals = np.zeros(len(names), np.int64)
    for source, where in zip(sources, places, strict=True):
        totals[where] += source.counts
    del place
    starts = [np.concatenate(([0], np.cumsum(source.counts, dtype=np.int64))) for source in sources]
    for low, high in _parts(totals):
        pieces: list[tuple[npt.NDArray[np.uint16], Postings]] = []
        for source, where, start in zip(sources, places, starts, strict=True):
            first, last = (int(at) for at in np.searchsorted(where, (low, high)))
            if first == last:
                continue
            owners = np.repeat((where[first:last] - low).astype(np.uint16), source.counts[first:last])
            pieces.append((owners, source.read(int(start[first]), int(start[last]))))
        yield _sorted(names[low:high], pieces, is_live)


def _parts(totals: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Stretches of terms with a bounded number of postings."""
    ends = np.cumsum(totals)
    low = 0
    while low < len(totals):
        before = int(ends[low - 1]) if low else 0
        high = int(np.searchsorted(ends, before + _PART_POSTINGS, side="right"))
        high = min(max(high, low + 1), low + _PART_TERMS, len(totals))
        yield low, high
        low = high


def _sorted(names: Sequence[str], pieces: Sequence[tuple[npt.NDArray[np.uint16], Postings]], is_live: Live) -> Segment:
    owners = np.concatenate([owner for owner, _ in pieces])
    chunks, body, head = (np.concatenate([postings[n] for _, postings in pieces]) for n in range(3))
    order = np.argsort(owners, kind="stable")
    order = order[is_live(chunks[order])]
    owners = owners[order]
    counts = np.bincount(owners, minlength=len(names)).astype(np.uint32)
    kept = counts > 0
    terms = names if kept.all() else [name for name, keep in zip(names, kept, strict=True) if keep]
    return Segment(terms, counts[kept], chunks[order], body[order], head[order])


TERMS_A_BLOCK = 128
_LONGEST = 65_535
# While much is added, so many segments may wait to be merged.
_WAITING = 32
# Afterwards no segment is smaller than so many times all that follow it: few segments, and little is written twice.
_RATIO = 3
_REBUILD_CHUNKS = 2_000
_COMMON_TERMS = 4_096
_COUNT_AGAIN = 20  # after a change of one part in so many


def open_batch(connection: apsw.Connection) -> IndexBatch:
    """A new batch; ids of chunks that are gone are never given again, since segments may still hold them."""
    last = int(fetch_value(connection, "SELECT coalesce(max(id), 0) FROM chunks"))
    return IndexBatch(max(last, read_state(connection).last_chunk) + 1)


def write_batch(connection: apsw.Connection, batch: IndexBatch) -> None:
    """Bring the index into step with the chunks of this transaction."""
    if not batch.chunks and not batch.gone:
        return
    forget_vectors(connection, batch.gone)
    state = read_state(connection)
    if not is_complete_before(connection, state, batch):
        # An index that lags behind is made anew as a whole.
        connection.execute("UPDATE index_state SET change = change + 1")
        return
    change = state.change + 1
    if batch.chunks:
        _put_segment(connection, [build_segment(batch.chunks)], batch.chunks[0][0], batch.chunks[-1][0])
    lengths = [min(max(chunk_length(terms), 1), _LONGEST) for _, terms in batch.chunks]
    _put_chunks(connection, change, batch, lengths)
    removed = _remove_chunks(connection, change, batch.gone)
    connection.execute(
        "UPDATE index_state SET change = ?, last_chunk = ?, chunks = chunks + ?, gone = gone + ?, length = length + ?",
        (
            change,
            max(state.last_chunk, batch.next_chunk - 1),
            len(lengths) - len(removed),
            len(removed),
            sum(lengths) - sum(removed),
        ),
    )
    waiting = [segment for segment in _segments(connection) if segment.postings < _WAITING * POSTINGS_A_BLOCK * 8]
    if len(waiting) >= _WAITING:
        _merge_tail(connection, waiting)


def is_complete_before(connection: apsw.Connection, state: State, batch: IndexBatch) -> bool:
    """Whether the index held every chunk before this transaction added its own."""
    first_new = batch.chunks[0][0] if batch.chunks else batch.next_chunk
    sql = "SELECT coalesce(max(id), 0) FROM chunks WHERE id < ?"
    return int(fetch_value(connection, sql, (first_new,))) <= state.last_chunk


def tidy(connection: apsw.Connection) -> None:
    """Merge what was added with what was there, where that pays."""
    segments = _segments(connection)
    following = sum(segment.postings for segment in segments)
    for at, segment in enumerate(segments):
        following -= segment.postings
        if segment.postings < _RATIO * following:
            _merge_tail(connection, segments[at:])
            break
    _count_common(connection)


def _count_common(connection: apsw.Connection) -> None:
    """Count the commonest terms anew, once the corpus has grown or shrunk enough for it to matter."""
    chunks = read_state(connection).chunks
    counted = int(fetch_value(connection, "SELECT coalesce(max(total), 0) FROM index_common"))
    if abs(chunks - counted) * _COUNT_AGAIN <= counted:
        return
    counts: Counter[str] = Counter()
    for terms, numbers in fetch_rows(connection, "SELECT terms, counts FROM index_terms"):
        found = np.frombuffer(numbers, np.uint32)
        # A term that one chunk in a thousand has is none of the commonest.
        if int(found.max()) * 1_000 >= chunks:
            counts.update({name: int(count) for name, count in zip(terms.split("\n"), found, strict=True)})
    connection.execute("DELETE FROM index_common")
    common = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:_COMMON_TERMS]
    connection.executemany("INSERT INTO index_common VALUES (?,?,?)", ((*entry, chunks) for entry in common))


def forget(connection: apsw.Connection, chunk_ids: Iterable[int]) -> None:
    """Write segments that hold these chunks anew, so that none of their words stays behind."""
    ids = sorted(chunk_ids)
    for segment in _segments(connection):
        if any(segment.first_chunk <= chunk <= segment.last_chunk for chunk in ids):
            _merge(connection, [segment])


def rebuild(connection: apsw.Connection) -> None:
    """Make the whole index from the tables it is derived from."""
    for table in ("index_common", "index_postings", "index_terms", "index_segments", "index_chunks"):
        connection.execute(f"DELETE FROM {table}")
    last = int(fetch_value(connection, "SELECT coalesce(max(id), 0) FROM chunks"))
    before = read_state(connection)
    connection.execute(
        "INSERT OR REPLACE INTO index_state VALUES (1, ?, ?, 0, 0, 0, 0)",
        (before.change + 1, max(last, before.last_chunk)),
    )
    batch = IndexBatch(max(last, before.last_chunk) + 1)
    for document_id, source_type, kind, chunk_id, terms in _stored_chunks(connection):
        batch.chunks.append((chunk_id, terms))
        batch.documents.append(document_id)
        batch.kinds.append(kind_code(source_type, kind))
        if len(batch.chunks) >= _REBUILD_CHUNKS:
            write_batch(connection, batch)
            batch = IndexBatch(batch.next_chunk)
    write_batch(connection, batch)
    tidy(connection)


def _stored_chunks(connection: apsw.Connection) -> Iterator[tuple[int, str, Kind, int, ChunkTerms]]:
    """Every chunk with its terms, in the order of the ids."""
    documents: dict[int, tuple[str, Kind, str, DocumentTerms]] = {}
    after = 0
    while True:
        rows = fetch_rows(
            connection,
            "SELECT id, document_id, ordinal, start, end, heading_path FROM chunks WHERE id > ? ORDER BY id LIMIT ?",
            (after, _REBUILD_CHUNKS),
        )
        if not rows:
            return
        wanted = {int(row[1]) for row in rows}
        documents = {number: known for number, known in documents.items() if number in wanted}
        for number in wanted - documents.keys():
            documents[number] = _described(connection, number)
        for chunk_id, document_id, ordinal, start, end, path in rows:
            source_type, kind, digest, described = documents[document_id]
            body = text_slice(connection, digest, start, end)
            terms = terms_of_chunk(described, int(ordinal), tuple(json.loads(path)), body)
            yield document_id, source_type, kind, chunk_id, terms
        after = int(rows[-1][0])


def _described(connection: apsw.Connection, document_id: int) -> tuple[str, Kind, str, DocumentTerms]:
    row = fetch_one(
        connection,
        "SELECT d.source_type, d.kind, x.content_hash, d.title, d.aliases, iif(d.part = '', d.note_path, ''),"
        " d.language, d.meta_text,"
        " (SELECT group_concat(tag, ' ') FROM (SELECT tag FROM tags WHERE document_id = d.id ORDER BY folded))"
        " FROM documents d JOIN texts x ON x.id = d.text_id WHERE d.id = ?",
        (document_id,),
    )
    assert row is not None  # a chunk has a document
    source_type, kind, digest, title, aliases, path, language, meta_text, tags = row
    described = DocumentTerms.of(title, tuple(json.loads(aliases)), path or "", tags or "", language, meta_text)
    return source_type, kind, digest, described


# Segments


@dataclass(frozen=True, slots=True)
class SegmentRow:
    id: int
    first_chunk: int
    last_chunk: int
    postings: int


def _segments(connection: apsw.Connection) -> list[SegmentRow]:
    sql = "SELECT id, first_chunk, last_chunk, postings FROM index_segments ORDER BY first_chunk"
    return [SegmentRow(*row) for row in fetch_rows(connection, sql)]


def _put_segment(connection: apsw.Connection, parts: Iterable[Segment], first_chunk: int, last_chunk: int) -> None:
    """Store a segment that comes in parts, in the order of its terms."""
    connection.execute(
        "INSERT INTO index_segments(first_chunk, last_chunk, postings) VALUES (?,?,0)", (first_chunk, last_chunk)
    )
    segment_id = connection.last_insert_rowid()
    written = number = 0
    left: list[npt.NDArray[Any]] = [np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.uint8)]
    for part in parts:
        _put_terms(connection, segment_id, part, written + len(left[0]))
        added: list[npt.NDArray[Any]] = [part.chunks, part.body, part.head]
        left = [np.concatenate(pair) for pair in zip(left, added, strict=True)]
        full = len(left[0]) // POSTINGS_A_BLOCK * POSTINGS_A_BLOCK
        number = _put_postings(connection, segment_id, number, [column[:full] for column in left])
        left = [column[full:] for column in left]
        written += full
    _put_postings(connection, segment_id, number, left)
    connection.execute("UPDATE index_segments SET postings = ? WHERE id = ?", (written + len(left[0]), segment_id))
    connection.execute("UPDATE index_state SET segments = segments + 1")


def _put_terms(connection: apsw.Connection, segment_id: int, part: Segment, first_posting: int) -> None:
    starts = np.concatenate(([0], np.cumsum(part.counts, dtype=np.int64)))
    connection.executemany(
        "INSERT INTO index_terms VALUES (?,?,?,?,?)",
        (
            (
                segment_id,
                part.terms[at],
                first_posting + int(starts[at]),
                "\n".join(part.terms[at : at + TERMS_A_BLOCK]),
                part.counts[at : at + TERMS_A_BLOCK].tobytes(),
            )
            for at in range(0, len(part.terms), TERMS_A_BLOCK)
        ),
    )


def _put_postings(
    connection: apsw.Connection, segment_id: int, number: int, columns: Sequence[npt.NDArray[Any]]
) -> int:
    blocks = range(0, len(columns[0]), POSTINGS_A_BLOCK)
    connection.executemany(
        "INSERT INTO index_postings(segment_id, number, chunks, body, head) VALUES (?,?,?,?,?)",
        (
            (segment_id, number + index, *(column[at : at + POSTINGS_A_BLOCK].tobytes() for column in columns))
            for index, at in enumerate(blocks)
        ),
    )
    return number + len(blocks)


def _merge_tail(connection: apsw.Connection, segments: Sequence[SegmentRow]) -> None:
    if len(segments) > 1:
        _merge(connection, segments)


def _merge(connection: apsw.Connection, segments: Sequence[SegmentRow]) -> None:
    """Replace these neighbours by one segment of what is still there."""
    lengths = _all_lengths(connection)
    sources = [_source(connection, segment) for segment in segments]
    parts = merge(sources, lambda chunks: lengths[chunks] > 0)
    _put_segment(connection, parts, segments[0].first_chunk, segments[-1].last_chunk)
    for segment in segments:
        connection.execute("DELETE FROM index_postings WHERE segment_id = ?", (segment.id,))
        connection.execute("DELETE FROM index_terms WHERE segment_id = ?", (segment.id,))
        connection.execute("DELETE FROM index_segments WHERE id = ?", (segment.id,))
    # Once everything has been written anew, no segment holds a chunk that is gone.
    connection.execute(
        "UPDATE index_state SET change = change + 1, segments = segments - ?1,"
        " gone = CASE segments WHEN ?1 + 1 THEN 0 ELSE gone END",
        (len(segments),),
    )


def _source(connection: apsw.Connection, segment: SegmentRow) -> SegmentSource:
    rows = fetch_rows(
        connection, "SELECT terms, counts FROM index_terms WHERE segment_id = ? ORDER BY first_term", (segment.id,)
    )
    terms = [term for row in rows for term in row[0].split("\n")]
    counts = np.frombuffer(b"".join(row[1] for row in rows), np.uint32)

    def read(start: int, end: int) -> Postings:
        chunks, body, head = read_postings(connection, segment.id, start, end)
        return np.frombuffer(chunks, np.uint32), np.frombuffer(body, np.uint8), np.frombuffer(head, np.uint8)

    return SegmentSource(terms, counts, read)


# What is known of each chunk


def _put_chunks(connection: apsw.Connection, change: int, batch: IndexBatch, lengths: Sequence[int]) -> None:
    if not batch.chunks:
        return
    ids = np.fromiter((chunk_id for chunk_id, _ in batch.chunks), np.int64, len(batch.chunks))
    columns: tuple[npt.NDArray[Any], ...] = (
        np.asarray(batch.documents, np.uint32),
        np.asarray(lengths, np.uint16),
        np.asarray(batch.kinds, np.uint8),
    )
    for number in np.unique(ids // CHUNKS_A_BLOCK):
        inside = ids // CHUNKS_A_BLOCK == number
        places = ids[inside] % CHUNKS_A_BLOCK
        block = _chunk_block(connection, int(number))
        for stored, column in zip(block, columns, strict=True):
            stored[places] = column[inside]
        _put_block(connection, change, int(number), block)


def _remove_chunks(connection: apsw.Connection, change: int, gone: Sequence[int]) -> list[int]:
    """Mark chunks as gone; the lengths of those that were there."""
    removed: list[int] = []
    ids = np.asarray(sorted(set(gone)), np.int64)
    for number in np.unique(ids // CHUNKS_A_BLOCK):
        places = ids[ids // CHUNKS_A_BLOCK == number] % CHUNKS_A_BLOCK
        block = _chunk_block(connection, int(number))
        removed += [int(length) for length in block[1][places] if length]
        block[1][places] = 0
        _put_block(connection, change, int(number), block)
    return removed


def _chunk_block(connection: apsw.Connection, number: int) -> tuple[npt.NDArray[Any], ...]:
    row = fetch_one(connection, "SELECT documents, lengths, kinds FROM index_chunks WHERE number = ?", (number,))
    if row is None:
        size = CHUNKS_A_BLOCK
        return np.zeros(size, np.uint32), np.zeros(size, np.uint16), np.zeros(size, np.uint8)
    return (
        np.frombuffer(row[0], np.uint32).copy(),
        np.frombuffer(row[1], np.uint16).copy(),
        np.frombuffer(row[2], np.uint8).copy(),
    )


def _put_block(connection: apsw.Connection, change: int, number: int, block: Sequence[npt.NDArray[Any]]) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO index_chunks VALUES (?,?,?,?,?)",
        (number, change, *(column.tobytes() for column in block)),
    )


def _all_lengths(connection: apsw.Connection) -> npt.NDArray[np.uint16]:
    rows = fetch_rows(connection, "SELECT number, lengths FROM index_chunks ORDER BY number")
    lengths = np.zeros((int(rows[-1][0]) + 1) * CHUNKS_A_BLOCK if rows else 0, np.uint16)
    for number, stored in rows:
        lengths[number * CHUNKS_A_BLOCK : (number + 1) * CHUNKS_A_BLOCK] = np.frombuffer(stored, np.uint16)
    return lengths
