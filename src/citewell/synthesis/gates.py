"""Hard gates: what must hold of a whole answer before it may be shown. Pure; each gate is named and says what failed.

They prove where an answer's quotes come from, not that it is true: a wrong source quoted exactly passes every gate.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.answers import (
    CheckedSentence,
    Draft,
    DraftSentence,
    Gate,
    PreparedSource,
    PreparedSynthesis,
    Quote,
)
from citewell.domain.documents import KEY_PREFIXES
from citewell.domain.evidence import Context
from citewell.domain.queries import QueryPlan
from citewell.synthesis.absence import finds_nothing
from citewell.text.folding import folded_text
from citewell.text.words import index_terms


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
    """An answer may be shown though nothing of it is proven; not where every sentence is taken back or cites orders."""
    claims = [(one, quotes) for one, quotes in judged if one.kind == "claim" and one.verdict != "not_a_claim"]
    cites = any(sentence.quotes for sentence in draft.sentences)
    fallen = all(one.verdict == "contradicted" or not quotes for one, quotes in claims)
    hollow = not draft.refused and cites and bool(claims) and fallen
    return Gate("some_claim_stands", not hollow, "no sentence rests on a source that says it" if hollow else "")


def _gate(name: str, wrong: set[str]) -> Gate:
    return Gate(name, not wrong, ", ".join(sorted(wrong)))
