"""What can be put into somebody's note: a statement that can be read there, and is about its topic. Pure.

    The sail loft costs forty crowns a month.      yes
    Thanks for reading, and have fun!              no: it says nothing
    (Before you begin, read the rules.)            no: an aside that points elsewhere
    Total file size for /usr                       no: it names something and says nothing of it

Rules of form, the same for every vault. What is left out by mistake can still be searched; noise in a note has to be
deleted by hand.
"""

from __future__ import annotations

import re

from citewell.readers.markup import scan
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.passages import Passage
from citewell.synthesis.readable import is_readable
from citewell.synthesis.values import dates_in, quantities_in
from citewell.text.phrases import (
    is_ended,
    is_example,
    is_pleasantry,
    leans,
    leans_early,
    points_elsewhere,
    points_further,
    states,
)

_LEAST_WORDS = 5
_MOSTLY = 0.5
# Up to where in a sentence stands what it is about.
_EARLY = 0.6
# Escaped characters and links by reference: left of markup that nobody reads.
_MARKS = re.compile(r"(?<=\w)\\(?=\w)|\]\[|^[*+•-] ")
# Who speaks in a dialogue: what is said there holds in the dialogue.
_SPEAKER = re.compile(r"\W*[^\W\d_]{1,2}: ")
# Where a sentence does not end: what followed stands in another line.
_CUT = re.compile(
    r"(?:\b(?:to|of|the|a|an|and|or|in|for|with|by|at|on|from|that|is|are|und|der|die|das|et|de|le|la)|[,;:–—-])$"
)
_ASIDE = re.compile(r"\([^()]*\)")
_SHORT_NAME = re.compile(r"(?:The |A |An )?([A-Z][A-Z0-9&]{1,7})\b")


def is_keepable(text: str) -> bool:
    """Whether a sentence can be read where it is put, and says something there."""
    if not is_readable(text) or _MARKS.search(text) or _SPEAKER.match(text) or text.endswith(("!", "?")):
        return False
    if text.startswith("(") or not _is_balanced(text):
        return False
    if is_pleasantry(text) or is_example(text) or points_elsewhere(text) or points_further(text):
        return False
    if leans(text) or leans_early(text):
        return False
    return len(content_stems(text)) >= _LEAST_WORDS or bool(quantities_in(text) or dates_in(text))


def is_whole(passage: Passage) -> bool:
    """Whether a passage is no title, no half of a statement, and no mere link."""
    shown = passage.shown
    if content_stems(shown) <= content_stems(passage.source.title) or links_only(passage):
        return False
    if passage.kind == "row":
        return True
    if passage.kind == "item" and passage.lead.endswith(":"):
        return is_ended(shown)
    return is_ended(shown) or (passage.kind != "sentence" and says_something(shown))


def says_something(text: str) -> bool:
    """Whether a line that does not end as a sentence states something all the same, and to its end."""
    return is_ended(text) or (not _CUT.search(text) and (states(text) or bool(quantities_in(text))))


def without_asides(text: str) -> str:
    """What stands in parentheses is mentioned, and not what the sentence is about."""
    return _ASIDE.sub(" ", text)


def begins_with(text: str, wanted: frozenset[str]) -> bool:
    """Whether one of these words stands early, where a sentence says what it is about."""
    end = text.find(" ", int(len(text) * _EARLY))
    return bool(content_stems(text[: end if end != -1 else len(text)]) & wanted)


def names_another(text: str, known: str) -> bool:
    """Whether it begins with a short name ("DVL is …") that is not among what is known: it is about something else."""
    found = _SHORT_NAME.match(text)
    return found is not None and re.search(rf"\b{re.escape(found[1])}\b", known) is None


def _is_balanced(text: str) -> bool:
    pairs = (("(", ")"), ("[", "]"), ("“", "”"))
    return all(text.count(one) == text.count(other) for one, other in pairs) and text.count('"') % 2 == 0


def links_only(passage: Passage) -> bool:
    """Whether a line only points to notes: it says nothing of its own."""
    raw = passage.source.text[passage.start : passage.end]
    linked = sum(link.end - link.start for link in scan(raw).links)
    return linked > _MOSTLY * len(raw)
