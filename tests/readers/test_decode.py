"""Bytes in every encoding people still have on their disks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.readers.decode import DecodedText, decode
from citewell.text.canonical import canonicalize, is_canonical

FRENCH = "Voilà une phrase écrite en français, où l'on a noté déjà quelques élèves.\n"
RUSSIAN = "Привет, мир! Это текст на русском языке для проверки кодировки файла.\n"
JAPANESE = "これは日本語のテキストです。文字コードを確認します。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_unicode_is_read_without_a_warning(encoding: str) -> None:
    decoded = decode(FRENCH.encode(encoding))
    assert (decoded.text, decoded.warnings) == (FRENCH, ())


@pytest.mark.parametrize(
    ("text", "encoding"), [(FRENCH, "cp1252"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"), (JAPANESE, "cp932")]
)
def test_an_older_encoding_is_a_guess_and_says_so(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == DecodedText(text, encoding, (f"not UTF-8: read as {encoding}",))


def test_a_short_latin_text_is_read_as_cp1252() -> None:
    assert decode("café “ok”".encode("cp1252")).text == "café “ok”"


def test_a_declared_encoding_is_no_guess() -> None:
    assert decode(RUSSIAN.encode("koi8-r"), declared="KOI8-R") == DecodedText(RUSSIAN, "koi8-r")


def test_utf8_wins_over_a_stale_declaration() -> None:
    assert decode(FRENCH.encode(), declared="iso-8859-1") == DecodedText(FRENCH, "utf-8")


@pytest.mark.parametrize("declared", ["utf-7", "unicode_escape", "zlib", "rot13", "nonsense", ""])
def test_a_declaration_cannot_choose_a_dangerous_codec(declared: str) -> None:
    assert decode(b"+ADw-script+AD4- \\x3c \xe9", declared=declared).text == "+ADw-script+AD4- \\x3c é"


def test_damaged_utf8_stays_utf8() -> None:
    decoded = decode(FRENCH.encode() * 3 + b"\xc3")
    assert decoded == DecodedText(FRENCH * 3 + "�", "utf-8", ("damaged UTF-8: unreadable places: 1",))


@given(st.binary(max_size=400), st.sampled_from([None, "utf-8", "windows-1251", "shift_jis", "iso-2022-jp"]))
def test_any_bytes_become_canonical_text(data: bytes, declared: str | None) -> None:
    assert is_canonical(decode(data, declared=declared).text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    if not text.startswith("\ufeff") and "\x00" not in text:
        assert decode(text.encode()).text == canonicalize(text)
