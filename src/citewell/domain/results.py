"""What looking something up gives: rows of a search, documents, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citewell.domain.documents import Attachment, DocumentView
from citewell.domain.evidence import EvidenceRow
from citewell.domain.lanes import SemanticReport

SearchMode = Literal["lexical", "semantic", "hybrid"]


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    mode: SearchMode
    took_ms: float
    results: tuple[EvidenceRow, ...]
    terms: tuple[str, ...] = ()
    eligible_documents: int = 0
    warnings: tuple[str, ...] = ()
    semantic: SemanticReport | None = None


@dataclass(frozen=True, slots=True)
class DocumentList:
    documents: tuple[DocumentView, ...]


@dataclass(frozen=True, slots=True)
class RelatedResult:
    source_key: str
    related: tuple[EvidenceRow, ...]
    unresolved: tuple[str, ...]
    attachments: tuple[Attachment, ...] = ()
