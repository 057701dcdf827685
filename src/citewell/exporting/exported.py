"""An exported run as a value, and the table of forms it can have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from citewell.domain.answers import Citation
from citewell.domain.runs import RunResult
from citewell.domain.web import PaperFacts

ExportForm = Literal["md", "bibtex", "ris", "docx", "pdf"]


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A source as a bibliography wants it: once, with who wrote it and when, as far as that is known."""

    citation: Citation
    author: str | None = None
    dated: str | None = None
    is_web: bool = False
    # What an academic index says of it, where it is a paper.
    paper: PaperFacts | None = None


@dataclass(frozen=True, slots=True)
class Exportable:
    """All that is exported of a run."""

    result: RunResult
    asked_at: str
    documents: tuple[CitedDocument, ...]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    name: str
    media_type: str
    content: bytes


def papers_of(result: RunResult) -> dict[str, PaperFacts]:
    """The papers among the sources of a run, by their keys."""
    read = {one.source_key: one.paper for one in result.web.papers} if result.web is not None else {}
    items = result.report.items if result.report is not None else ()
    return read | {item.row.source_key: item.paper for item in items if item.paper is not None}


def cited_documents(
    citations: Sequence[Citation],
    look_up: Callable[[str], tuple[str | None, str | None]],
    papers: Mapping[str, PaperFacts] | None = None,
) -> tuple[CitedDocument, ...]:
    """Each cited document once, in the order of the citations; `look_up` gives author and date of a key."""
    first: dict[str, Citation] = {}
    for citation in citations:
        first.setdefault(citation.source_key, citation)
    known = papers or {}
    return tuple(
        CitedDocument(citation, *look_up(key), bool(citation.url and citation.url.startswith("http")), known.get(key))
        for key, citation in first.items()
    )


def export_file(form: ExportForm, run: Exportable) -> ExportedFile:
    """A run in one of its forms."""
    # Each form is imported when it is asked for: the libraries for Word and PDF are heavy.
    name = f"citewell-{run.result.run_id}"
    match form:
        case "md":
            from citewell.exporting.markdown import to_markdown

            return ExportedFile(f"{name}.md", "text/markdown", to_markdown(run).encode("utf-8"))
        case "bibtex":
            from citewell.exporting.bibliography import to_bibtex

            return ExportedFile(f"{name}.bib", "application/x-bibtex", to_bibtex(run.documents).encode("utf-8"))
        case "ris":
            from citewell.exporting.bibliography import to_ris

            return ExportedFile(
                f"{name}.ris", "application/x-research-info-systems", to_ris(run.documents).encode("utf-8")
            )
        case "docx":
            from citewell.exporting.word import to_word

            kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            return ExportedFile(f"{name}.docx", kind, to_word(run))
        case "pdf":
            from citewell.exporting.pdf import to_pdf

            return ExportedFile(f"{name}.pdf", "application/pdf", to_pdf(run))
