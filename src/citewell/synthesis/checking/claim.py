"""Claims: whether a sentence says what its quotes say. Pure, and the same for an extracted or a model's sentence.

Rules no number outweighs come first: a value, a name or a quotation the quotes do not have, a denial or a relation that
differs. Then the share of the claim's words, by rarity, that the nearest sentence and its neighbours have decides. It
compares and does not understand: a paraphrase in quite other words is called partial or unsupported, and a wrong
relation in quite other words passes.

Example:
    claim:   The lamp was lit in 1859.
    passage: The lamp was first lit on 14 November 1859.
    verdict: supported

Example:
    claim:   The lamp was lit and polished by the keeper.
    passage: The keeper lit the lamp at dusk.
    verdict: partial
    reason:  not in the quote: polished

Example:
    claim:   The lamp was lit in 1860.
    passage: The lamp was first lit on 14 November 1859.
    verdict: unsupported
    reason:  not in the quote: 1860
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from citewell.domain.answers import Entails, PreparedSource, Quote, Verdict
from citewell.synthesis.checking.clauses import clauses_of
from citewell.synthesis.checking.evidence_match import Evidence, EvidenceMatch, match_evidence, read_evidence
from citewell.synthesis.checking.quotations import unquoted
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.support import support_of
from citewell.synthesis.checking.support_features import SupportFeatures, read_support_features
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.lead_ins import is_told_falsely, without_lead_in
from citewell.synthesis.markup import readable
from citewell.synthesis.values import dates_in, quantities_in
from citewell.text.folding import folded_text

# Shares of a claim's weight. On the tuning half of the built pairs 1% of the supported claims lie below `PARTIAL_AT`,
# and 95% of the claims beside a wrong passage are caught by it or by a rule.
SUPPORTED_AT = 0.75
PARTIAL_AT = 0.5
# A clause of which the quotes have less than this is not supported, whatever the rest of the sentence is.
_CLAUSE_AT = 0.34
_MOST_NAMED = 8
BETWEEN = "\n\n"
_WORDS = re.compile(r"[\w'’]+")

# How alike a local model finds two texts, from 0 to 1.
Likeness = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one sentence, why, how far it is supported, and the clause that is not."""

    verdict: Verdict
    reason: str = ""
    support: float = 0.0
    unsupported_part: str = ""
    # The place in the joined quotes of the sentences that support it.
    start: int = 0
    end: int = 0
    # What a judge said of it, where one was asked.
    entails: Entails | None = None


def is_claim(text: str) -> bool:
    """Whether a sentence states anything that could be wrong: not a question, not a bare transition."""
    said = without_lead_in(text).strip()
    if said.endswith("?") or not content_stems(said):
        return bool(quantities_in(said)) and not said.endswith("?")
    return len(content_stems(said)) > 2 or bool(quantities_in(said) or dates_in(said)) or not said.endswith(":")


def check_claim(
    text: str,
    quotes: Sequence[Quote],
    sources: Sequence[PreparedSource],
    rarity: Rarity,
    likeness: Likeness | None = None,
    entails: Entails | None = None,
) -> Check:
    """Compare a sentence with the passages it cites; titles and headings of their sources may complete a name."""
    if is_told_falsely(text, list(sources)):
        return Check("unsupported", "the date or title in front is not that of the source")
    said = without_lead_in(text)
    if not quotes:
        is_bare = not is_claim(said)
        return Check("not_a_claim") if is_bare else Check("unsupported", "no passage is cited")
    titles = "\n".join(dict.fromkeys(f"{source.title} {source.heading or ''}".strip() for source in sources))
    return check_text(said, joined(quotes), rarity, titles, likeness, entails)


def joined(quotes: Sequence[Quote]) -> str:
    """The quotes as one text; a blank line keeps the sentences of two of them apart."""
    return BETWEEN.join(quote.text for quote in quotes)


def check_text(
    said: str,
    quoted: str,
    rarity: Rarity,
    titles: str = "",
    likeness: Likeness | None = None,
    entails: Entails | None = None,
) -> Check:
    """Compare a sentence with a text."""
    evidence = read_evidence(quoted, titles)
    matched = match_evidence(said, evidence, rarity)
    start, end = _supporting_span(matched)
    if (place := _verbatim(said, quoted, evidence)) is not None:
        return Check("supported", "", 1.0, "", *place, entails=entails)
    features = read_support_features(matched, quoted, likeness_around(matched, likeness))
    check = _judged(said, quoted, matched, features)
    if not _is_against_a_rule(features) and not unquoted(said, quoted):
        check = _by_clauses(said, evidence, rarity, check)
    return replace(check, support=support_of(features), start=start, end=end, entails=entails)


def _judged(said: str, quoted: str, matched: EvidenceMatch, features: SupportFeatures) -> Check:
    if quotation := unquoted(said, quoted):
        return Check("unsupported", f"not word for word in the quote: “{quotation[:200]}”")
    if features.missing_values:
        return Check("unsupported", _not_there(features.missing_values))
    if features.denial_reason or features.relation_reason:
        return Check("unsupported", features.denial_reason or features.relation_reason)
    if features.missing_names:
        return Check("unsupported", _not_there(features.missing_names))
    if not matched.words and not quantities_in(said) and not dates_in(said) and not _has_all(quoted, said):
        # Words that carry no weight of their own are supported by nothing but themselves.
        return Check("unsupported", "nothing of it is in the quote")
    return _by_words(matched)


def _by_words(matched: EvidenceMatch) -> Check:
    share = matched.share(matched.around)
    if share >= SUPPORTED_AT:
        return Check("supported")
    words = [word.token.folded for word, part in zip(matched.words, matched.around, strict=True) if part < PARTIAL_AT]
    named = _not_there(words) if words else "its words stand far apart in the quote"
    return Check("partial" if share >= PARTIAL_AT else "unsupported", named)


def _not_there(words: Sequence[str]) -> str:
    return f"not in the quote: {', '.join(words[:_MOST_NAMED])}"


def _verbatim(said: str, quoted: str, evidence: Evidence) -> tuple[int, int] | None:
    """The place where the quotes say it word for word: as a whole, or as one of their sentences."""
    words = _spoken(said)
    if words == _spoken(quoted) or _spoken(readable(said)) == _spoken(readable(quoted)):
        return 0, len(quoted)
    for sentence in evidence.sentences:
        if len(sentence.tokens) >= len(words) // 2 and _spoken(sentence.text) == words:
            return sentence.start, sentence.end
    return None


def _has_all(quoted: str, said: str) -> bool:
    return set(_spoken(said)) <= set(_spoken(quoted))


def _spoken(text: str) -> list[str]:
    return _WORDS.findall(folded_text(text))


def _supporting_span(matched: EvidenceMatch) -> tuple[int, int]:
    """The nearest sentence, with a neighbour that has words of the claim which it lacks."""
    sentences, best = matched.evidence.sentences, matched.best
    if best is None:
        return 0, len(matched.evidence.text)
    first = last = best
    for at in (best - 1, best + 1):
        if 0 <= at < len(sentences):
            gain = [
                max(0.0, word.in_stems(sentences[at].stems) - own)
                for word, own in zip(matched.words, matched.own, strict=True)
            ]
            if matched.share(gain) >= 0.12 and matched.words:
                first, last = min(first, at), max(last, at)
    return sentences[first].start, sentences[last].end


def _is_against_a_rule(features: SupportFeatures) -> bool:
    return bool(features.missing_values or features.missing_names or features.denial_reason or features.relation_reason)


def _by_clauses(said: str, evidence: Evidence, rarity: Rarity, whole: Check) -> Check:
    """The verdict where each clause is looked for on its own: two sentences may support one each, or only one is."""
    clauses = [(clause, match_evidence(clause, evidence, rarity)) for clause in clauses_of(said)]
    shares = [matched.share(matched.around) for _, matched in clauses]
    if shares and min(shares) >= SUPPORTED_AT:
        return Check("supported")
    if not shares or max(shares) < SUPPORTED_AT:
        return whole
    for clause, matched in clauses:
        if matched.share(matched.around) < _CLAUSE_AT and matched.share(matched.anywhere) < PARTIAL_AT:
            return Check("partial", f"this part is not in the quote: {clause}", unsupported_part=clause)
    return whole


def likeness_around(matched: EvidenceMatch, likeness: Likeness | None) -> float | None:
    """How alike the claim and the sentences around the nearest one are, where a model was given."""
    if likeness is None or matched.best is None:
        return None if likeness is None else 0.0
    sentences = matched.evidence.sentences
    first, last = max(0, matched.best - 1), min(len(sentences) - 1, matched.best + 1)
    around = matched.evidence.text[sentences[first].start : sentences[last].end]
    return max(0.0, min(1.0, likeness(matched.claim.text, around)))
