"""The vectors of one corpus: which chunks still need one, storing them, and the chunks nearest to a query.

What was read is kept until the database says it changed. A small corpus keeps all of its vectors in memory; of a large
one only their signs, 48 bytes a chunk, and the vectors of the best are read from disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import apsw

from citewell.store import fulltext
from citewell.store.bm25 import PostingsIndex
from citewell.store.port import Candidate, Filters, UnencodedChunk, UnencodedChunks, VectorCoverage
from citewell.store.read import text_slices
from citewell.store.sqlite import Database, fetch_one, fetch_rows, fetch_value
from citewell.text.sentences import properties_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from citewell.store.port import Vectors


# How vectors lie in `corpus.db`; reading and writing share this. No numpy: `status` needs it too.


VECTORS_A_BLOCK = 64
BITS_A_BLOCK = 1_024


@dataclass(frozen=True, slots=True)
class VectorState:
    """What the vectors say of themselves."""

    change: int
    model: str
    dimension: int
    last_chunk: int


def read_vector_state(connection: apsw.Connection) -> VectorState:
    row = fetch_one(connection, "SELECT change, model, dimension, last_chunk FROM vector_state")
    return VectorState(*row) if row else VectorState(0, "", 0, 0)


# So many chunk ids are compared one by one; beyond, the signs are scanned first: a hundred times faster, and of ten
# rows it finds 9.9 that the other way finds.
EXACT_CHUNKS = 10_000
RESCORED = 400
_RESCORED_A_ROW = 4
_SAYS_NOTHING = re.compile(r"untitled(?: \d+)?", re.IGNORECASE)


class VectorStore:
    """Vectors beside the chunks they were made from."""

    def __init__(self, database: Database, postings: PostingsIndex, exact_chunks: int = EXACT_CHUNKS) -> None:
        self._database = database
        self._postings = postings
        self._exact_chunks = exact_chunks
        self._lock = Lock()
        self._whole = _Blocks("SELECT number, vectors, scales FROM vector_blocks WHERE change > ?")
        self._signs = _Blocks("SELECT number, bits FROM vector_bits WHERE change > ?")

    # Encoding

    def coverage(self) -> VectorCoverage:
        """How many chunks have a vector, and which model made them."""
        with self._database.read() as connection:
            state = read_vector_state(connection)
            chunks = int(fetch_value(connection, "SELECT count(*) FROM chunks"))
            left = int(fetch_value(connection, "SELECT count(*) FROM chunks WHERE id > ?", (state.last_chunk,)))
        return VectorCoverage(state.model, chunks - left, left)

    def has_any(self) -> bool:
        """Whether anything is encoded, by whichever model."""
        with self._database.read() as connection:
            return read_vector_state(connection).last_chunk > 0

    def begin(self, model: str, dimension: int) -> None:
        """Encode with this model from now on; what another one made is dropped."""
        with self._database.read() as connection:
            if read_vector_state(connection).model == model:
                return
        from citewell.store.vectors_write import start_model

        with self._database.write() as connection:
            start_model(connection, model, dimension)

    def next_unencoded(self, limit: int) -> UnencodedChunks:
        """The chunks that follow the watermark."""
        with self._database.read() as connection:
            after = read_vector_state(connection).last_chunk
            rows = fetch_rows(
                connection,
                "SELECT c.id, d.title, c.heading_path, x.content_hash, c.start, c.end FROM chunks c"
                " JOIN documents d ON d.id = c.document_id JOIN texts x ON x.id = d.text_id"
                " WHERE c.id > ? ORDER BY c.id LIMIT ?",
                (after, limit),
            )
            bodies = text_slices(connection, [(row[3], row[4], row[5]) for row in rows])
        chunks = (
            UnencodedChunk(int(row[0]), f"{_place(row[1], json.loads(row[2]))}\n{_spoken(row[1], body)}".strip())
            for row, body in zip(rows, bodies, strict=True)
        )
        return UnencodedChunks(after, tuple(chunks))

    def put(self, model: str, after: int, ids: Sequence[int], vectors: Vectors) -> bool:
        """Store vectors of chunks; False where another process did so first."""
        from citewell.store.vectors_write import put_vectors

        with self._database.write() as connection:
            return put_vectors(connection, model, after, ids, vectors)

    # Searching

    def rank(self, model: str, query: Vectors, filters: Filters, limit: int) -> list[Candidate] | None:
        """The nearest chunk of each of the nearest documents; None where this model has no vectors to compare."""
        with self._database.read() as connection:
            state = read_vector_state(connection)
            if state.model != model or not state.last_chunk:
                return None
            with self._lock:
                known = self._postings.eligible(connection, filters)
                if known is None:
                    return None
                scored = self._nearest(connection, state, query.reshape(-1), known, limit)
            return fulltext.candidates(connection, scored)

    def similar_chunks(self, model: str, query: Vectors, keys: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """The similarity of every chunk of these documents that has a vector, by its document and span."""
        import numpy as np

        from citewell.store.vectors_write import similarities

        with self._database.read() as connection:
            state = read_vector_state(connection)
            if state.model != model or not state.last_chunk or not keys:
                return {}
            marks = ",".join("?" * len(keys))
            rows = fetch_rows(
                connection,
                "SELECT c.id, d.source_key, c.start, c.end FROM chunks c JOIN documents d ON d.id = c.document_id"
                f" WHERE d.source_key IN ({marks}) AND c.id <= ? ORDER BY c.id",
                (*keys, state.last_chunk),
            )
            ids = np.array([row[0] for row in rows], np.int64)
            scores = similarities(query.reshape(-1), *_read_vectors(connection, ids, state.dimension))
        return {(row[1], row[2], row[3]): float(score) for row, score in zip(rows, scores.tolist(), strict=True)}

    def _nearest(
        self,
        connection: apsw.Connection,
        state: VectorState,
        query: Vectors,
        known: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]],
        limit: int,
    ) -> list[tuple[int, float]]:
        documents, eligible = known
        if state.last_chunk > self._exact_chunks:
            return _best_of_documents(documents, *self._by_signs(connection, state, query, eligible, limit))[:limit]
        from citewell.store.vectors_write import best_rows

        scores, allowed = self._all_scores(connection, state, query, eligible)
        depth = limit * 4
        while True:
            rows = best_rows(scores, allowed, depth)
            best = _best_of_documents(documents, rows, scores[rows])
            if len(best) >= limit or len(rows) < depth:
                return best[:limit]
            depth *= 4

    def _all_scores(
        self,
        connection: apsw.Connection,
        state: VectorState,
        query: Vectors,
        eligible: npt.NDArray[np.bool_],
    ) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        """The score of every vector, and which of them count."""
        import numpy as np

        from citewell.store.vectors_write import similarities

        if self._whole.refresh(connection, state):
            width = VECTORS_A_BLOCK * state.dimension
            stored = self._whole.joined((width, VECTORS_A_BLOCK * 4))
            self._whole.arrays = (
                np.frombuffer(stored[0], np.int8).reshape(-1, state.dimension),
                np.frombuffer(stored[1], np.float32),
            )
        vectors, scales = self._whole.arrays
        return similarities(query, vectors, scales), (scales > 0) & _fitted(eligible, len(scales))

    def _by_signs(
        self,
        connection: apsw.Connection,
        state: VectorState,
        query: Vectors,
        eligible: npt.NDArray[np.bool_],
        limit: int,
    ) -> tuple[npt.NDArray[np.int64], Vectors]:
        """The rows whose signs are nearest, with their exact scores, best first."""
        import numpy as np

        from citewell.store.vectors_write import nearest_signs, similarities

        if self._signs.refresh(connection, state):
            (stored,) = self._signs.joined((BITS_A_BLOCK * state.dimension // 8,))
            words = np.frombuffer(stored, np.uint64).reshape(-1, state.dimension // 64)
            self._signs.arrays = (np.ascontiguousarray(words.T), words.any(axis=1))
        bits, there = self._signs.arrays
        allowed = there & _fitted(eligible, len(there))
        rows = np.sort(nearest_signs(query, bits, allowed, max(RESCORED, limit * _RESCORED_A_ROW)))
        scores = similarities(query, *_read_vectors(connection, rows, state.dimension))
        order = np.lexsort((rows, -scores))
        return rows[order], scores[order]


class _Blocks:
    """Blocks of a table as they were last read, and the arrays made of them."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._change = -1
        self._model = ""
        self._blocks: dict[int, tuple[bytes, ...]] = {}
        self.arrays: tuple[Any, Any] = (None, None)

    def refresh(self, connection: apsw.Connection, state: VectorState) -> bool:
        """Read what changed; whether anything did."""
        if (state.model, state.change) == (self._model, self._change):
            return False
        if state.model != self._model or state.change < self._change:
            self._blocks.clear()
            self._change = -1
        self._blocks.update({row[0]: tuple(row[1:]) for row in fetch_rows(connection, self._sql, (self._change,))})
        self._model, self._change = state.model, state.change
        return True

    def joined(self, sizes: tuple[int, ...]) -> list[bytes]:
        """Each column as one run of bytes; a block that is not there is empty."""
        empty = tuple(bytes(size) for size in sizes)
        ordered = [self._blocks.get(number, empty) for number in range(max(self._blocks, default=-1) + 1)]
        return [b"".join(block[column] for block in ordered) for column in range(len(sizes))]


def _best_of_documents(
    documents: npt.NDArray[np.uint32], rows: npt.NDArray[np.int64], scores: Vectors
) -> list[tuple[int, float]]:
    best: dict[int, tuple[int, float]] = {}
    for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
        best.setdefault(int(documents[row]), (row, score))
    return list(best.values())


def _place(title: str, headings: Sequence[str]) -> str:
    named = [] if _SAYS_NOTHING.fullmatch(title) else [title]
    return " > ".join((*named, *(heading for heading in headings if heading != title)))


def _spoken(title: str, body: str) -> str:
    """What a model reads of a chunk: without the rule below the front matter, and the title said only once."""
    properties, rest = properties_of(body)
    kept = [body[start:end] for start, end in properties]
    told = [one for one in kept if one.partition(":")[2].strip(" \t\"'") != title]
    return "\n".join((*told, body[rest:].lstrip("\n"))) if properties else body


def _fitted(mask: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.bool_]:
    """The mask, cut or filled to this size."""
    import numpy as np

    fitted = np.zeros(size, bool)
    shared = min(size, len(mask))
    fitted[:shared] = mask[:shared]
    return fitted


def _read_vectors(
    connection: apsw.Connection, rows: npt.NDArray[np.int64], dimension: int
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """The vectors of these chunks, in rising order."""
    import numpy as np

    wanted = json.dumps(sorted({int(row) // VECTORS_A_BLOCK for row in rows}))
    sql = "SELECT number, vectors, scales FROM vector_blocks WHERE number IN (SELECT value FROM json_each(?))"
    blocks = {int(row[0]): row for row in fetch_rows(connection, sql, (wanted,))}
    vectors = np.zeros((len(rows), dimension), np.int8)
    scales = np.zeros(len(rows), np.float32)
    for at, row in enumerate(rows.tolist()):
        number, place = divmod(row, VECTORS_A_BLOCK)
        if number in blocks:
            vectors[at] = np.frombuffer(blocks[number][1], np.int8, dimension, place * dimension)
            scales[at] = np.frombuffer(blocks[number][2], np.float32, 1, place * 4)[0]
    return vectors, scales
