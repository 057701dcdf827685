"""A run as a PDF: headings, paragraphs, lists, tables and quotes, with the fonts embedded; nothing in it is a link.

Typst sets it (`citewell[pdf]`). The text is handed over as values, never as markup. The file is PDF/A, which may hold
no sign that its fonts cannot show: a few of those are written as their code points, with a line that says so, and where
there are more, as in Chinese on a machine without such a font, there is no PDF rather than one full of boxes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from citewell.check.layout import AnswerBlock, blocks_of, remark_on, said_and_code, unfenced
from citewell.check.verdict import CheckedSentence
from citewell.errors import Unavailable
from citewell.export.formats import Exportable
from citewell.text.blocks import cells_of
from citewell.text.untrusted import one_line, shown, web_address

# More different signs without a glyph than these: a script is missing, not an ornament.
_MOST_UNSHOWN = 24
_UNSHOWN = re.compile(r'the text `"(.*)"` could not be displayed', re.DOTALL)
_ESCAPED = re.compile(r"\\u\{([0-9a-f]+)\}|\\(.)")
# What joins signs to one, or chooses a form of the one before.
_JOINERS = "\u200c\u200d\ufe00-\ufe0f"
_ITEM = re.compile(r"[-*•]\s+")


@cache
def has_pdf() -> bool:
    """Whether the library that makes PDFs is installed."""
    return find_spec("typst") is not None


def to_pdf(run: Exportable) -> bytes:
    if not has_pdf():
        raise Unavailable(
            "The library that makes PDFs is not installed.",
            fix="pip install 'citewell[pdf]'; or export docx, or print the page to share.",
        )
    import typst

    document = {"title": one_line(run.result.question), "parts": _parts(run)}
    template = files("citewell.export").joinpath("pdf.typ").read_bytes()
    made = datetime.fromisoformat(run.asked_at.replace("Z", "+00:00")).replace(microsecond=0)
    unshown: list[str] = []
    while True:
        told = _with_codes(document, unshown)
        try:
            content: bytes = typst.compile(
                template, sys_inputs={"run": json.dumps(told)}, pdf_standards=["a-2b"], timestamp=made
            )
        except typst.TypstError as error:
            sign = _unshown(str(error))
            if not sign or sign in unshown or len(unshown) >= _MOST_UNSHOWN:
                raise _refusal(sign) from None
            unshown.append(sign)
        else:
            return content


def _unshown(error: str) -> str:
    """The sign that no font shows, of a message that quotes it as Rust does."""
    found = _UNSHOWN.search(error)
    quoted = found[1] if found else ""
    return _ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else one[2], quoted)


def _refusal(sign: str) -> Unavailable:
    if not sign:
        return Unavailable("The PDF could not be made.", fix="Export docx, or print the page to share.")
    return Unavailable(
        f"No font of this machine shows the script of this answer ({sign[:4]}).",
        fix="Install a font for it, such as Noto Sans CJK; or export docx, or print the page to share.",
    )


def _with_codes(document: Any, unshown: Sequence[str]) -> Any:
    """The document with code points in the place of what cannot be shown, and a line about it at the end."""
    if not unshown:
        return document
    # Longest first: a sign may be made of several, of which one alone cannot be shown either.
    known = "|".join(re.escape(sign) for sign in sorted(unshown, key=len, reverse=True))
    signs = re.compile(f"(?:{known})[{_JOINERS}]*")

    def coded(value: Any) -> Any:
        match value:
            case str():
                return signs.sub(lambda one: "".join(f"[U+{ord(sign):04X}]" for sign in one[0]), value)
            case list():
                return [coded(one) for one in value]
            case dict():
                return {name: coded(one) for name, one in value.items()}
            case _:
                return value

    note = "Signs that no font of the machine shows stand as their code points, such as [U+1F600]."
    return {"title": coded(document["title"]), "parts": [*coded(document["parts"]), _part("small", note)]}


def _parts(run: Exportable) -> list[dict[str, Any]]:
    result = run.result
    parts: list[dict[str, Any]] = []
    for block in blocks_of(result.sentences):
        if block.kind == "table":
            parts.append(_table(block.sentences))
        elif block.kind == "heading":
            parts.append(_part("heading", block.sentences[0].text))
        else:
            parts += _text(block)
    if not result.sentences:
        parts.append(_part("paragraph", "No answer was given."))
    if result.contradictions:
        parts.append(_part("heading", "Sources disagree"))
    parts += [_part("item", f"{one.about}: {' / '.join(one.values)}") for one in result.contradictions]
    if result.citations:
        parts.append(_part("heading", "Sources"))
    for citation in result.citations:
        page = f", p. {citation.page}" if citation.page is not None else ""
        place = web_address(citation.url) or one_line(citation.note_path or "")
        parts.append(_part("paragraph", f"[{citation.n}] {citation.title}{page}" + (f" · {place}" if place else "")))
        parts.append(_part("quote", citation.quote))
    if result.provenance:
        parts.append(_part("small", result.provenance))
    parts.append(_part("small", f"Made with Citewell {result.tool_version}, {run.asked_at}."))
    return parts


def _text(block: AnswerBlock) -> list[dict[str, Any]]:
    """A paragraph or an item, a part for each of its sentences, and the code they lead into."""
    parts: list[dict[str, Any]] = []
    for one in block.sentences:
        said, code = said_and_code(one.text)
        kind = "item" if block.kind == "item" and one is block.sentences[0] else "paragraph"
        item = _ITEM.match(said)
        if said or one.citations:
            parts.append(_part("item" if item else kind, said[item.end() :] if item else said, one))
        if code and one.verdict != "contradicted":
            parts.append({"kind": "code", "text": shown(unfenced(code)), "marks": "", "note": ""})
    return parts


def _part(kind: str, text: str, sentence: CheckedSentence | None = None) -> dict[str, Any]:
    marks = " ".join(f"[{n}]" for n in sentence.citations) if sentence else ""
    return {"kind": kind, "text": one_line(text), "marks": marks, "note": remark_on(sentence) if sentence else ""}


def _table(rows: Sequence[CheckedSentence]) -> dict[str, Any]:
    """A table a model wrote, each row with its marks in the last cell."""
    width = max(len(cells_of(row.text)) for row in rows)
    cells: list[dict[str, Any]] = []
    for row in rows:
        texts = [*cells_of(row.text), *("",) * width][:width]
        cells += [_part("cell", text) for text in texts[:-1]]
        cells.append(_part("cell", texts[-1], row))
    return {"kind": "table", "width": width, "cells": cells}
