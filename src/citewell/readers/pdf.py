"""PDF files: the text layer, page by page, each page a section with its number.

pdfium is not thread-safe, so one lock lets one PDF be read at a time in a process. It does not bound what a hostile
file makes pdfium unpack (a kilobyte of nested forms can take gigabytes): untrusted files belong in a process with a
memory limit (`readers/process_pool.py`).
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from ctypes import c_double, c_int
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from math import hypot
from statistics import median
from typing import Any

from citewell.errors import Unreadable
from citewell.readers.dates import pdf_date
from citewell.readers.markup import url_links
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument, Section

# Lines of a PDF page become paragraphs, and words cut at line ends become whole. Pure.
#
# A line was wrapped, and is joined with the next one, where the first word of the next would not have fitted in it any
# more. "informa-" and "tion" are one word, "well-" and "known" keep their hyphen: the words of the document itself
# tell. Code, list items, rows of tables and headings stay lines. What a page ends in stays there: pages are not joined.


# Where a line ended in a hyphen pdfium leaves a mark instead of the hyphen.
HYPHEN_MARK = "\ufffe"
_CUT = re.compile(rf"(?P<chain>-?)(?P<part>[^\W\d_]+)[{HYPHEN_MARK}\u00ad-]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ITEM = re.compile(r"\s*(?:[•▪‣◦●○■□–—*·o-]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s)")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\d*\s*$")
_ADDRESS = re.compile(r"\s*(?:\S+@\S+|(?:https?://|www\.)\S+)\s*")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*\s*$")
# First parts that make compounds, where nothing in the document tells.
_COMPOUNDING = frozenset("all cross full half high ill long low non open real self semi short so well".split())

_GAP = 1.3  # a wider one than the usual between two lines begins a paragraph
_WIDE_GAP = 1.9  # in sizes of the font, where there is no usual one
_SAME_SIZE = 1.12
_INDENT = 0.8
_LEAST_COMPOUND = 4
_NARROW = 12  # in sizes of the font: what is narrower is no column of prose


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """One line as it is printed: its text, and in points where it starts, ends and stands (y grows upwards)."""

    text: str
    left: float = 0.0
    right: float = 0.0
    baseline: float = 0.0
    size: float = 0.0
    is_fixed_pitch: bool = False

    @property
    def is_placed(self) -> bool:
        return self.size > 0 and self.right > self.left


def page_texts(pages: Sequence[Sequence[PrintedLine] | None]) -> list[str | None]:
    """The text of each page, its paragraphs joined; None where there is no page."""
    vocabulary = Counter(_words(line for page in pages if page for line in page))
    return [None if page is None else _page_text(page, vocabulary) for page in pages]


def _words(lines: Iterable[PrintedLine]) -> Iterator[str]:
    """The words of the document that are not cut at the end of a line, compounds also as a whole."""
    for line in lines:
        text = _CUT.sub("", line.text)
        for match in _WORD.finditer(text.lower()):
            yield match.group()
            if "-" in match.group():
                yield from match.group().split("-")


def _page_text(lines: Sequence[PrintedLine], vocabulary: Counter[str]) -> str:
    parts: list[str] = []
    lines = [replace(line, text=line.text.strip() if not line.is_fixed_pitch else line.text.rstrip()) for line in lines]
    blocks = [[line for line in block if line.text] for block in _blocks(lines)]
    for block in filter(None, blocks):
        if parts:
            parts.append("\n\n")
        right = _right_edge(block, lines)
        gap = _usual_gap(block)
        parts.append(block[0].text)
        for above, below in pairwise(block):
            if _is_wrapped(above, below, right, gap, block):
                _append_wrapped(parts, below.text, vocabulary)
            else:
                parts += [_separator(above, below, right, gap), below.text]
    return "".join(parts).replace(HYPHEN_MARK, "-")


def _blocks(lines: Sequence[PrintedLine]) -> Iterator[list[PrintedLine]]:
    """Lines that stand one below the other in one size."""
    block: list[PrintedLine] = []
    for line in lines:
        if block and not _continues(block[-1], line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _continues(above: PrintedLine, below: PrintedLine) -> bool:
    if not (above.is_placed and below.is_placed):
        return above.is_placed == below.is_placed
    gap = above.baseline - below.baseline
    larger, smaller = max(above.size, below.size), min(above.size, below.size)
    return larger <= _SAME_SIZE * smaller and 0 < gap <= _WIDE_GAP * larger


def _right_edge(block: Sequence[PrintedLine], lines: Sequence[PrintedLine]) -> float:
    """Where the lines of a block end at most: as far as any line of the page that starts where it starts."""
    left, size = min(line.left for line in block), block[0].size
    return max(line.right for line in (*block, *(one for one in lines if abs(one.left - left) <= size)))


def _usual_gap(block: Sequence[PrintedLine]) -> float:
    gaps = [above.baseline - below.baseline for above, below in pairwise(block)]
    return median(gaps) if gaps else 0.0


def _is_wrapped(above: PrintedLine, below: PrintedLine, right: float, gap: float, block: Sequence[PrintedLine]) -> bool:
    if above.is_fixed_pitch or below.is_fixed_pitch or _ITEM.match(below.text) or _LEADER.search(above.text):
        return False
    if (_is_row(above.text) and _is_row(below.text)) or _ADDRESS.fullmatch(below.text):
        return False
    if not above.is_placed:
        return _is_wrapped_by_length(above.text, below.text, block)
    if above.baseline - below.baseline > _GAP * gap:
        return False
    if below.left > above.left + _INDENT * below.size and _SENTENCE_END.search(above.text):
        return False
    if right - above.left < _NARROW * above.size and _SENTENCE_END.search(above.text):
        return False
    letter = (below.right - below.left) / max(1, len(below.text))
    first = below.text.split(None, 1)[0]
    return above.right + (len(first) + 1) * letter > right or _CUT.search(above.text) is not None


def _is_wrapped_by_length(above: str, below: str, block: Sequence[PrintedLine]) -> bool:
    """Without places: a line as long as the others, which goes on in the next."""
    longest = max(len(line.text) for line in block)
    return len(above) + len(below.split(None, 1)[0]) >= 0.9 * longest and not (
        _SENTENCE_END.search(above) and len(above) < 0.9 * longest
    )


def _is_row(text: str) -> bool:
    """A row of figures: at least half of it, and two of them."""
    cells = text.split()
    figures = sum(any(map(str.isdigit, cell)) for cell in cells)
    return figures > 1 and 2 * figures >= len(cells)


def _separator(above: PrintedLine, below: PrintedLine, right: float, gap: float) -> str:
    """A line end between items, rows and lines of code or verse; a blank line between paragraphs."""
    if _ITEM.match(below.text) and _ITEM.match(above.text):
        return "\n"
    if above.is_placed and above.baseline - below.baseline > _GAP * gap:
        return "\n\n"
    if above.is_fixed_pitch != below.is_fixed_pitch:
        return "\n\n"
    is_paragraph_end = _SENTENCE_END.search(above.text) and below.left > above.left + _INDENT * below.size
    is_heading = not _SENTENCE_END.search(above.text) and _fills(below, right) and below.text[:1].isupper()
    return "\n\n" if above.is_placed and (is_paragraph_end or is_heading) else "\n"


def _fills(line: PrintedLine, right: float) -> bool:
    return line.right - line.left > 0.8 * (right - line.left) and len(line.text.split()) > 4


def _append_wrapped(parts: list[str], below: str, vocabulary: Counter[str]) -> None:
    cut = _CUT.search(parts[-1])
    following = _FIRST_WORD.match(below)
    if cut is None:
        parts += [" ", below]
    elif following is None or cut["chain"] or _keeps_hyphen(cut["part"], following.group(), vocabulary):
        parts[-1] = parts[-1][:-1] + "-"
        parts.append(below)
    else:
        parts[-1] = parts[-1][:-1]
        parts.append(below)


def _keeps_hyphen(before: str, after: str, vocabulary: Counter[str]) -> bool:
    """Whether the hyphen at the end of a line belongs to the word."""
    if not after[0].islower() or (before.isupper() and len(before) > 1):
        return True
    before, after = before.lower(), after.lower()
    joined, compound = vocabulary[before + after], vocabulary[f"{before}-{after}"]
    if joined or compound:
        return compound > joined
    if before in _COMPOUNDING:
        return True
    are_words = bool(vocabulary[before] and vocabulary[after])
    return are_words and min(len(before), len(after)) >= _LEAST_COMPOUND


# The title of a PDF: what its metadata says where that is one, else what its first page shows largest. Pure.
#
# Programs leave their own marks there: "t.dvi", "Microsoft Word - report.doc", "untitled", the name of a file.


_FILE_ENDS = """dvi docx? pptx? xlsx? tex pdf indd qxd qxp ps eps graffle pages key odt odp ods rtf txt html? md fm wpd
    pub ai""".split()
_JUNK = re.compile(
    rf"microsoft (?:word|powerpoint|excel|publisher)\b.*|powerpoint presentation|untitled\b.*|(?:no|new) title"
    rf"|document ?\d*|slide \d+|title|print|layout \d+|.*\.(?:{'|'.join(_FILE_ENDS)})",
    re.IGNORECASE,
)
_NOT_A_TITLE = re.compile(
    r"(?:page|seite|draft|final|confidential|version|arxiv)\b.{0,40}|https?://\S*|www\.\S*|\S+@\S+"
    r"|[\W\d_]*(?:january|february|march|april|may|june|july|august|september|october|november|december)?[\W\d_]*",
    re.IGNORECASE,
)
_MEMO = re.compile(r"(?:to|from|date|cc|via)\s*:.*", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:subject|re|betreff|objet|asunto)\s*:\s*(\S.*)", re.IGNORECASE)
_LARGER = 1.15  # than the usual line of the page
_NEARLY = 0.85  # of the largest: the first such line is the title, and all of its own size below it
_SAME = 0.05
_LOWEST = 0.3  # of the page, from its foot
_MOST_LINES, _MOST_CHARS = 4, 200
_COVER_WORDS = 60  # with fewer words a page is a cover, and most of it may be the title


def is_junk(title: str) -> bool:
    """Whether the title in the metadata is what a program left there, not what the document is called."""
    words = title.split()
    if not any(map(str.isalpha, title)) or _JUNK.fullmatch(title.strip()):
        return True
    return len(words) == 1 and any(character.isdigit() or character in "_\\/" for character in title)


def pdf_title(stated: str | None, first_page: Sequence[PrintedLine]) -> str | None:
    """What the document is called; None where nothing tells."""
    if stated and not is_junk(stated):
        return stated
    lines = [line for line in first_page if line.text.strip()]
    return _largest(lines) or next(_sensible(lines), None)


def _largest(lines: Sequence[PrintedLine]) -> str | None:
    """The largest lines near the top of the page, where they are larger than the rest."""
    placed = [line for line in lines if line.is_placed and _has_words(line)]
    if len(placed) < 2:
        return None
    lowest = _LOWEST * max(line.baseline for line in placed)
    near_top = [line for line in placed if line.baseline >= lowest]
    largest = max(line.size for line in near_top)
    sizes = [line.size for line in lines if line.is_placed for _ in line.text.split()]
    if largest < _LARGER * (median(sizes) if len(sizes) > _COVER_WORDS else min(sizes)):
        return None
    first = next(number for number, line in enumerate(near_top) if line.size >= _NEARLY * largest)
    size = near_top[first].size
    run = list(takewhile(lambda line: abs(line.size - size) <= _SAME * size, near_top[first:]))
    title = " ".join(line.text for line in run[:_MOST_LINES])
    return _line(title) if len(title.split()) > 1 else None


def _sensible(lines: Sequence[PrintedLine]) -> Iterator[str]:
    """Lines that could be a title: words, not a date, an address or the number of a page."""
    for number, line in enumerate(lines[:12]):
        text = line.text.strip()
        subject = _SUBJECT.fullmatch(text)
        if subject is not None or _MEMO.fullmatch(text):
            yield from filter(None, [subject and _line(subject[1])])
            continue
        goes_on = number + 1 < len(lines) and lines[number + 1].text[:1].islower()
        if len(text.split()) > 1 and _has_words(line) and not goes_on and not text.endswith((".", ":", ",", ";")):
            shown = _line(text)
            if shown:
                yield shown


def _has_words(line: PrintedLine) -> bool:
    text = line.text.strip()
    letters = sum(map(str.isalpha, text))
    return letters > 2 and 2 * letters > len(text) and not _NOT_A_TITLE.fullmatch(text)


def _line(text: str) -> str | None:
    shown = " ".join(text.replace(HYPHEN_MARK, "-").split())
    return shown if shown and len(shown) <= _MOST_CHARS else None


MAX_PAGES = 5_000

_PDFIUM = threading.Lock()
_PASSWORD_ERROR = 4
# Where a line ended in a hyphen pdfium leaves a mark instead of hyphen and line end.
_LINE_END_HYPHEN = re.compile("[\ufffe\x02](?:\r?\n)?")
_PAGE_BREAK = "\n\n"
_FIXED_PITCH = 1
_LOOK_AHEAD = 2_000


@dataclass(frozen=True, slots=True)
class _Contents:
    """What pdfium found: the lines of each page (None where it failed), the metadata, and how many pages there are."""

    pages: list[list[PrintedLine] | None]
    metadata: dict[str, str]
    page_count: int


def read_pdf(data: bytes) -> ReadDocument:
    """The PDF in these bytes; raises Unreadable when it is broken, locked or has no text layer."""
    contents = _contents(data)
    text, sections = _joined(page_texts(contents.pages))
    if not sections:
        raise _no_text(contents)
    about = {key: " ".join(canonicalize(value).split()) for key, value in contents.metadata.items()}
    title = pdf_title(about.get("Title"), next(filter(None, contents.pages), ()))
    return ReadDocument(
        text=text,
        title=title,
        sections=sections,
        links=url_links(text),
        author=about.get("Author") or None,
        created=pdf_date(about.get("CreationDate", "")),
        modified=pdf_date(about.get("ModDate", "")),
        meta_text="\n".join(filter(None, (title, about.get("Subject"), about.get("Keywords")))),
        warnings=tuple(_warnings(contents)),
    )


def _contents(data: bytes) -> _Contents:
    from pypdfium2 import PdfDocument, PdfiumError

    with _PDFIUM:
        try:
            document: Any = PdfDocument(data)  # type: ignore[no-untyped-call]
        except PdfiumError as error:
            raise _not_opened(data, error) from error
        with closing(document):
            page_count = len(document)
            pages = [_page_lines(document, number) for number in range(min(page_count, MAX_PAGES))]
            return _Contents(pages, document.get_metadata_dict(), page_count)


def _not_opened(data: bytes, error: Any) -> Unreadable:
    # pdfium may report the error of an earlier file, so a locked one must also look like it.
    if error.err_code == _PASSWORD_ERROR and b"/Encrypt" in data:
        return Unreadable("the PDF is encrypted; save an unlocked copy")
    return Unreadable("not a readable PDF: broken, cut off or something else")


def _page_lines(document: Any, number: int) -> list[PrintedLine] | None:
    """What stands within the bounds of the page; text outside of them is not seen by readers either."""
    from pypdfium2 import PdfiumError

    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
            shown = _lines_of(text_page.get_text_bounded())
            return _placed(text_page, shown)
    except PdfiumError:
        return None


def _lines_of(text: str) -> list[str]:
    return _LINE_END_HYPHEN.sub(f"{HYPHEN_MARK}\n", text).replace("\r\n", "\n").split("\n")


def _placed(text_page: Any, shown: list[str]) -> list[PrintedLine]:
    """Lines with their places; those that pdfium tells apart otherwise without their bounds have none."""
    lines = [PrintedLine(canonicalize(line)) for line in shown]
    try:
        written = text_page.get_text_range()
    except RecursionError:  # pypdfium2 steps over characters that are no text one call deeper each
        return lines
    # pdfium counts in units of UTF-16: beyond them its places and ours would drift apart.
    if any(character > "\uffff" for character in written):
        return lines
    at = 0
    for number, line in enumerate(shown):
        content = line.removesuffix(HYPHEN_MARK).strip()
        start = written.find(content, at, at + _LOOK_AHEAD + len(content)) if content else -1
        if start >= 0:
            at = start + len(content)
            lines[number] = _place(text_page, lines[number], start, at - 1)
    return lines


def _place(text_page: Any, line: PrintedLine, first: int, last: int) -> PrintedLine:
    """The line with where its first character stands and where its last one ends."""
    from pypdfium2 import raw as pdfium

    raw: Any = pdfium

    start, end = (raw.FPDFText_GetCharIndexFromTextIndex(text_page, at) for at in (first, last))
    left, baseline, flags, matrix = c_double(), c_double(), c_int(), raw.FS_MATRIX()
    if start < 0 or end < 0 or not raw.FPDFText_GetCharOrigin(text_page, start, left, baseline):
        return line
    size = raw.FPDFText_GetFontSize(text_page, start)
    if raw.FPDFText_GetMatrix(text_page, start, matrix):
        size *= hypot(matrix.c, matrix.d)
    raw.FPDFText_GetFontInfo(text_page, start, None, 0, flags)
    _, _, right, _ = text_page.get_charbox(end)
    is_fixed = bool(flags.value & _FIXED_PITCH)
    return PrintedLine(line.text, left.value, right, baseline.value, size, is_fixed)


def _joined(pages: list[str | None]) -> tuple[str, tuple[Section, ...]]:
    parts: list[str] = []
    sections: list[Section] = []
    position = 0
    for number, page in enumerate(pages, start=1):
        if page is None or not page.strip():
            continue
        if parts:
            parts.append(_PAGE_BREAK)
            position += len(_PAGE_BREAK)
        sections.append(Section(role="raw_source", start=position, end=position + len(page), page=number))
        parts.append(page)
        position += len(page)
    return "".join(parts), tuple(sections)


def _no_text(contents: _Contents) -> Unreadable:
    if all(page is None for page in contents.pages):
        return Unreadable("not a readable PDF: none of its pages can be opened")
    return Unreadable("the PDF has no text layer (scanned?): save a copy with text")


def _warnings(contents: _Contents) -> Iterator[str]:
    failed = sum(page is None for page in contents.pages)
    if failed:
        yield f"pages that could not be opened: {failed}"
    if contents.page_count > len(contents.pages):
        yield f"only the first {len(contents.pages)} of {contents.page_count} pages were read"
    empty = sum(page is not None and not any(line.text.strip() for line in page) for page in contents.pages)
    if empty:
        yield f"pages without a text layer: {empty}"
