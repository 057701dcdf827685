"""Summaries: text derived from a document, kept apart from it. Never a quote of it, never evidence."""

from __future__ import annotations

from typing import Literal

from citewell.domain.documents import Chunk, Document, Kind
from citewell.domain.values import dataclass

SummaryRole = Literal["source_summary", "item_summary", "chunk_summary"]
# `extractive`: sentences of the text as they stand; `model`: written by a language model.
SummaryKind = Literal["extractive", "model"]


def role_of_whole(kind: Kind) -> SummaryRole:
    """The role of a summary that tells of a whole document."""
    return "item_summary" if kind == "item" else "source_summary"


@dataclass(frozen=True, slots=True)
class Summary:
    """What was derived from `start..end` of the text with that hash; `text` itself stands nowhere in it as a quote."""

    role: SummaryRole
    summary_kind: SummaryKind
    text: str
    start: int
    end: int
    content_hash: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class Unsummarized:
    """A document that lacks the summaries asked for, with the chunks they are to tell of; `place` is where it stands
    in the order of the corpus."""

    place: int
    document: Document
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class SummaryProgress:
    """How far summarising has come; what is done is stored, whatever happens next."""

    done: int
    total: int
    source_key: str = ""


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """What `summarize` did."""

    summary_kind: SummaryKind
    model: str
    documents: int
    left: int
    cost_usd: float | None
    stopped: Literal["done", "cost_limit_reached"] = "done"
    # Documents in which a key or a password seems to stand are not sent to a hosted model.
    withheld: tuple[str, ...] = ()
    # What gave no summary, each with the reason.
    failed: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
