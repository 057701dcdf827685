"""Names of a claim that its quotes do not have. Pure.

A name is what is capitalised; the first word of a sentence only where no English word is spelt so, or where it begins a
name of several words. A surname stands for the full name where the quotes never give another first name, initials stand
for what they abbreviate, and a people for its country.

Example:
    claim:   The WHO recommends vaccination.
    passage: The World Health Organization recommends vaccinating children.
    verdict: supported

Example:
    claim:   Irene Curie measured the activity of radium.
    passage: Marie Curie measured the activity of radium.
    verdict: unsupported
    reason:  not in the quote: Irene Curie
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewell.synthesis.checking.evidence_match import EvidenceMatch
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.text.english_stems import english_stems
from citewell.text.language import is_stop_word

_NO_NAMES = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mr mrs ms dr sir st""".split()
)
_GAP = re.compile(r"[\s'’.&/-]{1,2}")
_STARTS = re.compile(r"[.!?:;…\n][\s\"'“‘(*]*$")
_ENOUGH = 0.7
_TOGETHER = 5


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words."""

    tokens: tuple[Token, ...]
    first: int

    @property
    def last(self) -> int:
        return self.first + len(self.tokens) - 1

    def text(self, of: str, start: int = 0) -> str:
        return of[self.tokens[0].start - start : self.tokens[-1].end - start]


def names_of(sentence: Sentence) -> list[Name]:
    """The names of a sentence, in order."""
    found: list[Name] = []
    run: list[Token] = []
    began = 0
    for at, token in enumerate(sentence.tokens):
        between = _between(sentence, run[-1], token) if run else ""
        # What a hyphen joins to a name is part of it: the `xL` of `Bcl-xL`.
        named = (token.is_capital and _may_name(token)) or (bool(run) and between == "-")
        if run and (not named or not _GAP.fullmatch(between)):
            found.append(Name(tuple(run), began))
            run = []
        if named:
            began = began if run else at
            run.append(token)
    if run:
        found.append(Name(tuple(run), began))
    return [name for name in found if not _is_mere_first_word(name, sentence)]


def _between(sentence: Sentence, one: Token, other: Token) -> str:
    return sentence.text[one.end - sentence.start : other.start - sentence.start]


def _may_name(token: Token) -> bool:
    return len(token.folded) > 1 and not is_stop_word(token.folded) and token.folded not in _NO_NAMES


def _is_mere_first_word(name: Name, sentence: Sentence) -> bool:
    token = name.tokens[0]
    before = sentence.text[max(0, token.start - sentence.start - 4) : token.start - sentence.start]
    if len(name.tokens) > 1 or (name.first and not _STARTS.search(before)):
        return False
    written = sentence.text[token.start - sentence.start : token.end - sentence.start]
    is_english = english_stems().is_word(token.stem)
    return is_english and not (len(written) > 1 and written[1:].lower() != written[1:])


def missing_names(matched: EvidenceMatch) -> list[str]:
    """The names of the claim that neither the quotes nor their titles have, as the claim writes them."""
    found: list[str] = []
    known = {word.token.stem: part for word, part in zip(matched.words, matched.anywhere, strict=True)}
    for name in names_of(matched.claim):
        parts = [known.get(token.stem, 1.0) for token in name.tokens]
        if all(part >= _ENOUGH for part in parts):
            if _is_mixed(name, matched):
                found.append(name.text(matched.claim.text))
            continue
        if _is_abbreviated(name, matched):
            continue
        if parts[-1] >= _ENOUGH and len(parts) > 1 and not _has_other_first_name(name, matched):
            continue
        found.append(name.text(matched.claim.text))
    return list(dict.fromkeys(found))


def _is_mixed(name: Name, matched: EvidenceMatch) -> bool:
    """Whether two neighbouring words of a name both stand in the quotes as parts of names, and never together."""
    for one, other in pairwise(name.tokens):
        first = _named_places(one.stem, matched.evidence.sentences)
        second = _named_places(other.stem, matched.evidence.sentences)
        apart = not any(abs(a - b) <= _TOGETHER for at, a in first for place, b in second if at == place)
        in_title = any(stem in matched.evidence.titles.stems for stem in (one.stem, other.stem))
        if first and second and apart and not in_title:
            return True
    return False


def _named_places(stem: str, sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
    return [
        (number, at)
        for number, sentence in enumerate(sentences)
        if stem in sentence.stems
        for at, token in enumerate(sentence.tokens)
        if token.stem == stem and token.is_capital
    ]


def _is_abbreviated(name: Name, matched: EvidenceMatch) -> bool:
    """Whether the quotes have its initials, or what its initials stand for."""
    initials = "".join(token.folded[0] for token in name.tokens)
    stems = matched.evidence.vocabulary.stems
    if len(name.tokens) > 1 and (initials in stems or initials in matched.evidence.vocabulary.short_forms):
        return initials in stems or _stands_for(name, matched, initials)
    spelt = matched.evidence.vocabulary.short_forms.get(name.tokens[0].folded.rstrip("s"), frozenset())
    return len(name.tokens) == 1 and bool(spelt)


def _stands_for(name: Name, matched: EvidenceMatch, initials: str) -> bool:
    spelt = matched.evidence.vocabulary.short_forms.get(initials, frozenset())
    return any(token.stem in spelt for token in name.tokens) or spelt == {initials}


def _has_other_first_name(name: Name, matched: EvidenceMatch) -> bool:
    """Whether the quotes give this surname with another word of a name before it."""
    surname = name.tokens[-1].stem
    for sentence in matched.evidence.sentences:
        for before, token in zip(sentence.tokens, sentence.tokens[1:], strict=False):
            if token.stem == surname and token.is_capital and before.is_capital and _may_name(before):
                return True
    return False
