"""How the index that ranks lies in `corpus.db`; reading and writing share this. No numpy: a search may do without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

import apsw

from citewell.database.sqlite import fetch_one, fetch_rows, fetch_value
from citewell.domain.documents import Kind, SourceType

if TYPE_CHECKING:
    from citewell.domain.prepared import ChunkTerms

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
