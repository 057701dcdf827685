"""A quotation as lines for a screen: prose wrapped, lists and code as they stand, tables in columns. Pure.

What a person would not read is left out of what is shown (never of what is stored): the addresses of links, tags,
the marks of bold text, the fences of code. The decisive span is set in bold.

    quote:     See [[Oil]] and [the log](https://log.example/1887). The lamp was lit in 1859.
    highlight: The lamp was lit in 1859.
    shown:     See Oil and the log. **The lamp was lit in 1859.**
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citewell.cli.console import Line, StyledText, one_line, paragraph_lines, safe, table
from citewell.models.rerank import Signal
from citewell.search.rows import EvidenceRow
from citewell.text.canonical import fold
from citewell.text.documents import Span

if TYPE_CHECKING:
    from citewell.check.verdict import Citation


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
            lines += [(StyledText(f"    {safe(row.text)}", _style_at(row, bold)),) for row in block]
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


def _pieces(block: Sequence[_Row], hidden: frozenset[int], bold: Spans) -> list[StyledText]:
    """The characters of a paragraph that are shown, in runs of one style."""
    pieces: list[StyledText] = []
    for number, row in enumerate(block):
        text, start = (row.text, row.start) if number == 0 else (row.text.lstrip(), row.end - len(row.text.lstrip()))
        if number:
            pieces.append(StyledText(" ", _style(start - 1, bold)))
        for at, character in enumerate(text.rstrip(), start):
            if at in hidden:
                continue
            how = _style(at, bold)
            if pieces and pieces[-1].how == how:
                pieces[-1] = StyledText(pieces[-1].text + character, how)
            else:
                pieces.append(StyledText(character, how))
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


# Where in a document a quotation stands: the path of its headings, its page, the time at which it was said. Pure.


_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_LONGEST = 80


def place_of(citation: Citation, rows: Iterable[EvidenceRow]) -> str:
    """`Rules › Setup`, `p. 17`, `at 12:04`: where to look in the document."""
    named = [context.text for context in citation.context if context.kind == "heading"]
    row = row_of(citation.source_key, citation.span, rows)
    at = citation.highlight.start if citation.highlight else citation.span.start
    page = f"p. {citation.page}" if citation.page is not None else ""
    if row is None:
        return " · ".join(part for part in (_path(named, citation.title), page) if part)
    time = next((one.heading for one in row.sections if one.role == "transcript" and one.start <= at < one.end), None)
    if time:
        return f"at {one_line(time, 20)}"
    headings = _headings(row, min(at, citation.span.start))
    return " · ".join(part for part in (_path(headings or named, citation.title), page) if part)


def place_of_row(row: EvidenceRow) -> str:
    """The pages of a row's window, or the time at which it was said."""
    times = [section.heading for section in row.sections if section.role == "transcript" and section.heading]
    pages = [section.page for section in row.sections if section.page]
    if pages:
        return f"p. {pages[0]}" + (f"–{pages[-1]}" if pages[-1] != pages[0] else "")
    return f"at {one_line(times[0], 20)}" if times else ""


def row_of(source_key: str, span: Span, rows: Iterable[EvidenceRow]) -> EvidenceRow | None:
    """The row of evidence a quotation was taken from."""
    same = [row for row in rows if (row.source_key, row.span.content_hash) == (source_key, span.content_hash)]
    return next((row for row in same if row.span.start <= span.start < row.span.end), same[0] if same else None)


def _headings(row: EvidenceRow, at: int) -> list[str]:
    """The headings above an offset, from the outermost: as far as the window shows them, else its section's own."""
    section = next((one for one in row.sections if one.start <= at < one.end and one.heading), None)
    path: list[tuple[int, str]] = []
    for match in _HEADING.finditer(row.text):
        if row.span.start + match.start() > at:
            break
        path = [entry for entry in path if entry[0] < len(match[1])]
        path.append((len(match[1]), match[2]))
    names = [name for _, name in path]
    if section is not None and section.heading and not any(section.heading in name for name in names[-1:]):
        return [section.heading]
    return names if section is not None else []


def _path(headings: Iterable[str], title: str) -> str:
    shown = [one_line(shown_text(heading), _LONGEST) for heading in headings]
    if shown and shown[0].casefold() == title.strip().casefold():
        shown = shown[1:]
    return " › ".join(shown)


# The part of a row's window that a person sees in a list: where most of the words that matched stand together. Pure.
#
# window:  … six hundred characters about weather … The lamp was lit by Josiah Pell in 1859. …
# matched: lamp, pell
# shown:   … The **lamp** was lit by Josiah **Pell** in 1859. …


_DENSE = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]"
_BEGINS = re.compile(r"(?<=[.!?…:])\s+")
_FRONT_MATTER = re.compile(r"(?:---\n)?(?:[\w -]+:.*\n|[ \t]*- .*\n)+---\n")
# Of a longer word so many letters at the end may differ: harvest, harvests, harvested.
_ENDING, _LEAST_STEM = 2, 4
_BEFORE = 80  # characters before the first match in which a sentence may begin


@dataclass(frozen=True, slots=True)
class _Match:
    term: str
    start: int
    end: int


def snippet(text: str, terms: Sequence[str], most: int) -> list[StyledText]:
    """At most so many characters of a text around the words that matched, which are bold."""
    shown = _flat(text)
    matches = _matches(shown, terms)
    if opening := _FRONT_MATTER.match(text):
        body = _flat(text[opening.end() :])
        found = _matches(body, terms)
        if {match.term for match in found} == {match.term for match in matches}:
            shown, matches = body, found
    start = _start(shown, matches, most) if len(shown) > most else 0
    end = len(shown) if len(shown) - start <= most else _word_end(shown, start + most)
    pieces = [StyledText("… ")] if start else []
    at = start
    for match in matches:
        if match.start < at or match.end > end:
            continue
        pieces += [StyledText(shown[at : match.start]), StyledText(shown[match.start : match.end], "bold")]
        at = match.end
    pieces.append(StyledText(shown[at:end] + (" …" if end < len(shown) else "")))
    return [piece for piece in pieces if piece.text]


def _flat(text: str) -> str:
    """Text in one line, as it reads: without the addresses of links."""
    return " ".join(safe(shown_text(text)).split())


def _matches(text: str, terms: Sequence[str]) -> list[_Match]:
    folded = fold(text)
    found: list[_Match] = []
    for term in dict.fromkeys(fold(term).text for term in terms):
        if not term.strip():
            continue
        kept = term if len(term) - _ENDING < _LEAST_STEM else term[:-_ENDING]
        is_dense = not term.isascii() and re.search(_DENSE, term) is not None
        pattern = re.escape(term) if is_dense else rf"(?<!\w){re.escape(kept)}\w*"
        found += [_Match(term, *folded.source_span(*one.span())) for one in re.finditer(pattern, folded.text)]
    return sorted(found, key=lambda match: match.start)


def _start(text: str, matches: Sequence[_Match], most: int) -> int:
    """Where to begin, so that as many different words as can be are in sight; at a sentence, if one begins near."""
    room = most - _BEFORE
    best, found = 0, -1
    for match in matches:
        seen = len({other.term for other in matches if match.start <= other.start < match.start + room})
        if seen > found:
            best, found = match.start, seen
    if best < _BEFORE:
        return 0
    begins = [one.end() for one in _BEGINS.finditer(text, best - _BEFORE, best)]
    if begins:
        return begins[0]
    return text.find(" ", best - _BEFORE // 2, best) + 1 or best


def _word_end(text: str, at: int) -> int:
    cut = text.rfind(" ", at - 40, at)
    return cut if cut > 0 else at


# Why a row was found, in one line a person understands; the figures behind it are the row's signals. Pure.


# Signals with a sentence of their own. Below its share of the score, a signal decided nothing and goes unsaid.
_SAID = {
    "nearness": "the words stand near each other",
    "kinship": "same subject as the best rows",
    "all_required": "everything asked for is here",
    "pinned": "named by its key",
}
_SHARE = 0.05
_MOST = 6


def why(row: EvidenceRow) -> str:
    """What brought a row to its place."""
    return "; ".join(dict.fromkeys(_reasons(row)))


def _reasons(row: EvidenceRow) -> Iterator[str]:
    if row.related_to is not None:
        yield f"linked with {row.related_to}"
    if row.matched_terms:
        yield f"found by {_listed(row.matched_terms)}"
    elif "pinned" not in row.lanes and row.related_to is None:
        yield "found by a rephrased question"
    total = abs(row.score) or 1.0
    for signal in row.signals:
        if signal.name in _SAID and (abs(signal.value) / total >= _SHARE or signal.name == "pinned"):
            yield _SAID[signal.name]
        elif signal.name in (
            "title",
            "exact_title",
            "source_type",
            "spelling",
            "alias",
            "cross_encoder",
            "reranker_unavailable",
        ):
            yield signal.detail
    yield from _about(row.signals, "excluded:", "speaks of what you left out")
    yield from _about(row.signals, "missing:", "does not mention")


def _about(signals: tuple[Signal, ...], prefix: str, said: str) -> Iterator[str]:
    names = [signal.name.removeprefix(prefix) for signal in signals if signal.name.startswith(prefix)]
    if names:
        yield f"{said} {_listed(names)}"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
