"""The index that ranks: built in pieces, merged, healed, it always says what one built at once would say."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import Citewell, Filters
from citewell.search.query import lexical_query
from citewell.store import bm25_write
from citewell.store.bm25 import (
    CachedTerm,
    TermPostings,
    WordCache,
    _as_one,
    _many_as_one,
    norms,
    score_many,
    score_simply,
)
from citewell.store.bm25_write import Postings, Segment, SegmentSource, build_segment, merge
from citewell.store.port import ChunkTerms
from citewell.store.sqlite import fetch_rows, fetch_value
from conftest import sqlite_corpus
from durability.programs import add, opened

WORDS = st.sampled_from(["kelp", "tide", "ash", "ñu", "海藻", "boat", "x", "node.js"])
TEXT = st.lists(WORDS, max_size=12).map(" ".join)
CHUNKS = st.lists(st.builds(ChunkTerms, TEXT, TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=12)


@given(CHUNKS, st.data())
def test_segments_merged_are_the_segment_built_at_once(chunks: list[ChunkTerms], data: st.DataObject) -> None:
    numbered = list(enumerate(chunks, start=1))
    gone = data.draw(st.sets(st.integers(1, len(chunks))))
    cut = data.draw(st.integers(1, len(chunks)))
    pieces = [build_segment(piece) for piece in (numbered[:cut], numbered[cut:]) if piece]
    is_live = np.ones(len(chunks) + 1, bool)
    is_live[list(gone)] = False
    merged = list(merge([_source(piece) for piece in pieces], lambda ids: is_live[ids]))
    whole = build_segment([entry for entry in numbered if entry[0] not in gone])
    assert [_postings(part) for part in merged if part.terms] == ([_postings(whole)] if whole.terms else [])


def _source(segment: Segment) -> SegmentSource:
    def read(start: int, end: int) -> Postings:
        return segment.chunks[start:end], segment.body[start:end], segment.head[start:end]

    return SegmentSource(segment.terms, segment.counts, read)


def _postings(segment: Segment) -> tuple[list[str], list[list[int]]]:
    return list(segment.terms), [c.tolist() for c in (segment.counts, segment.chunks, segment.body, segment.head)]


@st.composite
def _terms(draw: st.DrawFn) -> TermPostings:
    chunks = sorted(draw(st.sets(st.integers(0, 79), max_size=80)))
    said = st.lists(st.integers(1, 255), min_size=len(chunks), max_size=len(chunks)).map(bytes)
    above = st.binary(min_size=len(chunks), max_size=len(chunks))
    return TermPostings(draw(st.integers(1, 3)), array("I", chunks).tobytes(), draw(said), draw(above))


@settings(max_examples=300)
@given(st.lists(_terms(), max_size=6), st.lists(st.integers(1, 400), min_size=80, max_size=80), st.integers(1, 20))
def test_both_ways_of_scoring_give_the_same_bits(terms: list[TermPostings], lengths: list[int], depth: int) -> None:
    """A query is scored without numpy in a cold process and with it in a server: the answer must not tell which."""
    sized = array("H", lengths)
    average = sum(lengths) / len(lengths)
    simply = score_simply(terms, memoryview(sized), average, 80, depth)
    dense = np.zeros(80)
    lengths_norm = norms(np.frombuffer(sized, np.uint16), average)
    many = score_many([CachedTerm(term, lengths_norm, WordCache()) for term in terms], dense, 80, None, depth)
    assert simply == many
    assert not dense.any(), "the table is left as it was found"


@settings(max_examples=200)
@given(st.lists(_terms(), min_size=1, max_size=4))
def test_the_forms_of_a_word_are_one_word_whether_its_lists_are_short_or_long(found: list[TermPostings]) -> None:
    found = [term for term in found if term.count]
    weights: dict[int, tuple[int, int]] = {}
    for term in found:
        for chunk, body, head in zip(array("I", term.chunks), term.body, term.head, strict=True):
            before = weights.get(chunk, (0, 0))
            weights[chunk] = (min(before[0] + body, 255), min(before[1] + head, 255))
    for one in (_as_one(found), _many_as_one(found)) if found else ():
        assert list(array("I", one.chunks)) == sorted(weights)
        assert list(zip(one.body, one.head, strict=True)) == [weights[chunk] for chunk in sorted(weights)]


QUERIES = ("kelp at low tide", "the ash tree", "boat engine repair", "note 7", "harbour lights and kelp")


def _write(vault: Path, numbers: range, edition: int = 0) -> None:
    vault.mkdir(exist_ok=True)
    for number in numbers:
        words = ("kelp", "tide", "ash", "boat", "harbour", "engine", "lights")
        said = " ".join(words[(number * step + edition) % 7] for step in range(1, 30))
        (vault / f"n{number:03}.md").write_text(f"---\ntags: [t{number % 3}]\n---\n# Note {number}\n\n{said}\n")


def _answers(engine: Citewell) -> list[list[tuple[str, float]]]:
    return [_ranked(engine, query) for query in QUERIES]


def _ranked(engine: Citewell, query: str, filters: Filters | None = None) -> list[tuple[str, float]]:
    found = engine.store.rank(lexical_query(query, engine.store.languages()), filters or Filters(), 100)
    return [(candidate.document.source_key, candidate.score) for candidate in found]


def test_an_index_kept_up_to_date_ranks_like_one_made_anew(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    _write(vault, range(90))
    with opened(tmp_path / "data") as engine:
        add(engine, vault)
        for round_ in range(1, 5):
            _write(vault, range(round_ * 7, round_ * 7 + 9), edition=round_)
            (vault / f"n{80 + round_:03}.md").unlink()
            (vault / f"n{60 + round_:03}.md").rename(vault / f"moved{round_}.md")
            add(engine, vault)
        kept = _answers(engine)
        assert engine.store.check_integrity() == []
        with sqlite_corpus(engine).database.write() as connection:
            segments = fetch_value(connection, "SELECT count(*) FROM index_segments")
            bm25_write.rebuild(connection)
        assert kept == _answers(engine)
        assert segments <= 8


def test_search_goes_on_without_the_index_and_the_next_add_makes_it_anew(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    _write(vault, range(40))
    with opened(tmp_path / "data") as engine:
        add(engine, vault)
        before = _answers(engine)
        with sqlite_corpus(engine).database.write() as connection:
            connection.execute("DELETE FROM index_segments")
        found = engine.search("kelp at low tide", limit=100).results
        assert {row.source_key for row in found} == {key for key, _ in before[0]}
        assert engine.store.check_integrity() != []
        add(engine, vault)
        assert engine.store.check_integrity() == []
        assert _answers(engine) == before


def test_filters_narrow_what_is_ranked(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    _write(vault, range(40))
    with opened(tmp_path / "data") as engine:
        add(engine, vault)
        every = _ranked(engine, "kelp tide")
        tagged = {row.source_key for row in engine.search("kelp tide", limit=100).results if "t1" in row.user_tags}
        assert _ranked(engine, "kelp tide", Filters(tags=("t1",))) == [entry for entry in every if entry[0] in tagged]
        assert 0 < len(tagged) < len(every)


def test_a_removed_document_leaves_no_word_in_the_index(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    _write(vault, range(20))
    (vault / "secret.md").write_text("# Plans\n\nthe zanzibarine rendezvous\n")
    with opened(tmp_path / "data") as engine:
        add(engine, vault)
        assert engine.search("zanzibarine").results
        engine.corpus.remove(str(vault / "secret.md"))
        with sqlite_corpus(engine).database.read() as connection:
            terms = fetch_rows(connection, "SELECT terms FROM index_terms")
    assert not any("zanzibarin" in block for (block,) in terms)


def test_phrases_and_repeated_words_count(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# A\n\nlow tide at noon, high water later, and a tide of low spirits\n")
    (vault / "b.md").write_text("# B\n\nlow light, strong tide, low wind, tide tables\n")
    with opened(tmp_path / "data") as engine:
        add(engine, vault)
        assert engine.search('"tide at noon"').results[0].title == "A"
