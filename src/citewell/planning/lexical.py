"""A line of search text as a lexical query: each word in every language of the corpus, compounds and phrases beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from citewell.domain.queries import LexicalQuery, Phrase, Term
from citewell.planning.normalizer import is_abbreviation, is_decimal, is_exact, is_function_word
from citewell.text.words import QueryToken, compound_forms, query_tokens, stem

MAX_TERMS = 64


def lexical_query(text: str, languages: Sequence[str], phrases: Iterable[str] = ()) -> LexicalQuery:
    """The query for a text. Words may repeat; stop words count only where there is nothing else."""
    tokens = query_tokens(text)
    meant = [token for token in tokens if not is_function_word(token)] or tokens
    terms = [term for token in meant for term in _terms(token, languages)][:MAX_TERMS]
    found = [phrase_of(phrase, languages) for phrase in phrases]
    found += [_phrase(token.text, token.parts, languages) for token in meant if is_exact(token)]
    return LexicalQuery(tuple(terms), tuple(phrase for phrase in found[:MAX_TERMS] if phrase.forms))


def phrase_of(text: str, languages: Sequence[str]) -> Phrase:
    """Words next to each other, in every language of the corpus."""
    parts = tuple(part for token in query_tokens(text) for part in token.parts)
    return _phrase(text, parts, languages)


def forms_of(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """A folded word in the stems of each language of the corpus, and of texts too short to tell."""
    return tuple(dict.fromkeys(stem(word, language) for language in (*languages, None)))


def _terms(token: QueryToken, languages: Sequence[str]) -> list[Term]:
    if token.is_dense:
        return [Term(pair, (pair,)) for pair in token.parts]
    if not token.is_compound:
        return [Term(token.folded, forms_of(token.folded, languages))]
    if is_abbreviation(token) or is_decimal(token):
        # Its single letters and digits say nothing.
        return [Term(token.folded, compound_forms(token.folded))]
    parts = [Term(part, forms_of(part, languages)) for part in token.parts]
    return [Term(token.folded, compound_forms(token.folded)), *parts] if is_exact(token) else parts


def _phrase(text: str, parts: Sequence[str], languages: Sequence[str]) -> Phrase:
    spoken = (*languages, None)
    forms = dict.fromkeys(" ".join(stem(part, language) for part in parts) for language in spoken) if parts else {}
    return Phrase(text, tuple(forms))
