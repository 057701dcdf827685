"""Cited sources for reference managers: BibTeX and RIS, each source once. Pure.

a note "Lamp" of 1859   ->   @misc{lamp, title = {Lamp}, year = {1859}, note = {note:vault/lamp}}
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from citewell.exporting.exported import CitedDocument
from citewell.exporting.plain import one_line, web_address

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
    """One `@online` or `@misc` for each source."""
    taken: set[str] = set()
    return "\n".join(_bibtex(document, taken) for document in documents)


def _bibtex(document: CitedDocument, taken: set[str]) -> str:
    citation = document.citation
    fields = {
        "title": _tex(citation.title),
        "author": "{" + _tex(document.author) + "}" if document.author else "",
        "year": _year(document.dated),
        "url": _tex(web_address(citation.url)),
        "note": _tex(citation.source_key),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    kind = "online" if document.is_web else "misc"
    return "\n".join([f"@{kind}{{{_label(citation.title, taken)},", *lines, "}", ""])


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
    citation = document.citation
    fields = (
        ("TY", "ELEC" if document.is_web else "GEN"),
        ("TI", one_line(citation.title)),
        ("AU", one_line(document.author or "")),
        ("PY", _year(document.dated)),
        ("UR", web_address(citation.url)),
        ("ID", one_line(citation.source_key)),
        ("N1", one_line(citation.quote)),
    )
    lines = [f"{tag}  - {value}" for tag, value in fields if value]
    return "\r\n".join([*lines, "ER  - ", "", ""])


def _year(dated: str | None) -> str:
    found = re.match(r"[0-9]{4}", dated or "")
    return found[0] if found else ""
