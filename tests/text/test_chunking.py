"""Chunks are deterministic, exact, heading-aware, and neither too large nor split needlessly."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from citewell.text.canonical import canonicalize
from citewell.text.chunks import MAX_CHARS, chunk_document
from citewell.text.documents import Section

BLOCK = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=80),
    st.sampled_from(["word " * 300, "\n\n", "\n", "Sentence one. " * 100, "x" * 5000, "é\u0301" * 900, "👩‍👩‍👧" * 700]),
)
TEXT = st.lists(BLOCK, max_size=12).map(lambda blocks: canonicalize("".join(blocks)))


def whole(text: str) -> tuple[Section, ...]:
    return (Section("user_note", 0, len(text)),)


@given(TEXT)
def test_every_readable_character_lies_in_exactly_one_chunk(text: str) -> None:
    chunks = chunk_document(text, whole(text), "0" * 64)
    assert all(left.end <= right.start for left, right in pairwise(chunks))
    assert "".join("".join(text[c.start : c.end] for c in chunks).split()) == "".join(text.split())


@given(TEXT)
def test_no_chunk_is_empty_or_larger_than_the_maximum(text: str) -> None:
    chunks = chunk_document(text, whole(text), "0" * 64)
    assert all(0 < c.end - c.start <= MAX_CHARS for c in chunks)


@given(TEXT)
def test_chunking_is_deterministic_and_ids_are_unique(text: str) -> None:
    first = chunk_document(text, whole(text), "a" * 64)
    assert first == chunk_document(text, whole(text), "a" * 64)
    assert len({c.chunk_id for c in first}) == len(first)


def test_a_short_note_with_many_headings_is_one_chunk() -> None:
    text = "# A\none\n## B\ntwo\n## C\nthree"
    sections = (
        Section("user_note", 0, 8, "A", ("A",)),
        Section("user_note", 8, 17, "B", ("A", "B")),
        Section("user_note", 17, len(text), "C", ("A", "C")),
    )
    (chunk,) = chunk_document(text, sections, "0" * 64)
    assert (chunk.start, chunk.end, chunk.heading_path) == (0, len(text), ("A",))


def test_large_sections_are_not_mixed_and_keep_their_heading() -> None:
    text = "a " * 700 + "b " * 700
    sections = (
        Section("user_note", 0, 1400, "A", ("A",)),
        Section("user_note", 1400, 2800, "B", ("B",)),
    )
    assert [c.heading_path for c in chunk_document(text, sections, "0" * 64)] == [("A",), ("B",)]


def test_pages_are_never_merged() -> None:
    """A chunk of a PDF lies on one page, so that the page can be cited."""
    text = "one two"
    sections = (Section("raw_source", 0, 3, page=1), Section("raw_source", 3, 7, page=2))
    assert [c.page for c in chunk_document(text, sections, "0" * 64)] == [1, 2]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = "This is a sentence of some length. " * 120
    for chunk in chunk_document(text, whole(text), "0" * 64):
        assert text[chunk.start : chunk.end].endswith("length.")
        assert text[chunk.start : chunk.end].startswith("This")
