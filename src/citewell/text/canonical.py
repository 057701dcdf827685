"""Canonical text: the one immutable form of a document that every offset and hash refers to.

Only NUL, lone surrogates and newlines are normalised, because no database stores the first two and offsets must not
depend on the third. Whitespace, case and hidden characters stay as they are; a folded view maps onto them.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from dataclasses import dataclass

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "�"


def canonicalize(text: str) -> str:
    """The text as it is stored: `\\r\\n` and `\\r` become `\\n`, what no database holds becomes U+FFFD."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def is_canonical(text: str) -> bool:
    """Whether storing this text would leave it as it is."""
    return "\r" not in text and _UNSTORABLE.search(text) is None


def content_hash(text: str) -> str:
    """The name of a canonical text: the sha256 of its UTF-8 bytes."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# Characters that no reader sees: controls, zero-width and bidirectional marks, tag characters. Pure.
#
# For text that goes into a prompt or comes out of one. A stored text keeps them, and emoji and some scripts need the
# joiners among them: what a person is shown is cleaned more gently.


UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


# Folded views: text as matching sees it, with a map back to the exact offsets of the canonical text.
#
# Folding is context-free, one character at a time, so that a folded slice of a text is the slice of its folded text:
# compatibility forms, case, the accents of alphabets that people leave out when typing, and invisible characters.
# Marks that spell vowels (Devanagari, Thai, …) are kept: without them other words would match.


# Accents, Hebrew points, Arabic short vowels: what people omit when they type a query.
_DROPPED_MARKS = (
    (0x0300, 0x036F),
    (0x0591, 0x05C7),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xE0100, 0xE01EF),
)
_APOSTROPHES = "’ʼ＇‘"
_HYPHENS = "‐‑‒−﹣－"


class _FoldTable(dict[int, str]):
    """Folds one code point and remembers it; works with `str.translate`."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(chr(code))
        self[code] = folded
        return folded


def _fold_character(character: str) -> str:
    if character in _APOSTROPHES:
        return "'"
    if character in _HYPHENS:
        return "-"
    # Casefold on both sides of the decomposition: some characters only change case once decomposed.
    decomposed = unicodedata.normalize("NFKD", character.casefold()).casefold()
    return "".join(part for part in decomposed if not _is_dropped(part))


def _is_dropped(character: str) -> bool:
    code = ord(character)
    if code < 0x300:
        return code == 0xAD
    return unicodedata.category(character) == "Cf" or any(low <= code <= high for low, high in _DROPPED_MARKS)


_TABLE = _FoldTable()
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_FEW_FOREIGN = 8  # so few different ones are replaced faster than every character is looked up


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded text; `offsets` is absent where folding moved nothing."""

    text: str
    source: str
    offsets: array[int] | None

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the canonical text behind a non-empty span of the folded one, trailing marks included."""
        if self.offsets is None:
            return start, end
        first, last = self.offsets[start], self.offsets[end - 1] + 1
        while last < len(self.source) and _TABLE[ord(self.source[last])] == "":
            last += 1
        return first, last


def fold(text: str) -> FoldedText:
    """The folded view of a text, with its offset map."""
    if text.isascii():
        return FoldedText(text.lower(), text, None)
    folded = folded_text(text)
    if all(len(_TABLE[ord(character)]) == 1 for character in _foreign(text)):
        return FoldedText(folded, text, None)
    offsets = array("L")
    at = 0
    for match in _FOREIGN.finditer(text):
        size = len(_TABLE[ord(match.group())])
        if size != 1:
            offsets.extend(range(at, match.start()))
            offsets.extend([match.start()] * size)
            at = match.end()
    offsets.extend(range(at, len(text)))
    return FoldedText(folded, text, offsets)


def _foreign(text: str) -> set[str]:
    """The characters of a text beyond ASCII, each once: a set of all is faster than a search for them."""
    return {character for character in set(text) if character > "\x7f"}


def folded_text(text: str) -> str:
    """The folded text alone, where no offsets are needed."""
    if not text.isascii():
        foreign = _foreign(text)
        if len(foreign) > _FEW_FOREIGN:
            return text.translate(_TABLE)
        for character in foreign:
            text = text.replace(character, _TABLE[ord(character)])
        # Lower case for ASCII alone: everything else is folded by now.
        return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    return text.lower()
