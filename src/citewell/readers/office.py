"""Office documents as Markdown: Word by its headings, PowerPoint slide by slide, Excel sheet by sheet.

Kept: words, headings, lists as paragraphs, tables, notes, link targets, what the file says about itself. Not kept:
pictures, charts, page headers and footers, deleted and moved-away text, formulas (their last values are).
Word files have no pages until they are printed, so only slides and sheets have numbers.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

from citewell.errors import Unreadable
from citewell.readers.compose import TextBlock, compose
from citewell.readers.containers import Archive, local_name, xml_elements, xml_tree
from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.markup import is_web_address, scan, sections_under, url_links
from citewell.readers.page_markdown import page_text, page_tree
from citewell.readers.tables import MAX_COLUMNS, bounded, cut_warning, markdown_rows, row_lines
from citewell.text.canonical import canonicalize
from citewell.text.documents import Link, ReadDocument

RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_WHAT = "the document"
# The strict form of the standard has the same names in another namespace.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w{1,40})/(\w{1,40})")
_USUAL = rb"http://schemas.openxmlformats.org/\1/2006/\2"


@dataclass(frozen=True, slots=True)
class OfficeText:
    """What the parts of an Office file say, and what should be said about reading them."""

    blocks: tuple[TextBlock, ...]
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
            return word_text(package, root)
        case "presentation":
            return slides_text(package, root)
        case "workbook":
            return sheets_text(package, root)
        case _:
            raise Unreadable("not a Word, PowerPoint or Excel document")


def _about(package: Package) -> dict[str, str]:
    """The core properties that say something."""
    name = package.related("", "/core-properties")
    root = package.part(name) if name else None
    found = {} if root is None else {local_name(field): canonicalize(field.text or "") for field in root}
    return {key: line for key, value in found.items() if (line := " ".join(value.split()))}


# Word documents: paragraphs under their headings, tables as Markdown, notes and comments at the end.


_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_STYLE = re.compile(r"heading\s?([1-9])", re.IGNORECASE)
_TITLE_STYLE = re.compile(r"title", re.IGNORECASE)
_WRITTEN = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "sym": ""}
# Text that the reader of the document does not see, or sees elsewhere.
_UNSEEN = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr"})
_MAX_LEVEL = 6
_NOTES = (("/footnotes", "Footnotes"), ("/endnotes", "Endnotes"), ("/comments", "Comments"))


def word_text(package: Package, root: Any) -> OfficeText:
    """Everything a Word document says."""
    levels = _heading_levels(package)
    addresses = package.relations(package.main)
    body = root.find(f"{_W}body")
    blocks = list(_body_blocks(body, levels, addresses)) if body is not None else []
    for ending, name in _NOTES:
        blocks += _note_blocks(package, ending, name)
    return OfficeText(tuple(blocks))


def _heading_levels(package: Package) -> dict[str, int]:
    """Which styles are headings, by their id: the names are the same in every language, the ids are not."""
    name = package.related(package.main, "/styles")
    root = package.part(name) if name else None
    levels: dict[str, int] = {}
    for style in () if root is None else root.iter(f"{_W}style"):
        named = style.find(f"{_W}name")
        written = "" if named is None else named.get(f"{_W}val") or ""
        if heading := _HEADING_STYLE.fullmatch(written):
            levels[style.get(f"{_W}styleId") or ""] = min(int(heading[1]), _MAX_LEVEL)
        elif _TITLE_STYLE.fullmatch(written):
            levels[style.get(f"{_W}styleId") or ""] = 1
    return levels


def _body_blocks(body: Any, levels: dict[str, int], addresses: dict[str, str]) -> Iterator[TextBlock]:
    path: list[tuple[int, str]] = []
    for element in _top_elements(body):
        headings = tuple(text for _, text in path)
        if element.tag == f"{_W}tbl":
            yield TextBlock(markdown_rows(_rows(element)), heading_path=headings)
            continue
        text, links = _paragraph(element, addresses)
        level = _level(element, levels)
        if not level or not text.strip():
            yield TextBlock(text, heading_path=headings, links=links)
            continue
        title = " ".join(text.split())
        path = [*(above for above in path if above[0] < level), (level, title)]
        yield TextBlock(f"{'#' * level} {title}", heading_path=tuple(text for _, text in path))


def _top_elements(body: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, also those within content controls and tracked insertions."""
    stack = [iter(body)]
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
        elif element.tag in {f"{_W}p", f"{_W}tbl"}:
            yield element
        elif local_name(element) not in _UNSEEN and local_name(element) != "sectPr":
            stack.append(iter(element))


def _level(paragraph: Any, levels: dict[str, int]) -> int:
    """The level of a heading, or 0."""
    properties = paragraph.find(f"{_W}pPr")
    if properties is None:
        return 0
    outline = properties.find(f"{_W}outlineLvl")
    if outline is not None and (outline.get(f"{_W}val") or "").isdecimal():
        level = int(outline.get(f"{_W}val")[:3])
        return min(level + 1, _MAX_LEVEL) if level < 9 else 0
    style = properties.find(f"{_W}pStyle")
    return 0 if style is None else levels.get(style.get(f"{_W}val") or "", 0)


def _paragraph(paragraph: Any, addresses: dict[str, str]) -> tuple[str, tuple[Link, ...]]:
    """The words of a paragraph and the links in them."""
    parts: list[str] = []
    links: list[Link] = []
    length = 0
    for element, is_end in _walk(paragraph):
        name = local_name(element)
        if name == "hyperlink":
            target = addresses.get(element.get(RELATION_ID) or "", "")
            if is_end:
                links += _closed(links, length)
            elif is_web_address(target):
                links.append(Link("url", canonicalize(target), length, -1))
        elif not is_end and (written := _written(element, name)):
            parts.append(written)
            length += len(written)
    return "".join(parts), tuple(link for link in links if link.start < link.end)


def _closed(links: list[Link], end: int) -> list[Link]:
    """Take the link that is still open off the list, and give it its end."""
    if not links or links[-1].end != -1:
        return []
    opened = links.pop()
    return [Link("url", opened.target, opened.start, end)]


def _written(element: Any, name: str) -> str:
    if name == "t":
        return canonicalize(element.text or "")
    if name == "p":  # a text box within a paragraph
        return "\n"
    return _WRITTEN.get(name, "")


def _walk(paragraph: Any) -> Iterator[tuple[Any, bool]]:
    """Each element below, when it opens and when it closes, without what is not seen."""
    stack = [(paragraph, iter(paragraph))]
    while stack:
        parent, children = stack[-1]
        element = next(children, None)
        if element is None:
            stack.pop()
            if stack:
                yield parent, True
        elif local_name(element) not in _UNSEEN:
            yield element, False
            stack.append((element, iter(element)))


def _rows(table: Any) -> list[list[str]]:
    """The cells of a table; one within another becomes part of the cell it stands in."""
    return [[_cell_text(cell) for cell in _direct(row, "tc")] for row in _direct(table, "tr")]


def _cell_text(cell: Any) -> str:
    return " ".join(
        " ".join(map(" ".join, _rows(element))) if element.tag == f"{_W}tbl" else _paragraph(element, {})[0]
        for element in _top_elements(cell)
    )


def _direct(parent: Any, name: str) -> list[Any]:
    """Children of this name, also those within a content control."""
    found: list[Any] = []
    for child in parent:
        if child.tag == f"{_W}{name}":
            found.append(child)
        elif local_name(child) == "sdt":
            found += child.iterfind(f"{_W}sdtContent/{_W}{name}")
    return found


def _note_blocks(package: Package, ending: str, heading: str) -> list[TextBlock]:
    name = package.related(package.main, ending)
    root = package.part(name) if name else None
    if root is None or name is None:
        return []
    addresses = package.relations(name)
    blocks = [
        TextBlock(text, heading_path=(heading,), links=links)
        for paragraph in _top_elements(root)
        if paragraph.tag == f"{_W}p"
        for text, links in [_paragraph(paragraph, addresses)]
        if text.strip()
    ]
    return [TextBlock(f"# {heading}", heading_path=(heading,)), *blocks] if blocks else []


# PowerPoint: each slide is a section under its title, with its number as page; speaker notes follow it.


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


def _slide(package: Package, name: str, number: int) -> Iterator[TextBlock]:
    root = package.part(name)
    if root is None:
        return
    shapes = list(_shapes(root))
    title = next((" ".join(_text(shape).split()) for shape in shapes if _placeholder(shape) in _TITLES), "")
    heading = (title or f"Slide {number}",)
    yield TextBlock(f"## {heading[0]}", heading_path=heading, page=number)
    for shape in shapes:
        if _placeholder(shape) not in _TITLES:
            yield TextBlock(_text(shape), heading_path=heading, page=number)
    notes = package.related(name, "/notesSlide")
    notes_root = package.part(notes) if notes else None
    for shape in () if notes_root is None else _shapes(notes_root):
        yield TextBlock(_text(shape), heading_path=(*heading, "Speaker notes"), page=number)


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
    lines = ("".join(map(_slide_text, paragraph.iter(f"{_A}t", f"{_A}br"))) for paragraph in element.iter(f"{_A}p"))
    return "\n".join(line for line in lines if line.strip())


def _slide_text(element: Any) -> str:
    return "\n" if local_name(element) == "br" else element.text or ""


# Excel: each sheet is a section under its name, one line a row; dates as dates, formulas by their last value.


MAX_SHEETS = 500
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_CELL = re.compile(r"([A-Z]{1,3})\d+")
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_LITERAL = re.compile(r"\"[^\"]*\"|\[[^\]]*\]|\\.")
_DATE_LETTERS = re.compile(r"[ydhs]", re.IGNORECASE)
# Excel believes that 1900 was a leap year, so from March of that year on its days count from 30 December 1899.
_EPOCH = datetime(1899, 12, 30)
_EPOCH_1904 = datetime(1904, 1, 1)
_LAST_DAY = 2_958_466


def sheets_text(package: Package, root: Any) -> OfficeText:
    """The sheets in the order of their tabs, hidden ones too."""
    parts = package.relations(package.main)
    reader = _Cells(package, root)
    sheets = list(root.iter(f"{_S}sheet"))
    blocks: list[TextBlock] = []
    warnings: tuple[str, ...] = ()
    for number, sheet in enumerate(sheets[:MAX_SHEETS], 1):
        name = sheet.get("name") or f"Sheet {number}"
        part = parts.get(sheet.get(RELATION_ID) or "", "")
        if "worksheets" not in part:
            continue
        rows, is_cut = bounded(reader.rows(package.data(part)))
        warnings += cut_warning(len(rows), is_cut=is_cut, where=f" of sheet {name[:60]}")
        if rows:
            blocks.append(TextBlock(f"## {' '.join(name.split())}", heading_path=(name,), page=number))
            blocks += [TextBlock(line, heading_path=(name,), page=number) for line in row_lines(rows)]
    return OfficeText(tuple(blocks), warnings)


class _Cells:
    """How the cells of one workbook are to be read."""

    def __init__(self, package: Package, root: Any) -> None:
        self._shared = _shared_strings(package)
        self._date_styles = _date_styles(package)
        properties = root.find(f"{_S}workbookPr")
        is_1904 = properties is not None and properties.get("date1904") in {"1", "true"}
        self._epoch = _EPOCH_1904 if is_1904 else _EPOCH

    def rows(self, data: bytes) -> Iterator[list[str]]:
        """Each row of a sheet, with empty cells where the file leaves them out."""
        for row in xml_elements(data, f"{_S}row", _WHAT):
            cells: list[str] = []
            for cell in row.iterfind(f"{_S}c"):
                column = _column(cell.get("r") or "", len(cells))
                if column >= MAX_COLUMNS:
                    break
                cells += [""] * (column - len(cells))
                cells.append(self._value(cell))
            yield cells

    def _value(self, cell: Any) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return _rich_text(cell)
        value = cell.findtext(f"{_S}v") or ""
        if kind == "s":
            return self._shared[int(value)] if value.isdecimal() and int(value) < len(self._shared) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "n":
            return self._number(value, cell.get("s") or "")
        return value

    def _number(self, written: str, style: str) -> str:
        try:
            number = float(written)
        except ValueError:
            return written
        if style in self._date_styles and 0 <= number < _LAST_DAY:
            return _date(self._epoch, number)
        # Binary fractions as the file stores them (4.2000000000000002) are not what anyone typed.
        return f"{number:.15g}" if "." in written else written


def _date(epoch: datetime, days: float) -> str:
    moment = epoch + timedelta(seconds=round(days * 86_400))
    if days < 1:
        return moment.strftime("%H:%M:%S").removesuffix(":00")
    if days == int(days):
        return moment.date().isoformat()
    return moment.isoformat(sep=" ", timespec="seconds")


def _column(reference: str, following: int) -> int:
    """Where a cell stands, counted from 0; without a reference it follows the one before."""
    match = _CELL.fullmatch(reference)
    if match is None:
        return following
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return max(column - 1, following)


def _rich_text(element: Any) -> str:
    """The runs of a string, without the phonetic guides that stand above it."""
    return "".join(
        part.text or ""
        for part in element.iter(f"{_S}t")
        if not any(local_name(above) == "rPh" for above in part.iterancestors())
    )


def _shared_strings(package: Package) -> list[str]:
    name = package.related(package.main, "/sharedStrings")
    return [] if name is None else [_rich_text(item) for item in xml_elements(package.data(name), f"{_S}si", _WHAT)]


def _date_styles(package: Package) -> frozenset[str]:
    """The numbers of the cell styles that show a date or a time."""
    name = package.related(package.main, "/styles")
    root = package.part(name) if name else None
    formats = None if root is None else root.find(f"{_S}cellXfs")
    if root is None or formats is None:
        return frozenset()
    own = {item.get("numFmtId") for item in root.iter(f"{_S}numFmt") if _shows_date(item.get("formatCode") or "")}
    built_in = set(map(str, _DATE_FORMATS))
    return frozenset(str(number) for number, item in enumerate(formats) if item.get("numFmtId") in own | built_in)


def _shows_date(code: str) -> bool:
    return _DATE_LETTERS.search(_LITERAL.sub("", code)) is not None


# E-books (EPUB): the chapters in reading order, as Markdown. Pictures, notes on margins and page numbers are lost.


MAX_CHAPTERS = 5_000
_EPUB = "the e-book"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def read_epub(data: bytes) -> ReadDocument:
    """The e-book in these bytes; raises Unreadable when it is broken, protected or empty."""
    archive = Archive(data, _EPUB)
    package_name = _package_name(archive)
    package = xml_tree(archive.read(package_name), _EPUB)
    names = _reading_order(package, posixpath.dirname(package_name))
    locked = _locked(archive)
    if locked.intersection(names):
        raise Unreadable("the e-book is protected against copying (DRM)")
    chapters = [chapter for name in names[:MAX_CHAPTERS] if (chapter := _chapter(archive, name))]
    text = "\n\n".join(chapters)
    if not text:
        raise Unreadable("no text in this e-book")
    about = _about_book(package)
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
    container = xml_tree(archive.read(_CONTAINER), _EPUB)
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
    references = (item for item in xml_tree(data, _EPUB).iter() if local_name(item) == "CipherReference")
    return {unquote(reference.get("URI") or "") for reference in references}


def _chapter(archive: Archive, name: str) -> str:
    data = archive.find(name)
    if data is None:
        return ""
    text = decode(data).text
    return canonicalize(page_text(page_tree(text)).text).strip() if text.strip() else ""


def _about_book(package: Any) -> dict[str, list[str]]:
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
