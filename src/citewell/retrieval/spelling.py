"""Misspelled words: what nothing in the corpus has is searched for as the nearest words that something has.

The other spelling helps to find rows; it is no word of the question and satisfies none of its concepts. Where every
word of a query occurs, nothing is looked up. A wrong first letter is only seen where it was swapped with the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.domain.evidence import Signal
from citewell.domain.queries import Filters, LexicalQuery, Term
from citewell.domain.values import dataclass
from citewell.retrieval.rows import term_chunks
from citewell.text.english_stems import english_stems
from citewell.text.folding import folded_text
from citewell.text.language import is_function_word_anywhere
from citewell.text.spelling import (
    LONG,
    LONGEST_ENDING,
    SHORTEST,
    distance,
    nearest,
    nearest_beginnings,
    slips_allowed,
)
from citewell.text.words import find_words

if TYPE_CHECKING:
    from citewell.domain.corpus_port import CorpusReader

_WORDS = 4
_LOOKED_AT = 4
_TEXTS = 5
SIGNAL = "spelling"


@dataclass(frozen=True, slots=True)
class Spelling:
    """A word nothing has, and the one that was searched for as well."""

    written: str
    used: Term

    def __str__(self) -> str:
        return f"Nothing has '{self.written}'; searched '{self.used.text}' too"

    def signal(self) -> Signal:
        return Signal(SIGNAL, 0.0, f"has '{self.used.text}'; nothing has '{self.written}'")


@dataclass(frozen=True, slots=True)
class Respelled:
    """A query with the words added that some of its own were meant to be."""

    query: LexicalQuery
    spellings: tuple[Spelling, ...] = ()

    def signals(self, matched: Sequence[str]) -> tuple[Signal, ...]:
        """What a row that matches these terms owes to another spelling."""
        return tuple(spelling.signal() for spelling in self.spellings if spelling.used.text in matched)


def respell(store: CorpusReader, query: LexicalQuery, doubtful: Sequence[str]) -> Respelled:
    """The query, and for each doubtful word that occurs nowhere the nearest one that does."""
    counts = term_chunks(store, query)
    missing = {term.text: term for term in query.terms if term.text in doubtful and not counts[term.text]}
    # "Learning" is spelled right, though nothing here speaks of it.
    unknown = {text: term for text, term in missing.items() if not any(map(english_stems().is_word, term.forms))}
    if not unknown:
        return Respelled(query)
    found = ((term.text, _meant(store, term)) for term in list(unknown.values())[:_WORDS])
    spellings = tuple(Spelling(written, used) for written, used in found if used and used.text not in counts)
    return Respelled(replace(query, terms=(*query.terms, *(one.used for one in spellings))), spellings)


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
class _Written:
    """A word of the corpus as its texts write it, and how many slips it is from what was asked."""

    term: Term
    slips: int


def _nearest_stem(store: CorpusReader, term: Term) -> _Written | None:
    """The nearest word of the likeliest stretches of the vocabulary; of all that begins alike where they have none."""
    most = slips_allowed(term.text)
    lengths = [len(form) for form in term.forms]
    best: tuple[int, _Written] | None = None
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


def _nearest_by_beginning(store: CorpusReader, term: Term) -> _Written | None:
    """The word spelled nearest among those whose stem the asked one begins with, but for slips."""
    asked, most = term.text, slips_allowed(term.text)
    best: _Written | None = None
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


def _as_written(store: CorpusReader, form: str, asked: str) -> _Written | None:
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
    return _Written(Term(nearest_written, (form,)), written[nearest_written])
