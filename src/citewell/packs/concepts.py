"""Which concepts of a plan a passage satisfies.

A protected anchor (handle, tag, source key, quoted phrase) is met exactly or as a phrase; any other concept by its
words. Expansions help to find rows; they never satisfy a concept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never

from citewell.domain.documents import Document
from citewell.domain.queries import Concept, Phrase
from citewell.domain.values import dataclass
from citewell.planning.lexical import forms_of, phrase_of
from citewell.text.folding import folded_text
from citewell.text.words import QueryToken, compound_forms, compounds, index_terms, pairs, query_tokens


@dataclass(frozen=True, slots=True)
class Passage:
    """A text taken apart once, so that many concepts can be checked against it."""

    document: Document
    forms: frozenset[str]
    spoken: str
    compounds: frozenset[str]

    @classmethod
    def of(cls, document: Document, text: str) -> Passage:
        spoken = index_terms(text, document.language)
        whole = {form for compound in compounds(text) for form in compound_forms(compound.form)}
        return cls(document, frozenset(spoken.split()), f" {spoken} ", frozenset(whole))

    def has(self, phrase: Phrase) -> bool:
        """Whether the words of a phrase stand here side by side."""
        return any(f" {form} " in self.spoken for form in phrase.forms)


def is_met(concept: Concept, passage: Passage, languages: Sequence[str]) -> bool:
    """Whether a passage is about a concept."""
    match concept.protected:
        case "handle":
            return concept.terms[0] in passage.compounds
        case "tag":
            return _has_tag(passage.document, concept.terms[0]) or f"#{concept.terms[0]}" in passage.compounds
        case "source_key":
            return passage.document.source_key == concept.terms[0].partition("@")[0]
        case "phrase":
            return passage.has(phrase_of(concept.terms[0], languages))
        case None:
            return all(_has_word(term, passage, languages) for term in concept.terms)
        case other:
            assert_never(other)


def _has_tag(document: Document, tag: str) -> bool:
    folded = {folded_text(own).lstrip("#") for own in document.user_tags}
    return any(own == tag or own.startswith(f"{tag}/") for own in folded)


def _has_word(word: str, passage: Passage, languages: Sequence[str]) -> bool:
    if any(form in passage.forms for form in forms_of(word, languages)):
        return True
    token = _token(word)
    if token is None:
        return False
    if token.is_dense:
        return all(pair in passage.forms for pair in pairs(token.folded))
    if not token.is_compound:
        return False
    return bool(passage.compounds.intersection(compound_forms(token.folded))) or passage.has(phrase_of(word, languages))


@lru_cache(maxsize=1_024)
def _token(word: str) -> QueryToken | None:
    """A word of a concept as a token; the same few are checked against every row."""
    return next(iter(query_tokens(word)), None)
