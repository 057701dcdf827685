"""Standing alone: whether a sentence can be quoted without those around it. Pure.

Turn the compost every three weeks.        yes
This keeps it from going sour.             no: it goes on from the sentence before
See the calendar for details.              no: it points elsewhere
"""

from __future__ import annotations

import re

from citewell.readers.markup import scan
from citewell.synthesis.checking.claim import is_claim
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.passages import Passage
from citewell.synthesis.readable import is_readable
from citewell.text.phrases import is_ended, is_example, leans, leans_early, points_elsewhere

LEAST_WORDS = 5
# Characters that are escaped, and links by reference: left of markup that nobody reads.
_MARKS = re.compile(r"\\\W|\]\[")
_MOSTLY = 0.5


def stands_alone(text: str) -> bool:
    """Whether a sentence can be read without those around it, and says something itself."""
    if not is_ended(text) or not text[:1].isupper() or not is_statement(text):
        return False
    return not (leans(text) or leans_early(text) or is_example(text) or points_elsewhere(text))


def is_statement(text: str) -> bool:
    """Whether it reads as a statement on its own: prose of some length that says something."""
    if not is_readable(text) or not is_claim(text) or text.endswith("?") or text.count("[") != text.count("]"):
        return False
    if _MARKS.search(text):
        return False
    return len(content_stems(text)) >= LEAST_WORDS or any(map(str.isdigit, text))


def links_only(passage: Passage) -> bool:
    """Whether a line only points to other documents."""
    raw = passage.source.text[passage.start : passage.end]
    return sum(link.end - link.start for link in scan(raw).links) > _MOSTLY * len(raw)
