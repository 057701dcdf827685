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
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words."""

    tokens: tuple[Token, ...]
    first: int

    @property
    def last(self) -> int:
        return self.first + len(self.tokens) - 1

    @property
    def initials(self) -> str:
        return "".join(token.folded[0] for token in self.tokens)

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
            continue
        if _is_abbreviated(name, matched):
            continue
        if parts[-1] >= _ENOUGH and len(parts) > 1 and not _has_other_first_name(name, matched):
            continue
        found.append(name.text(matched.claim.text))
    return list(dict.fromkeys(found))


def _is_abbreviated(name: Name, matched: EvidenceMatch) -> bool:
    """Whether the quotes have its initials, or a name whose initials it is."""
    if len(name.tokens) > 1:
        return name.initials in matched.evidence.vocabulary.stems
    return any(are_initials(name, other) for sentence in matched.evidence.sentences for other in names_of(sentence))


def are_initials(one: Name, other: Name) -> bool:
    """Whether one name is the initials of the other: `WHO`, `World Health Organization`."""
    short, long = sorted((one, other), key=lambda name: len(name.tokens))
    return len(short.tokens) == 1 < len(long.tokens) and short.tokens[0].folded == long.initials


def _has_other_first_name(name: Name, matched: EvidenceMatch) -> bool:
    """Whether the quotes give this surname with another word of a name before it."""
    surname = name.tokens[-1].stem
    for sentence in matched.evidence.sentences:
        for before, token in zip(sentence.tokens, sentence.tokens[1:], strict=False):
            if token.stem == surname and token.is_capital and before.is_capital and _may_name(before):
                return True
    return False
