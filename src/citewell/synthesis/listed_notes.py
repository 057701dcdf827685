"""Lists of notes: which of them have the property that is asked for. Pure.

A vault of property notes holds its lists in no one place: "Which books are on my to-read list?" is answered by every
note with `tags: to-read`. Where the best passage is a property, all notes are named whose properties have most of what
is asked, each by its title.

Example:
    question: Which places in Kyoto did I save?
    notes:    "Fushimi Inari" with `loc: Kyoto`, "Nishiki Market" with `loc: Kyoto`
    answer:   both, each with its property
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.synthesis.answer_units import AnswerUnit
from citewell.synthesis.asking import Asked
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.passages import Passage
from citewell.synthesis.scoring import Scored

MOST_NOTES = 12
_NUMBER = re.compile(r"\b\d+\b")
# Notes that others are made from say nothing of their own.
_TEMPLATES = re.compile(r"(?:^|/)_?templates?/", re.IGNORECASE)


def notes_alike(asked: Asked, ranked: Sequence[Scored], every: Sequence[Scored]) -> list[AnswerUnit]:
    """The notes with the property that is asked for, best first; none where it is not a matter of properties."""
    if not (asked.plural or asked.kind == "list") or not ranked:
        return []
    if ranked[0].passage.kind != "property":
        return []
    said = _words(asked.text)
    notes: dict[str, list[Passage]] = {}
    for one in every:
        if _tells(one.passage, said):
            notes.setdefault(one.passage.source.source_key, []).append(one.passage)
    met = {key: frozenset().union(*(_values(one) & said for one in listed)) for key, listed in notes.items()}
    whole = max(met.values(), key=len, default=frozenset())
    # Of those that have something of what is asked, the ones that have all that any of them has.
    kept = [key for key, words in met.items() if words >= whole]
    others = frozenset().union(*(words for key, words in met.items() if key not in kept))
    return [_unit(notes[key], said, others) for key in kept[:MOST_NOTES]]


def _unit(listed: Sequence[Passage], said: frozenset[str], others: frozenset[str]) -> AnswerUnit:
    """A note by the property that tells it from the notes that are left out, if one does."""
    passage = next((one for one in listed if not _values(one) & said <= others), listed[0])
    return AnswerUnit(passage, (passage,))


def _tells(passage: Passage, said: frozenset[str]) -> bool:
    """Whether a note has a property with a word of the question, and a title that the question does not have."""
    if passage.kind != "property" or not _values(passage) & said or _is_template(passage):
        return False
    return not content_stems(passage.source.title) <= said


def _is_template(passage: Passage) -> bool:
    return bool(_TEMPLATES.search(passage.source.note_path or ""))


def _values(passage: Passage) -> frozenset[str]:
    return _words(passage.shown.partition(":")[2])


def _words(text: str) -> frozenset[str]:
    """What a text says: its stems, and its numbers."""
    return content_stems(text) | frozenset(_NUMBER.findall(text))
