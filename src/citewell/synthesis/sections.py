"""A quoted answer under headings, for questions that were looked into deeply. Pure.

1871, 1871 and 1874 from three sources
    ->   ## Direct answer: 1871 … ## Key evidence: 1871 … ## Conflicting signals: 1874 …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.answers import CheckedSentence, Draft, DraftSentence, PreparedSynthesis
from citewell.synthesis.disagreements import disagreements

DIRECT, KEY, CONFLICTING = "Direct answer", "Key evidence", "Conflicting signals"


def in_sections(draft: Draft, prepared: PreparedSynthesis) -> Draft:
    """The same sentences, ordered under headings; a refusal needs none."""
    if draft.refused or not draft.sentences:
        return draft
    first, *rest = _blocks(draft.sentences)
    otherwise = _other_sides(draft, prepared, first)
    conflicting = [block for block in rest if _keys(block) & otherwise]
    agreeing = [block for block in rest if block not in conflicting]
    ordered = [*_section(DIRECT, [first]), *_section(KEY, agreeing), *_section(CONFLICTING, conflicting)]
    return replace(draft, sentences=tuple(ordered))


def _section(heading: str, blocks: Sequence[Sequence[DraftSentence]]) -> list[DraftSentence]:
    said = [sentence for block in blocks for sentence in block]
    return [DraftSentence(heading, "heading"), *said] if said else []


def _other_sides(draft: Draft, prepared: PreparedSynthesis, first: Sequence[DraftSentence]) -> set[str]:
    """The sources that state another value than the direct answer does."""
    stated = [
        CheckedSentence(one.text, "supported", (n,), one.quotes[0])
        for n, one in enumerate(draft.sentences, start=1)
        if one.quotes
    ]
    own = _keys(first)
    sides = [side for one in disagreements(prepared.question, stated, prepared) for side in one.stated]
    return {key for side in sides if not own & set(side.source_keys) for key in side.source_keys}


def _keys(block: Sequence[DraftSentence]) -> set[str]:
    return {quote.source_key for sentence in block for quote in sentence.quotes}


def _blocks(sentences: Sequence[DraftSentence]) -> list[list[DraftSentence]]:
    """Sentences that belong together: each that cites, with what introduces it."""
    blocks: list[list[DraftSentence]] = []
    waiting: list[DraftSentence] = []
    for sentence in sentences:
        waiting.append(sentence)
        if sentence.quotes:
            blocks.append(waiting)
            waiting = []
    if waiting and blocks:
        blocks[-1].extend(waiting)
    return blocks or [waiting]
