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

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from citewell.answer.evidence import PreparedSource, Quote
from citewell.answer.passages import is_told_falsely, readable, without_lead_in
from citewell.answer.values import UNITS, dates_in, quantities_in
from citewell.check.alignment import ClaimAlignment, align_to_nearest
from citewell.check.arithmetic import reckoned
from citewell.check.numbers import missing_values, other_sign, spoken_signs
from citewell.check.relations import differs, missing_names, other_number, other_unit, turned_about, wrong_relation
from citewell.check.tokens import (
    Evidence,
    EvidenceMatch,
    Rarity,
    Token,
    TokenSentence,
    content_stems,
    match_evidence,
    pairs_kept,
    read_evidence,
    tokens_of,
)
from citewell.check.verdict import Verdict
from citewell.check.wording import differs_in_wording, turned
from citewell.models.entailment import Entails
from citewell.text.blocks import cells_of
from citewell.text.canonical import folded_text

# Clauses: the halves of a sentence that each state something of their own. Pure; by punctuation and joining words.
#
# Example:
#     claim:   The paper mill beside the river burned down in March, and insurers refused payment.
#     passage: The paper mill beside the river burned down in March. For months insurers refused payment.
#     verdict: supported
#
# Example:
#     claim:   The paper mill beside the river burned down in March, and insurers refused payment.
#     passage: The paper mill beside the river burned down in March.
#     verdict: partial
#     reason:  this part is not in the quote: insurers refused payment


_JOINT = re.compile(r";\s+|,?\s+(?:and|but|while|whereas|although)\s+|\s+[–—]\s+")
_LEAST_CONTENT = 3
_MOST = 6
# A clause has a verb: an auxiliary, or a word that ends like one.
_VERB = re.compile(
    r"\b(?:is|was|are|were|has|had|have|can|could|will|would|may|might|must|does|did|do|became|made|took|won|lost|found|led"
    r"|held|gave|came|went|saw|wrote|built|sold|bought|ran|began|left|grew|rose|fell|kept|met|said|[a-z]{3,}(?:ed|es|s))\b"
)


def clauses_of(text: str) -> list[str]:
    """The clauses of a sentence, two or more, or nothing where it is one statement."""
    parts = [part.strip(" ,.") for part in _JOINT.split(text[:4_000]) if part.strip(" ,.")]
    joined: list[str] = []
    for part in parts:
        if joined and not (_stands_alone(part) and _stands_alone(joined[-1])):
            joined[-1] = f"{joined[-1]} and {part}"
        else:
            joined.append(part)
    return joined if 1 < len(joined) <= _MOST else []


def _stands_alone(part: str) -> bool:
    content: list[Token] = [token for token in tokens_of(part) if token.is_content or token.folded[0].isdigit()]
    return len(content) >= _LEAST_CONTENT and bool(_VERB.search(part))


# Words a claim puts in quotation marks: they must stand in the cited text to the letter. Pure.
#
# White space, case at the beginning and the shape of the marks do not count, nor does the full stop that a sentence
# puts inside them. Single quoted words ("so-called") are names or irony and are not taken for quotations.
#
# Example:
#     claim:   The keeper wrote that "the lamp burned all night".
#     passage: The keeper wrote: the lamp burned all night, and nobody slept.
#     verdict: supported
#
# Example:
#     claim:   The keeper wrote that "the lamp burned the whole night".
#     passage: The keeper wrote: the lamp burned all night, and nobody slept.
#     verdict: unsupported
#     reason:  not word for word in the quote: “the lamp burned the whole night”


_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,2000})[\"”“»]")
_SPACE = re.compile(r"\s+")
_LEAST_WORDS = 3
_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?)\s*")


def unquoted(said: str, quoted: str) -> str:
    """The first quotation of the claim that the quotes do not have, or nothing."""
    if '"' not in said and "“" not in said and "«" not in said and "„" not in said:
        return ""
    told = _plain(quoted)
    for match in _QUOTED.finditer(said[:20_000]):
        words = match[1].strip().rstrip(".,;:!?")
        if len(words.split()) < _LEAST_WORDS:
            continue
        if not all(_plain(part) in told for part in _ELLIPSIS.split(words) if part):
            return match[1].strip()
    return ""


def _plain(text: str) -> str:
    return _SPACE.sub(" ", folded_text(text).replace("“", '"').replace("”", '"')).strip()


# Features of support: what the evidence has of a claim, what it lacks, and where the two part. Pure.
#
# Everything is looked for in the one sentence that comes nearest, with a discount for its neighbours: words of a claim
# that are scattered over a page support nothing. `support` weighs the features.
#
# Example:
#     claim:   Aspirin relieves migraine in adults.
#     passage: In adults aspirin relieved migraine within an hour.
#     verdict: supported
#     support: 0.84
#
# Example:
#     claim:   Aspirin relieves migraine in adults.
#     passage: In adults with migraine aspirin made no difference.
#     verdict: partial
#     reason:  not in the quote: relieves
#     support: 0.68


@dataclass(frozen=True, slots=True)
class SupportFeatures:
    """What one claim has of its evidence, each between 0 and 1."""

    own: float  # the share of its words, by rarity, in the nearest sentence
    around: float  # the same with the neighbours of that sentence and the titles
    pairs: float  # the share of its neighbouring words that stand near each other there
    values: float  # numbers or dates the evidence does not give
    names: float  # names the evidence does not have
    denial: float
    relation: float

    missing_values: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    denial_reason: str = ""
    relation_reason: str = ""


def read_support_features(matched: EvidenceMatch, alignment: ClaimAlignment | None, quoted: str) -> SupportFeatures:
    """The features of a claim that was matched with its evidence and aligned with the nearest sentence."""
    values = tuple(missing_values(matched.claim.text, quoted))
    names = tuple(missing_names(matched))
    denial = differs(matched, alignment)
    relation = wrong_relation(matched, alignment)
    return SupportFeatures(
        own=matched.share(matched.own),
        around=matched.share(matched.around),
        pairs=pairs_kept(matched),
        values=min(1.0, len(values) / 2),
        names=min(1.0, len(names) / 2),
        denial=float(bool(denial)),
        relation=float(bool(relation)),
        missing_values=values,
        missing_names=names,
        denial_reason=denial,
        relation_reason=relation,
    )


# Support: how far the evidence supports a claim, between 0 and 1. Pure.
#
# A logistic formula over the features (`support_features`). Its coefficients come from one half of the expert pairs of
# SciFact and, at a twentieth of their weight, from pairs built of half the documents of SQuAD 2.0 and other
# collections, by `bench/verifier_fit.py`; docs/measurements/verifier.md says what it comes to on the other halves. The
# number orders claims; the verdict also obeys rules that no number can outweigh (`claim`).
#
# Example:
#     claim:   The ferry runs in winter.
#     passage: The ferry runs in winter and in spring.
#     verdict: supported
#     support: 0.84
#
# Example:
#     claim:   The ferry runs in summer.
#     passage: The ferry runs in winter and in spring.
#     verdict: partial
#     reason:  not in the quote: summer
#     support: 0.64


INTERCEPT = -1.08
COEFFICIENTS: dict[str, float] = {
    "own": 0.69,
    "around": 1.92,
    "pairs": 0.16,
    "values": -1.18,
    "names": -0.51,
    "denial": -2.50,
    "relation": -2.08,
}


def support_of(features: SupportFeatures) -> float:
    """The estimate for these features."""
    logit = INTERCEPT + math.fsum(weight * float(getattr(features, name)) for name, weight in COEFFICIENTS.items())
    return round(1.0 / (1.0 + math.exp(-logit)), 4)


# A row of a table read out under its header: `Year: 2023; Weight: 3.4 t`. Pure.
#
# It is verbatim where every part is a header of the table with the cell under it, all of one row; nothing is composed
# from cells that do not belong together.
#
# Example:
#     claim:   Boat: Ada; Built: 1902
#     passage: | Boat | Built |\n|---|---|\n| Ada | 1902 |\n| Bell | 1911 |
#     verdict: supported
#
# Example:
#     claim:   Boat: Ada; Built: 1911
#     passage: | Boat | Built |\n|---|---|\n| Ada | 1902 |\n| Bell | 1911 |
#     verdict: contradicted
#     reason:  the table has '1902' under 'Built'


_RULE = re.compile(r"[|:\-\s]+")
_CELL = re.compile(r"(?<!\\)\|")
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Whether a row says it, what it has instead, and its place."""

    holds: bool
    reason: str
    start: int
    end: int


def read_out(row: str, header: str) -> str:
    """A row of a table as it is read out under its header."""
    pairs = zip(cells_of(header), cells_of(row), strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def statements_of(row: str, header: str) -> list[tuple[str, str]]:
    """What a row says, column by column: the name of the column, and what its first cell is said to have there."""
    first, *others = zip(cells_of(header), cells_of(row), strict=False)
    subject = first[1]
    return [(name, f"{subject} {name} {cell}") for name, cell in others if cell] or [(first[0], subject)]


def check_row(said: str, quoted: str) -> RowCheck | None:
    """What the tables of a text say of a row read out; None where the sentence is none, or no table has its header."""
    parts = [part.partition(": ") for part in said.rstrip(".").split("; ")]
    if not parts or not all(name and sign for name, sign, _ in parts):
        return None
    claimed = [(_folded(name), _folded(value)) for name, _, value in parts]
    rows = list(_rows(quoted))
    nearest: RowCheck | None = None
    for header, _, _ in rows:
        places = [header.index(name) if name in header else None for name, _ in claimed]
        if None in places:
            continue
        for cells, start, end in rows:
            if cells is header or len(cells) < len(header):
                continue
            wrong = [(at, n) for n, at in enumerate(places) if at is not None and cells[at] != claimed[n][1]]
            if not wrong:
                return RowCheck(True, "", start, end)
            at, n = wrong[0]
            if n and nearest is None:  # the row that begins alike
                reason = f"the table has '{cells[at]}' under '{parts[n][0]}'"
                nearest = RowCheck(False, reason, start, end)
    return nearest


def _rows(text: str) -> Iterator[tuple[list[str], int, int]]:
    at = found = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare.count("|") > 1 and not _RULE.fullmatch(bare) and found < _MOST_ROWS:
            found += 1
            start = at + line.index(bare)
            yield [_folded(cell) for cell in _CELL.split(bare.strip("|"))], start, start + len(bare)
        at += len(line)


def _folded(cell: str) -> str:
    return folded_text(readable(cell.strip()))


# What a text shows and does not state: struck out, unticked, commented out, asked, or removed right after. Pure.
#
# Example:
#     claim:   The boiler was replaced.
#     passage: ~~The boiler was replaced.~~
#     verdict: unsupported
#     reason:  the quote has it struck out
#
# Example:
#     claim:   Call the plumber about the boiler.
#     passage: - [ ] Call the plumber about the boiler
#     verdict: supported
#
# Example:
#     claim:   The plumber was called about the boiler.
#     passage: - [ ] Call the plumber about the boiler
#     verdict: unsupported
#     reason:  the quote has it as something still to do
#
# Example:
#     claim:   The boiler is under warranty.
#     passage: Is the boiler under warranty?
#     verdict: unsupported
#     reason:  the quote asks this


_STRUCK = re.compile(r"~~(?=\S)(.{1,2000}?)~~|<(?:del|s|strike)>(.{1,2000}?)</(?:del|s|strike)>", re.S)
_COMMENT = re.compile(r"%%(.{1,2000}?)%%|<!--(.{1,2000}?)-->", re.S)
_OPEN_BOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[ \][ \t]+(.+)$", re.M)
_TAKEN_BACK = re.compile(
    r"\s*(?:\(?(?:edit|update|correction|corrected|erratum|nachtrag|korrektur|correction)\b\s*[:–-]"
    r"|(?:actually|no[,:—-]|wrong|false|not true|scratch that|that(?:'s| is| was) (?:a myth|wrong|not true"
    r"|false|incorrect|no longer)"
    r"|this (?:is|was) (?:a myth|wrong|not true|false|incorrect|no longer)|(?:it )?turned out|in fact[, ]"
    r"|das stimmt nicht"
    r"|true or false|fact or fiction|wahr oder falsch|vrai ou faux|falsch|stimmt nicht|c'est faux|en fait[, ])\b)"
)
_SHOWN_AS = re.compile(
    r"\W*(?:(?:quiz|exercise|question|sample|example|beispiel|exemple|übung|myth|mythos|mythe|joke|rumou?r"
    r"|true or false|wahr oder falsch|vrai ou faux|fill in|multiple choice)\b[^:.;]{0,40}[:–]"
    r"|(?:false|falsch|wrong|fiction|hypothetical(?:ly)?)\s*[:–-])"
)
_DONE = re.compile(
    r"\b(?:was|were|has been|have been|had|did|is done|done|wurde|wurden|hat|ist|a été|ont été|est fait)\b|\w{3,}ed\b"
)


def withdrawal(said: str, quoted: str, sentence: TokenSentence | None) -> str:
    """In words, why the sentence that comes nearest states nothing of the claim; empty where it states it."""
    if sentence is None:
        return ""
    start, end = sentence.start, sentence.end
    if _is_within(_STRUCK, quoted, start, end):
        return "the quote has it struck out"
    if _is_within(_COMMENT, quoted, start, end) and not _is_within(_COMMENT, said, 0, len(said)):
        return "the quote has it commented out"
    if _is_open(quoted, start, end) and _DONE.search(folded_text(said)):
        return "the quote has it as something still to do"
    if sentence.text.rstrip(' *_)"”’').endswith("?") and not said.rstrip().endswith("?"):
        return "the quote asks this"
    if _SHOWN_AS.match(folded_text(sentence.text)) and not _SHOWN_AS.match(folded_text(said)):
        return "the quote does not state this"
    after = folded_text(quoted[end : end + 80])
    if _TAKEN_BACK.match(after):
        return "the quote takes it back right after"
    return ""


def _is_within(pattern: re.Pattern[str], text: str, start: int, end: int) -> bool:
    middle = (start + end) // 2
    return any(match.start() <= middle < match.end() for match in pattern.finditer(text))


def _is_open(text: str, start: int, end: int) -> bool:
    middle = (start + end) // 2
    return any(match.start() <= middle < match.end() for match in _OPEN_BOX.finditer(text))


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
class ClaimCheck:
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
) -> ClaimCheck:
    """Compare a sentence with the passages it cites; titles and headings of their sources may complete a name.

    The engine's own words in front of a quotation are read past; a model that writes them has to prove them.
    """
    if not by_model and is_told_falsely(text, list(sources)):
        return ClaimCheck("unsupported", "the date or title in front is not that of the source")
    said = text if by_model else without_lead_in(text)
    if not quotes:
        is_bare = not is_claim(said)
        return ClaimCheck("not_a_claim") if is_bare else ClaimCheck("unsupported", "no passage is cited")
    titles = "\n".join(dict.fromkeys(f"{source.title} {source.heading or ''}".strip() for source in sources))
    return check_text(said, joined(quotes), rarity, titles, entails)


def check_table_row(
    row: str,
    header: str,
    quotes: Sequence[Quote],
    sources: Sequence[PreparedSource],
    rarity: Rarity,
    entails: Entails | None = None,
) -> ClaimCheck:
    """A row of a table a model wrote: as a row of a quoted table, or column by column."""
    if not quotes:
        return ClaimCheck("unsupported", "no passage is cited")
    text = joined(quotes)
    # A row alone may be cited: the table it stands in names its columns.
    whole = BETWEEN.join(dict.fromkeys(source.text for source in sources))
    if (found := check_row(read_out(row, header), whole)) is not None:
        return ClaimCheck(
            "supported" if found.holds else "contradicted", found.reason, float(found.holds), 0, len(text)
        )
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
) -> ClaimCheck:
    """Compare a sentence with a text."""
    if (row := check_row(said, quoted)) is not None:
        verdict: Verdict = "supported" if row.holds else "contradicted"
        return ClaimCheck(verdict, row.reason, 1.0 if row.holds else 0.0, row.start, row.end)
    evidence = read_evidence(quoted, titles)
    matched = match_evidence(said, evidence, rarity)
    start, end = _supporting_span(matched)
    withdrawn = withdrawal(said, quoted, matched.sentence)
    if not withdrawn and (place := _verbatim(said, quoted, evidence)) is not None:
        return ClaimCheck("supported", "", 1.0, *place, entails=entails)
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
) -> ClaimCheck | None:
    """What no share of words outweighs; contradicted where the quote says nearly the same with another truth."""
    if quotation := unquoted(said, quoted):
        return ClaimCheck("unsupported", f"not word for word in the quote: “{quotation[:200]}”")
    if withdrawn:
        return ClaimCheck("unsupported", withdrawn)
    is_close = alignment is not None and alignment.is_nearly_worded
    opposed: Verdict = "contradicted" if is_close else "unsupported"
    if sign := other_sign(said, quoted):
        return ClaimCheck(opposed if sign.opposed else "unsupported", sign.reason)
    if features.missing_values:
        faced = alignment is not None and is_close and bool(other_number(alignment) or other_unit(alignment))
        return ClaimCheck("contradicted" if faced else "unsupported", _not_there(features.missing_values))
    if features.denial_reason or features.relation_reason:
        return ClaimCheck(opposed, features.denial_reason or features.relation_reason)
    if alignment is not None and (about := turned_about(alignment)):
        return ClaimCheck("contradicted" if alignment.is_close else "unsupported", about)
    if features.missing_names:
        return ClaimCheck("unsupported", _not_there(features.missing_names))
    if alignment is not None and (limited := turned(alignment)):
        return ClaimCheck("unsupported", limited)
    return None


def _by_arithmetic(
    said: str,
    quoted: str,
    matched: EvidenceMatch,
    alignment: ClaimAlignment | None,
    features: SupportFeatures,
    withdrawn: str,
) -> ClaimCheck | None:
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
    return ClaimCheck("supported" if found.holds else "contradicted", found.reason)


def _by_judge(entails: Entails | None) -> ClaimCheck | None:
    """What a judge says of a claim that no rule speaks against, where it is sure."""
    if entails is None:
        return None
    if entails.entails >= ENTAILS_AT:
        return ClaimCheck("supported", "entailed, as the judge reads it")
    return ClaimCheck("contradicted", "the judge reads the contrary") if entails.contradicts >= CONTRADICTS_AT else None


def _by_words(said: str, quoted: str, matched: EvidenceMatch, alignment: ClaimAlignment | None) -> ClaimCheck:
    if not matched.words and not quantities_in(said) and not dates_in(said) and not _has_all(quoted, said):
        # Words that carry no weight of their own are supported by nothing but themselves.
        return ClaimCheck("unsupported", "nothing of it is in the quote")
    share = matched.share(matched.around)
    missing = [
        word.token.folded
        for word, part in zip(matched.words, matched.around, strict=True)
        # Units were compared with their numbers.
        if part < PARTIAL_AT and word.token.folded not in UNITS
    ]
    if not missing and alignment is not None:
        apart = differs_in_wording(alignment)
        return ClaimCheck("partial", apart) if apart else ClaimCheck("supported")
    named = _not_there(missing) if missing else "its words stand far apart in the quote"
    return ClaimCheck("partial" if share >= PARTIAL_AT else "unsupported", named)


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


def _by_clauses(said: str, evidence: Evidence, rarity: Rarity, whole: ClaimCheck) -> ClaimCheck:
    """The verdict where each clause is looked for on its own: two sentences may support one each, or only one is."""
    clauses = [(clause, match_evidence(clause, evidence, rarity)) for clause in clauses_of(said)]
    if whole.verdict == "supported" or len(clauses) < 2:
        return whole
    alone = [_alone(clause, matched, evidence) for clause, matched in clauses]
    if all(one.verdict == "supported" for one in alone):
        return ClaimCheck("supported")
    if not any(one.verdict == "supported" for one in alone):
        return whole
    for clause, matched in clauses:
        if matched.share(matched.around) < _CLAUSE_AT and matched.share(matched.anywhere) < PARTIAL_AT:
            return ClaimCheck("partial", f"this part is not in the quote: {clause}")
    return whole


def _alone(clause: str, matched: EvidenceMatch, evidence: Evidence) -> ClaimCheck:
    """A clause as a sentence of its own; one that borrows its subject from another clause proves nothing alone."""
    if len(matched.words) < _LEAST_OWN:
        return ClaimCheck("unsupported")
    withdrawn = withdrawal(clause, evidence.text, matched.sentence)
    alignment = align_to_nearest(matched)
    features = read_support_features(matched, alignment, evidence.text)
    against = _against_a_rule(clause, evidence.text, alignment, features, withdrawn)
    return against or _by_words(clause, evidence.text, matched, alignment)
