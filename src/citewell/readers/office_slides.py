"""PowerPoint: each slide is a section under its title, with its number as page; speaker notes follow it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from citewell.readers.blocks import Block
from citewell.readers.office import RELATION_ID, OfficeText, Package
from citewell.readers.tables import markdown_rows
from citewell.readers.xml_tree import local_name

MAX_SLIDES = 5_000
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_TITLES = frozenset({"title", "ctrTitle"})
# What every slide repeats, and the picture of the slide on its page of notes.
_FURNITURE = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})


def slides_text(package: Package, root: Any) -> OfficeText:
    """The slides in the order in which they are shown."""
    parts = package.relations(package.main)
    names = [parts.get(slide.get(RELATION_ID) or "", "") for slide in root.iter(f"{_P}sldId")]
    blocks = [block for number, name in enumerate(names[:MAX_SLIDES], 1) for block in _slide(package, name, number)]
    warnings = (f"only the first {MAX_SLIDES} slides were read",) if len(names) > MAX_SLIDES else ()
    return OfficeText(tuple(blocks), warnings)


def _slide(package: Package, name: str, number: int) -> Iterator[Block]:
    root = package.part(name)
    if root is None:
        return
    shapes = list(_shapes(root))
    title = next((" ".join(_text(shape).split()) for shape in shapes if _placeholder(shape) in _TITLES), "")
    heading = (title or f"Slide {number}",)
    yield Block(f"## {heading[0]}", heading_path=heading, page=number)
    for shape in shapes:
        if _placeholder(shape) not in _TITLES:
            yield Block(_text(shape), heading_path=heading, page=number)
    notes = package.related(name, "/notesSlide")
    notes_root = package.part(notes) if notes else None
    for shape in () if notes_root is None else _shapes(notes_root):
        yield Block(_text(shape), heading_path=(*heading, "Speaker notes"), page=number)


def _shapes(root: Any) -> Iterator[Any]:
    """What holds text on a slide, in the order of the file, also within groups."""
    for shape in root.iter(f"{_P}sp", f"{_P}graphicFrame"):
        is_repeated = any(local_name(above) == "Fallback" for above in shape.iterancestors())
        if not is_repeated and _placeholder(shape) not in _FURNITURE:
            yield shape


def _placeholder(shape: Any) -> str:
    found = next(shape.iter(f"{_P}ph"), None)
    return "" if found is None else found.get("type") or "body"


def _text(shape: Any) -> str:
    tables = [
        markdown_rows([[_paragraphs(cell) for cell in row.iter(f"{_A}tc")] for row in table.iter(f"{_A}tr")])
        for table in shape.iter(f"{_A}tbl")
    ]
    return "\n\n".join(tables) if tables else _paragraphs(shape)


def _paragraphs(element: Any) -> str:
    lines = ("".join(map(_written, paragraph.iter(f"{_A}t", f"{_A}br"))) for paragraph in element.iter(f"{_A}p"))
    return "\n".join(line for line in lines if line.strip())


def _written(element: Any) -> str:
    return "\n" if local_name(element) == "br" else element.text or ""
