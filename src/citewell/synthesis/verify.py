"""Verification: may this answer be shown, and what stands behind each of its sentences? Pure.

Hard gates for the whole (`gates`), a verdict for each sentence (`checking`), citations set right where another source
says what the cited one does not (`repairs`), disagreements among them, and warnings. It judges an extracted answer and
a model's alike. It compares words, numbers, dates, names, denial and order with the quotes; it does not know whether a
source is right, nor whether the answer is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from citewell.domain.answers import (
    CheckedSentence,
    Citation,
    Draft,
    DraftSentence,
    Entails,
    Highlight,
    PreparedSource,
    PreparedSynthesis,
    Quote,
    Verification,
)
from citewell.domain.documents import Span
from citewell.domain.ports import ClaimPair
from citewell.domain.queries import QueryPlan
from citewell.synthesis.checking.claim import check_claim
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.disagreements import disagreements
from citewell.synthesis.gates import check_gates, source_of, supported_gate
from citewell.synthesis.instructions import is_instruction
from citewell.synthesis.judging import pair_of
from citewell.synthesis.repairs import narrowed, repaired

MAX_CITATIONS = 8
_WEAK_BELOW = 0.4
# A longer quote is shown from the first to the last sentence that supports something.
_LONG_QUOTE = 600
_OTHER_CITED = "the passage cited first does not say this; another source does and is cited instead"
_FIRST_CITED = "it came without a citation; the source that says it is cited"
# A sentence with its verdict, and the quotes it stands on.
Judged = tuple[CheckedSentence, tuple[Quote, ...]]


def verify(
    question: str,
    draft: Draft,
    prepared: PreparedSynthesis,
    plan: QueryPlan,
    max_citations: int = MAX_CITATIONS,
    scores: Mapping[ClaimPair, Entails] | None = None,
) -> Verification:
    """The verdict on a draft: gates, sentences, numbered citations, warnings; `scores` is what a judge said."""
    rarity = Rarity.of(prepared)
    judged = [_judged(sentence, prepared, rarity, scores or {}) for sentence in draft.sentences]
    cited = _cited(judged, draft, prepared, max_citations)
    checked = tuple(
        replace(one, citations=tuple(cited[quote].n for quote in dict.fromkeys(quotes) if quote in cited))
        for one, quotes in judged
    )
    claims = [sentence for sentence in checked if sentence.verdict != "not_a_claim"]
    unsupported = sum(sentence.verdict == "unsupported" for sentence in claims)
    return Verification(
        gates=(*check_gates(draft, prepared, plan, cites=bool(cited)), supported_gate(draft, checked)),
        sentences=checked,
        citations=tuple(cited.values()),
        warnings=tuple(_warnings(question, draft, checked, prepared, rarity)),
        unsupported_rate=round(unsupported / len(claims), 6) if claims else 0.0,
        contradictions=() if draft.refused else disagreements(plan.text_query, checked, prepared),
    )


def _judged(
    sentence: DraftSentence, prepared: PreparedSynthesis, rarity: Rarity, scores: Mapping[ClaimPair, Entails]
) -> Judged:
    """A sentence with its verdict, its numbers still to be given, and the quotes it stands on in the end."""
    if sentence.kind != "claim":
        return CheckedSentence(sentence.text, "not_a_claim", (), kind=sentence.kind), ()
    held = [(quote, source) for quote in sentence.quotes if (source := source_of(quote, prepared))]
    # What gives orders to whoever reads it states nothing, however exactly it is quoted.
    held = [(quote, source) for quote, source in held if not is_instruction(quote.text)]
    quotes = tuple(quote for quote, _ in held)
    entails = scores.get(pair_of(sentence.text, held)) if scores else None
    check = check_claim(sentence.text, quotes, [source for _, source in held], rarity, entails=entails)
    if check.verdict == "unsupported":
        found = repaired(sentence.text, quotes, prepared, rarity)
        if found is not None:
            keys = tuple(dict.fromkeys(quote.source_key for quote in quotes))
            reason = _OTHER_CITED if quotes else _FIRST_CITED
            one = CheckedSentence(sentence.text, "supported", (), found.quote, reason, found.support, keys)
            return one, (found.quote,)
    quote = narrowed(_nearest(sentence.text, quotes), quotes, check)
    # A quotation is cited as the block it stands in; without its passages the block has nothing to show.
    cited = (sentence.block,) if sentence.block is not None and quotes else quotes
    return CheckedSentence(sentence.text, check.verdict, (), quote, check.reason, check.support), cited


def _cited(judged: Sequence[Judged], draft: Draft, prepared: PreparedSynthesis, limit: int) -> dict[Quote, Citation]:
    """The quotes in order of first use, each numbered once; only what the evidence holds can be cited."""
    quotes = dict.fromkeys(quote for _, quotes in judged for quote in quotes)
    held = [(quote, source) for quote in quotes if (source := source_of(quote, prepared))][:limit]
    return {
        quote: _quotation(n, quote, source, draft)
        if any(sentence.block == quote for sentence in draft.sentences)
        else _citation(n, _shown(quote, judged), source)
        for n, (quote, source) in enumerate(held, start=1)
    }


def _quotation(n: int, block: Quote, source: PreparedSource, draft: Draft) -> Citation:
    """A whole block, what of it decides, and what belongs to it but stands elsewhere."""
    resting = [sentence for sentence in draft.sentences if sentence.block == block]
    # The first passage of a sentence is what it says; further ones, as the header of a table, help to understand it.
    said = [sentence.quotes[0] for sentence in resting if sentence.quotes]
    inside = [one for one in said if block.start <= one.start <= one.end <= block.end]
    context = tuple(dict.fromkeys(one for sentence in resting for one in sentence.context))
    highlight = Highlight(min(one.start for one in inside), max(one.end for one in inside)) if inside else None
    return replace(_citation(n, block, source), highlight=highlight, context=context)


def _shown(quote: Quote, judged: Sequence[Judged]) -> Quote:
    """A quote as it is shown: of a long one, the stretch from the first to the last sentence that supports a claim."""
    if len(quote.text) <= _LONG_QUOTE:
        return quote
    inner = [one.quote for one, quotes in judged if quote in quotes and one.quote and one.verdict != "unsupported"]
    within = [
        one for one in inner if one.source_key == quote.source_key and quote.start <= one.start <= one.end <= quote.end
    ]
    if not within:
        return quote
    start, end = min(one.start for one in within), max(one.end for one in within)
    return replace(quote, start=start, end=end, text=quote.text[start - quote.start : end - quote.start])


def _citation(n: int, quote: Quote, source: PreparedSource) -> Citation:
    span = Span(source.span.chunk_id, quote.start, quote.end, quote.content_hash)
    page = source.page_at(quote.start)
    return Citation(n, quote.source_key, source.title, source.note_path, source.url, quote.text, span, page)


def _nearest(text: str, quotes: Sequence[Quote]) -> Quote | None:
    """The quote that shares most words with the sentence; the first of equals."""
    said = content_stems(text)
    return max(quotes, key=lambda quote: len(said & content_stems(quote.text)), default=None)


def _warnings(
    question: str, draft: Draft, checked: Sequence[CheckedSentence], prepared: PreparedSynthesis, rarity: Rarity
) -> list[str]:
    """Soft gates: what the reader should know, without hiding the answer."""
    uncited = any(one.verdict != "not_a_claim" and not one.citations for one in checked)
    found = {
        "no_evidence": draft.refused,
        "weak_evidence": not draft.refused and _is_weak(question, checked, prepared, rarity),
        "unsupported_claims": any(one.verdict == "unsupported" for one in checked),
        "partial_claims": any(one.verdict == "partial" for one in checked),
        "uncited_claims": uncited,
        "citations_repaired": any(one.reason in (_OTHER_CITED, _FIRST_CITED) for one in checked),
        "evidence_truncated": prepared.truncation.is_truncated,
    }
    return [name for name, holds in found.items() if holds]


def _is_weak(question: str, checked: Sequence[CheckedSentence], prepared: PreparedSynthesis, rarity: Rarity) -> bool:
    """Whether what is cited speaks of less than the larger part of the question."""
    keys = {one.quote.source_key for one in checked if one.quote}
    titles = " ".join(source.title for source in prepared.sources if source.source_key in keys)
    cited = content_stems(f"{titles} {' '.join(one.quote.text for one in checked if one.quote)}")
    asked_for = content_stems(question)
    total = rarity.weight(asked_for)
    return bool(total) and rarity.weight(asked_for & cited) / total < _WEAK_BELOW
