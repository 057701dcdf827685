"""Turns of phrase that tell whether a sentence stands by itself: it leans on another, points elsewhere, is an example.

    This keeps it from going sour.             leans on the sentence before
    See the calendar for details.              points elsewhere

By closed lists (`phrases.toml`), English, and of German, French and Spanish the commonest. Pure.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files

from citewell.text.folding import folded_text

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
