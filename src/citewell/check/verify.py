"""Verification: may this answer be shown, and what stands behind each of its sentences? Pure.

Hard gates for the whole, then each sentence: what its wording decides (`check/claim.py`), what a judge said of it
(`check/judge.py`), or nothing, where nobody read it. Citations are set right where another source has a sentence word
for word. It judges an extracted answer and a model's alike. It does not know whether a source is right, nor whether
the answer is complete; a judge's opinion is an opinion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.answer.disagreement import disagreements
from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Quote, as_meant
from citewell.answer.passages import finds_nothing, is_instruction, is_ordered, lead_in_of, missed_by, quote_at
from citewell.answer.quote import nearest_passages
from citewell.answer.score import QuestionEvidence
from citewell.check.claim import BETWEEN, ClaimCheck, check_text, check_written, objection
from citewell.check.judge import JudgedSentence, Judgement, Judgements, judged_sentence
from citewell.check.tokens import content_stems
from citewell.check.verdict import (
    UNCHECKED,
    CheckedSentence,
    Citation,
    Draft,
    DraftSentence,
    Gate,
    Highlight,
    SentenceCheck,
    Verdict,
    Verification,
)
from citewell.search.query import QueryPlan
from citewell.search.rows import Context
from citewell.text.documents import KEY_PREFIXES, Span
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
    """A sentence that finds nothing at all about something the same answer cites."""
    cited = frozenset(
        stem
        for one in draft.sentences
        if one.quotes and not finds_nothing(one.text)
        for stem in index_terms(one.text, "en").split()
    )
    anchors = {name: frozenset(index_terms(name, "en").split()) for name in _anchors(plan)}
    missed = [stems for one in draft.sentences if finds_nothing(one.text) and (stems := _missed_stems(one.text))]
    wrong = {name for name, stems in anchors.items() if stems and stems <= cited and any(m <= stems for m in missed)}
    if any(one.kind == "refusal" for one in draft.sentences) and cited:
        wrong.add("a refusal beside cited sentences")
    return _gate("no_denial_of_cited_anchor", wrong)


def _anchors(plan: QueryPlan) -> list[str]:
    return [concept.name for concept in plan.concepts if concept.role == "anchor"]


# Where something is said to be missing: no part of what is missing.
_PLACES = content_stems(
    "note notes source sources evidence passage passages document documents vault corpus file files page pages text"
    " saved here provided given"
)
_ASKS = frozenset(
    "who what when where why how which whose whether if that wer was wann wo warum wie ob qui quand où".split()
)


def _missed_stems(text: str) -> frozenset[str]:
    """What a sentence says that nothing is found about; empty where it names only one side of it, such as when."""
    missed = missed_by(text)
    return frozenset() if _ASKS & set(missed.split()) else content_stems(missed) - _PLACES


def standing_gate(draft: Draft, judged: Sequence[tuple[CheckedSentence, tuple[Quote, ...]]]) -> Gate:
    """An answer may be shown though nothing of it is proven; not where every sentence is removed or cites orders."""
    claims = [(one, quotes) for one, quotes in judged if one.kind == "claim" and one.verdict != "not_a_claim"]
    cites = any(sentence.quotes for sentence in draft.sentences)
    fallen = all(one.verdict == "contradicted" or not quotes for one, quotes in claims)
    hollow = not draft.refused and cites and bool(claims) and fallen
    return Gate("some_claim_stands", not hollow, "no sentence rests on a source that says it" if hollow else "")


def _gate(name: str, wrong: set[str]) -> Gate:
    return Gate(name, not wrong, ", ".join(sorted(wrong)))


MAX_CITATIONS = 8
_QUOTES_A_SOURCE = 4
_MOST_SOURCES = 40
_WEAK_BELOW = 0.4
# Fewer words of meaning than this are said by too many passages to tell which was meant.
_LEAST_WORDS = 3
# A longer quote is shown from the first to the last of the words that sentences rest on.
_LONG_QUOTE = 600
_OTHER_CITED = "the passage cited first does not say this; another source does and is cited instead"
_FIRST_CITED = "it came without a citation; the source that says it is cited"
_ORDERED = "a source orders this to be said; that states nothing"
_IS_THERE = "the evidence does say this"
_LOST = "the words copied for it stand in no source"
_EXACT = SentenceCheck("exact")
_VERDICTS: dict[str, Verdict] = {
    "says": "supported",
    "partly": "partial",
    "not": "unsupported",
    "contrary": "contradicted",
}
# A sentence with its verdict, and the quotes it stands on.
Judged = tuple[CheckedSentence, tuple[Quote, ...]]


def verify(
    question: str,
    draft: Draft,
    prepared: PreparedSynthesis,
    plan: QueryPlan,
    max_citations: int = MAX_CITATIONS,
    judgements: Judgements | None = None,
) -> Verification:
    """The verdict on a draft: gates, sentences, numbered citations, warnings; `judgements` is what a judge said."""
    plan = as_meant(plan, prepared.read_as)
    by_model = draft.written_by == "model"
    judged = [_judged(one, prepared, judgements or {}, by_model=by_model) for one in draft.sentences]
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
        warnings=tuple(_warnings(question, draft, checked, prepared)),
        unsupported_rate=_rate(claims, "unsupported"),
        contradictions=() if draft.refused else disagreements(plan.text_query, checked, prepared),
        contradicted_rate=_rate(claims, "contradicted"),
        nearest=() if all(gate.passed for gate in gates) else nearest_passages(QuestionEvidence(prepared, plan)),
    )


def _rate(claims: Sequence[CheckedSentence], verdict: Verdict) -> float:
    return round(sum(one.verdict == verdict for one in claims) / len(claims), 6) if claims else 0.0


def _judged(sentence: DraftSentence, prepared: PreparedSynthesis, judgements: Judgements, *, by_model: bool) -> Judged:
    """A sentence with its verdict, its numbers still to be given, and the quotes it stands on in the end."""
    one = CheckedSentence(
        sentence.text, "not_a_claim", (), kind=sentence.kind, lead=sentence.lead, words=sentence.words
    )
    if sentence.kind == "gap":
        return _gap(one, prepared), sentence.quotes
    if sentence.kind != "claim":
        return one, ()
    held = [(quote, source) for quote in sentence.quotes if (source := source_of(quote, prepared))]
    # What gives orders to anyone who reads it states nothing, however exactly it is quoted.
    held = [(quote, source) for quote, source in held if not is_instruction(quote.text)]
    # What a source orders to be said rests on nothing.
    if by_model and any(is_ordered(sentence.text, source.text) for source in prepared.sources):
        return replace(one, verdict="unsupported", reason=_ORDERED, check=_EXACT, words=()), ()
    quotes, sources = tuple(quote for quote, _ in held), [source for _, source in held]
    exact = check_written(sentence.text, sentence.header, quotes, sources, by_model=by_model)
    quote = sentence.words[0] if sentence.words else _narrowed(_nearest(sentence.text, quotes), quotes, exact)
    one = replace(one, verdict=exact.verdict, reason=exact.reason, quote=quote)
    # A quotation is cited as the block it stands in; without its passages the block has nothing to show.
    cited = (sentence.block,) if sentence.block is not None and quotes else quotes
    asked = judged_sentence(1, sentence, prepared) if by_model and exact.verdict == "unsupported" else None
    if asked is not None and (said := judgements.get(asked.key)) is not None:
        return _by_judge(one, said, asked, sources, prepared), cited
    if by_model and exact.verdict != "supported" and (found := _verbatim_elsewhere(sentence, quotes, prepared)):
        reason = _OTHER_CITED if quotes else _FIRST_CITED
        return replace(one, verdict="supported", quote=found, reason=reason, check=_EXACT), (found,)
    if exact.verdict in ("supported", "contradicted"):
        return replace(one, check=_EXACT), cited
    if by_model and exact.verdict == "unsupported":
        lost = bool(sentence.lost_words) and not quotes
        return replace(one, reason=_LOST if lost else "", check=UNCHECKED), cited
    return one, cited


def _by_judge(
    one: CheckedSentence,
    said: Judgement,
    asked: JudgedSentence,
    sources: Sequence[PreparedSource],
    prepared: PreparedSynthesis,
) -> CheckedSentence:
    """What a judge says of a sentence; a number or quotation that stands nowhere is objected to all the same."""
    quote = said.quote or one.quote
    words = quote.text if quote is not None and said.opinion != "not" else ""
    check = SentenceCheck("judged", said.judge, said.prompt_version, said.words or words, said.wrong)
    if said.opinion == "says":
        told = [one_passage.text for one_passage in asked.passages]
        about = [f"{each.title} {each.heading or ''} {each.dated or ''}" for each in sources]
        context = [context.text for each in sources for context in each.context]
        if why := objection(asked.sentence, "\n".join([prepared.question, *about, *context, *told])):
            return replace(one, verdict="unsupported", reason=why, check=_EXACT)
    reason = {
        "says": "",
        "partly": f"only partly: “{said.wrong}” is not said" if said.wrong else "only a part of it is said",
        "not": "no passage that it cites says this",
        "contrary": f"its source says “{' '.join(check.words.split())[:300]}”",
    }[said.opinion]
    return replace(one, verdict=_VERDICTS[said.opinion], reason=reason, quote=quote, check=check)


def _verbatim_elsewhere(sentence: DraftSentence, quotes: Sequence[Quote], prepared: PreparedSynthesis) -> Quote | None:
    """The sentence of another source that says it word for word."""
    if sentence.header or lead_in_of(sentence.text) or len(content_stems(sentence.text)) < _LEAST_WORDS:
        return None
    for source in prepared.sources[:_MOST_SOURCES]:
        found = check_text(sentence.text, source.text)
        if found.verdict == "supported":
            quote = quote_at(source, found.start, found.end)
            if quote not in quotes and not is_instruction(quote.text):
                return quote
    return None


def _narrowed(quote: Quote | None, quotes: Sequence[Quote], check: ClaimCheck) -> Quote | None:
    """Of the quotes, the sentence that decides; the nearest quote as it is where none does."""
    if quote is None or check.end <= check.start:
        return quote
    at = 0
    for one in quotes:
        low, high = check.start - at, check.end - at
        if low >= 0 and high <= len(one.text) and low < high:
            return Quote(one.source_key, one.content_hash, one.start + low, one.start + high, one.text[low:high])
        at += len(one.text) + len(BETWEEN)
    return quote


def _gap(one: CheckedSentence, prepared: PreparedSynthesis) -> CheckedSentence:
    """A sentence that says what the evidence lacks: contradicted where the evidence has it word for word."""
    missed = missed_by(one.text)
    for source in prepared.sources if len(content_stems(missed)) > 1 else ():
        found = check_text(missed, source.text)
        if found.verdict == "supported":
            quote = quote_at(source, found.start, found.end)
            return replace(one, verdict="contradicted", quote=quote, reason=_IS_THERE, check=_EXACT)
    return one


def _cited(judged: Sequence[Judged], draft: Draft, prepared: PreparedSynthesis, limit: int) -> dict[Quote, Citation]:
    """The quotes in order of first use, each numbered once; only what the evidence holds can be cited."""
    quotes = dict.fromkeys(quote for _, quotes in judged for quote in quotes)
    held = _within(limit, [(quote, source) for quote in quotes if (source := source_of(quote, prepared))])
    return {
        quote: _quotation(n, quote, source, draft)
        if any(sentence.block == quote for sentence in draft.sentences)
        else _with_words(_citation(n, _shown(quote, judged), source), judged)
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


def _words_in(quote: Quote, judged: Sequence[Judged]) -> list[Quote]:
    """The words that sentences rest on in a quote."""
    resting = [word for one, quotes in judged if quote in quotes for word in one.words or filter(None, (one.quote,))]
    return [
        one
        for one in resting
        if one.source_key == quote.source_key and quote.start <= one.start <= one.end <= quote.end
    ]


def _shown(quote: Quote, judged: Sequence[Judged]) -> Quote:
    """A quote as it is shown: of a long one, the stretch from the first to the last of the words that count."""
    within = _words_in(quote, judged) if len(quote.text) > _LONG_QUOTE else []
    if not within:
        return quote
    start, end = min(one.start for one in within), max(one.end for one in within)
    return replace(quote, start=start, end=end, text=quote.text[start - quote.start : end - quote.start])


def _with_words(citation: Citation, judged: Sequence[Judged]) -> Citation:
    """A citation with the words that were copied from it as its highlight."""
    span = citation.span
    inside = [
        word
        for one, _ in judged
        for word in one.words
        if word.source_key == citation.source_key and span.start <= word.start <= word.end <= span.end
    ]
    if not inside:
        return citation
    return replace(citation, highlight=Highlight(min(one.start for one in inside), max(one.end for one in inside)))


def _citation(n: int, quote: Quote, source: PreparedSource) -> Citation:
    span = Span(source.span.chunk_id, quote.start, quote.end, quote.content_hash)
    page = source.page_at(quote.start)
    return Citation(n, quote.source_key, source.title, source.note_path, source.url, quote.text, span, page)


def _nearest(text: str, quotes: Sequence[Quote]) -> Quote | None:
    """The quote that shares most words with the sentence; the first of equals."""
    said = content_stems(text)
    return max(quotes, key=lambda quote: len(said & content_stems(quote.text)), default=None)


def _warnings(
    question: str, draft: Draft, checked: Sequence[CheckedSentence], prepared: PreparedSynthesis
) -> list[str]:
    """Soft gates: what the reader should know, without hiding the answer."""
    claims = [one for one in checked if one.kind == "claim" and one.verdict != "not_a_claim"]
    found = {
        "no_evidence": draft.refused,
        "weak_evidence": not draft.refused and _is_weak(question, checked, prepared),
        "contradicted_claims": any(one.verdict == "contradicted" for one in checked),
        "unsupported_claims": any(one.verdict == "unsupported" and one.check.kind != "none" for one in claims),
        "partial_claims": any(one.verdict == "partial" for one in checked),
        "uncited_claims": any(not one.citations for one in claims),
        "citations_repaired": any(one.reason in (_OTHER_CITED, _FIRST_CITED) for one in checked),
        "evidence_truncated": prepared.truncation.is_truncated,
    }
    return [name for name, holds in found.items() if holds]


def _is_weak(question: str, checked: Sequence[CheckedSentence], prepared: PreparedSynthesis) -> bool:
    """Whether what is cited speaks of less than the larger part of the question."""
    keys = {one.quote.source_key for one in checked if one.quote}
    titles = " ".join(source.title for source in prepared.sources if source.source_key in keys)
    cited = content_stems(f"{titles} {' '.join(one.quote.text for one in checked if one.quote)}")
    weights = {stem: prepared.term_weights.get(stem, 1.0) for stem in content_stems(question)}
    total = sum(weights.values())
    return bool(total) and sum(weight for stem, weight in weights.items() if stem in cited) / total < _WEAK_BELOW
