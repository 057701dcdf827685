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

from citewell.readers.page_tree import UNSEEN_TAGS
from citewell.readers.page_writer import Anchor, Mark, PageText, PageWriter
from citewell.readers.references import is_web_address
from citewell.text.canonical import canonicalize

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
    walk = _Walk(address, left_out, with_emphasis)
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
class _Walk:
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
