"""What a question says about rows beyond its words: what it excludes, names by title, or wants a kind of. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from citewell.domain.documents import Document
from citewell.domain.evidence import Signal
from citewell.domain.queries import Concept, QueryPlan
from citewell.packs.concepts import Passage, is_met
from citewell.text.words import index_terms

_EXCLUDED_TITLE = -0.5
_EXCLUDED_TEXT = -0.3
_EXACT_TITLE = 0.5
_PREFERRED = 0.1

Row = TypeVar("Row")


def is_left_out(excluded: Sequence[Concept], passage: Passage, languages: Sequence[str]) -> bool:
    """Whether a row is about something the question rules out by name: a tag, handle, phrase or key."""
    return any(concept.protected and is_met(concept, passage, languages) for concept in excluded)


def exclusions(
    excluded: Sequence[Concept], passage: Passage, titled: Passage, languages: Sequence[str]
) -> Iterator[Signal]:
    """What a row loses for being about something the question leaves out; more where its title says so."""
    for concept in excluded:
        if is_met(concept, titled, languages):
            yield Signal(
                f"excluded:{concept.name}", _EXCLUDED_TITLE, "the question leaves this out; the title names it"
            )
        elif is_met(concept, passage, languages):
            yield Signal(f"excluded:{concept.name}", _EXCLUDED_TEXT, "the question leaves this out")


def adjustments(
    plan: QueryPlan, document: Document, passage: Passage, titled: Passage, languages: Sequence[str]
) -> Iterator[Signal]:
    """Named signals a row gets for what the question says about it."""
    yield from exclusions(plan.excluded, passage, titled, languages)
    if plan.family == "exact_title" and (title := _title_meant(plan, document)):
        yield Signal("exact_title", _EXACT_TITLE, f"is called {title}")
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
