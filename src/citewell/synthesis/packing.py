"""Packing: which evidence a synthesizer gets, in which order, within one budget of characters. Pure.

Question, plan and coverage always; primary evidence in rank order; a real reserve for one exact-tag example; a topic's
summary where there is room to spare; related rows last. Only the bottom-most included row is ever trimmed; what does
not fit is named. The summary is derived: it has no number, so that nothing can cite it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.answers import PreparedSource, PreparedSynthesis, Truncation
from citewell.domain.evidence import EvidenceRow
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import EvidenceReserves
from citewell.planning.chat_prompt import parse_chat_prompt
from citewell.synthesis.meant import read_as
from citewell.synthesis.shown_evidence import inert, render_source, secrets_in

MAX_EVIDENCE_CHARS = 24_000
# A trimmed row shorter than this shows too little to be worth its place.
_LEAST_TRIMMED_CHARS = 200


def prepare_synthesis(
    pack: ResearchPack,
    max_evidence_chars: int = MAX_EVIDENCE_CHARS,
    rules_chars: int = 0,
    reserves: EvidenceReserves | None = None,
    *,
    withhold_secrets: bool = False,
) -> PreparedSynthesis:
    """The synthesis input for a pack; the same pack always gives the same text.

    `rules_chars` of the budget go to the rules a model gets beside it: every character of a prompt counts.
    """
    kept = reserves or EvidenceReserves()
    head = _head(pack)
    primary = [row for row in pack.evidence if row.related_to is None]
    related = [row for row in pack.evidence if row.related_to is not None]
    shown = {row.source_key for row in primary}
    tagged = [row for row in pack.exact_tag_evidence if row.source_key not in shown]
    reserve = min(kept.exact_tag_reserved_chars, _cost(1, tagged[0])) if tagged else 0
    budget = _Budget(max_evidence_chars - rules_chars - len(head))
    sources = [*budget.take(primary, "primary", keep_free=reserve)]
    sources += budget.take(tagged[:1], "exact_tag")
    before = len(sources)
    brief = _topic_summary(pack, budget.left, kept)
    budget.left -= len(brief)
    sources += budget.take([*tagged[1:], *related], "related")
    numbered = tuple(replace(source, n=n) for n, source in enumerate(sources, start=1))
    rendered = [render_source(source, withhold_secrets=withhold_secrets) for source in numbered]
    withheld = tuple(source.source_key for source in numbered if secrets_in(source)) if withhold_secrets else ()
    text = "".join((head, *rendered[:before], brief, *rendered[before:]))
    used = rules_chars + len(text)
    truncation = Truncation(max_evidence_chars, used, tuple(budget.dropped), budget.trimmed)
    asked = parse_chat_prompt(pack.question).current
    return PreparedSynthesis(
        *(asked, numbered, truncation, text, term_weights(pack), unseen_terms(pack)),
        read_as=read_as(pack.query_plan),
        other_languages=pack.coverage.other_languages,
        withheld_source_keys=withheld,
    )


def unseen_terms(pack: ResearchPack) -> tuple[str, ...]:
    """Terms of the question that no passage of the whole corpus has."""
    # In an order of their own: a pack read back from a record has its counts in another one.
    return tuple(sorted(term for term, count in pack.coverage.term_chunks.items() if count == 0))


def term_weights(pack: ResearchPack) -> dict[str, float]:
    """How much each term of the question says: the rarer in the corpus, the more."""
    total = max(pack.coverage.corpus_chunks, 1)
    # Rounded, so that no platform's logarithm differs in the last digit of a recorded run.
    return {
        term: round(math.log(1 + total / max(count, 1)), 6) for term, count in sorted(pack.coverage.term_chunks.items())
    }


class _Budget:
    """Characters left, and what did not fit."""

    def __init__(self, characters: int) -> None:
        self.left = characters
        self.dropped: list[str] = []
        self.trimmed: str | None = None

    def take(self, rows: Sequence[EvidenceRow], lane: str, keep_free: int = 0) -> list[PreparedSource]:
        taken: list[PreparedSource] = []
        for row in rows:
            room = self.left - keep_free
            source = _source(row, lane)
            cost = _cost(len(taken) + 1, row)
            if self.trimmed is None and not self.dropped and cost > room:
                fitting = len(row.text) - (cost - room)
                if fitting >= _LEAST_TRIMMED_CHARS:
                    self.trimmed = row.source_key
                    source = _trimmed(source, fitting)
                    cost = len(render_source(source)) + 2
            if cost > room:
                self.dropped.append(row.source_key)
                continue
            self.left -= cost
            taken.append(source)
        return taken


def _source(row: EvidenceRow, lane: str) -> PreparedSource:
    heading = next((section.heading for section in row.sections if section.heading), None)
    return PreparedSource(
        n=0,
        source_key=row.source_key,
        title=row.title,
        source_type=row.source_type,
        role=row.sections[0].role if row.sections and lane != "primary" else row.role,
        text=row.text,
        span=row.span,
        note_path=row.note_path,
        url=row.url,
        dated=row.dated,
        user_tags=row.user_tags,
        heading=heading,
        score=row.score,
        pages=tuple(section for section in row.sections if section.page is not None),
        context=row.context,
        lane="primary" if lane == "primary" else "exact_tag" if lane == "exact_tag" else "related",
    )


def _trimmed(source: PreparedSource, characters: int) -> PreparedSource:
    text = source.text[:characters].rstrip()
    return replace(source, text=text, span=replace(source.span, end=source.span.start + len(text)))


def _cost(n: int, row: EvidenceRow) -> int:
    # Two spare characters: the number may grow a digit once rows are renumbered.
    return len(render_source(replace(_source(row, "primary"), n=n))) + 2


def _topic_summary(pack: ResearchPack, left: int, kept: EvidenceReserves) -> str:
    """The summary of the topic, whole lines of it, where enough room is left; marked as what it is."""
    if pack.topic_brief is None or not pack.topic_brief.summary or left < kept.topic_brief_min_remaining_chars:
        return ""
    head = f"Topic brief: {pack.topic_brief.topic} (derived, for orientation only; not a source, not to be cited)\n"
    room = min(kept.topic_brief_summary_max_chars, left - len(head) - 2)
    summary = pack.topic_brief.summary
    if len(summary) > room:
        summary = summary[: max(0, summary.rfind("]\n", 0, room) + 1)]
    return f"{head}{summary}\n\n" if summary else ""


def _asked(question: str) -> str:
    """The question and the ones before it; nothing that was answered before ever stands in a prompt."""
    prompt = parse_chat_prompt(question)
    earlier = "".join(f"\n- {inert(one)}" for one in prompt.recent[-8:])
    return f"{inert(prompt.current)}\nEarlier questions:{earlier}" if earlier else inert(prompt.current)


def _head(pack: ResearchPack) -> str:
    plan = pack.query_plan
    concepts = ", ".join(f"{concept.name} ({concept.role})" for concept in plan.concepts)
    asked = _asked(pack.question)
    return f"Question: {asked}\nLooking for: {inert(concepts)}\nCoverage: {pack.coverage.recall_note}\n\nEvidence:\n\n"
