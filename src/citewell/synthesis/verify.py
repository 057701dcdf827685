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
    Verdict,
    Verification,
)
from citewell.domain.documents import Span
from citewell.domain.judging import ClaimPair
from citewell.domain.queries import QueryPlan
from citewell.synthesis.absence import missed_by
from citewell.synthesis.checking.claim import check_claim, check_table_row, check_text
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.disagreements import disagreements
from citewell.synthesis.extract import nearest_passages
from citewell.synthesis.gates import check_gates, source_of, standing_gate
from citewell.synthesis.instructions import is_instruction, is_ordered
from citewell.synthesis.judging import pair_of, spoken
from citewell.synthesis.meant import as_meant
from citewell.synthesis.passages import quote_at
from citewell.synthesis.repairs import narrowed, repaired
from citewell.synthesis.values import dates_in, quantities_in
from citewell.text.table_lines import is_row

MAX_CITATIONS = 8
_QUOTES_A_SOURCE = 4
_WEAK_BELOW = 0.4
_HOLDING = ("supported", "partial")
# A longer quote is shown from the first to the last sentence that supports something.
_LONG_QUOTE = 600
_OTHER_CITED = "the passage cited first does not say this; another source does and is cited instead"
_FIRST_CITED = "it came without a citation; the source that says it is cited"
_ORDERED = "a source orders this to be said; that states nothing"
_IS_THERE = "the evidence does say this"
_NO_PROOF = "that something is missing is not proven by a quote"
# Words of headings that name a part of an answer and state nothing.
_LABELS = content_stems(
    """summary overview answer direct short key evidence source sources recommendation recommendations detail
    details background conclusion conclusions findings finding open question questions next step steps gap gaps
    limits limitation context note notes result results what which who where when why how example examples
    comparison timeline history reasons reason causes effects pros cons advantages disadvantages contradictions
    uncertainty section part introduction zusammenfassung überblick antwort quellen fazit offene fragen résumé
    aperçu réponse"""
)
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
    plan = as_meant(plan, prepared.read_as)
    rarity = Rarity.of(prepared)
    by_model = draft.written_by == "model"
    judged = [_judged(one, prepared, rarity, scores or {}, by_model=by_model) for one in draft.sentences]
    cited = _cited(judged, draft, prepared, max_citations)
    checked = tuple(
        replace(one, citations=tuple(cited[quote].n for quote in dict.fromkeys(quotes) if quote in cited))
        for one, quotes in judged
    )
    claims = [sentence for sentence in checked if sentence.verdict != "not_a_claim"]
    gates = (*check_gates(draft, prepared, plan, cites=bool(cited)), standing_gate(draft, judged))
    return Verification(
        gates=gates,
        sentences=checked,
        citations=tuple(cited.values()),
        warnings=tuple(_warnings(question, draft, checked, prepared, rarity)),
        unsupported_rate=_rate(claims, "unsupported"),
        contradictions=() if draft.refused else disagreements(plan.text_query, checked, prepared),
        contradicted_rate=_rate(claims, "contradicted"),
        nearest=() if all(gate.passed for gate in gates) else nearest_passages(prepared, plan),
    )


def _rate(claims: Sequence[CheckedSentence], verdict: Verdict) -> float:
    return round(sum(one.verdict == verdict for one in claims) / len(claims), 6) if claims else 0.0


def _judged(
    sentence: DraftSentence,
    prepared: PreparedSynthesis,
    rarity: Rarity,
    scores: Mapping[ClaimPair, Entails],
    *,
    by_model: bool,
) -> Judged:
    """A sentence with its verdict, its numbers still to be given, and the quotes it stands on in the end."""
    if sentence.kind == "gap":
        return _gap(sentence, prepared, rarity), ()
    if sentence.kind == "heading" and by_model and not is_row(sentence.text):
        return _heading(sentence, prepared, rarity), ()
    if sentence.kind != "claim":
        return CheckedSentence(sentence.text, "not_a_claim", (), kind=sentence.kind), ()
    held = [(quote, source) for quote in sentence.quotes if (source := source_of(quote, prepared))]
    # What gives orders to whoever reads it states nothing, however exactly it is quoted.
    held = [(quote, source) for quote, source in held if not is_instruction(quote.text)]
    # What a source orders to be said rests on nothing.
    if by_model and any(is_ordered(sentence.text, source.text) for source in prepared.sources):
        return CheckedSentence(sentence.text, "unsupported", (), None, _ORDERED), ()
    quotes = tuple(quote for quote, _ in held)
    entails = scores.get(pair_of(spoken(sentence), held)) if scores else None
    told = [source for _, source in held]
    if sentence.header:
        check = check_table_row(sentence.text, sentence.header, quotes, told, rarity, entails)
    else:
        check = check_claim(sentence.text, quotes, told, rarity, entails=entails, by_model=by_model)
    if check.verdict != "supported" and not sentence.header:
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


def _gap(sentence: DraftSentence, prepared: PreparedSynthesis, rarity: Rarity) -> CheckedSentence:
    """A sentence that says what the evidence lacks: no quote proves that, but one may show that it is there."""
    missed = missed_by(sentence.text)
    for source in prepared.sources if missed else ():
        check = check_text(missed, source.text, rarity, source.title)
        if check.verdict == "supported":
            quote = quote_at(source, check.start, check.end)
            return CheckedSentence(sentence.text, "contradicted", (), quote, _IS_THERE, 0.0, kind=sentence.kind)
    return CheckedSentence(sentence.text, "unsupported", (), None, _NO_PROOF, 0.0, kind=sentence.kind)


def _heading(sentence: DraftSentence, prepared: PreparedSynthesis, rarity: Rarity) -> CheckedSentence:
    """A heading a model wrote: a label says nothing new; one that does has to stand in a source."""
    titles = " ".join(f"{source.title} {source.heading or ''}" for source in prepared.sources)
    new = content_stems(sentence.text) - content_stems(f"{prepared.question} {titles}") - _LABELS
    if not new and not quantities_in(sentence.text) and not dates_in(sentence.text):
        return CheckedSentence(sentence.text, "not_a_claim", (), kind=sentence.kind)
    checks = [check_text(sentence.text, source.text, rarity, source.title) for source in prepared.sources]
    best = next((one for one in checks if one.verdict == "supported"), None)
    best = best or next((one for one in checks if one.verdict == "contradicted"), None)
    verdict: Verdict = best.verdict if best is not None else "unsupported"
    reason = best.reason if best is not None else "no source says it in these words"
    return CheckedSentence(sentence.text, verdict, (), None, reason, best.support if best else 0.0, kind=sentence.kind)


def _cited(judged: Sequence[Judged], draft: Draft, prepared: PreparedSynthesis, limit: int) -> dict[Quote, Citation]:
    """The quotes in order of first use, each numbered once; only what the evidence holds can be cited."""
    quotes = dict.fromkeys(quote for _, quotes in judged for quote in quotes)
    held = _within(limit, [(quote, source) for quote in quotes if (source := source_of(quote, prepared))])
    return {
        quote: _quotation(n, quote, source, draft)
        if any(sentence.block == quote for sentence in draft.sentences)
        else _citation(n, _shown(quote, judged), source)
        for n, (quote, source) in enumerate(held, start=1)
    }


def _within(limit: int, held: list[tuple[Quote, PreparedSource]]) -> list[tuple[Quote, PreparedSource]]:
    """The quotes of the first sources: the cap counts sources, each with several passages at most."""
    keys = list(dict.fromkeys(quote.source_key for quote, _ in held))[:limit]
    return [(quote, source) for quote, source in held if quote.source_key in keys][: limit * _QUOTES_A_SOURCE]


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
    inner = [one.quote for one, quotes in judged if quote in quotes and one.quote and one.verdict in _HOLDING]
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
    uncited = any(one.kind == "claim" and one.verdict != "not_a_claim" and not one.citations for one in checked)
    found = {
        "no_evidence": draft.refused,
        "weak_evidence": not draft.refused and _is_weak(question, checked, prepared, rarity),
        "contradicted_claims": any(one.verdict == "contradicted" for one in checked),
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
