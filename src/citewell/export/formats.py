"""An exported run as a value, and the table of forms it can have."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import docx

from citewell.check.layout import AnswerBlock, blocks_of, remark_on, said_and_code, unfenced
from citewell.check.verdict import CheckedSentence, Citation
from citewell.runs.run import RunResult
from citewell.text.blocks import cells_of
from citewell.text.untrusted import one_line, shown, web_address
from citewell.web.facts import PaperFacts

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
            from citewell.export.markdown_note import to_markdown

            return ExportedFile(f"{name}.md", "text/markdown", to_markdown(run).encode("utf-8"))
        case "bibtex":
            return ExportedFile(f"{name}.bib", "application/x-bibtex", to_bibtex(run.documents).encode("utf-8"))
        case "ris":
            return ExportedFile(
                f"{name}.ris", "application/x-research-info-systems", to_ris(run.documents).encode("utf-8")
            )
        case "docx":
            kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            return ExportedFile(f"{name}.docx", kind, to_word(run))
        case "pdf":
            from citewell.export.typst import to_pdf

            return ExportedFile(f"{name}.pdf", "application/pdf", to_pdf(run))


# Cited sources for reference managers: BibTeX and RIS, each source once. Pure.
#
# a note "Lamp" of 1859   ->   @misc{lamp, title = {Lamp}, year = {1859}, note = {note:vault/lamp}}


_RETRACTED = "RETRACTED."
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
}


def to_bibtex(documents: Sequence[CitedDocument]) -> str:
    """One `@article`, `@online` or `@misc` for each source."""
    taken: set[str] = set()
    return "\n".join(_bibtex(document, taken) for document in documents)


def _bibtex(document: CitedDocument, taken: set[str]) -> str:
    citation, paper = document.citation, document.paper or PaperFacts()
    note = f"{_RETRACTED} {citation.source_key}" if paper.is_retracted else citation.source_key
    fields = {
        "title": _tex(citation.title),
        "author": " and ".join("{" + _tex(author) + "}" for author in _authors(document)),
        "year": _paper_year(document),
        "journal": _tex(paper.venue),
        "doi": _tex(paper.doi),
        "url": _tex(web_address(citation.url) or web_address(paper.open_access_url)),
        "note": _tex(note),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    kind = "article" if paper.venue else "online" if document.is_web else "misc"
    return "\n".join([f"@{kind}{{{_label(citation.title, taken)},", *lines, "}", ""])


def _authors(document: CitedDocument) -> tuple[str, ...]:
    """Who wrote it: of a paper, as its index has them."""
    told = document.paper.authors if document.paper is not None else ()
    return told or ((document.author,) if document.author else ())


def _paper_year(document: CitedDocument) -> str:
    year = document.paper.year if document.paper is not None else None
    return str(year) if year is not None else _year(document.dated)


def _label(title: str, taken: set[str]) -> str:
    """A name of plain letters, that nothing before has."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    name = "-".join(re.findall("[a-z0-9]+", plain)[:5])[:40] or "source"
    label, number = name, 1
    while label in taken:
        number += 1
        label = f"{name}-{number}"
    taken.add(label)
    return label


def _tex(text: str | None) -> str:
    return "".join(_TEX.get(letter, letter) for letter in one_line(text or ""))


def to_ris(documents: Sequence[CitedDocument]) -> str:
    """One record for each source; a line holds one field, so that nothing in a text can begin another."""
    return "".join(_ris(document) for document in documents)


def _ris(document: CitedDocument) -> str:
    citation, paper = document.citation, document.paper or PaperFacts()
    fields = (
        ("TY", "JOUR" if paper.venue else "ELEC" if document.is_web else "GEN"),
        ("TI", one_line(citation.title)),
        *(("AU", one_line(author)) for author in _authors(document)),
        ("PY", _paper_year(document)),
        ("JO", one_line(paper.venue)),
        ("DO", one_line(paper.doi)),
        ("UR", web_address(citation.url)),
        ("L1", web_address(paper.open_access_url)),
        ("ID", one_line(citation.source_key)),
        ("N1", _RETRACTED if paper.is_retracted else ""),
        ("N1", one_line(citation.quote)),
    )
    lines = [f"{tag}  - {value}" for tag, value in fields if value]
    return "\r\n".join([*lines, "ER  - ", "", ""])


def _year(dated: str | None) -> str:
    found = re.match(r"[0-9]{4}", dated or "")
    return found[0] if found else ""


# A run as a Word document: headings, paragraphs and quotes; no link, field or picture is made of anything in it.


def to_word(run: Exportable) -> bytes:
    result = run.result
    document: Any = docx.Document()
    properties = document.core_properties
    properties.title = one_line(result.question)[:250]
    properties.author = "Citewell"
    properties.created = properties.modified = datetime.fromisoformat(run.asked_at.replace("Z", "+00:00"))
    document.add_heading(one_line(result.question), level=1)
    for block in blocks_of(result.sentences):
        if block.kind == "table":
            _add_table(document, block.sentences)
        elif block.kind == "heading":
            document.add_heading(one_line(block.sentences[0].text), level=2)
        else:
            _add_text(document, block)
    if not result.sentences:
        document.add_paragraph("No answer was given.")
    if result.citations:
        document.add_heading("Sources", level=2)
    for citation in result.citations:
        page = f", p. {citation.page}" if citation.page is not None else ""
        place = web_address(citation.url) or one_line(citation.note_path or "")
        document.add_paragraph(f"[{citation.n}] {one_line(citation.title)}{page}" + (f" · {place}" if place else ""))
        document.add_paragraph(one_line(citation.quote), style="Quote")
    if result.provenance:
        document.add_paragraph(one_line(result.provenance))
    document.add_paragraph(f"Made with Citewell {result.tool_version}, {run.asked_at}.")
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _add_text(document: Any, block: AnswerBlock) -> None:
    """A paragraph or an item, its sentences with their marks, and the code they lead into."""
    paragraph = document.add_paragraph(style="List Bullet" if block.kind == "item" else None)
    for number, one in enumerate(block.sentences):
        said, code = said_and_code(one.text)
        run = paragraph.add_run(f"{' ' if number else ''}{one_line(said)}")
        run.font.strike = one.verdict == "contradicted"
        paragraph.add_run("".join(f" [{n}]" for n in one.citations)).bold = True
        if remark := remark_on(one):
            paragraph.add_run(f" {remark}").italic = True
        if code and one.verdict != "contradicted":
            block_of_code = document.add_paragraph().add_run(shown(unfenced(code)))
            block_of_code.font.name = "Courier New"
            if one is not block.sentences[-1]:
                paragraph = document.add_paragraph()


def _add_table(document: Any, rows: Sequence[CheckedSentence]) -> None:
    """A table a model wrote, each row with its marks in the last cell."""
    width = max(len(cells_of(row.text)) for row in rows)
    table = document.add_table(rows=0, cols=width)
    for row in rows:
        cells = table.add_row().cells
        for cell, text in zip(cells, cells_of(row.text), strict=False):
            cell.text = one_line(text)
        beside = cells[-1].paragraphs[0]
        beside.add_run("".join(f" [{n}]" for n in row.citations)).bold = True
        if remark := remark_on(row):
            beside.add_run(f" {remark}").italic = True
