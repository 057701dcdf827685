"""Which concepts of a plan a passage satisfies.

A protected anchor (handle, tag, source key, quoted phrase) is met exactly or as a phrase; any other concept by its
words. Expansions help to find rows; they never satisfy a concept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar, assert_never

from citewell.models.rerank import Signal
from citewell.search.query import Concept, QueryPlan, forms_of, is_function_word, phrase_of
from citewell.store.port import Phrase
from citewell.text.canonical import folded_text
from citewell.text.documents import Document
from citewell.text.words import QueryToken, compound_forms, compounds, index_terms, pairs, query_tokens


@dataclass(frozen=True, slots=True)
class ConceptText:
    """A text taken apart once, so that many concepts can be checked against it."""

    document: Document
    forms: frozenset[str]
    spoken: str
    compounds: frozenset[str]

    @classmethod
    def of(cls, document: Document, text: str) -> ConceptText:
        spoken = index_terms(text, document.language)
        whole = {form for compound in compounds(text) for form in compound_forms(compound.form)}
        return cls(document, frozenset(spoken.split()), f" {spoken} ", frozenset(whole))

    def has(self, phrase: Phrase) -> bool:
        """Whether the words of a phrase stand here side by side."""
        return any(f" {form} " in self.spoken for form in phrase.forms)


def is_met(concept: Concept, passage: ConceptText, languages: Sequence[str]) -> bool:
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


def says_any(concepts: Sequence[Concept], passage: ConceptText, languages: Sequence[str]) -> bool:
    """Whether a passage has a word of one of these concepts."""
    tokens = [token for one in concepts for term in one.terms for token in query_tokens(term)]
    content = [token for token in tokens if not is_function_word(token)] or tokens
    return any(_has_word(token.folded, passage, languages) for token in content)


def _has_tag(document: Document, tag: str) -> bool:
    folded = {folded_text(own).lstrip("#") for own in document.user_tags}
    return any(own == tag or own.startswith(f"{tag}/") for own in folded)


def _has_word(word: str, passage: ConceptText, languages: Sequence[str]) -> bool:
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


# What a question says about rows beyond its words: what it excludes, names by title, or wants a kind of. Pure.


_EXCLUDED_TITLE = -0.5
_EXCLUDED_TEXT = -0.3
_EXACT_TITLE = 0.5
_PREFERRED = 0.1
_TEMPLATE = -0.4
# A folder of templates, and a question that is about them.
_TEMPLATES = re.compile(r"/[^/\w]*(?:templates?|vorlagen?|plantillas?|mod[eè]les?|modelli)/", re.IGNORECASE)
_TEMPLATES_MEANT = re.compile(r"template|vorlage|plantilla|mod[eè]le|modell", re.IGNORECASE)

Row = TypeVar("Row")


def is_left_out(excluded: Sequence[Concept], passage: ConceptText, languages: Sequence[str]) -> bool:
    """Whether a row is about something the question rules out by name: a tag, handle, phrase or key."""
    return any(concept.protected and is_met(concept, passage, languages) for concept in excluded)


def exclusions(
    excluded: Sequence[Concept], passage: ConceptText, titled: ConceptText, languages: Sequence[str]
) -> Iterator[Signal]:
    """What a row loses for being about something the question leaves out; more where its title says so."""
    for concept in excluded:
        if is_met(concept, titled, languages):
            yield Signal(
                f"excluded:{concept.name}", _EXCLUDED_TITLE, "the question leaves this out; the title names it"
            )
        elif is_met(concept, passage, languages):
            yield Signal(f"excluded:{concept.name}", _EXCLUDED_TEXT, "the question leaves this out")


def is_template(document: Document) -> bool:
    """Whether a note lies in a folder of templates: it says how notes are begun, and answers nothing."""
    return _TEMPLATES.search(f"/{document.note_path or ''}") is not None


def adjustments(
    plan: QueryPlan, document: Document, passage: ConceptText, titled: ConceptText, languages: Sequence[str]
) -> Iterator[Signal]:
    """Named signals a row gets for what the question says about it."""
    yield from exclusions(plan.excluded, passage, titled, languages)
    if plan.family == "exact_title" and (title := _title_meant(plan, document)):
        yield Signal("exact_title", _EXACT_TITLE, f"is called {title}")
    if is_template(document) and not _TEMPLATES_MEANT.search(plan.text_query):
        yield Signal("template", _TEMPLATE, "a template, not a note")
    if document.source_type in plan.preferred_source_types:
        yield Signal("source_type", _PREFERRED, f"the question points to a {document.source_type}")


def _title_meant(plan: QueryPlan, document: Document) -> str | None:
    """The title of the question that is this document's title, alias or file name."""
    stem = (document.note_path or "").rpartition("/")[2].rpartition(".")[0]
    own = {index_terms(name, None) for name in (document.title, *document.aliases, stem) if name}
    asked = [concept.name for concept in plan.concepts if concept.protected == "phrase"]
    return next((title for title in asked if index_terms(title, None) in own), None)


def with_every_side(
    plan: QueryPlan, ranked: Sequence[Row], limit: int, met: Callable[[Row], frozenset[str]]
) -> list[Row]:
    """The best `limit` rows; in a comparison, the best row of a side nothing else shows takes the last place."""
    shown = list(ranked[:limit])
    if plan.family != "comparison":
        return shown
    kept = 0
    for concept in plan.required:
        if any(concept.name in met(row) for row in shown):
            continue
        found = next((row for row in ranked[limit:] if concept.name in met(row)), None)
        if found is not None and kept < limit - 1:
            kept += 1
            shown[limit - kept] = found
    return shown
