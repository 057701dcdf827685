"""The words of the full-text index in order: a stretch of them, for finding what a misspelled word was meant to be."""

from __future__ import annotations

import apsw

from citewell.database.sqlite import fetch_rows

# A stretch longer than this is looked at in part: a search must not wait for a vocabulary of millions.
MOST_WORDS = 100_000


def words_beginning(
    connection: apsw.Connection, start: str, shortest: int, longest: int, most: int = MOST_WORDS
) -> list[tuple[str, int]]:
    """Indexed words that begin so, of a length between two, each with the number of chunks that have it."""
    rows = fetch_rows(
        connection,
        "SELECT term, doc FROM (SELECT term, doc FROM chunk_vocabulary WHERE term >= ? AND term < ? LIMIT ?)"
        " WHERE length(term) BETWEEN ? AND ?",
        (start, start + "\U0010ffff", most, shortest, longest),
    )
    return [(str(term), int(count)) for term, count in rows if term.isalpha()]
