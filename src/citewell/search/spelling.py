"""Misspelled words: what nothing in the corpus has is searched for as the nearest words that something has.

The other spelling helps to find rows; it is no word of the question and satisfies none of its concepts. Where every
word of a query occurs, nothing is looked up. A wrong first letter is only seen where it was swapped with the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from citewell.models.rerank import Signal
from citewell.search.rows import term_chunks
from citewell.store.port import Filters, LexicalQuery, Term
from citewell.text.canonical import folded_text
from citewell.text.languages import is_function_word_anywhere
from citewell.text.words import english_stems, find_words

if TYPE_CHECKING:
    from citewell.store.port import CorpusReader


# How far apart two spellings are: letters left out, put in, exchanged, or swapped with their neighbour. Pure.


SHORTEST = 4
LONG = 8
# What stemming may have cut off.
LONGEST_ENDING = 6


@dataclass(frozen=True, slots=True)
class Near:
    """A known word spelled nearly as another, how far apart they are, and how common the known one is."""

    form: str
    distance: int
    count: int


def slips_allowed(word: str) -> int:
    """How many slips a word may have to be taken for another."""
    return 1 if len(word) < LONG else 2


def distance(first: str, second: str, most: int) -> int:
    """The number of slips between two words, or `most + 1` where there are more; only cells near the diagonal count."""
    return most + 1 if abs(len(first) - len(second)) > most else _slips(first, second, most)[-1]


def beginning_distance(stem: str, word: str, most: int) -> int:
    """The number of slips between a stem and the beginning of a word that comes nearest to it.

    >>> beginning_distance("commun", "comunity", 1)
    1
    """
    return min(_slips(stem, word, most))


def _slips(first: str, second: str, most: int) -> list[int]:
    """The number of slips between a word and every beginning of another, or `most + 1` where there are more."""
    far = most + 1
    before: list[int] = []
    row = [at if at <= most else far for at in range(len(second) + 1)]
    for i, letter in enumerate(first, start=1):
        low, high = max(1, i - most), min(len(second), i + most)
        current = [far] * (len(second) + 1)
        if i <= most:
            current[0] = i
        for j in range(low, high + 1):
            same = letter == second[j - 1]
            cost = min(row[j - 1] + (not same), row[j] + 1, current[j - 1] + 1)
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == second[j - 1]:
                cost = min(cost, before[j - 2] + 1)
            current[j] = min(cost, far)
        # A swap reaches back two rows: both have to be hopeless.
        if min(current) > most and min(row) > most:
            return [far] * (len(second) + 1)
        before, row = row, current
    return row


def nearest(forms: Iterable[str], known: Iterable[tuple[str, int]]) -> list[Near]:
    """The known words a few slips from any of these forms: the nearest, with the same first letter, commonest first."""
    wanted = [(form, frozenset(form), slips_allowed(form), _pieces(form)) for form in dict.fromkeys(forms)]
    starts = {form[:1] for form, *_ in wanted}
    found: list[Near] = []
    for word, count in known:
        likely = [entry for entry in wanted if any(piece in word for piece in entry[3])]
        if not likely:
            continue
        letters, most = frozenset(word), slips_allowed(word)
        # Every slip changes at most two letters of the set.
        near = [(form, min(most, own)) for form, has, own, _ in likely if len(has ^ letters) <= 2 * min(most, own)]
        slipped = ((distance(form, word, most), most) for form, most in near if not _is_another(form, word))
        apart = min((slips for slips, most in slipped if slips <= most), default=0)
        if apart:
            found.append(Near(word, apart, count))
    return sorted(found, key=lambda one: (one.distance, one.form[:1] not in starts, -one.count, one.form))


def nearest_beginnings(word: str, known: Iterable[tuple[str, int]]) -> list[Near]:
    """The known stems a word begins with but for a few slips: its ending may be what kept it from being stemmed alike.

    "comunity" is stemmed to "comun", "welcomign" not at all: neither is near to "commun" or "welcom".
    """
    letters, most = frozenset(word), slips_allowed(word)
    found: list[Near] = []
    for stem, count in known:
        if len(stem) < SHORTEST or len(word) - len(stem) > LONGEST_ENDING or len(frozenset(stem) - letters) > most:
            continue
        if _is_another(stem, word):
            continue
        apart = beginning_distance(stem, word, most)
        if apart <= most:
            found.append(Near(stem, apart, count))
    return sorted(found, key=lambda one: (one.distance, -len(one.form), -one.count, one.form))


def _is_another(first: str, second: str) -> bool:
    """Whether two short words of one length differ in a letter: wifi is no slip of wife, but lnog one of long."""
    return len(first) == len(second) == SHORTEST and sorted(first) != sorted(second)


def _pieces(form: str) -> list[str]:
    """A word cut into so many pieces that one stays whole: a slip touches two at most. Most other words have none."""
    count = 2 * slips_allowed(form) + 1
    cuts = [number * len(form) // count for number in range(count + 1)]
    return [form[low:high] for low, high in pairwise(cuts)]


_WORDS = 4
_LOOKED_AT = 4
_TEXTS = 5
SIGNAL = "spelling"


@dataclass(frozen=True, slots=True)
class SpellingGuess:
    """A word nothing has, and the one that was searched for as well."""

    written: str
    used: Term

    def __str__(self) -> str:
        return f"Nothing has '{self.written}'; searched '{self.used.text}' too"

    def signal(self) -> Signal:
        return Signal(SIGNAL, 0.0, f"has '{self.used.text}'; nothing has '{self.written}'")


@dataclass(frozen=True, slots=True)
class SpellingResult:
    """A query with the words added that some of its own were meant to be."""

    query: LexicalQuery
    spellings: tuple[SpellingGuess, ...] = ()

    def signals(self, matched: Sequence[str]) -> tuple[Signal, ...]:
        """What a row that matches these terms owes to another spelling."""
        return tuple(spelling.signal() for spelling in self.spellings if spelling.used.text in matched)


def respell(store: CorpusReader, query: LexicalQuery, doubtful: Sequence[str]) -> SpellingResult:
    """The query, and for each doubtful word that occurs nowhere the nearest one that does."""
    counts = term_chunks(store, query)
    missing = {term.text: term for term in query.terms if term.text in doubtful and not counts[term.text]}
    # "Learning" is spelled right, though nothing here speaks of it.
    unknown = {text: term for text, term in missing.items() if not any(map(english_stems().is_word, term.forms))}
    if not unknown:
        return SpellingResult(query)
    found = ((term.text, _meant(store, term)) for term in list(unknown.values())[:_WORDS])
    spellings = tuple(SpellingGuess(written, used) for written, used in found if used and used.text not in counts)
    return SpellingResult(replace(query, terms=(*query.terms, *(one.used for one in spellings))), spellings)


def _meant(store: CorpusReader, term: Term) -> Term | None:
    """The word that was meant: the one whose stem is nearest, or which is spelled nearer than that."""
    by_stem = _nearest_stem(store, term)
    if by_stem is not None and by_stem.slips <= 1:
        return by_stem.term
    by_ending = _nearest_by_beginning(store, term)
    if by_ending is not None and (by_stem is None or by_ending.slips < by_stem.slips):
        return by_ending.term
    return by_stem.term if by_stem else None


@dataclass(frozen=True, slots=True)
class _KnownWord:
    """A word of the corpus as its texts write it, and how many slips it is from what was asked."""

    term: Term
    slips: int


def _nearest_stem(store: CorpusReader, term: Term) -> _KnownWord | None:
    """The nearest word of the likeliest stretches of the vocabulary; of all that begins alike where they have none."""
    most = slips_allowed(term.text)
    lengths = [len(form) for form in term.forms]
    best: tuple[int, _KnownWord] | None = None
    for start in _starts(term.text):
        if best is not None and (best[0] == 1 or len(start) == 1):
            break
        known = store.words_beginning(start, min(lengths) - most, max(lengths) + most)
        for near in nearest(term.forms, known)[:_LOOKED_AT]:
            used = _as_written(store, near.form, term.text)
            is_near = used is not None and (len(near.form) >= LONG or used.slips <= most)
            if used is not None and is_near and (best is None or near.distance < best[0]):
                best = near.distance, used
                break
    return best[1] if best else None


def _nearest_by_beginning(store: CorpusReader, term: Term) -> _KnownWord | None:
    """The word spelled nearest among those whose stem the asked one begins with, but for slips."""
    asked, most = term.text, slips_allowed(term.text)
    best: _KnownWord | None = None
    for start in _starts(asked):
        if best is not None and (best.slips == 1 or len(start) == 1):
            break
        known = store.words_beginning(start, max(SHORTEST, len(asked) - LONGEST_ENDING), len(asked) + most)
        for near in nearest_beginnings(asked, known)[:_LOOKED_AT]:
            used = _as_written(store, near.form, asked)
            if used is not None and used.slips <= most and (best is None or used.slips < best.slips):
                best = used
    return best


def _starts(word: str) -> Iterator[str]:
    """Where the meant word may stand in the vocabulary, the likeliest and shortest stretches first."""
    yield from dict.fromkeys((word[:3], word[:2], word[0] + word[2], word[1] + word[0], word[0]))


def _as_written(store: CorpusReader, form: str, asked: str) -> _KnownWord | None:
    """The word as texts write it, in the spelling nearest to what was asked; nothing where no text has it any more.

    The vocabulary has stems only. In a short one a slip changes a lot ("insect", "insert"), so its words have to be
    spelled alike as well. Nobody asks for "for" or "both": a function word is never what was meant.
    """
    written: dict[str, int] = {}
    for candidate in store.rank(LexicalQuery((Term(form, (form,)),)), Filters(), _TEXTS):
        document, chunk = candidate.document, candidate.chunk
        text = f"{document.title}\n{store.slice(document.content_hash, chunk.start, chunk.end)}"
        for word in find_words(text, (form,), document.language):
            spelled = folded_text(text[word.start : word.end])
            if is_function_word_anywhere(spelled):
                continue
            written.setdefault(spelled, distance(spelled, asked, len(asked)))
    if not written:
        return None
    nearest_written = min(written, key=lambda word: (written[word], word))
    return _KnownWord(Term(nearest_written, (form,)), written[nearest_written])
