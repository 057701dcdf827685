"""The findings of several topics as one answer: sentences in order, citations numbered through. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.domain.answers import CheckedSentence, Citation, Draft, DraftSentence, Verification
from citewell.domain.notes import NoteTopic
from citewell.domain.packs import ResearchPack
from citewell.notes.composing import TopicFindings

_NUMBER = re.compile(r"\W*(\d{1,2})\b")
# How near to the best row of a topic a document must come to count as met.
_NEAR_BEST = 0.8
# A finding that its quote proves only in part is not written into somebody's note.
_HOLDS = ("supported",)


@dataclass(frozen=True, slots=True)
class Merged:
    """What all topics come to."""

    findings: tuple[TopicFindings, ...]
    verification: Verification
    draft: Draft


def merge_findings(found: Sequence[tuple[NoteTopic, Verification, Draft]]) -> Merged:
    """Findings topic by topic; what is said twice is said where it was said first."""
    numbers: dict[tuple[str, int, int], Citation] = {}
    findings: list[TopicFindings] = []
    said: set[str] = set()
    for topic, verification, draft in found:
        kept = [one for one in held(verification) if one.text not in said]
        said |= {one.text for one in kept}
        renumbered = tuple(_renumbered(one, verification.citations, numbers) for one in kept)
        findings.append(TopicFindings(topic, renumbered, draft.written_by == "extractive"))
    sentences = [sentence for one in findings if one.sentences for sentence in (_heading(one.topic), *one.sentences)]
    verification = Verification(
        gates=(),
        sentences=tuple(sentences),
        citations=tuple(numbers.values()),
        warnings=tuple(dict.fromkeys(warning for _, checked, _ in found for warning in checked.warnings)),
        unsupported_rate=0.0,
        contradictions=tuple(one for _, checked, _ in found for one in checked.contradictions),
    )
    by_model = any(draft.written_by == "model" for _, _, draft in found)
    told = tuple(DraftSentence(one.text, one.kind) for one in sentences)
    draft = Draft(told, refused=not told, written_by="model" if by_model else "extractive")
    return Merged(tuple(findings), verification, draft)


def held(verification: Verification) -> list[CheckedSentence]:
    """The sentences that may be written: their quotes prove them."""
    if not verification.passed:
        return []
    return [one for one in verification.sentences if one.kind == "claim" and one.verdict in _HOLDS and one.citations]


def _heading(topic: NoteTopic) -> CheckedSentence:
    return CheckedSentence(topic.topic, "not_a_claim", (), kind="heading")


def _renumbered(
    sentence: CheckedSentence, citations: Sequence[Citation], numbers: dict[tuple[str, int, int], Citation]
) -> CheckedSentence:
    cited: list[int] = []
    for citation in citations:
        if citation.n in sentence.citations:
            place = (citation.source_key, citation.span.start, citation.span.end)
            known = numbers.setdefault(place, replace(citation, n=len(numbers) + 1))
            cited.append(known.n)
    return replace(sentence, citations=tuple(dict.fromkeys(cited)))


def by_topic(verification: Verification, topics: Sequence[NoteTopic]) -> list[tuple[NoteTopic, Verification]]:
    """What a model wrote of all topics at once, by the number in each heading; what stands under none is left out."""
    parts: dict[int, list[CheckedSentence]] = {}
    current: int | None = None
    for sentence in verification.sentences:
        if sentence.kind == "heading":
            number = _NUMBER.match(sentence.text)
            current = int(number[1]) - 1 if number and 1 <= int(number[1]) <= len(topics) else None
        elif current is not None or len(topics) == 1:
            parts.setdefault(current or 0, []).append(sentence)
    return [(topics[at], replace(verification, sentences=tuple(parts[at]))) for at in sorted(parts)]


def related_keys(packs: Sequence[ResearchPack], shown: frozenset[str]) -> tuple[str, ...]:
    """Documents near the best for several topics that are neither linked nor cited, the most often met first."""
    met: dict[str, list[float]] = {}
    for pack in packs:
        best = max((row.score for row in pack.evidence), default=0.0)
        for row in pack.evidence:
            if best > 0 and row.score >= _NEAR_BEST * best and row.source_key not in shown:
                met.setdefault(row.source_key, []).append(row.score / best)
    least = max(2, -(-len(packs) // 3))
    often = [(key, near) for key, near in met.items() if len(near) >= least]
    return tuple(key for key, near in sorted(often, key=lambda one: (-len(one[1]), -sum(one[1]), one[0])))
