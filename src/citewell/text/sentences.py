"""Sentences: exact spans of what reads as one statement.

Lines of a table, list items, headings, properties and lines of verse or code end a sentence too, since each stands on
its own as evidence. Wrapped prose does not: a single newline inside a paragraph is white space, and so is one inside a
quoted paragraph ("> one line\n> and its rest"). This decides by punctuation and layout alone; it does not understand
grammar, so an unusual abbreviation may still split a sentence in two.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from citewell.text.canonical import folded_text

# Properties: the lines of front matter a text begins with, one `key: value` (or list, or indented text) each.
#
# A window of a note may begin with its front matter, with or without the rule above it, and may end inside it.


# Front matter longer than this is read as text.
MAX_CHARS = 64 * 1024

_OPENING = re.compile(r"---[ \t]*\n")
_KEY = re.compile(r"[^\W_][\w -]{0,60}:(?=[ \t\n]|\Z)")
_RULE = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_BELOW = re.compile(r"[ \t]+\S|-[ \t]|[\]\[{}#\"']")


def properties_of(text: str) -> tuple[list[tuple[int, int]], int]:
    """The span of each property, key and value together, and where the text goes on; nothing and 0 for other texts."""
    opening = _OPENING.match(text)
    at = opening.end() if opening else 0
    found: list[tuple[int, int]] = []
    if not _KEY.match(text, at):
        return [], 0
    while at < len(text) and at <= MAX_CHARS:
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        if closing := _RULE.match(text, at):
            return found, closing.end()
        if _KEY.match(text, at):
            found.append((at, end))
        elif text[at:end].strip() == "":
            pass
        elif _BELOW.match(text, at):
            found[-1] = (found[-1][0], end)
        else:
            return [], 0
        at = end + 1
    # No rule: front matter only where the text ends inside it, and a line with a colon alone may be anything.
    return (found, len(text)) if opening or len(found) > 1 else ([], 0)


_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr vs etc eg ie cf al approx no nos vol vols fig figs eq sec ch pp p ed eds est dept
    univ inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    ca bzw z.b d.h u.a usw ggf e.g i.e a.m p.m u.s u.k u.n ph.d m.sc b.sc rev gen col lt sgt capt hon gov sen
    rep""".split()
)
_END = re.compile(
    r"""(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)   # Western full stops, with what closes around them
    | (?<![。！？｡])[。！？｡]++[」』”’）]*+            # ideographic ones need no space after them
    | \n[ \t]*+\n\s*+                              # a blank line
    | \n(?=[ \t]*+(?:[-*+•|>\#]|\d{1,3}[.)]\s|```|~~~))  # the next line is a block of its own
    """,
    re.VERBOSE,
)
_BLOCK_LINE = re.compile(r"[ \t]*(?:#{1,6}\s|\||[-*+•]\s|\d{1,3}[.)]\s|>|---[ \t]*\n)")
# A line of a quotation that goes on with words: no item, heading, row, callout, fence or blank line.
_QUOTED = re.compile(r"[ \t]{0,3}(?P<depth>>(?:[ \t]?>){0,7})[ \t]*+(?![-*+•|\#>]|\d{1,3}[.)]\s|\[!|```|~~~)(?=\S)")
_LAST_WORD = re.compile(r"[\w.]+$")


def sentence_breaks(text: str) -> list[int]:
    """Offsets at which a new sentence may begin, in order; each property of front matter is a statement of its own."""
    properties, body = properties_of(text)
    if body:
        ends = (properties[-1][1], body) if body < len(text) else ()
        return [
            *(start for start, _ in properties if start),
            *ends,
            *(body + at for at in sentence_breaks(text[body:])),
        ]
    breaks: list[int] = []
    for match in _END.finditer(text):
        if match.group()[0] == "." and _is_abbreviation(text, match.start(), match.end()):
            continue
        if match.group() == "\n" and _is_wrapped_quote(text, match.start()):
            continue
        breaks.append(match.end())
    return _with_block_lines(text, breaks)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the sentences of a text, without the white space around them."""
    start = 0
    for at in [*sentence_breaks(text), len(text)]:
        low, high = start, at
        while low < high and text[low].isspace():
            low += 1
        while high > low and text[high - 1].isspace():
            high -= 1
        if low < high:
            yield low, high
        start = at


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether the full stop at `start` belongs to the word before it."""
    word = _LAST_WORD.search(text, max(0, start - 20), start)
    if word is None:
        return False
    token = word.group().lower()
    if token in _ABBREVIATIONS:
        return True
    following = text[end : end + 3].lstrip()
    if len(token) == 1 and token.isalpha():
        return True  # an initial: "J. Ross"
    return bool(following) and following[0].islower() and not token.isdigit()


def _with_block_lines(text: str, breaks: list[int]) -> list[int]:
    """Also break after every line that is a heading, a table row or a list item followed by another line."""
    found = set(breaks)
    at = 0
    while (newline := text.find("\n", at)) != -1:
        if _BLOCK_LINE.match(text, at) and _ends_block(text, at, newline):
            found.add(newline + 1)
        at = newline + 1
    return sorted(found)


def _ends_block(text: str, start: int, newline: int) -> bool:
    """Headings and table rows end with their line; a list item goes on while the next line is indented."""
    first = text[start:newline].lstrip(" \t")[:1]
    if first in "#|":
        return True
    if first == ">":
        return not _is_wrapped_quote(text, newline)
    return not text.startswith((" ", "\t"), newline + 1)


def _is_wrapped_quote(text: str, newline: int) -> bool:
    """Whether the line that ends here and the next are one paragraph of a quotation."""
    above = _QUOTED.match(text, text.rfind("\n", 0, newline) + 1, newline)
    below = _QUOTED.match(text, newline + 1)
    return above is not None and below is not None and above["depth"].count(">") == below["depth"].count(">")


# Turns of phrase that tell whether a sentence stands by itself: it leans on another, points elsewhere, is an example.
#
#     This keeps it from going sour.             leans on the sentence before
#     See the calendar for details.              points elsewhere
#
# By closed lists (`phrases.toml`), English, and of German, French and Spanish the commonest. Pure.


_ENDED = re.compile(r"[.!…。][\"'”’»)\]*_]*$")
# As near its beginning a word leans on what was said before.
_BEGINNING = 60


@lru_cache(maxsize=1)
def _lists() -> dict[str, list[str]]:
    return tomllib.loads(files("citewell.text").joinpath("phrases.toml").read_text("utf-8"))


@lru_cache(maxsize=16)
def _turns(name: str) -> re.Pattern[str]:
    """The turns of phrase of one list, for folded text; the longest first."""
    phrases = sorted((folded_text(one) for one in _lists()[name]), key=lambda one: -len(one))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})(?!\w)")


@lru_cache(maxsize=1)
def furniture() -> frozenset[str]:
    """Headings that say nothing of what stands under them, folded."""
    return frozenset(folded_text(one) for one in _lists()["furniture"])


def is_ended(text: str) -> bool:
    """Whether it ends as a sentence does: no title, no half of a sentence."""
    return bool(_ENDED.search(text))


def leans(text: str) -> bool:
    """Whether it begins as what goes on from another sentence."""
    return bool(_turns("leans").match(_said(text)))


def leans_early(text: str) -> bool:
    """Whether it has a word near its beginning that only another sentence explains."""
    return bool(_turns("leans_within").search(_said(text), 0, _BEGINNING))


def is_example(text: str) -> bool:
    return bool(_turns("examples").match(_said(text)))


def states(text: str) -> bool:
    """Whether a line says something, rather than names something."""
    return bool(_turns("states").search(_said(text)))


def points_elsewhere(text: str) -> bool:
    """Whether it only says where to look, or labels what follows."""
    said = _said(text)
    label = _turns("labels").match(said)
    if label is not None and said[label.end() :].lstrip()[:1] in (":", "-", "–"):
        return True
    return bool(_turns("points").match(said) or _turns("points_within").search(said))


def points_further(text: str) -> bool:
    """Whether it sends its reader on somewhere in it: "If you are new, check out our guide"."""
    return bool(_turns("sends").search(_said(text)))


def is_pleasantry(text: str) -> bool:
    """Whether it greets, thanks or cheers, and states nothing."""
    return bool(_turns("pleasantries").match(_said(text)))


def _said(text: str) -> str:
    return folded_text(text).lstrip("\"'“‘(*_ ").replace("’", "'")
