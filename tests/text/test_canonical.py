"""Canonical text changes only what no database can hold, and newlines."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from citewell.text.canonical import canonicalize, content_hash, is_canonical

ANY_TEXT = st.text(st.characters(categories=None))  # lone surrogates and NUL included


@given(ANY_TEXT)
def test_canonical_text_can_be_stored_and_is_stable(text: str) -> None:
    """Canonical text encodes as UTF-8, holds no NUL or carriage return, and canonicalising it again changes nothing."""
    canonical = canonicalize(text)
    canonical.encode("utf-8")
    assert is_canonical(canonical)
    assert canonicalize(canonical) == canonical


@given(st.text(st.characters(exclude_characters="\0\r", codec="utf-8")))
def test_ordinary_text_is_left_exactly_as_it_is(text: str) -> None:
    """White space, case, accents and hidden characters are all kept."""
    assert canonicalize(text) == text


def test_newlines_become_one_kind() -> None:
    assert canonicalize("a\r\nb\rc\n\r\nd") == "a\nb\nc\n\nd"


def test_what_cannot_be_stored_keeps_its_place() -> None:
    """NUL and lone surrogates are replaced one for one, so offsets do not move."""
    assert canonicalize("a\0b\ud800c") == "a�b�c"


def test_the_hash_is_the_sha256_of_the_utf8_bytes() -> None:
    assert content_hash("日本") == hashlib.sha256("日本".encode()).hexdigest()
