"""Verification: may this answer be shown, and what stands behind each of its sentences? Pure.

Hard gates for the whole (`gates`), a verdict for each sentence (`checking`), citations set right where another source
says what the cited one does not (`repairs`), disagreements among them, and warnings. It judges an extracted answer and
a model's alike. It compares words, numbers, dates, names, denial and order with the quotes; it does not know whether a
source is right, nor whether the answer is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.disagreement import disagreements
from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Quote, as_meant
from citewell.answer.passages import (
    finds_nothing,
    is_instruction,
    is_ordered,
    lead_in_of,
    missed_by,
    quote_at,
    readable,
    without_lead_in,
)
from citewell.answer.quote import nearest_passages
from citewell.answer.score import QuestionEvidence
from citewell.answer.values import dates_in, quantities_in
from citewell.check.claim import BETWEEN, ClaimCheck, check_claim, check_table_row, check_text, read_out
from citewell.check.tokens import Rarity, content_stems
from citewell.check.verdict import (
    CheckedSentence,
    Citation,
    Draft,
    DraftSentence,
    Gate,
    Highlight,
    Verdict,
    Verification,
)
from citewell.models.entailment import ClaimPair, Entails
from citewell.search.query import QueryPlan
from citewell.search.rows import Context
from citewell.text.blocks import is_row
from citewell.text.canonical import folded_text
from citewell.text.documents import KEY_PREFIXES, Span
from citewell.text.sentences import sentences
from citewell.text.words import index_terms

# Hard gates: what must hold of a whole answer before it may be shown. Pure; each gate is named and says what failed.
#
# They prove where an answer's quotes come from, not that it is true: a wrong source quoted exactly passes every gate.


def check_gates(draft: Draft, prepared: PreparedSynthesis, plan: QueryPlan, *, cites: bool = False) -> tuple[Gate, ...]:
    """Every hard gate, in a fixed order; `cites` where citations were found that the draft itself lacks."""
    quotes = [quote for sentence in draft.sentences for quote in sentence.quotes]
    quotes += [sentence.block for sentence in draft.sentences if sentence.block is not None]
    return (
        _cited_in_evidence(quotes, prepared),
        _prefixes_exact(quotes, prepared),
        _quotes_exact(quotes, prepared),
        _marks_known(draft),
        _cites_something(draft, prepared, cites=cites),
        _no_answer_from_nothing(draft, prepared),
        _no_denied_anchor(draft, plan),
    )


def source_of(quote: Quote, prepared: PreparedSynthesis) -> PreparedSource | None:
    """The prepared source that a quote was taken from, by key, hash and span."""
    return next((source for source in prepared.sources if _holds(source, quote)), None)


def _holds(source: PreparedSource, quote: Quote) -> bool:
    same = source.source_key == quote.source_key and source.span.content_hash == quote.content_hash
    return same and (
        source.span.start <= quote.start <= quote.end <= source.span.start + len(source.text)
        or _in_context(source, quote) is not None
    )


def _in_context(source: PreparedSource, quote: Quote) -> Context | None:
    """What stands above the window at exactly this place."""
    return next((one for one in source.context if (one.span.start, one.span.end) == (quote.start, quote.end)), None)


def _cited_in_evidence(quotes: list[Quote], prepared: PreparedSynthesis) -> Gate:
    known = {source.source_key for source in prepared.sources}
    return _gate("cited_keys_in_evidence", {quote.source_key for quote in quotes} - known)


def _prefixes_exact(quotes: list[Quote], prepared: PreparedSynthesis) -> Gate:
    """A prefix is known, and the one of the evidence with the same identifier."""
    prefixes: dict[str, set[str]] = {}
    for source in prepared.sources:
        identifier = source.source_key.partition(":")[2]
        prefixes.setdefault(identifier, set()).add(KEY_PREFIXES[source.source_type])
    cited = {quote.source_key for quote in quotes}
    return _gate("key_prefixes_exact", {key for key in cited if not _has_prefix(key, prefixes)})


def _has_prefix(key: str, prefixes: dict[str, set[str]]) -> bool:
    prefix, _, identifier = key.partition(":")
    return prefix in prefixes.get(identifier, KEY_PREFIXES.values())


def _quotes_exact(quotes: list[Quote], prepared: PreparedSynthesis) -> Gate:
    wrong = {f"{quote.source_key}@{quote.start}-{quote.end}" for quote in quotes if not _is_exact(quote, prepared)}
    return _gate("quotes_exact", wrong)


def _is_exact(quote: Quote, prepared: PreparedSynthesis) -> bool:
    source = source_of(quote, prepared)
    if source is None:
        return False
    above = _in_context(source, quote)
    base = source.span.start
    held = above.text if above else source.text[quote.start - base : quote.end - base]
    return held == quote.text != ""


def _marks_known(draft: Draft) -> Gate:
    return _gate("marks_in_evidence", set(draft.bad_marks))


def _cites_something(draft: Draft, prepared: PreparedSynthesis, *, cites: bool) -> Gate:
    quotes = any(sentence.quotes for sentence in draft.sentences)
    uncited = bool(prepared.sources) and not draft.refused and not quotes and not cites
    return Gate("answer_cites_evidence", not uncited, "the answer cites nothing" if uncited else "")


def _no_answer_from_nothing(draft: Draft, prepared: PreparedSynthesis) -> Gate:
    invented = not prepared.sources and (not draft.refused or any(one.kind == "claim" for one in draft.sentences))
    return Gate("no_answer_without_evidence", not invented, "there is no evidence to answer from" if invented else "")


def _no_denied_anchor(draft: Draft, plan: QueryPlan) -> Gate:
    """A sentence that finds nothing about something the same answer cites."""
    cited = frozenset(stem for one in draft.sentences if one.quotes for stem in index_terms(one.text, "en").split())
    anchors = [concept.name for concept in plan.concepts if concept.role == "anchor"]
    held = [name for name in anchors if frozenset(index_terms(name, "en").split()) <= cited]
    denying = [one for one in draft.sentences if _finds_nothing(one)]
    wrong = {name for name in held for one in denying if folded_text(name) in folded_text(one.text)}
    if any(one.kind == "refusal" for one in draft.sentences) and cited:
        wrong.add("a refusal beside cited sentences")
    return _gate("no_denial_of_cited_anchor", wrong)


def _finds_nothing(sentence: DraftSentence) -> bool:
    return not sentence.quotes and finds_nothing(sentence.text)


def standing_gate(draft: Draft, judged: Sequence[tuple[CheckedSentence, tuple[Quote, ...]]]) -> Gate:
    """An answer may be shown though nothing of it is proven; not where every sentence is removed or cites orders."""
    claims = [(one, quotes) for one, quotes in judged if one.kind == "claim" and one.verdict != "not_a_claim"]
    cites = any(sentence.quotes for sentence in draft.sentences)
    fallen = all(one.verdict == "contradicted" or not quotes for one, quotes in claims)
    hollow = not draft.refused and cites and bool(claims) and fallen
    return Gate("some_claim_stands", not hollow, "no sentence rests on a source that says it" if hollow else "")


def _gate(name: str, wrong: set[str]) -> Gate:
    return Gate(name, not wrong, ", ".join(sorted(wrong)))


# What a judge is asked of a draft: its sentences, each with the text it rests on. Pure.
#
# Asked is what a model wrote and what its quotes do not say word for word; a sentence that is quoted needs no opinion.
# The text is the quotes of a sentence under the titles of their sources, so that a passage that says "it" has a
# subject.
#
# Example:
#     sentence: Pell kept the lamp for twelve years.
#     quote:    He tended it from 1859 until 1871.   (from "Josiah Pell")
#     asked:    does "Josiah Pell
#
# He tended it from 1859 until 1871." entail the sentence?


# Pairs of one draft; an answer that has more is judged as far as this.
MAX_PAIRS = 48
# Characters of one text; the quotes of a sentence beyond it are not read.
MAX_EVIDENCE_CHARS = 6_000
_BETWEEN = "\n\n"
# A quote that can be looked at, with its source.
Held = tuple[Quote, PreparedSource]


def pairs_to_judge(draft: Draft, prepared: PreparedSynthesis) -> tuple[ClaimPair, ...]:
    """The sentences of a draft that a judge could say something of, each once."""
    if draft.refused or draft.written_by != "model":
        return ()
    pairs = [
        pair_of(spoken(sentence), held)
        for sentence in draft.sentences
        if (held := _held(sentence, prepared)) and not _is_quoted(sentence.text, held)
    ]
    return tuple(dict.fromkeys(pairs))[:MAX_PAIRS]


def spoken(sentence: DraftSentence) -> str:
    """A sentence as it is said; a row of a table is read out under its header."""
    return read_out(sentence.text, sentence.header) if sentence.header else sentence.text


def pair_of(text: str, held: Sequence[Held]) -> ClaimPair:
    """A sentence and what it rests on, as a judge is given them."""
    titles = dict.fromkeys(" – ".join(filter(None, (source.title, source.heading))) for _, source in held)
    quotes = dict.fromkeys(quote.text for quote, _ in held)
    return texts_as_pair(text, [*titles, *quotes])


def texts_as_pair(claim: str, texts: Sequence[str]) -> ClaimPair:
    """A statement and texts as a judge is given them: without markup, and not longer than it is worth."""
    plain = ("\n".join(filter(None, map(readable, text.splitlines()))) for text in texts)
    return ClaimPair(readable(claim), _BETWEEN.join(filter(None, plain))[:MAX_EVIDENCE_CHARS])


def _held(sentence: DraftSentence, prepared: PreparedSynthesis) -> list[Held]:
    """The quotes of a sentence that stand in the evidence and give no orders, as verification takes them."""
    if sentence.kind == "refusal":
        return []
    found = [(quote, source) for quote in sentence.quotes if (source := source_of(quote, prepared))]
    return [(quote, source) for quote, source in found if not is_instruction(quote.text)]


def _is_quoted(text: str, held: Sequence[Held]) -> bool:
    """Whether a quote has the sentence whole and to the letter: a part of one may say something else."""
    said = readable(text).rstrip(".!")
    return any(
        said in (readable(quote.text).rstrip(".!"), readable(quote.text[start:end]).rstrip(".!"))
        for quote, _ in held
        for start, end in sentences(quote.text)
    )


# Citations set right: the sentences of a passage that support a claim, and the source that does where the cited one
# does not. Pure. Only sources of the evidence are looked at, and what is found is an exact slice of one of them.


# Fewer words of meaning than this are said by too many passages to tell which was meant.
_LEAST_WORDS = 3
_MOST_SOURCES = 40


@dataclass(frozen=True, slots=True)
class Repair:
    """The passage that says what the cited one does not."""

    quote: Quote
    support: float


def repaired(text: str, quotes: Sequence[Quote], prepared: PreparedSynthesis, rarity: Rarity) -> Repair | None:
    """The source of the evidence, other than those cited, that supports the sentence best."""
    said = without_lead_in(text)
    if lead_in_of(text) or len(content_stems(said)) < _LEAST_WORDS:
        return None
    cited = {(quote.source_key, quote.start, quote.end) for quote in quotes}
    best: Repair | None = None
    for source in prepared.sources[:_MOST_SOURCES]:
        check = check_text(said, source.text, rarity, f"{source.title} {source.heading or ''}".strip())
        if check.verdict != "supported" or (best is not None and check.support <= best.support):
            continue
        quote = quote_at(source, check.start, check.end)
        if (quote.source_key, quote.start, quote.end) not in cited and not is_instruction(quote.text):
            best = Repair(quote, check.support)
    return best


def narrowed(quote: Quote | None, quotes: Sequence[Quote], check: ClaimCheck) -> Quote | None:
    """Of the quotes, the sentences that support the claim; the nearest quote as it is where they span several."""
    if quote is None or check.end <= check.start:
        return quote
    at = 0
    for one in quotes:
        low, high = check.start - at, check.end - at
        if low >= 0 and high <= len(one.text) and low < high:
            return Quote(one.source_key, one.content_hash, one.start + low, one.start + high, one.text[low:high])
        at += len(one.text) + len(BETWEEN)
    return quote


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
        nearest=() if all(gate.passed for gate in gates) else nearest_passages(QuestionEvidence(prepared, plan)),
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
    # What gives orders to anyone who reads it states nothing, however exactly it is quoted.
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
    said = [sentence.decides for sentence in resting if sentence.decides]
    said = said or [sentence.quotes[0] for sentence in resting if sentence.quotes]
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
