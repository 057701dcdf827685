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
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.domain.answers import Entails, PreparedSource, Quote, Verdict
from citewell.synthesis.checking.arithmetic import reckoned
from citewell.synthesis.checking.claim_alignment import ClaimAlignment, align_to_nearest
from citewell.synthesis.checking.clauses import clauses_of
from citewell.synthesis.checking.evidence_match import Evidence, EvidenceMatch, match_evidence, read_evidence
from citewell.synthesis.checking.order import turned_about
from citewell.synthesis.checking.quotations import unquoted
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.relations import other_number, other_unit
from citewell.synthesis.checking.signs import other_sign, spoken_signs
from citewell.synthesis.checking.support import support_of
from citewell.synthesis.checking.support_features import SupportFeatures, read_support_features
from citewell.synthesis.checking.table_rows import check_row, read_out, statements_of
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.checking.turning import turned
from citewell.synthesis.checking.withdrawn import withdrawal
from citewell.synthesis.checking.wording import differs_in_wording
from citewell.synthesis.lead_ins import is_told_falsely, without_lead_in
from citewell.synthesis.markup import readable
from citewell.synthesis.values import UNITS, dates_in, quantities_in
from citewell.text.folding import folded_text

# The share of a claim's weight from which on a quote has most of it.
PARTIAL_AT = 0.5
# A clause of which the quotes have less than this is not supported, whatever the rest of the sentence is.
_CLAUSE_AT = 0.34
# A clause with fewer words of meaning borrows its subject from another.
_LEAST_OWN = 3
# How sure a judge has to be.
ENTAILS_AT = 0.9
CONTRADICTS_AT = 0.97
_MOST_NAMED = 8
_WORST: tuple[Verdict, ...] = ("contradicted", "unsupported", "partial", "supported")
# Questions that tell: they ask for a yes.
_ASSERTING = re.compile(
    r"(?:did you know|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|haven't|who would have thought"
    r"|is it any wonder"
    r"|wusstest du|wussten sie|saviez-vous|n'est-ce pas)\b"
)
BETWEEN = "\n\n"
_WORDS = re.compile(r"[\w'’]+")


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one sentence, why, and how far it is supported."""

    verdict: Verdict
    reason: str = ""
    support: float = 0.0
    # The place in the joined quotes of the sentences that support it.
    start: int = 0
    end: int = 0
    # What a judge said of it, where one was asked.
    entails: Entails | None = None


def is_claim(text: str) -> bool:
    """Whether a sentence states anything that could be wrong: not a bare question, not a bare transition."""
    said = without_lead_in(text).strip()
    if said.endswith("?"):
        return bool(_ASSERTING.match(folded_text(said))) or bool(quantities_in(said) or dates_in(said))
    if not content_stems(said):
        return bool(quantities_in(said))
    return len(content_stems(said)) > 2 or bool(quantities_in(said) or dates_in(said)) or not said.endswith(":")


def check_claim(
    text: str,
    quotes: Sequence[Quote],
    sources: Sequence[PreparedSource],
    rarity: Rarity,
    entails: Entails | None = None,
    *,
    by_model: bool = False,
) -> Check:
    """Compare a sentence with the passages it cites; titles and headings of their sources may complete a name.

    The engine's own words in front of a quotation are read past; a model that writes them has to prove them.
    """
    if not by_model and is_told_falsely(text, list(sources)):
        return Check("unsupported", "the date or title in front is not that of the source")
    said = text if by_model else without_lead_in(text)
    if not quotes:
        is_bare = not is_claim(said)
        return Check("not_a_claim") if is_bare else Check("unsupported", "no passage is cited")
    titles = "\n".join(dict.fromkeys(f"{source.title} {source.heading or ''}".strip() for source in sources))
    return check_text(said, joined(quotes), rarity, titles, entails)


def check_table_row(
    row: str,
    header: str,
    quotes: Sequence[Quote],
    sources: Sequence[PreparedSource],
    rarity: Rarity,
    entails: Entails | None = None,
) -> Check:
    """A row of a table a model wrote: as a row of a quoted table, or column by column."""
    if not quotes:
        return Check("unsupported", "no passage is cited")
    text = joined(quotes)
    # A row alone may be cited: the table it stands in names its columns.
    whole = BETWEEN.join(dict.fromkeys(source.text for source in sources))
    if (found := check_row(read_out(row, header), whole)) is not None:
        return Check("supported" if found.holds else "contradicted", found.reason, float(found.holds), 0, len(text))
    titles = "\n".join(dict.fromkeys(f"{source.title} {source.heading or ''}".strip() for source in sources))
    checks = [(name, check_text(said, text, rarity, titles, entails)) for name, said in statements_of(row, header)]
    worst = next((one for verdict in _WORST for one in checks if one[1].verdict == verdict), checks[0])
    some = any(check.verdict == "supported" for _, check in checks)
    verdict: Verdict = "partial" if worst[1].verdict == "unsupported" and some else worst[1].verdict
    reason = f"{worst[0]}: {worst[1].reason}" if worst[1].reason else ""
    return replace(worst[1], verdict=verdict, reason=reason, start=0, end=len(text))


def joined(quotes: Sequence[Quote]) -> str:
    """The quotes as one text; a blank line keeps the sentences of two of them apart."""
    return BETWEEN.join(quote.text for quote in quotes)


def check_text(
    said: str,
    quoted: str,
    rarity: Rarity,
    titles: str = "",
    entails: Entails | None = None,
) -> Check:
    """Compare a sentence with a text."""
    if (row := check_row(said, quoted)) is not None:
        verdict: Verdict = "supported" if row.holds else "contradicted"
        return Check(verdict, row.reason, 1.0 if row.holds else 0.0, row.start, row.end)
    evidence = read_evidence(quoted, titles)
    matched = match_evidence(said, evidence, rarity)
    start, end = _supporting_span(matched)
    withdrawn = withdrawal(said, quoted, matched.sentence)
    if not withdrawn and (place := _verbatim(said, quoted, evidence)) is not None:
        return Check("supported", "", 1.0, *place, entails=entails)
    alignment = align_to_nearest(matched)
    features = read_support_features(matched, alignment, quoted)
    check = _by_arithmetic(said, quoted, matched, alignment, features, withdrawn)
    if check is not None:
        return replace(check, support=support_of(features), start=0, end=len(quoted), entails=entails)
    check = _against_a_rule(said, quoted, alignment, features, withdrawn)
    if check is None:
        check = _by_judge(entails) or _by_words(said, quoted, matched, alignment)
    if check.verdict != "contradicted" and not unquoted(said, quoted):
        check = _by_clauses(said, evidence, rarity, check)
    return replace(check, support=support_of(features), start=start, end=end, entails=entails)


def _against_a_rule(
    said: str, quoted: str, alignment: ClaimAlignment | None, features: SupportFeatures, withdrawn: str
) -> Check | None:
    """What no share of words outweighs; contradicted where the quote says nearly the same with another truth."""
    if quotation := unquoted(said, quoted):
        return Check("unsupported", f"not word for word in the quote: “{quotation[:200]}”")
    if withdrawn:
        return Check("unsupported", withdrawn)
    is_close = alignment is not None and alignment.is_nearly_worded
    opposed: Verdict = "contradicted" if is_close else "unsupported"
    if sign := other_sign(said, quoted):
        return Check(opposed if sign.opposed else "unsupported", sign.reason)
    if features.missing_values:
        faced = alignment is not None and is_close and bool(other_number(alignment) or other_unit(alignment))
        return Check("contradicted" if faced else "unsupported", _not_there(features.missing_values))
    if features.denial_reason or features.relation_reason:
        return Check(opposed, features.denial_reason or features.relation_reason)
    if alignment is not None and (about := turned_about(alignment)):
        return Check("contradicted" if alignment.is_close else "unsupported", about)
    if features.missing_names:
        return Check("unsupported", _not_there(features.missing_names))
    if alignment is not None and (limited := turned(alignment)):
        return Check("unsupported", limited)
    return None


def _by_arithmetic(
    said: str,
    quoted: str,
    matched: EvidenceMatch,
    alignment: ClaimAlignment | None,
    features: SupportFeatures,
    withdrawn: str,
) -> Check | None:
    """What a claim reckons from quoted numbers, where the quotes have all else it says."""
    found = reckoned(said, quoted)
    if found is None or withdrawn or unquoted(said, quoted):
        return None
    missing = {word.token.stem for word in matched.missing(PARTIAL_AT) if word.token.folded not in UNITS}
    if missing - found.words or features.missing_names or features.denial_reason:
        return None
    if set(features.missing_values) - {found.value}:
        return None
    limited = turned(alignment) if alignment is not None else ""
    if limited and not any(f"'{word}'" in limited for word in found.words):
        return None
    return Check("supported" if found.holds else "contradicted", found.reason)


def _by_judge(entails: Entails | None) -> Check | None:
    """What a judge says of a claim that no rule speaks against, where it is sure."""
    if entails is None:
        return None
    if entails.entails >= ENTAILS_AT:
        return Check("supported", "entailed, as the judge reads it")
    return Check("contradicted", "the judge reads the contrary") if entails.contradicts >= CONTRADICTS_AT else None


def _by_words(said: str, quoted: str, matched: EvidenceMatch, alignment: ClaimAlignment | None) -> Check:
    if not matched.words and not quantities_in(said) and not dates_in(said) and not _has_all(quoted, said):
        # Words that carry no weight of their own are supported by nothing but themselves.
        return Check("unsupported", "nothing of it is in the quote")
    share = matched.share(matched.around)
    missing = [
        word.token.folded
        for word, part in zip(matched.words, matched.around, strict=True)
        # Units were compared with their numbers.
        if part < PARTIAL_AT and word.token.folded not in UNITS
    ]
    if not missing and alignment is not None:
        apart = differs_in_wording(alignment)
        return Check("partial", apart) if apart else Check("supported")
    named = _not_there(missing) if missing else "its words stand far apart in the quote"
    return Check("partial" if share >= PARTIAL_AT else "unsupported", named)


def _not_there(words: Sequence[str]) -> str:
    return f"not in the quote: {', '.join(words[:_MOST_NAMED])}"


def _verbatim(said: str, quoted: str, evidence: Evidence) -> tuple[int, int] | None:
    """The place where the quotes say it word for word: as a whole, or as one of their sentences."""
    words = _spoken(said)
    signs = spoken_signs(said)
    if signs == spoken_signs(quoted) and (
        words == _spoken(quoted) or _spoken(readable(said)) == _spoken(readable(quoted))
    ):
        return 0, len(quoted)
    for sentence in evidence.sentences:
        alike = len(sentence.tokens) >= len(words) // 2 and _spoken(sentence.text) == words
        if alike and spoken_signs(sentence.text) == signs:
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


def _by_clauses(said: str, evidence: Evidence, rarity: Rarity, whole: Check) -> Check:
    """The verdict where each clause is looked for on its own: two sentences may support one each, or only one is."""
    clauses = [(clause, match_evidence(clause, evidence, rarity)) for clause in clauses_of(said)]
    if whole.verdict == "supported" or len(clauses) < 2:
        return whole
    alone = [_alone(clause, matched, evidence) for clause, matched in clauses]
    if all(one.verdict == "supported" for one in alone):
        return Check("supported")
    if not any(one.verdict == "supported" for one in alone):
        return whole
    for clause, matched in clauses:
        if matched.share(matched.around) < _CLAUSE_AT and matched.share(matched.anywhere) < PARTIAL_AT:
            return Check("partial", f"this part is not in the quote: {clause}")
    return whole


def _alone(clause: str, matched: EvidenceMatch, evidence: Evidence) -> Check:
    """A clause as a sentence of its own; one that borrows its subject from another clause proves nothing alone."""
    if len(matched.words) < _LEAST_OWN:
        return Check("unsupported")
    withdrawn = withdrawal(clause, evidence.text, matched.sentence)
    alignment = align_to_nearest(matched)
    features = read_support_features(matched, alignment, evidence.text)
    against = _against_a_rule(clause, evidence.text, alignment, features, withdrawn)
    return against or _by_words(clause, evidence.text, matched, alignment)
