"""What a reader makes of the passages: a model that marks where in a text the answer to a question stands. Pure.

Words and meaning choose the candidates; a reader, asked outside (`flows/outside.py`) and put on record, says how
likely each of them answers. That is one voice among others: it moves a passage up or down, and no passage is an answer
because of it alone.

Example:
    question: When was the lamp first lit?
    passages: The lamp was lit on 14 November 1859. | The lamp is lit at dusk.
    answers:  0.93 | 0.11
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.answers import Readings
from citewell.synthesis.likeness import passage_text
from citewell.synthesis.scoring import Scored

# Passages a reader is asked about: a twentieth of a second each.
MAX_READ = 16
WEIGHT = 0.3


def by_reading_too(ranked: Sequence[Scored], readings: Readings) -> list[Scored]:
    """The same passages in the order of everything before and the reader together.

    What was not read counts as no likelier than the least likely of what was.
    """
    known = readings.by_text
    if not known:
        return list(ranked)
    texts = [passage_text(one.passage) for one in ranked]
    least = min((known[text] for text in texts if text in known), default=0.0)
    read = [_read(one, known.get(text, least)) for one, text in zip(ranked, texts, strict=True)]
    return sorted(read, key=lambda one: one.order)


def _read(one: Scored, answers: float) -> Scored:
    return replace(one, score=round(one.score + WEIGHT * answers, 6), answers=answers)
