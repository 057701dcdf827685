"""Writing the index that ranks: each function is one step inside the transaction of what it describes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from citewell.corpus.indexing import Described, terms_of_chunk
from citewell.corpus.postings.merging import Postings, Source, merge
from citewell.corpus.postings.segments import Segment, build_segment, chunk_length
from citewell.corpus.store.postings_layout import (
    CHUNKS_A_BLOCK,
    POSTINGS_A_BLOCK,
    IndexBatch,
    State,
    kind_code,
    read_postings,
    read_state,
)
from citewell.corpus.store.reading import text_slice
from citewell.corpus.store.vectors_writing import forget_vectors
from citewell.database.sqlite import fetch_one, fetch_rows, fetch_value
from citewell.domain.documents import Kind
from citewell.domain.prepared import ChunkTerms
from citewell.domain.values import dataclass

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
    documents: dict[int, tuple[str, Kind, str, Described]] = {}
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


def _described(connection: apsw.Connection, document_id: int) -> tuple[str, Kind, str, Described]:
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
    described = Described.of(title, tuple(json.loads(aliases)), path or "", tags or "", language, meta_text)
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


def _source(connection: apsw.Connection, segment: SegmentRow) -> Source:
    rows = fetch_rows(
        connection, "SELECT terms, counts FROM index_terms WHERE segment_id = ? ORDER BY first_term", (segment.id,)
    )
    terms = [term for row in rows for term in row[0].split("\n")]
    counts = np.frombuffer(b"".join(row[1] for row in rows), np.uint32)

    def read(start: int, end: int) -> Postings:
        chunks, body, head = read_postings(connection, segment.id, start, end)
        return np.frombuffer(chunks, np.uint32), np.frombuffer(body, np.uint8), np.frombuffer(head, np.uint8)

    return Source(terms, counts, read)


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
