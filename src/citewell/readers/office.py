"""Office documents as Markdown: Word by its headings, PowerPoint slide by slide, Excel sheet by sheet.

Kept: words, headings, lists as paragraphs, tables, notes, link targets, what the file says about itself. Not kept:
pictures, charts, page headers and footers, deleted and moved-away text, formulas (their last values are).
Word files have no pages until they are printed, so only slides and sheets have numbers.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Any

from citewell.domain.documents import ReadDocument
from citewell.domain.errors import Unreadable
from citewell.readers.archive import Archive
from citewell.readers.blocks import Block, compose
from citewell.readers.dates import iso_date
from citewell.readers.xml_tree import local_name, xml_tree
from citewell.text.canonical import canonicalize

RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_WHAT = "the document"
# The strict form of the standard has the same names in another namespace.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w{1,40})/(\w{1,40})")
_USUAL = rb"http://schemas.openxmlformats.org/\1/2006/\2"


@dataclass(frozen=True, slots=True)
class OfficeText:
    """What the parts of an Office file say, and what should be said about reading them."""

    blocks: tuple[Block, ...]
    warnings: tuple[str, ...] = ()


class Package:
    """An Office file: XML parts in a zip, tied together by relations."""

    def __init__(self, data: bytes) -> None:
        self._archive = Archive(data, _WHAT)
        self.main = next(iter(self._by_type("", "/officeDocument")), "")
        if not self.main:
            raise Unreadable("not an Office document: it names no main part")

    def part(self, name: str) -> Any:
        """The root element of a part, or None when there is no such part."""
        return xml_tree(self.data(name), _WHAT) if name in self._archive else None

    def data(self, name: str) -> bytes:
        """The bytes of a part that must be there."""
        return _STRICT.sub(_USUAL, self._archive.read(name))

    def related(self, part: str, ending: str) -> str | None:
        """The part that this one relates to as a type with this ending, such as `/styles`."""
        return next(iter(self._by_type(part, ending)), None)

    def relations(self, part: str) -> dict[str, str]:
        """What this part refers to, by id: names of parts, and web addresses as they are."""
        return {key: target for key, (_, target) in self._relations(part).items()}

    def _by_type(self, part: str, ending: str) -> list[str]:
        return [target for kind, target in self._relations(part).values() if kind.endswith(ending)]

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        folder, name = posixpath.split(part)
        root = self.part(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, tuple[str, str]] = {}
        for relation in () if root is None else root:
            target = relation.get("Target") or ""
            if relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[relation.get("Id") or ""] = (relation.get("Type") or "", target)
        return found


def read_office(data: bytes) -> ReadDocument:
    """The Office document in these bytes; raises Unreadable when it is broken, locked or empty."""
    package = Package(data)
    content = _content(package)
    composed = compose(content.blocks)
    if not composed.text:
        raise Unreadable("no text in this document")
    about = _about(package)
    return ReadDocument(
        text=composed.text,
        title=about.get("title"),
        sections=composed.sections,
        links=composed.links,
        author=about.get("creator"),
        created=iso_date(about.get("created", "")),
        modified=iso_date(about.get("modified", "")),
        meta_text="\n".join(about[key] for key in ("title", "subject", "keywords", "description") if key in about),
        warnings=content.warnings,
    )


def _content(package: Package) -> OfficeText:
    # Which program wrote it is told by its main part, not by its name: a renamed file reads the same.
    root = package.part(package.main)
    match local_name(root) if root is not None else "":
        case "document":
            from citewell.readers.office_word import word_text

            return word_text(package, root)
        case "presentation":
            from citewell.readers.office_slides import slides_text

            return slides_text(package, root)
        case "workbook":
            from citewell.readers.office_sheets import sheets_text

            return sheets_text(package, root)
        case _:
            raise Unreadable("not a Word, PowerPoint or Excel document")


def _about(package: Package) -> dict[str, str]:
    """The core properties that say something."""
    name = package.related("", "/core-properties")
    root = package.part(name) if name else None
    found = {} if root is None else {local_name(field): canonicalize(field.text or "") for field in root}
    return {key: line for key, value in found.items() if (line := " ".join(value.split()))}
