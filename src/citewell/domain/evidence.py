"""Evidence: a ranked row that shows one contiguous window of one document."""

from __future__ import annotations

from typing import Literal

from citewell.domain.documents import Kind, Role, SectionView, SourceType, Span
from citewell.domain.values import dataclass

Lane = Literal["lexical", "semantic", "exact_tag", "related", "exact_title", "pinned"]

# An item that was saved from a web address has the page at that address as its source.
Relationship = Literal["links_to", "linked_from", "embeds", "embedded_in", "has_source", "source_of"]

ContextKind = Literal["heading", "lead_in", "table_header", "property"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One named adjustment of a row's score: why it won, or why it did not."""

    name: str
    value: float
    detail: str = ""


# From here on the evidence is taken to answer; below, an answer without a model is refused.
LIKELY = 0.7
# Below this no answer is to be expected, and a run looks further before it gives up.
UNLIKELY = 0.3


@dataclass(frozen=True, slots=True)
class Answerability:
    """How likely it is that the evidence answers the question at all, from 0 to 1, and what speaks against it."""

    probability: float
    reasons: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """One line for a person: how likely, and what speaks against it."""
        words = "unlikely" if self.probability < UNLIKELY else "likely" if self.probability >= LIKELY else "uncertain"
        against = f": {'; '.join(self.reasons)}" if self.reasons and self.probability < LIKELY else ""
        return f"that your corpus answers this is {words} ({self.probability:.0%}){against}"


@dataclass(frozen=True, slots=True)
class Context:
    """What belongs to a row or a quote but stands elsewhere in its document, such as the header of its table.

    `text` is `canonical_text[span.start:span.end]`.
    """

    kind: ContextKind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One row of evidence; `text` is `canonical_text[span.start:span.end]`."""

    source_key: str
    kind: Kind
    source_type: SourceType
    title: str
    role: Role
    text: str
    span: Span
    score: float
    url: str | None = None
    note_path: str | None = None
    dated: str | None = None
    user_tags: tuple[str, ...] = ()
    summary_kind: str | None = None
    excerpt_kind: str | None = None
    sections: tuple[SectionView, ...] = ()
    signals: tuple[Signal, ...] = ()
    matched_terms: tuple[str, ...] = ()
    missing_terms: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()
    related_to: str | None = None
    relationship: Relationship | None = None
    context: tuple[Context, ...] = ()


GivenLane = Literal["primary", "exact_tag", "related"]


@dataclass(frozen=True, slots=True)
class GivenRow:
    """The place of a row somebody else holds: enough to read it anew, and nothing that could be forged."""

    source_key: str
    content_hash: str
    start: int
    end: int
    lane: GivenLane = "primary"
    related_to: str | None = None
    relationship: Relationship | None = None
