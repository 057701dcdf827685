"""Words: what a text is indexed by and what a query is matched with; both sides use this one analyser.

A word is a run of letters and digits of the folded text, stemmed in the document's language. Scripts written without
spaces become overlapping pairs of characters. Compounds (`node.js`, `1.0.21`, `covid-19`, `snake_case`, `camelCase`,
`@handle`, `#tag`, `c++`) are indexed by their parts and, beside them, whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import filterfalse

from citewell.text.canonical import fold, folded_text
from citewell.text.languages import stemmer_for


def _blanked_except(kept: str) -> bytes:
    """The table that turns every ASCII character into a blank but letters, digits and these."""
    return bytes(code if chr(code).isalnum() or chr(code) in kept else 32 for code in range(256))


# Scripts written without spaces: Han, kana, Hangul, Thai, Lao, Myanmar, Khmer (after NFKD, Hangul is jamo).
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003134f"
)
# Scripts whose vowel signs Python does not count as letters.
_MARKED = "\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff"
_LETTERS = rf"(?:[^\W_{_DENSE}]|[{_MARKED}])+"
# Most text is ASCII once folded, and this runs several times faster than the class of every letter.
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'(?:s|t|d|m|re|ve|ll)(?![a-z0-9_]))?")
# What ends a word of ASCII text becomes a blank; what an apostrophe or underscore means depends on its neighbours.
_WORD_BREAKS = _blanked_except("'_")
# Contains every foreign character that can be part of a word, and a few that cannot.
_FOREIGN_WORD = re.compile(r"[^\W\x00-\x7f]|[\u0900-\u109f\u1780-\u17ff]")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_ASCII_COMPOUND = re.compile(r"(?<!\w)(?:[@#][a-z0-9]\w*|[a-z0-9]+(?:[._\-][a-z0-9]+)+|[a-z]\+\+|[a-z]#(?!\w))")
_CAMEL = re.compile(r"(?<![A-Za-z])[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+(?![a-z])")
_CAMEL_PART = re.compile(r"[A-Z]?[a-z0-9]+")
_COMPOUND_BREAKS = _blanked_except("@#+._-")
_LETTERS_ONLY = _blanked_except("")
_PUNCTUATION = "_-.,;:!?()[]\"'*“”‘’…–—"
_SEPARATORS = re.compile(r"[._\-]+")


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    # Compiled when the first foreign word comes: the class of every letter takes longer than a search.
    return re.compile(rf"[{_DENSE}]+|{_LETTERS}(?:'(?:s|t|d|m|re|ve|ll)(?!\w))?")


@lru_cache(maxsize=1)
def _dense() -> re.Pattern[str]:
    return re.compile(f"[{_DENSE}]")


def _is_dense(word: str) -> bool:
    """Whether a word is of a script written without spaces."""
    return not word[0].isascii() and _dense().match(word) is not None


def _word_of(folded: str) -> re.Pattern[str]:
    # Dashes, arrows and emoji among ASCII words only separate them.
    return _ASCII_WORD if folded.isascii() or not _FOREIGN_WORD.search(folded) else _word()


SourceSpan = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Word:
    """One indexed form and the span of the text it stands for."""

    form: str
    start: int
    end: int


class _Stems(dict[str, str]):
    """Remembers stems; a corpus repeats its vocabulary far more often than it extends it."""

    def __init__(self, language: str | None) -> None:
        super().__init__()
        self._stem = stemmer_for(language)

    def __missing__(self, word: str) -> str:
        stem = self._stem(word)
        if len(self) < 500_000:
            self[word] = stem
        return stem


class _AsciiTerms(dict[str, str]):
    """The terms of one blank-separated piece of ASCII text; nearly always it is one word and its stem is the term."""

    def __init__(self, language: str | None) -> None:
        super().__init__()
        self._stems = _stems(language)

    def __missing__(self, piece: str) -> str:
        terms = " ".join([self._stems[word] for word in _ASCII_WORD.findall(piece)])
        if len(self) < 500_000 and len(piece) < 100:
            self[piece] = terms
        return terms


@lru_cache(maxsize=64)
def _ascii_terms(language: str | None) -> _AsciiTerms:
    return _AsciiTerms(language)


@lru_cache(maxsize=64)
def _stems(language: str | None) -> _Stems:
    return _Stems(language)


def stem(word: str, language: str | None) -> str:
    """The stem of one folded word."""
    return _stems(language)[word]


def index_terms(text: str, language: str | None) -> str:
    """Every word of the text as it goes into the index, separated by spaces."""
    folded = folded_text(text)
    if folded.isascii() or not _FOREIGN_WORD.search(folded):
        # Dashes, arrows and emoji among ASCII words only separate them.
        pieces = folded.encode("ascii", "replace").translate(_WORD_BREAKS).decode().split()
        return " ".join(filter(None, map(_ascii_terms(language).__getitem__, pieces)))
    stems = _stems(language)
    return " ".join([form for word in _word().findall(folded) for form in _forms(word, stems)])


def _forms(word: str, stems: _Stems) -> list[str]:
    if not _is_dense(word):
        return [stems[word]]
    return pairs(word)


def pairs(run: str) -> list[str]:
    """Overlapping pairs of a run written without spaces; a single character stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def compound_terms(text: str) -> str:
    """The compounds of a text as they go into the index, separated by spaces."""
    found: list[str] = []
    folded = folded_text(text)
    if folded.isascii():
        folded = folded.encode().translate(_COMPOUND_BREAKS).decode()
    # Nearly every token is a plain word, at most with punctuation around it: leave those out cheaply.
    for token in filterfalse(str.isalnum, folded.split()):
        if not token.strip(_PUNCTUATION).isalnum():
            found.extend(_compounds_in(token))
    for word in text.encode("ascii", "replace").translate(_LETTERS_ONLY).decode().split():
        if not (word.islower() or word[1:].islower() or word.isupper()):
            found.extend(_camel_parts(word))
    return " ".join(found)


@lru_cache(maxsize=65_536)
def _camel_parts(word: str) -> tuple[str, ...]:
    return tuple(part.lower() for camel in _CAMEL.findall(word) for part in _CAMEL_PART.findall(camel))


@lru_cache(maxsize=65_536)
def _compounds_in(token: str) -> tuple[str, ...]:
    return tuple(form for compound in _ASCII_COMPOUND.findall(token) for form in compound_forms(compound))


def compound_forms(compound: str) -> tuple[str, ...]:
    """The forms under which a folded compound is indexed whole: as written, and joined unless it is a number."""
    if compound[0] in "@#" or compound[-1] in "+#":
        return (compound,)
    joined = _SEPARATORS.sub("", compound)
    return (compound,) if joined.isdigit() else (compound, joined)


def words(text: str, language: str | None) -> Iterator[Word]:
    """The words of a text with their exact spans in it."""
    folded = fold(text)
    stems = _stems(language)
    for match in _word().finditer(folded.text):
        word = match.group()
        if _is_dense(word):
            yield from _dense_words(folded.text, match.start(), match.end(), folded.source_span)
        else:
            yield Word(stems[word], *folded.source_span(match.start(), match.end()))


def find_words(text: str, forms: Collection[str], language: str | None) -> list[Word]:
    """The words of a text that have one of these forms, in order: what `words` gives, at a fraction of its cost."""
    folded = fold(text)
    stems = _stems(language)
    if not folded.text.isascii() and _dense().search(folded.text):
        return [word for word in words(text, language) if word.form in forms]
    pattern = _word_of(folded.text)
    found: list[Word] = []
    for written in _likely(folded.text, forms, pattern):
        if stems[written] in forms:
            spans = _occurrences(folded.text, written, pattern)
            found += [Word(stems[written], *folded.source_span(*span)) for span in spans]
    return sorted(found, key=lambda word: word.start)


def _likely(folded: str, forms: Collection[str], pattern: re.Pattern[str]) -> set[str]:
    """The words of a text that may have one of these forms: a stem begins with the letter its word begins with."""
    if pattern is not _ASCII_WORD:
        return set(pattern.findall(folded))
    starts = "".join(sorted({form[0] for form in forms if form[:1].isascii() and form[:1].isalnum()}))
    return set(_ascii_words_on(starts).findall(folded)) if starts else set()


@lru_cache(maxsize=256)
def _ascii_words_on(starts: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9])[{starts}][a-z0-9]*(?:'(?:s|t|d|m|re|ve|ll)(?![a-z0-9_]))?")


def _occurrences(folded: str, written: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where a word stands as a whole."""
    at = folded.find(written)
    while at != -1:
        if _begins_at(folded, at, pattern):
            match = pattern.match(folded, at)
            if match is not None and match.group() == written:
                yield at, match.end()
        at = folded.find(written, at + len(written))


def _begins_at(folded: str, at: int, pattern: re.Pattern[str]) -> bool:
    """Whether no word reaches over this place from before it, as `it's` does over its `s`."""
    if at == 0:
        return True
    if folded[at - 1] != "'":
        return pattern.match(folded[at - 1]) is None
    start = at - 1
    while start and pattern.match(folded[start - 1]):
        start -= 1
    before = pattern.match(folded, start)
    return before is None or before.end() <= at


def _dense_words(text: str, start: int, end: int, source_span: SourceSpan) -> Iterator[Word]:
    if end - start == 1:
        yield Word(text[start:end], *source_span(start, end))
    for at in range(start, end - 1):
        yield Word(text[at : at + 2], *source_span(at, at + 2))


def compounds(text: str) -> Iterator[Word]:
    """The compounds of a text, as written in the folded view, with their exact spans."""
    folded = fold(text)
    for match in _ASCII_COMPOUND.finditer(folded.text):
        yield Word(match.group(), *folded.source_span(match.start(), match.end()))


@dataclass(frozen=True, slots=True)
class QueryToken:
    """One blank-separated thing of a query: a word, a compound, a handle, a tag, or a run without spaces."""

    text: str
    folded: str
    parts: tuple[str, ...]
    start: int
    end: int
    is_compound: bool
    is_dense: bool


# Words that carry a question in scripts without spaces; the longer ones first.
_CARRIERS = (
    "什么时候|为什么|怎么样|什么|多少|哪里|哪个|怎么|何时|され(?:ました|ます)か|でしょうか|ましたか|ですか|ますか|ました|ません"
    "|された|ます|です|どこ|いつ|だれ|なぜ|どの|どれ|いくつ|いくら|から|まで|より|[のはをがにでともへやか]|[吗呢的了是谁几在誰何]"
)
_SENTENCE_LIKE = 5


def _words_of_run(run: str) -> list[tuple[int, int]]:
    """The stretches of a run without spaces that say something; a short run is one word."""
    if len(run) < _SENTENCE_LIKE:
        return [(0, len(run))]
    spans, at = [], 0
    for carrier in re.finditer(_CARRIERS, run):
        spans.append((at, carrier.start()))
        at = carrier.end()
    spans.append((at, len(run)))
    return [(start, end) for start, end in spans if start < end] or [(0, len(run))]


def query_tokens(text: str) -> list[QueryToken]:
    """The tokens of a query in order, compounds kept whole beside their parts."""
    folded = fold(text)
    tokens: list[QueryToken] = []
    at = 0
    while match := _next_token(folded.text, at):
        token = match.group()
        if _is_dense(token):
            for low, high in _words_of_run(token):
                start, end = folded.source_span(match.start() + low, match.start() + high)
                word = token[low:high]
                tokens.append(QueryToken(text[start:end], word, tuple(pairs(word)), start, end, False, True))
        else:
            start, end = folded.source_span(match.start(), match.end())
            parts = tuple(_word_of(token).findall(token))
            compound = len(parts) > 1 or token != parts[0]
            tokens.append(QueryToken(text[start:end], token, parts, start, end, compound, False))
        at = match.end()
    return tokens


def _next_token(text: str, at: int) -> re.Match[str] | None:
    word = _word_of(text).search(text, at)
    if word is None:
        return None
    compound = _query_compound(text.isascii()).search(text, at, word.end() + 200)
    if compound is not None and compound.start() <= word.start() and compound.end() > word.start():
        return compound if compound.end() - compound.start() > word.end() - word.start() else word
    return word


@lru_cache(maxsize=2)
def _query_compound(is_ascii: bool) -> re.Pattern[str]:
    letters = "[a-z0-9]+" if is_ascii else _LETTERS
    return re.compile(
        rf"(?<!\w)(?:[@#]{letters}(?:[._\-/]{letters})*|{letters}(?:[._\-]{letters})+|[a-z]\+\+|[a-z]#(?!\w))"
    )


# How common the stems of English are, where a few texts cannot tell: `english_stems.txt`, read once.
#
# Example:
#     claim:   A keeper used the brass theodolite.
#     passage: A keeper polished the brass theodolite.
#     verdict: supported
#
# Example:
#     claim:   A keeper pawned the brass theodolite.
#     passage: A keeper polished the brass theodolite.
#     verdict: partial
#     reason:  not in the quote: pawned


@dataclass(frozen=True, slots=True)
class EnglishStems:
    """For each common stem the binary logarithm of how many passages one must read to meet it; all others are rarer."""

    common: dict[str, int]
    # Those of them that are capitalised inside of sentences too: they name something wherever they stand.
    names: frozenset[str]
    rarest: int

    def rarity(self, stem: str) -> float:
        """From about 0.2 for a stem of every page to 1."""
        return self.common.get(stem, self.rarest) / self.rarest

    def is_word(self, stem: str) -> bool:
        """Whether English has this as a word that is written small."""
        return stem in self.common and stem not in self.names


@cache
def english_stems() -> EnglishStems:
    common: dict[str, int] = {}
    names: set[str] = set()
    for line in files("citewell.text").joinpath("english_stems.txt").read_text("utf-8").splitlines():
        group, _, stems = line.partition(": ")
        if group == "names":
            names.update(stems.split())
        elif group.isdecimal():
            common |= dict.fromkeys(stems.split(), int(group))
    return EnglishStems(common, frozenset(names), max(common.values()) + 1)
