"""Whether a claim says what one sentence says in nearly its words, with nothing added, moved or taken from its whole.

Pure. The claim is laid on the sentence word against word. A phrase may move with its preposition, an aside may be left
out, words of grammar may change. Anything else is for a judge that understands; by the wording alone it is not proven.

Example:
    claim:   The lamp was lit in 1859.
    passage: The lamp, a gift of the guild, was lit in 1859.
    verdict: supported

Example:
    claim:   The red lorry followed the bus.
    passage: The bus followed the red lorry.
    verdict: partial
    reason:  the quote has 'red' in another place

Example:
    claim:   The thesis is finished.
    passage: Chapter 3 of the thesis is finished.
    verdict: partial
    reason:  the quote says this 'of' the thesis, not of it as a whole
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import takewhile

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, carries_meaning, substitution
from citewell.synthesis.checking.omissions import VALUE_WORDS, is_value, left_out
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.synthesis.checking.voices import COMPARING, in_other_voice
from citewell.synthesis.lexicon.word_lists import word_groups, word_list

_OF_PEOPLE = ("he", "she", "er", "il", "elle")
_PLACING = ("in", "at", "near", "im", "bei", "à")
# Phrases of time that tell the same with either word.
_ALIKE = (frozenset(("in", "on", "during", "at")), frozenset(("im", "am", "an", "um")))


def differs_in_wording(alignment: ClaimAlignment) -> str:
    """In words, where the claim leaves the wording of its nearest sentence; empty where it keeps it."""
    found = _differences(alignment)
    return found if found and all(_differences(one) for one in in_other_voice(alignment)) else ""


def _differences(alignment: ClaimAlignment) -> str:
    checks = (_moved, _telling, _other_preposition, _made_plural, left_out)
    return next((said for check in checks if (said := check(alignment))), "")


def _moved(alignment: ClaimAlignment) -> str:
    """Words that the sentence has, but not in this place, and not as a phrase with its preposition."""
    tokens, told = alignment.claim.tokens, alignment.sentence.tokens
    moved: list[tuple[str, str, str]] = []
    for first, last in _runs([not one for one in alignment.words.is_same]):
        content = [at for at in range(first, last + 1) if tokens[at].is_content and not _is_of_value(tokens, at)]
        for block in _blocks(content, alignment):
            forms = [alignment.close.get(tokens[at].stem, {}).keys() | {tokens[at].stem} for at in block]
            found = _place_of(forms, told)
            if found is None and _is_meant(block, forms, alignment):
                continue
            if found is None:
                return f"not in this place in the quote: {' '.join(tokens[at].folded for at in block)}"
            moved.append((tokens[block[0]].folded, _before(tokens, block[0]), _before(told, found)))
    # Active for passive: who does it stands behind `by` on one side only, and what it is done to changes place too.
    by = word_list("agent")
    is_turned = any((ours in by) != (theirs in by) for _, ours, theirs in moved)
    compares = any(token.folded in COMPARING for token in told)
    for word, ours, theirs in moved:
        if compares or (not (is_turned and {ours, theirs} <= {"", *by}) and (ours != theirs or not ours)):
            return f"the quote has '{word}' in another place"
    return ""


def _is_of_value(tokens: Sequence[Token], at: int) -> bool:
    """A unit or a month beside its number: values are compared apart, however they are written."""
    beside = (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2])
    return tokens[at].folded in VALUE_WORDS and any(one.stem[0].isdigit() for one in beside)


def _telling(alignment: ClaimAlignment) -> str:
    """A word of grammar that says something (more, down, his, was) and that stands otherwise in the sentence."""
    tokens, told = alignment.claim.tokens, alignment.sentence.tokens
    all_told = {token.folded for token in alignment.whole.tokens}
    for at, token in enumerate(tokens):
        word, on = token.folded, alignment.words.counterpart[at]
        facing = told[on].folded if on is not None else ""
        persons = _group("persons", word)
        if persons and facing not in persons:
            return f"the quote does not say this of '{word}'" if persons & all_told else f"not in the quote: {word}"
        if word in word_list("telling") and word not in all_told:
            return f"not in the quote: {word}"
        other = _group("opposed", word) - {word}
        if other & all_told and word not in all_told:
            return substitution(next(iter(sorted(other & all_told))), word)
        if facing and _time_of(word) and _time_of(facing) and _time_of(word) != _time_of(facing):
            return substitution(facing, word)
        if facing and alignment.words.is_same[at] and _is_made_past(word, facing):
            return substitution(facing, word)
    return _only_elsewhere(alignment)


def _group(name: str, word: str) -> frozenset[str]:
    return next((one for one in word_groups(name) if word in one), frozenset())


def _time_of(word: str) -> str:
    """Whether an auxiliary tells of the past or of now."""
    return "past" if word in word_list("past") else "now" if word in word_list("now") else ""


def _is_made_past(word: str, facing: str) -> bool:
    """`opened` where the sentence has `opens`."""
    return (
        word.endswith("ed")
        and not facing.endswith(("ed", "ing", "en"))
        and facing.removesuffix("s") in (word[:-2], word[:-1])
    )


def _only_elsewhere(alignment: ClaimAlignment) -> str:
    """`Members can only vote` for `only members can vote`."""
    ours, theirs = _behind_only(alignment.claim.tokens), _behind_only(alignment.sentence.tokens)
    if ours and theirs and ours.stem != theirs.stem and ours.stem not in alignment.close.get(theirs.stem, {}):
        return f"the quote has 'only' before '{theirs.folded}'"
    return ""


def _behind_only(tokens: Sequence[Token]) -> Token | None:
    at = next((at for at, token in enumerate(tokens) if token.folded in word_list("only")), None)
    return next((one for one in tokens[at + 1 :] if carries_meaning(one)), None) if at is not None else None


def _is_meant(block: list[int], forms: Sequence[Set[str]], alignment: ClaimAlignment) -> bool:
    """Whether the claim names what the sentence begins with a pronoun for: `The ferry is late. It carries coal.`

    That is what the sentence before begins with, and nobody else may be named there.
    """
    matched = alignment.matched
    if block[0] > _first_content(alignment.claim.tokens) + 1 or not matched.best:
        return False
    opens = alignment.whole.tokens[0].folded if alignment.whole.tokens else ""
    before = matched.evidence.sentences[matched.best - 1].tokens
    subject = _subject(before, opens in _OF_PEOPLE)
    named = opens in _OF_PEOPLE and any(
        one.is_capital and one.is_content and one not in subject and before[at - 1].folded not in _PLACING
        for at, one in enumerate(before)
    )
    found = all(any(one.stem in form for one in subject) for form in forms)
    return opens in word_list("pronouns") and found and not named


def _subject(tokens: Sequence[Token], of_people: bool) -> list[Token]:
    """What a sentence begins with: a name for people, else its first words of meaning."""
    content = [one for one in tokens if carries_meaning(one)]
    if not of_people:
        return content[:3]
    return list(takewhile(lambda one: one.is_capital, content))


def _blocks(content: list[int], alignment: ClaimAlignment) -> list[list[int]]:
    """The words of a run as they stand in the sentence: together, or each for itself."""
    tokens = alignment.claim.tokens
    forms = [alignment.close.get(tokens[at].stem, {}).keys() | {tokens[at].stem} for at in content]
    if not content or _place_of(forms, alignment.sentence.tokens) is not None:
        return [content] if content else []
    return [[at] for at in content]


def _place_of(forms: Sequence[Set[str]], told: Sequence[Token]) -> int | None:
    """Where these words stand next to each other in the sentence; grammar may stand between."""
    content = [at for at, token in enumerate(told) if carries_meaning(token)]
    for start in range(len(content) - len(forms) + 1):
        if all(told[content[start + step]].stem in form for step, form in enumerate(forms)):
            return content[start]
    return None


def _before(tokens: Sequence[Token], at: int) -> str:
    """The preposition that governs the word at this place: the nearest before it, past its article."""
    for place in range(at - 1, max(-1, at - 4), -1):
        if tokens[place].folded in word_list("prepositions"):
            return tokens[place].folded
        if tokens[place].folded not in word_list("articles") and carries_meaning(tokens[place]) and place < at - 1:
            return ""
    return ""


def _other_preposition(alignment: ClaimAlignment) -> str:
    tokens, told = alignment.claim.tokens, alignment.sentence.tokens
    for at, on in enumerate(alignment.words.counterpart):
        if on is None or not alignment.words.is_same[at] or not carries_meaning(tokens[at]):
            continue
        ours, theirs = _directly_before(tokens, at), _directly_before(told, on)
        if is_value(tokens[at]) or is_value(told[on]):
            if ours and theirs and _is_other_time(ours, theirs):
                return substitution(theirs, ours)
            continue
        if theirs and not ours and at == _first_content(tokens):
            return f"the quote says this '{theirs}' {_phrase(alignment.claim, at)}, not of it as a whole"
        if ours and theirs and ours != theirs:
            return f"the quote has '{theirs}' where this has '{ours}'"
    return ""


def _is_other_time(ours: str, theirs: str) -> bool:
    """`for 3 hours` is not `at 3`; `in May` and `on 3 May` are alike."""
    both = {ours, theirs}
    return ours != theirs and bool(both & word_list("time_prepositions")) and not any(both <= one for one in _ALIKE)


def _directly_before(tokens: Sequence[Token], at: int) -> str:
    place = at - 1
    while place >= 0 and tokens[place].folded in word_list("articles"):
        place -= 1
    return tokens[place].folded if place >= 0 and tokens[place].folded in word_list("prepositions") else ""


def _first_content(tokens: Sequence[Token]) -> int:
    return next((at for at, token in enumerate(tokens) if carries_meaning(token)), -1)


def _phrase(claim: Sentence, at: int) -> str:
    first = at - 1 if at and claim.tokens[at - 1].folded in word_list("articles") else at
    start, end = claim.tokens[first].start - claim.start, claim.tokens[at].end - claim.start
    return claim.text[start:end].lower() if first != at else claim.text[start:end]


def _made_plural(alignment: ClaimAlignment) -> str:
    """One of a kind in the quote, the whole kind in the claim."""
    for at, on in enumerate(alignment.words.counterpart):
        if on is None or not alignment.words.is_same[at]:
            continue
        ours, theirs = alignment.claim.tokens[at], alignment.sentence.tokens[on]
        plural = ours.is_content and ours.folded in (f"{theirs.folded}s", f"{theirs.folded}es")
        if plural and on and not _is_verb_place(alignment.sentence.tokens, on):
            return f"the quote has '{theirs.folded}' where this has '{ours.folded}'"
    return ""


def _is_verb_place(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at - 1].folded in word_list("before_verbs")


def _runs(holds: Sequence[bool]) -> list[tuple[int, int]]:
    """The stretches of places where it holds, first and last of each."""
    found: list[tuple[int, int]] = []
    for at, one in enumerate(holds):
        if one and found and found[-1][1] == at - 1:
            found[-1] = (found[-1][0], at)
        elif one:
            found.append((at, at))
    return found
