"""Extractive summaries: the sentences of a text that say most of what it is about, as they stand. Pure, deterministic.

    # Lamp
    The lamp was lit in 1859. We had tea. It burned oil from Leith until the lamp was electric.
    →  The lamp was lit in 1859. It burned oil from Leith until the lamp was electric.

A sentence counts for the words it shares with the rest of the text, its title and, where there is one, a query; what
stands first counts more, and what was said already less. It understands nothing: a summary may miss the point.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from citewell.text.blocks import Block, whole_blocks_of
from citewell.text.languages import is_stop_word
from citewell.text.sentences import sentences
from citewell.text.words import words

WHOLE_CHARS, CHUNK_CHARS = 400, 160
# More of a long text is not looked at: what it is about is said by then.
LOOK_THROUGH = 20_000
_MOST_SENTENCES = 4
_LONGEST = 400
_LEAST_WORDS = 4
_TITLE, _QUERY = 2.0, 4.0
_BULLET = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+(?:\[.\]\s+)?)?")


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: int
    text: str
    forms: frozenset[str]


def extractive_summary(
    text: str, title: str, language: str | None, max_chars: int = WHOLE_CHARS, asked: Collection[str] = ()
) -> str:
    """At most `max_chars` of a text; `asked` are index forms that count more. Empty where the text is."""
    looked = text[:LOOK_THROUGH]
    blocks = whole_blocks_of(looked)
    said = list(_sentences(looked, blocks, language))
    chosen = _chosen(said, _weights(said, title, language, asked), max_chars)
    if chosen:
        return " ".join(one.text for one in sorted(chosen, key=lambda one: one.place))
    return _lines(looked, blocks, max_chars)


def _sentences(text: str, blocks: Sequence[Block], language: str | None) -> Iterator[_Sentence]:
    place = 0
    for block in blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        body = text[block.start : block.end]
        for start, end in sentences(body):
            bare = " ".join(_BULLET.sub("", body[start:end], count=1).split())
            forms = [word.form for word in words(bare, language)]
            if len(forms) >= _LEAST_WORDS and len(bare) <= _LONGEST:
                yield _Sentence(place, bare, frozenset(form for form in forms if not is_stop_word(form)))
                place += 1


def _weights(said: Sequence[_Sentence], title: str, language: str | None, asked: Collection[str]) -> dict[str, float]:
    """How much each form says of what the text is about."""
    weights: dict[str, float] = dict(Counter(form for one in said for form in one.forms))
    for form in {word.form for word in words(title, language)} & weights.keys():
        weights[form] *= _TITLE
    for form in set(asked) & weights.keys():
        weights[form] *= _QUERY * max(1, len(said)) ** 0.5
    return weights


def _chosen(said: Sequence[_Sentence], weights: dict[str, float], max_chars: int) -> list[_Sentence]:
    """The best sentences that fit, one after the other; the words of one count less for the next."""
    chosen: list[_Sentence] = []
    left, room = list(said), max_chars
    while left and len(chosen) < _MOST_SENTENCES:
        fitting = [one for one in left if len(one.text) + bool(chosen) <= room]
        if not fitting:
            break
        best = max(fitting, key=lambda one: (_worth(one, weights), -one.place))
        chosen.append(best)
        left.remove(best)
        room -= len(best.text) + 1
        for form in best.forms:
            weights[form] /= 3
    return chosen


def _worth(one: _Sentence, weights: dict[str, float]) -> float:
    spoken = sum(weights[form] for form in one.forms) / (len(one.forms) + 3)
    return spoken * (1 + 1 / (1 + one.place))


def _lines(text: str, blocks: Sequence[Block], max_chars: int) -> str:
    """What a text without sentences begins with: its properties, items, rows or headings, one after the other."""
    kept = [block for block in blocks if block.kind != "code"] or list(blocks)
    lines = [" ".join(line.split()) for block in kept for line in text[block.start : block.end].splitlines()]
    joined = "; ".join(line for line in lines if any(map(str.isalnum, line)))
    if len(joined) <= max_chars:
        return joined
    cut = joined.rfind(" ", 0, max_chars - 1)
    return joined[: cut if cut > max_chars // 2 else max_chars - 1].rstrip(" ;") + "…"
