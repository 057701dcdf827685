"""Whether a source from outside is to be believed: rules first, then a model for what they let through. Pure.

    a signed, dated page of a university   ->   0.78 by rules; a model that reads its passage says 0.9   ->   0.84, kept

The user's own documents are never judged. A source below the floor is dropped and listed. A model sees each source
once, duplicates never, and what it says counts for half: alone it neither saves what rules reject nor praises it to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from citewell.briefs.untrusted import TAG_RESEARCH_SOURCE, UNTRUSTED_DIRECTIVE, wrap_untrusted
from citewell.domain.briefs import ItemCredibility, ReportItem
from citewell.domain.chat import ChatMessage, ChatRequest
from citewell.evidence.credibility import credibility
from citewell.models.structured import Unstructured, read_json
from citewell.synthesis.shown_evidence import inert

TRIAGE_TOKENS = 1_200
MOST_TRIAGED = 40
_SNIPPET_CHARS = 600
# About the most that a model is shown of all sources together.
MOST_TRIAGE_CHARS = 2_000 + MOST_TRIAGED * (800 + _SNIPPET_CHARS)
# Rules alone reject what is this far below the floor; nearer to it a model may speak for it.
_PREFILTER = 0.15
_RULES = f"""You judge how far web sources can be relied on as evidence. Do not answer the brief.
Reply with one JSON array and nothing else: [{{"id": "...", "score": 0.0, "reason": "..."}}], one entry a source.
score: from 0 (invented, advertising, copied) to 1 (primary or well-edited, says who wrote it and how it is known).
Judge the source and how it argues, not whether you share its view. reason: at most 12 words.
{UNTRUSTED_DIRECTIVE}"""
TRIAGE_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "score", "reason"],
        "properties": {
            "id": {"type": "string"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "reason": {"type": "string", "maxLength": 200},
        },
    },
}


class _Told(msgspec.Struct):
    id: str
    score: float
    reason: str = ""


class HeuristicCredibilityTriage:
    """Judges by what can be seen of a page."""

    name = "heuristic"
    asks_model = False

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]:
        """The verdict on every item from outside."""
        return tuple(self._verdict(item, floor) for item in items if item.is_external)

    def _verdict(self, item: ReportItem, floor: float) -> ItemCredibility:
        page = item.page
        if page is None:
            return ItemCredibility(item.ref_id, item.row.source_key, 0.0, ("nothing is known of it",), False)
        if page.injections:
            reasons = (f"it gives orders: {page.injections[0]}",)
            return ItemCredibility(item.ref_id, item.row.source_key, 0.0, reasons, False)
        if "walled" in page.flags:
            reasons = ("hardly more than a request to sign in or accept something",)
            return ItemCredibility(item.ref_id, item.row.source_key, 0.0, reasons, False)
        judged = credibility(page, item.paper)
        kept = judged.score >= floor
        return ItemCredibility(item.ref_id, item.row.source_key, judged.score, judged.reasons, kept)


class HybridCredibilityTriage(HeuristicCredibilityTriage):
    """Rules first; a model then reads what they let through."""

    name = "hybrid"
    asks_model = True

    def to_ask(
        self, items: Sequence[ReportItem], verdicts: Sequence[ItemCredibility], floor: float
    ) -> tuple[ReportItem, ...]:
        """The items worth a model's look: each source once, none that rules reject outright."""
        scores = {one.ref_id: one.score for one in verdicts}
        sources: dict[str, ReportItem] = {}
        for item in items:
            if item.is_external and scores.get(item.ref_id, 0.0) >= max(0.01, floor - _PREFILTER):
                sources.setdefault(item.row.source_key, item)
        return tuple(sources.values())[:MOST_TRIAGED]

    def request(self, items: Sequence[ReportItem], model: str, seconds: float) -> ChatRequest:
        shown = "\n".join(wrap_untrusted(TAG_RESEARCH_SOURCE, _shown(item)) for item in items)
        messages = (ChatMessage("system", _RULES), ChatMessage("user", shown))
        return ChatRequest("triage", model, messages, TRIAGE_TOKENS, seconds, TRIAGE_SCHEMA, "credibility")

    def read(
        self, reply: str, items: Sequence[ReportItem], verdicts: Sequence[ItemCredibility], floor: float, model: str
    ) -> tuple[tuple[ItemCredibility, ...], str]:
        """The verdicts with what the model said, or as they were and why it could not be read."""
        try:
            told = {one.id: one for one in read_json(reply, list[_Told])}
        except Unstructured as error:
            return tuple(verdicts), error.reason
        asked = {item.row.source_key: told[item.ref_id] for item in items if item.ref_id in told}
        if not asked:
            return tuple(verdicts), "it names none of the sources"
        return tuple(_with_model(one, asked.get(one.source_key), floor, model) for one in verdicts), ""


class NoTriage(HeuristicCredibilityTriage):
    """Keeps every source that gives no orders; its score is told."""

    name = "off"

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]:
        return super().verdicts(items, 0.01)


def _with_model(one: ItemCredibility, told: _Told | None, floor: float, model: str) -> ItemCredibility:
    if told is None:
        return one
    score = round((one.score + min(1.0, max(0.0, told.score))) / 2, 3)
    reasons = (*one.reasons, *((f"{model}: {inert(told.reason)[:200]}",) if told.reason.strip() else ()))
    return ItemCredibility(one.ref_id, one.source_key, score, reasons, score >= floor, model)


def _shown(item: ReportItem) -> str:
    page = item.page
    facts = [f"id: {item.ref_id}", f"title: {inert(item.row.title)}"]
    if page is not None:
        facts.append(f"address: {inert(page.final_url)}")
        facts += [f"author: {inert(page.author)}"] if page.author else []
        facts += [f"published: {inert(page.published)}"] if page.published else []
    return "\n".join([*facts, f"passage: {inert(item.row.text)[:_SNIPPET_CHARS]}"])
