"""A run as a Word document: headings, paragraphs and quotes; no link, field or picture is made of anything in it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import docx

from citewell.domain.answers import CheckedSentence
from citewell.exporting.exported import Exportable
from citewell.exporting.plain import one_line, web_address
from citewell.text.table_lines import blocks_of, cells_of, is_row


def to_word(run: Exportable) -> bytes:
    result = run.result
    document: Any = docx.Document()
    properties = document.core_properties
    properties.title = one_line(result.question)[:250]
    properties.author = "Citewell"
    properties.created = properties.modified = datetime.fromisoformat(run.asked_at.replace("Z", "+00:00"))
    document.add_heading(one_line(result.question), level=1)
    for block in blocks_of(result.sentences):
        sentence = block[0]
        if is_row(sentence.text):
            _add_table(document, block)
            continue
        if sentence.kind == "heading":
            document.add_heading(one_line(sentence.text), level=2)
            continue
        paragraph = document.add_paragraph(one_line(sentence.text))
        paragraph.add_run("".join(f" [{n}]" for n in sentence.citations)).bold = True
        if sentence.verdict == "unsupported":
            paragraph.add_run(" (not supported by its source)").italic = True
    if not result.sentences:
        document.add_paragraph("No answer was given.")
    if result.citations:
        document.add_heading("Sources", level=2)
    for citation in result.citations:
        page = f", p. {citation.page}" if citation.page is not None else ""
        place = web_address(citation.url) or one_line(citation.note_path or "")
        document.add_paragraph(f"[{citation.n}] {one_line(citation.title)}{page}" + (f" · {place}" if place else ""))
        document.add_paragraph(one_line(citation.quote), style="Quote")
    document.add_paragraph(f"Made with Citewell {result.tool_version}, {run.asked_at}.")
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


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
        if row.verdict in ("unsupported", "contradicted"):
            beside.add_run(" (not supported by its source)").italic = True
