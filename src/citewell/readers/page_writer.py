"""Writes the text of a page: white space collapsed, breaks, markers and emphasis kept back until something follows.

So an empty item, heading or emphasis leaves nothing behind, and every link knows where its words stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from citewell.domain.documents import Link

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
