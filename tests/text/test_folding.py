"""Folded views match what people type and map back to the exact offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.canonical import fold, folded_text

TEXT = st.text(st.characters(codec="utf-8"))


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Café", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("STRASSE Straße", "strasse strasse"),
        ("ﬁne Ａ１", "fine a1"),
        ("it’s", "it's"),
        ("so\u00adft\u200b", "soft"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_folding_removes_what_people_leave_out_when_typing(written: str, folded: str) -> None:
    assert folded_text(written) == folded


@given(TEXT, TEXT)
def test_folding_works_piece_by_piece(left: str, right: str) -> None:
    """The folded text of a whole is that of its parts, so a window folds like the document it is cut from."""
    assert folded_text(left + right) == folded_text(left) + folded_text(right)


@given(TEXT)
def test_folding_with_and_without_offsets_agrees(text: str) -> None:
    assert fold(text).text == folded_text(text)


@given(TEXT, st.data())
def test_a_folded_span_maps_to_the_text_it_came_from(text: str, data: st.DataObject) -> None:
    """Folding the source span of a folded span gives at least that span back."""
    folded = fold(text)
    if not folded.text:
        return
    start = data.draw(st.integers(0, len(folded.text) - 1))
    end = data.draw(st.integers(start + 1, len(folded.text)))
    low, high = folded.source_span(start, end)
    assert 0 <= low < high <= len(text)
    assert folded.text[start:end] in folded_text(text[low:high])


def test_a_span_takes_the_accent_that_follows_it() -> None:
    """A word that ends in a combining accent is quoted with the accent."""
    folded = fold("un cafe\u0301 noir")
    at = folded.text.index("cafe")
    low, high = folded.source_span(at, at + 4)
    assert "un cafe\u0301 noir"[low:high] == "cafe\u0301"
