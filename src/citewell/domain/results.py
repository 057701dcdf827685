"""What looking something up gives: rows of a search, documents, neighbours."""

from __future__ import annotations

from typing import Literal

from citewell.domain.documents import Attachment, DocumentView
from citewell.domain.evidence import EvidenceRow
from citewell.domain.lanes import SemanticReport
from citewell.domain.values import dataclass

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
class LookupProblem:
    """Why a lookup gave no document, and what to do."""

    code: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class MissingDocument:
    """The place of a document that nobody has, in a list of several."""

    lookup: str
    error: LookupProblem


@dataclass(frozen=True, slots=True)
class DocumentEntries:
    """What `get` returns for several keys: each document, or why it is not there, in the order asked."""

    documents: tuple[DocumentView | MissingDocument, ...]


@dataclass(frozen=True, slots=True)
class RelatedResult:
    source_key: str
    related: tuple[EvidenceRow, ...]
    unresolved: tuple[str, ...]
    attachments: tuple[Attachment, ...] = ()
