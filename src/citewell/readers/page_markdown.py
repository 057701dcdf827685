"""The tree of a page becomes Markdown text, with the links that stand in it. Nothing a reader of the page sees is lost.

`<li>Never use the <code>foo</code> option</li>` becomes "- Never use the `foo` option". Lists keep their nesting, `pre`
its lines, a definition list its terms ("- **Term**: what it means"), a table its rows. One pass over the tree, without
recursion, linear in its size. The text is not escaped: `*` and `|` of the page stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from citewell.errors import Unreadable
from citewell.readers.markup import is_web_address
from citewell.text.canonical import canonicalize
from citewell.text.documents import Link

# Untrusted HTML becomes a tree of what a reader of the page would see.
#
# Guards against pages built to exhaust the parser (attributes, nesting, size). Removes what the page itself marks as
# hidden; text hidden by a style sheet, by its colour or behind other elements is not recognised.


MAX_CHARS = 20_000_000
# The parser compares each attribute of a tag with all before it: 300,000 of them take five minutes.
MAX_ATTRIBUTES = 1_000
MAX_ELEMENTS = 1_000_000
# libxml2's own limit of nested elements, from where on it would silently drop the rest of the page.
MAX_DEPTH = 2_048

# Beyond these trafilatura takes ten seconds or more.
HEAVY_ELEMENTS = 60_000
HEAVY_DEPTH = 256

_TAG = re.compile(
    r"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|\Z))"
    r"|(?P<name>[a-zA-Z][^\s/>]*+)(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|))*+>?)"
)
_ATTRIBUTE = re.compile(r"[^\s=>/]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?")
_RAW_END = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}

# Characters no XML tree may hold. The parser lets them in, and anyone who then moves text about in the tree fails.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

# What is never read as text: programs, forms, and what stands in for pictures and players that are not shown.
UNSEEN_TAGS = frozenset(
    """script style noscript template iframe object svg select textarea audio video canvas datalist head
    title""".split()
)
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def page_tree(markup: str, *, with_hidden: bool = False) -> Any:
    """The parsed page without what it hides; raises Unreadable for pages made to exhaust their reader."""
    from lxml import etree, html

    if len(markup) > MAX_CHARS:
        raise Unreadable(f"the page is larger than {MAX_CHARS // 1_000_000} MB")
    _check_tags(markup)
    parser = html.HTMLParser(  # type: ignore[no-untyped-call]
        encoding="utf-8",
        huge_tree=True,
        collect_ids=False,
        default_doctype=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        tree = html.document_fromstring(markup.encode("utf-8"), parser=parser)  # type: ignore[no-untyped-call]
    except etree.ParserError as error:
        raise Unreadable("no readable text in this page") from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise Unreadable(f"the page nests more than {MAX_DEPTH} elements")
    _remove_controls(tree)
    if not with_hidden:
        _remove_hidden(tree)
    return tree


def is_heavy(tree: Any) -> bool:
    """Whether heuristics over this tree would take long: their time grows with the square of its size and depth."""
    from lxml import etree

    elements = depth = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        elements += event == "start"
        if elements > HEAVY_ELEMENTS or depth > HEAVY_DEPTH:
            return True
    return False


def _check_tags(markup: str) -> None:
    """Refuse absurdly many tags, or attributes on one, before the parser sees them."""
    position = 0
    if markup.count("<") > 2 * MAX_ELEMENTS:
        raise Unreadable(f"the page has more than {MAX_ELEMENTS} elements")
    while (tag := _TAG.search(markup, position)) is not None:
        position = tag.end()
        name = tag["name"]
        if name is None:
            continue
        # An attribute and the space before it take two characters at least.
        if tag.end() - tag.start() > 2 * MAX_ATTRIBUTES and _count_attributes(tag[0]) > MAX_ATTRIBUTES:
            raise Unreadable(f"a tag of the page has more than {MAX_ATTRIBUTES} attributes")
        raw_end = _RAW_END.get(name.lower())
        if raw_end is not None:
            closing = raw_end.search(markup, position)
            position = len(markup) if closing is None else closing.start()


def _count_attributes(tag: str) -> int:
    return sum(1 for _ in _ATTRIBUTE.finditer(tag))


def _remove_hidden(tree: Any) -> None:
    """Drop hidden elements but keep the text after them. The body stays: pages hide it until their script runs."""
    for element in [element for element in tree.iter() if _is_hidden(element)]:
        _drop(element)


def _remove_controls(tree: Any) -> None:
    for element in tree.iter():
        if element.text and _NOT_XML.search(element.text):
            element.text = _NOT_XML.sub("", element.text)
        if element.tail and _NOT_XML.search(element.tail):
            element.tail = _NOT_XML.sub("", element.tail)


def _is_hidden(element: Any) -> bool:
    if not isinstance(element.tag, str) or element.tag in {"html", "body", "head"}:
        return False
    hidden = element.get("hidden")
    return (
        (hidden is not None and hidden.lower() != "until-found")
        or (element.get("aria-hidden", "").lower() == "true" and not _holds_the_page(element))
        or element.tag == "template"
        or (element.tag == "dialog" and element.get("open") is None)
        or _HIDDEN_STYLE.search(element.get("style", "")) is not None
    )


def _holds_the_page(element: Any) -> bool:
    """An open dialog marks the page behind it as `aria-hidden`, which hides nothing from sight."""
    return next(element.iter("main", "article", "h1"), None) is not None


def _drop(element: Any) -> None:
    parent = element.getparent()
    if parent is None:
        return
    tail = element.tail or ""
    before = element.getprevious()
    if before is None:
        parent.text = (parent.text or "") + tail
    else:
        before.tail = (before.tail or "") + tail
    parent.remove(element)


# Writes the text of a page: white space collapsed, breaks, markers and emphasis kept back until something follows.
#
# So an empty item, heading or emphasis leaves nothing behind, and every link knows where its words stand.


_SPACE = re.compile(r"[^\S\xa0]+")
# Deeper lists and quotations are not set in any further: their indents would be longer than the page.
_MAX_INDENT = 40


@dataclass(frozen=True, slots=True)
class PageText:
    """Canonical text and the links in it, at their exact offsets."""

    text: str
    links: tuple[Link, ...] = ()


@dataclass(slots=True)
class Mark:
    """Emphasis or code inside a line; written when its first character comes."""

    text: str
    is_open: bool = False


@dataclass(slots=True)
class Anchor:
    """A link whose words are being written."""

    target: str
    start: int | None = None


@dataclass(frozen=True, slots=True)
class _Marker:
    """The sign of a list item, which stands in the place of the first indent of its lines."""

    column: int
    width: int
    text: str


@dataclass(slots=True)
class PageWriter:
    """One text in the making."""

    opening: str = ""
    space: bool = False
    inline: list[Mark | Anchor] = field(default_factory=list)
    last: str = ""
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _breaks: int = 0
    _raw_breaks: int = 0
    _is_held: bool = False
    _indents: list[str] = field(default_factory=list)
    _outermost: int = 0  # the least indents since something was written: a blank line carries no more
    _markers: list[_Marker] = field(default_factory=list)
    _links: list[Link] = field(default_factory=list)

    def words(self, text: str) -> None:
        """Running text, where any white space is one space."""
        for number, piece in enumerate(_SPACE.split(text)):
            self.space = self.space or number > 0
            if piece:
                self._begin()
                self._put(piece)

    def lines(self, text: str) -> None:
        """Text inside a fence, whose lines and spaces stay as they are."""
        for number, line in enumerate(text.split("\n")):
            self._raw_breaks += number > 0
            if line and (line.strip() or not self._is_held):
                indent = "".join(self._indents)
                breaks = 1 if self._is_held else self._raw_breaks
                self._put(("\n" + indent.rstrip()) * (breaks - 1) + ("\n" + indent if breaks else ""))
                self._raw_breaks, self._is_held = 0, False
                self._open_inline()
                self._put(line)

    def open_fence(self, fence: str) -> None:
        """Begin a block of code; blank lines before its first line are left out."""
        self._flush()
        self._put(fence)
        self._is_held = True
        self._raw_breaks = 0

    def close_fence(self, fence: str) -> None:
        self._close_marks()
        self._put(f"\n{''.join(self._indents)}{fence}")
        self._raw_breaks, self._is_held = 0, False
        self.end_line(2)

    def join(self, text: str) -> None:
        """A sign of ours in the same line, whatever break or space was due; what follows stays in that line too."""
        self._close_marks()
        self._breaks, self.space = 0, False
        self._put(text)
        self._is_held = True

    def line_sign(self, text: str) -> None:
        """A sign of ours that may open a line, as those of a table do."""
        self._close_marks()
        self.space = False
        self._flush()
        self._put(text)
        self._is_held = False

    def end_line(self, breaks: int) -> None:
        """What follows stands in a new line, or after a blank one; what is held stays where it is."""
        self._close_marks()
        self.space = False
        if not self._is_held:
            self._breaks = max(self._breaks, breaks)

    def line_break(self) -> None:
        self._close_marks()
        self.space = False
        if not self._is_held:
            self._breaks = min(2, self._breaks + 1)

    def set_in(self, indent: str, marker: str = "") -> None:
        """Indent the lines that follow; a marker stands in the first of them."""
        column = len("".join(self._indents))
        self._indents.append(indent if column < _MAX_INDENT else "")
        if marker:
            self._hold(_Marker(column, len(self._indents[-1]), marker))

    def mark_line(self, marker: str) -> None:
        """A marker in the place of the innermost indent."""
        width = len(self._indents[-1])
        self._hold(_Marker(len("".join(self._indents)) - width, width, marker))

    def set_back(self) -> None:
        self._indents.pop()
        self._outermost = min(self._outermost, len(self._indents))
        column = len("".join(self._indents))
        self._markers = [marker for marker in self._markers if marker.column < column]
        self._is_held = self._is_held and bool(self._markers)

    @property
    def has_marker(self) -> bool:
        """Whether a marker still waits for its words."""
        return bool(self._markers)

    @property
    def touches_word(self) -> bool:
        """Whether the next character would stand directly after a letter or digit."""
        return not (self._breaks or self.space or self._is_held) and self.last[-1:].isalnum()

    def close_inline(self) -> None:
        """The innermost emphasis or link ends."""
        ended = self.inline.pop()
        match ended:
            case Mark():
                if ended.is_open:
                    self._put(ended.text)
            case Anchor():
                if ended.start is not None and self._length > ended.start:
                    self._links.append(Link("url", ended.target, ended.start, self._length))

    def finished(self) -> PageText:
        """The text and its links."""
        self._close_marks()
        return PageText("".join(self._parts), tuple(sorted(self._links, key=lambda link: (link.start, link.end))))

    def _hold(self, marker: _Marker) -> None:
        self._markers.append(marker)
        self._is_held = True

    def _begin(self) -> None:
        self._flush()
        self._is_held = False
        self._open_inline()

    def _flush(self) -> None:
        if self._breaks or self._markers or not self._length:
            indent = "".join(self._indents)
            blank = ("\n" + "".join(self._indents[: self._outermost]).rstrip()) * (self._breaks - 1)
            self._put((blank + "\n" if self._breaks else "") * bool(self._length) + self._marked(indent) + self.opening)
            self._markers.clear()
            self.opening = ""
            self._outermost = len(self._indents)
        elif self.space and not self.last.endswith(" "):
            self._put(" ")
        self._breaks, self.space = 0, False

    def _marked(self, indent: str) -> str:
        """The indent of a line with its markers in their places, innermost first so that columns stay true."""
        for marker in reversed(self._markers):
            indent = indent[: marker.column] + marker.text + indent[marker.column + marker.width :]
        return indent

    def _open_inline(self) -> None:
        for begun in self.inline:
            match begun:
                case Mark():
                    if not begun.is_open:
                        begun.is_open = True
                        self._put(begun.text)
                case Anchor():
                    if begun.start is None:
                        begun.start = self._length

    def _close_marks(self) -> None:
        for begun in reversed(self.inline):
            if isinstance(begun, Mark) and begun.is_open:
                begun.is_open = False
                self._put(begun.text)

    def _put(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            self.last = (self.last + text)[-4:]


BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary table
    tbody td tfoot th thead tr ul""".split()
)
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_EMPHASIS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_CODE = frozenset({"code", "kbd", "samp", "tt"})
# What stands in the cells of a table that lays out a page and holds no data.
_LAYOUT = ("table", *_HEADINGS, "ul", "ol", "pre", "form")
_POWER = re.compile(r"[-+−]?\d{1,4}")
_TICKS = re.compile(r"`+")

End = Callable[[], None]


def page_text(
    tree: Any, address: str | None = None, left_out: frozenset[Any] = frozenset(), *, with_emphasis: bool = True
) -> PageText:
    """The text of an element and all below it, but for the elements left out; relative links count from `address`."""
    walk = _TreeWalk(address, left_out, with_emphasis)
    walk.run(tree)
    return walk.writer.finished()


@dataclass(slots=True)
class _List:
    """A list that is open: the number of its next item (None for bullets), and what its last part was."""

    number: int | None = None
    last: str = ""


@dataclass(slots=True)
class _Table:
    rows: int = 0
    cells: int = 0
    has_header: bool = False


def _nothing() -> None:
    """Where an element needs no end."""


@dataclass(slots=True)
class _TreeWalk:
    """Goes through a tree once; what an element began is ended with it."""

    address: str | None
    left_out: frozenset[Any]
    with_emphasis: bool
    writer: PageWriter = field(default_factory=PageWriter)
    _lists: list[_List] = field(default_factory=list)
    _tables: list[_Table] = field(default_factory=list)
    _is_code: bool = False
    _is_raw: bool = False
    _in_line: int = 0  # inside headings and cells what breaks a line elsewhere is a space

    def run(self, root: Any) -> None:
        from lxml import etree

        ends: list[End] = []
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                is_seen = self._is_seen(element)
                ends.append(self._start(element) if is_seen else _nothing)
                if is_seen:
                    self._text(element.text)
                else:
                    walk.skip_subtree()
            else:
                ends.pop()()
                if element is not root:
                    self._text(element.tail)

    def _is_seen(self, element: Any) -> bool:
        tag = element.tag
        if not isinstance(tag, str) or tag in UNSEEN_TAGS or element in self.left_out:
            return False
        if tag == "button":  # the heading of a part that unfolds, or "Copy" and "Share"
            return bool(self._in_line) or element.get("aria-expanded") is not None
        # The sign beside a heading that links to it.
        is_sign = tag == "a" and len(element) == 0 and (element.get("href") or "").startswith("#")
        return not (is_sign and not any(map(str.isalnum, element.text or "")))

    def _text(self, text: str | None) -> None:
        if not text:
            return
        if self._is_raw:
            self.writer.lines(canonicalize(text))
        else:
            self.writer.words(canonicalize(text))

    def _start(self, element: Any) -> End:
        tag = element.tag
        if tag == "a":
            return self._anchor(element)
        if self._is_raw:
            if tag == "br":
                self.writer.lines("\n")
            return _nothing
        return self._block(element, tag) if tag in BLOCKS else self._inline(element, tag)

    # Blocks

    def _block(self, element: Any, tag: str) -> End:
        if tag in {"tr", "td", "th"} and self._tables:
            return self._row(element) if tag == "tr" else self._cell(element)
        if self._in_line:
            return self._spaced()
        if tag in _HEADINGS:
            return self._heading(_HEADINGS[tag])
        if tag in _LISTS:
            return self._list(_List(_first_number(element) if tag == "ol" else None))
        match tag:
            case "pre":
                return self._preformatted(element)
            case "blockquote":
                return self._quotation()
            case "li":
                return self._item()
            case "dl":
                return self._definitions()
            case "dt" | "dd" if self._lists:
                return self._definition(tag)
            case "table" if not _is_layout(element):
                return self._table()
            case "thead" | "tbody" | "tfoot":
                return _nothing
            case "div" if _is_in_definitions(element):
                return _nothing
            case _:
                self.writer.end_line(2)
                return lambda: self.writer.end_line(2)

    def _spaced(self) -> End:
        self.writer.space = True
        return lambda: setattr(self.writer, "space", True)

    def _heading(self, marker: str) -> End:
        self.writer.end_line(2)
        self.writer.opening = "" if self._lists else marker
        self._in_line += 1

        def end() -> None:
            self._in_line -= 1
            self.writer.opening = ""
            self.writer.end_line(2)

        return end

    def _preformatted(self, element: Any) -> End:
        text = "".join(element.itertext())
        if not text.strip():
            return _nothing
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
        self.writer.end_line(2)
        self.writer.open_fence(fence)
        self._is_raw = True

        def end() -> None:
            self._is_raw = False
            self.writer.close_fence(fence)

        return end

    def _quotation(self) -> End:
        self.writer.end_line(2)
        self.writer.set_in("> ")

        def end() -> None:
            self.writer.end_line(2)
            self.writer.set_back()

        return end

    def _list(self, opened: _List) -> End:
        self.writer.end_line(1 if self._lists else 2)
        self._lists.append(opened)

        def end() -> None:
            self._lists.pop()
            self.writer.end_line(1 if self._lists else 2)

        return end

    def _item(self) -> End:
        around = self._lists[-1] if self._lists else _List()
        marker = "- " if around.number is None else f"{around.number}. "
        around.number = None if around.number is None else around.number + 1
        self.writer.end_line(1)
        self.writer.set_in(" " * len(marker), marker)

        def end() -> None:
            self.writer.end_line(1)
            self.writer.set_back()

        return end

    def _definitions(self) -> End:
        end_list = self._list(_List())
        self.writer.set_in("  ")

        def end() -> None:
            self.writer.set_back()
            end_list()

        return end

    def _definition(self, tag: str) -> End:
        """Terms and what they mean, in one line where each has one."""
        around, writer = self._lists[-1], self.writer
        after_term = around.last == "dt" and not writer.has_marker
        around.last = tag
        if tag == "dd":
            if after_term:
                writer.join(" " if writer.last.endswith((":", ":**")) else ": ")
            elif not writer.has_marker:
                writer.end_line(1)
            return lambda: writer.end_line(1)
        if after_term:
            writer.join(", ")
        else:
            writer.end_line(1)
            writer.mark_line("- ")
        writer.inline.append(Mark("**"))
        return writer.close_inline

    # Tables

    def _table(self) -> End:
        self.writer.end_line(2)
        self._tables.append(_Table())

        def end() -> None:
            self._tables.pop()
            self.writer.end_line(2)

        return end

    def _row(self, element: Any) -> End:
        if not "".join(element.itertext()).strip():
            return _nothing
        table = self._tables[-1]
        table.cells, table.has_header = 0, False
        self.writer.end_line(1)

        def end() -> None:
            if table.cells:
                self.writer.line_sign(" |")
            if table.has_header and not table.rows:
                self.writer.end_line(1)
                self.writer.line_sign("|" + " --- |" * table.cells)
            table.rows += 1
            self.writer.end_line(1)

        return end

    def _cell(self, element: Any) -> End:
        table = self._tables[-1]
        table.has_header = table.has_header or element.tag == "th"
        self.writer.line_sign(" | " if table.cells else "| ")
        table.cells += 1
        self._in_line += 1

        def end() -> None:
            self._in_line -= 1

        return end

    # Inside lines

    def _inline(self, element: Any, tag: str) -> End:
        writer = self.writer
        if tag == "br":
            if self._in_line:
                writer.space = True
            else:
                writer.line_break()
        elif tag == "q":
            writer.words("“")
            return lambda: writer.words("”")
        elif tag == "sup":
            return self._raised(element)
        elif tag == "input" and element.get("type", "").lower() == "checkbox" and self._lists:
            writer.words("[x] " if element.get("checked") is not None else "[ ] ")
        elif tag in _CODE and not self._is_code:
            return self._code(element)
        elif tag in _EMPHASIS and self.with_emphasis and not self._is_code and not self._cuts_a_word(element):
            writer.inline.append(Mark(_EMPHASIS[tag]))
            return writer.close_inline
        return _nothing

    def _cuts_a_word(self, element: Any) -> bool:
        return self.writer.touches_word or (element.tail or "")[:1].isalnum()

    def _code(self, element: Any) -> End:
        most = max(map(len, _TICKS.findall("".join(element.itertext()))), default=0)
        self.writer.inline.append(Mark("`" * (1 + most)))
        self._is_code = True

        def end() -> None:
            self._is_code = False
            self.writer.close_inline()

        return end

    def _raised(self, element: Any) -> End:
        """10<sup>6</sup> is not 106, and the mark of a footnote is no part of a word."""
        text = (element.text or "").strip()
        linked = len(element) == 1 and element[0].tag == "a" and (element[0].text or "").strip().isalnum()
        if linked and not text:
            self.writer.words("[")
            return lambda: self.writer.words("]")
        if _POWER.fullmatch(text) and self.writer.touches_word:
            self.writer.words("^")
        return _nothing

    def _anchor(self, element: Any) -> End:
        try:
            target = urljoin(self.address or "", (element.get("href") or "").strip())
        except ValueError:
            target = ""
        if not is_web_address(target):
            return _nothing
        self.writer.inline.append(Anchor(target))
        return self.writer.close_inline


def _first_number(element: Any) -> int:
    start = element.get("start", "")
    return int(start) if start.isascii() and start.isdecimal() and len(start) < 7 else 1


def _is_layout(table: Any) -> bool:
    inner = table.iter(*_LAYOUT)
    next(inner)  # itself
    return next(inner, None) is not None


def _is_in_definitions(element: Any) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag == "dl"
