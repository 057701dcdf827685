"""A quotation as lines for a screen: prose wrapped, lists and code as they stand, tables in columns. Pure.

What a person would not read is left out of what is shown (never of what is stored): the addresses of links, tags,
the marks of bold text, the fences of code. The decisive span is set in bold.

    quote:     See [[Oil]] and [the log](https://log.example/1887). The lamp was lit in 1859.
    highlight: The lamp was lit in 1859.
    shown:     See Oil and the log. **The lamp was lit in 1859.**
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citewell.domain.values import dataclass
from citewell.surfaces.cli.console import paragraph_lines, safe
from citewell.surfaces.cli.layout import Line, Piece, table

Spans = Sequence[tuple[int, int]]

# A line nearly as long as a page was broken by an editor, and goes on with the next; a shorter one ends where it ends.
_FILLED = 55
_LINK = re.compile(r"(!?\[)[^\[\]]+(\]\((?:\{[{%].*?[%}]\}|[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\))")
_WIKILINK = re.compile(r"(?<!!)(\[\[(?:[^\[\]|\n]*\|)?)[^\[\]|\n]+(\]\])")
_STRONG = re.compile(r"(\*\*)(?=\S)[^*\n]+?(?<=\S)(\*\*)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*)(?=[^\s*])[^*\n]+?(?<=[^\s*])(\*)(?![\w*])")
_BLOCK_ID = re.compile(r"([ \t]\^[\w-]+)()$", re.MULTILINE)
_TAG = re.compile(
    r"(</?(?:a|abbr|b|br|center|div|em|font|i|img|input|kbd|label|p|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?/?>)()",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"(\\)[!-/:-@\[-`{-~]()")
_MARKUP = (_LINK, _WIKILINK, _STRONG, _EMPHASIS, _BLOCK_ID, _TAG, _ESCAPE)
_ANY_MARKUP = re.compile(r"\[|\*|\^|<|\\")
_CODE_SPAN = re.compile(r"(`+)[^`\n]+\1")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_STARTS_ANEW = re.compile(r"\s*(?:[-*+•>|#]|\d{1,3}[.)]\s|\[[ xX]\])")
_RULE = re.compile(r"\s*\|?[\s:|-]*-{2,}[\s:|-]*\|?\s*")
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a quote, with the offset at which it begins."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_table(self) -> bool:
        return self.text.lstrip().startswith("|") and self.text.count("|") > 1


def quote_lines(quote: str, width: int, bold: Spans = (), header: str = "") -> list[Line]:
    """A quote in lines of `width` cells, its spans in `bold` set in bold, a table under its `header`."""
    lines: list[Line] = []
    hidden = _hidden(quote)
    for block, is_code in _blocks(quote):
        if is_code:
            lines += [(Piece(f"    {safe(row.text)}", _style_at(row, bold)),) for row in block]
        elif block[0].is_table:
            lines += _table(block, width, bold, header)
        else:
            pieces = _pieces(block, hidden, bold)
            # A line of nothing but tags is not shown; an empty one is.
            if any(piece.text.strip() for piece in pieces) or not block[0].text.strip():
                lines += paragraph_lines(pieces, width)
    return lines


def shown_text(text: str) -> str:
    """Text without the addresses of its links and its marks of bold."""
    hidden = _hidden(text)
    return "".join(character for at, character in enumerate(text) if at not in hidden)


def code_lines(quote: str) -> frozenset[str]:
    """The lines of code in a quote, without what surrounds them."""
    return frozenset(row.text.strip() for row, is_code in _rows(quote) if is_code and row.text.strip())


def _rows(quote: str) -> Iterator[tuple[_Row, bool]]:
    """The lines of a quote with whether each is code; fences are left out."""
    at, fenced = 0, False
    for line in quote.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        else:
            yield _Row(line, at), fenced
        at += len(line) + 1


def _blocks(quote: str) -> Iterator[tuple[list[_Row], bool]]:
    """What is laid out together, and whether it is code: a paragraph that an editor broke, the rows of a table."""
    block: list[_Row] = []
    was_code = False
    for row, is_code in _rows(quote):
        if block and not (is_code == was_code and _goes_on(block[-1], row, is_code)):
            yield block, was_code
            block = []
        block.append(row)
        was_code = is_code
    if block:
        yield block, was_code


def _goes_on(before: _Row, row: _Row, is_code: bool) -> bool:
    if before.is_table or row.is_table:
        return before.is_table and row.is_table
    if is_code or not row.text.strip() or not before.text.strip():
        return False
    return len(before.text) >= _FILLED and not before.text.endswith("  ") and not _STARTS_ANEW.match(row.text)


def _hidden(text: str) -> frozenset[int]:
    """The offsets of markup that is not shown."""
    if not _ANY_MARKUP.search(text):
        return frozenset()
    kept = {at for match in _CODE_SPAN.finditer(text) for at in range(*match.span())}
    kept |= {at for row, is_code in _rows(text) if is_code for at in range(row.start, row.end)}
    found: set[int] = set()
    for pattern in _MARKUP:
        for match in pattern.finditer(text):
            if match.start() not in kept:
                found.update(range(*match.span(1)), range(*match.span(2)))
    return frozenset(found)


def _pieces(block: Sequence[_Row], hidden: frozenset[int], bold: Spans) -> list[Piece]:
    """The characters of a paragraph that are shown, in runs of one style."""
    pieces: list[Piece] = []
    for number, row in enumerate(block):
        text, start = (row.text, row.start) if number == 0 else (row.text.lstrip(), row.end - len(row.text.lstrip()))
        if number:
            pieces.append(Piece(" ", _style(start - 1, bold)))
        for at, character in enumerate(text.rstrip(), start):
            if at in hidden:
                continue
            how = _style(at, bold)
            if pieces and pieces[-1].how == how:
                pieces[-1] = Piece(pieces[-1].text + character, how)
            else:
                pieces.append(Piece(character, how))
    return pieces


def _style(at: int, bold: Spans) -> str:
    return "bold" if any(low <= at < high for low, high in bold) else ""


def _style_at(row: _Row, bold: Spans) -> str:
    return "bold" if any(row.start < high and low < row.end for low, high in bold) else ""


def _table(block: Sequence[_Row], width: int, bold: Spans, header: str) -> list[Line]:
    """The rows of a table in columns, under the header of the whole table where it stands elsewhere."""
    rows = [row for row in block if not _RULE.fullmatch(row.text)]
    heads: tuple[str, ...] = ()
    if header:
        heads = _cells_of(header.split("\n")[0])
    elif len(block) > 1 and _RULE.fullmatch(block[1].text):
        heads, rows = _cells_of(rows[0].text), rows[1:]
    strong = [number for number, row in enumerate(rows) if _style_at(row, bold)]
    return table(heads, [_cells_of(row.text) for row in rows], width, strong)


def _cells_of(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(" ".join(safe(shown_text(cell)).replace("\\|", "|").split()) for cell in _CELLS.split(inner))
