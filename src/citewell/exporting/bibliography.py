"""Cited sources for reference managers: BibTeX and RIS, each source once. Pure.

a note "Lamp" of 1859   ->   @misc{lamp, title = {Lamp}, year = {1859}, note = {note:vault/lamp}}
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from citewell.domain.web import PaperFacts
from citewell.exporting.exported import CitedDocument
from citewell.exporting.plain import one_line, web_address

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
