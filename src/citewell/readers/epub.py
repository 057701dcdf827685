"""E-books (EPUB): the chapters in reading order, as Markdown. Pictures, notes on margins and page numbers are lost."""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import unquote

from citewell.domain.documents import ReadDocument
from citewell.domain.errors import Unreadable
from citewell.readers.archive import Archive
from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.headings import sections_under
from citewell.readers.markup import scan
from citewell.readers.page_markdown import page_text
from citewell.readers.page_tree import page_tree
from citewell.readers.references import url_links
from citewell.readers.xml_tree import local_name, xml_tree
from citewell.text.canonical import canonicalize

MAX_CHAPTERS = 5_000
_WHAT = "the e-book"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def read_epub(data: bytes) -> ReadDocument:
    """The e-book in these bytes; raises Unreadable when it is broken, protected or empty."""
    archive = Archive(data, _WHAT)
    package_name = _package_name(archive)
    package = xml_tree(archive.read(package_name), _WHAT)
    names = _reading_order(package, posixpath.dirname(package_name))
    locked = _locked(archive)
    if locked.intersection(names):
        raise Unreadable("the e-book is protected against copying (DRM)")
    chapters = [chapter for name in names[:MAX_CHAPTERS] if (chapter := _chapter(archive, name))]
    text = "\n\n".join(chapters)
    if not text:
        raise Unreadable("no text in this e-book")
    about = _about(package)
    return ReadDocument(
        text=text,
        title=next(iter(about.get("title", ())), None),
        sections=sections_under(text, scan(text).headings, start=0, role="raw_source"),
        links=url_links(text),
        tags=tuple(about.get("subject", ())),
        author=", ".join(about.get("creator", ())) or None,
        created=iso_date(next(iter(about.get("date", ())), "")),
        meta_text="\n".join((*about.get("title", ()), *about.get("description", ())))[:4_000],
        warnings=tuple(_warnings(archive, names)),
    )


def _package_name(archive: Archive) -> str:
    container = xml_tree(archive.read(_CONTAINER), _WHAT)
    for element in container.iter():
        if local_name(element) == "rootfile" and element.get("full-path"):
            return unquote(str(element.get("full-path")))
    raise Unreadable("the e-book names no content")


def _reading_order(package: Any, folder: str) -> list[str]:
    """The pages of the spine, by their names in the archive."""
    pages: dict[str, str] = {}
    order: list[str] = []
    for element in package.iter():
        if local_name(element) == "item" and element.get("media-type") in _PAGES:
            target = posixpath.join(folder, unquote(element.get("href") or ""))
            pages[element.get("id") or ""] = posixpath.normpath(target)
        elif local_name(element) == "itemref":
            order.append(element.get("idref") or "")
    return list(dict.fromkeys(pages[key] for key in order if key in pages))


def _locked(archive: Archive) -> set[str]:
    """What is encrypted; that fonts are is common and no matter."""
    data = archive.find(_ENCRYPTION)
    if data is None:
        return set()
    references = (item for item in xml_tree(data, _WHAT).iter() if local_name(item) == "CipherReference")
    return {unquote(reference.get("URI") or "") for reference in references}


def _chapter(archive: Archive, name: str) -> str:
    data = archive.find(name)
    if data is None:
        return ""
    text = decode(data).text
    return canonicalize(page_text(page_tree(text)).text).strip() if text.strip() else ""


def _about(package: Any) -> dict[str, list[str]]:
    """The Dublin Core fields of the package, in order."""
    found: dict[str, list[str]] = {}
    for element in package.iter("{http://purl.org/dc/elements/1.1/}*"):
        value = " ".join(canonicalize(element.text or "").split())
        if value:
            found.setdefault(local_name(element), []).append(value)
    return found


def _warnings(archive: Archive, names: list[str]) -> list[str]:
    missing = sum(name not in archive for name in names[:MAX_CHAPTERS])
    cut = [f"only the first {MAX_CHAPTERS} chapters were read"] if len(names) > MAX_CHAPTERS else []
    return [*([f"chapters that are missing: {missing}"] if missing else []), *cut]
