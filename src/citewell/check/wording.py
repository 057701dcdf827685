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

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise, takewhile

from citewell.answer.values import MONTH_NAMES, UNITS
from citewell.check.alignment import ClaimAlignment, align_words, carries_meaning, substitution
from citewell.check.lexicon import word_groups, word_list
from citewell.check.numbers import WEEKDAYS
from citewell.check.tokens import Token, TokenSentence
from citewell.text.canonical import folded_text

# What a claim may leave out of the sentence it is taken from, in front, within and behind. Pure.
#
# Left out without harm are a whole clause before it, a date in front, an aside, a word that describes a noun, a light
# adverb, and in a report of what happened a phrase. Whatever else is left out may be what the statement hangs on: who
# says so, of which part it is said, when it holds. What is not known to be harmless is not proven.
#
# Example:
#     claim:   The ferry carries coal.
#     passage: The old ferry, built at Dunmore, carries coal to Leith.
#     verdict: supported
#
# Example:
#     claim:   The filter had been left off.
#     passage: The gearbox failed because the filter had been left off.
#     verdict: supported
#
# Example:
#     claim:   The filter had been left off.
#     passage: The gearbox did not fail because the filter had been left off.
#     verdict: partial
#     reason:  left out of the quote: the gearbox did not fail because
#
# Example:
#     claim:   The barn burned down.
#     passage: The roof of the barn burned down.
#     verdict: partial
#     reason:  the quote says this 'of' the barn, not of it as a whole
#
# Example:
#     claim:   Entry to the tower is free.
#     passage: With a valid pass, entry to the tower is free.
#     verdict: partial
#     reason:  left out of the quote: with a valid pass
#
# Example:
#     claim:   The heater switches on.
#     passage: The heater switches on once the room is cold.
#     verdict: partial
#     reason:  the quote says this only 'once the room'


# Shares in words, units and months stand for numbers.
VALUE_WORDS = frozenset((*MONTH_NAMES, *UNITS, "half", "third", "quarter", "thirds", "quarters"))
_OPENERS, _CLOSERS = ",;:(–—-[", ",;:)–—-].!?"
# Where a statement of its own begins.
_CLAUSE_START = re.compile(
    r"[;!?]\s|\.\s|[,–—]\s*(?:and|but|so|yet|while|whereas|und|aber|sondern|et|mais|donc)\s|^\s*(?:[-*+•]|\d{1,3}[.)])\s"
)
# A reason that is given is stated too: `it failed because the filter was off`.
_REASON = re.compile(r"\b(?:because(?! of)|although|weil|obwohl|parce que|puisque)\s(?=[^.;]*$)", re.IGNORECASE)
_APART = re.compile(r"[;:|\n•]|[.!?]\s|\s[–—]\s")
_YEAR_OR_DAY = re.compile(r"1\d{3}|20\d{2}|[0-3]?\d(?:st|nd|rd|th)?")
_NAMED_DAYS = frozenset((*MONTH_NAMES, *WEEKDAYS)) - {""}
_DATE_WORDS = _NAMED_DAYS | frozenset("the year early late mid end beginning spring summer autumn winter".split())
_MOST_DESCRIBING = 3
_LONG_TAIL = 9
_SHORT = 4


def left_out(alignment: ClaimAlignment) -> str:
    """In words, what the claim leaves out that it may not; empty where the rest stands for itself."""
    kept = sorted(kept_places(alignment))
    if not kept:
        return ""
    return _in_front(alignment, kept) or _within(alignment, kept) or _behind(alignment, kept)


def kept_places(alignment: ClaimAlignment) -> list[int]:
    """The places of the sentence that the claim keeps."""
    pairs = zip(alignment.words.counterpart, alignment.words.is_same, strict=True)
    return [on for on, same in pairs if on is not None and same]


def _is_said(alignment: ClaimAlignment, token: Token) -> bool:
    """Whether the claim has this word too, if in another place: then it is moved, not left out."""
    return any(
        token.stem == one.stem or token.stem in alignment.close.get(one.stem, {}) for one in alignment.claim.tokens
    )


def _counts(alignment: ClaimAlignment, token: Token) -> bool:
    """Whether leaving out this word needs an excuse; values and denials were compared before."""
    is_grammar = token.folded.endswith("n't") or token.folded in word_list("pronouns")
    if is_grammar or not carries_meaning(token) or _is_said(alignment, token):
        return False
    return not (is_value(token) and any(is_value(one) for one in _faced(alignment, token)))


def _faced(alignment: ClaimAlignment, token: Token) -> list[Token]:
    """What the claim has in the place of a word of the sentence."""
    pairs = zip(alignment.claim.tokens, alignment.words.counterpart, strict=True)
    return [one for one, on in pairs if on is not None and alignment.sentence.tokens[on] is token]


def is_value(token: Token) -> bool:
    """A number, or the name of a unit or a month."""
    return token.stem[0].isdigit() or token.folded in VALUE_WORDS


def _shown(tokens: Sequence[Token]) -> str:
    return f"left out of the quote: {' '.join(token.folded for token in tokens[:6])}"


def _in_front(alignment: ClaimAlignment, kept: Sequence[int]) -> str:
    sentence = alignment.sentence
    told, text, base = sentence.tokens, sentence.text, sentence.start
    first = kept[0]
    before = text[: told[first].start - base]
    starts = [match.end() for match in _CLAUSE_START.finditer(before)]
    cut = max((*starts, *_reasons(before)), default=0)
    front = [token for token in told[:first] if token.start - base >= cut]
    if not any(_counts(alignment, token) for token in front):
        return ""
    content = [token.folded for token in front if carries_meaning(token)]
    is_label = before.rstrip().endswith(":") and all(word in word_list("labels") for word in content)
    is_light = all(word in word_list("light") or word in word_list("titles") or _is_adverb(word) for word in content)
    is_given = len(content) == 1 and _is_given_name(front[-1], told[first])
    lasts = is_told_of_once(alignment) and all(word in word_list("lasting") for word in content)
    return "" if is_label or is_light or is_given or lasts or _is_dated(front) else _shown(front)


def _reasons(before: str) -> list[int]:
    """Where a reason begins; none where something before it is denied: `not because the filter was off`."""
    words = re.findall(r"[\w'’]+", before.casefold())
    if any(word in word_list("denying") or word.endswith(("n't", "n’t")) for word in words):
        return []
    return [match.end() for match in _REASON.finditer(before)]


def _is_given_name(token: Token, following: Token) -> bool:
    """`Howard` before `Florey`, but not `New` before `York`."""
    return (
        token.is_capital
        and token.is_content
        and following.is_capital
        and following.start - token.end == 1
        and token.folded not in word_list("naming") | word_list("privative")
    )


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > _SHORT


def _is_dated(tokens: Sequence[Token]) -> bool:
    """A phrase that tells a date and nothing else: `in early May 1871`."""
    prepositions = word_list("prepositions")
    told = [token.folded in _DATE_WORDS or bool(_YEAR_OR_DAY.fullmatch(token.folded)) for token in tokens]
    named = any(
        token.folded in _NAMED_DAYS or (len(token.folded) == _SHORT and dated)
        for token, dated in zip(tokens, told, strict=True)
    )
    return named and all(dated or token.folded in prepositions for token, dated in zip(tokens, told, strict=True))


def _within(alignment: ClaimAlignment, kept: Sequence[int]) -> str:
    """Words skipped within the part the claim keeps."""
    told, text, base = alignment.sentence.tokens, alignment.sentence.text, alignment.sentence.start
    either = [token for token in told[kept[0] : kept[-1]] if token.folded in ("or", "oder", "ou")]
    if either and not any(token.folded == either[0].folded for token in alignment.claim.tokens):
        return _shown(either)
    for one, other in pairwise(kept):
        skipped = told[one + 1 : other]
        if not any(_counts(alignment, token) for token in skipped):
            continue
        opening = text[told[one].end - base : skipped[0].start - base]
        closing = text[skipped[-1].end - base : told[other].start - base]
        if any(mark in opening for mark in _OPENERS) and any(mark in closing for mark in _CLOSERS):
            continue  # an aside
        between = text[told[one].end - base : told[other].start - base]
        if _APART.search(between) or not _is_harmless(alignment, one, skipped, told[other]):
            return _shown(skipped)
    return ""


def _is_harmless(alignment: ClaimAlignment, one: int, skipped: Sequence[Token], following: Token) -> bool:
    """Whether these words only describe: an adverb, a date, adjectives of a noun, a phrase about what happened."""
    words = [token.folded for token in skipped]
    if any(word in word_list("joining") for word in words):
        return False
    content = [token.folded for token in skipped if carries_meaning(token)]
    if all(word in word_list("light") or _is_adverb(word) for word in content) or _is_dated(skipped):
        return True
    if len(skipped) == 1 and (_is_given_name(skipped[0], following) or words[0] in word_list("suffixes")):
        return True
    prepositions = word_list("prepositions")
    if words[0] in prepositions:
        return is_told_of_once(alignment) or _is_definite(alignment, one)
    opens = alignment.sentence.tokens[one].folded in word_list("articles") | prepositions
    describes = opens and len(skipped) <= _MOST_DESCRIBING and not any(word in prepositions for word in words)
    ordinal = following.folded in ("most", "least") or following.folded.endswith("est")
    return describes and not ordinal and not any(word in word_list("privative") for word in words)


def is_told_of_once(alignment: ClaimAlignment) -> bool:
    """Whether the sentence reports what happened; what happened, happened, whatever is left out about it."""
    kept = [alignment.sentence.tokens[at].folded for at in kept_places(alignment)]
    return any(word in word_list("done") or (word.endswith("ed") and len(word) > _SHORT) for word in kept)


def _is_definite(alignment: ClaimAlignment, at: int) -> bool:
    """Whether the noun at this place is a certain one: `the visitors from Spain`, not `visitors from Spain`."""
    near = alignment.sentence.tokens[max(0, at - 2) : at]
    return (at > 0 and alignment.sentence.tokens[at].is_capital) or any(
        one.folded in word_list("articles") for one in near
    )


def _behind(alignment: ClaimAlignment, kept: Sequence[int]) -> str:
    last = kept[-1]
    sentence = alignment.sentence
    rest = sentence.tokens[last + 1 :]
    if not rest:
        return ""
    words = [token.folded for token in rest]
    return _limited(alignment, words) or _excepted(alignment, words) or _narrowed(alignment, last, words)


def _limited(alignment: ClaimAlignment, words: Sequence[str]) -> str:
    """A choice or a condition right behind what the claim keeps."""
    said = {token.folded for token in alignment.claim.tokens}
    occasion = words[0] in word_list("occasions") and not is_told_of_once(alignment)
    if words[0] in word_list("choosing") | word_list("conditions") or occasion:
        return "" if words[0] in said else f"the quote says this only '{' '.join(words[:3])}'"
    return ""


def _excepted(alignment: ClaimAlignment, words: Sequence[str]) -> str:
    """An exception behind what the claim keeps: `all windows are clean, only the one in the bath is not`."""
    denying = word_list("denying")
    if len(words) > 1 and words[0] in denying and words[1][0].isdigit():
        return ""  # `3.241 m, not 3.214 m`
    if denying & {token.folded for token in alignment.claim.tokens}:
        return ""
    word = words[0] if words[0] in denying else next((one for one in words if one in word_list("excepting")), "")
    word = word or (words[-1] if len(words) < _LONG_TAIL and words[-1] in denying else "")
    return f"the quote goes on with '{word}'" if word else ""


def _narrowed(alignment: ClaimAlignment, last: int, words: Sequence[str]) -> str:
    """What holds in general in the claim and only somewhere, sometimes or somehow in the quote: `… on a lead`."""
    told = [token.folded for token in alignment.sentence.tokens[: last + 1]]
    general = any(word in word_list("permitting") for word in told) and not any(
        word in word_list("done") for word in told
    )
    return f"the quote says this only '{' '.join(words[:3])}'" if general and words[0] in word_list("narrowing") else ""


# The other voice of a sentence: active for passive, and passive for active. Pure.
#
# Each yields the claim with its words in the order of the sentence, aligned anew; whether it then keeps the wording is
# decided as for any other (`wording`). Every word of meaning has to be the sentence's own.
#
# Example:
#     claim:   Maria Kern designed the bridge in 1902.
#     passage: The bridge was designed by Maria Kern in 1902.
#     verdict: supported
#
# Example:
#     claim:   Lomax acquired Brightwell.
#     passage: Lomax was acquired by Brightwell.
#     verdict: contradicted
#     reason:  the quote has the two sides of 'acquired' the other way round


COMPARING = ("than", "als")


def in_other_voice(alignment: ClaimAlignment) -> Iterator[ClaimAlignment]:
    """The claim in the voice of the sentence, where that is the other and all its words are the sentence's."""
    for tokens in (*_as_passive(alignment), *_as_active(alignment)):
        words = align_words(tokens, alignment.sentence.tokens, alignment.close)
        if words is None:
            continue
        if all(same or not carries_meaning(one) for one, same in zip(tokens, words.is_same, strict=True)):
            claim = replace(alignment.matched.claim, tokens=tokens)
            yield replace(alignment, matched=replace(alignment.matched, claim=claim), words=words)


def _agent_at(tokens: Sequence[Token]) -> int | None:
    """The place of `by` in `was designed by`."""
    for at in range(3, len(tokens) - 1):
        verb, be = tokens[at - 1], tokens[at - 2]
        if tokens[at].folded == "by" and verb.is_content and be.folded in word_list("being"):
            return at
    return None


def _as_passive(alignment: ClaimAlignment) -> Iterator[tuple[Token, ...]]:
    """An active claim as the passive sentence has it."""
    told, said = alignment.sentence.tokens, alignment.claim.tokens
    by = _agent_at(told)
    if by is None or _agent_at(said) is not None:
        return
    forms = {
        one.stem
        for one in said
        if told[by - 1].stem == one.stem or told[by - 1].stem in alignment.close.get(one.stem, {})
    }
    verb = next((at for at, one in enumerate(said) if one.stem in forms), None)
    if not verb:
        return
    undergoing = {one.stem for one in told[: by - 2]}
    end = verb + 1
    while end < len(said) and (said[end].stem in undergoing or not carries_meaning(said[end])):
        if said[end].folded in word_list("prepositions"):
            break
        end += 1
    yield (*said[verb + 1 : end], told[by - 2], said[verb], told[by], *said[:verb], *said[end:])


def _as_active(alignment: ClaimAlignment) -> Iterator[tuple[Token, ...]]:
    """A passive claim as the active sentence has it."""
    said = alignment.claim.tokens
    by = _agent_at(said)
    if by is None or _agent_at(alignment.sentence.tokens) is not None:
        return
    end = next((at for at in range(by + 1, len(said)) if said[at].folded in word_list("prepositions")), len(said))
    yield (*said[by + 1 : end], said[by - 1], *said[: by - 2], *said[end:])


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


def _phrase(claim: TokenSentence, at: int) -> str:
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


# Words that turn or limit a statement: may, almost, refused to, if, nobody believes that. Pure.
#
# A sentence proves a claim only where both have the same such words in the scope of what they share. One the sentence
# has and the claim lacks is dropped; one the claim has and the sentence lacks is added. Neither is a contradiction by
# itself: what is left is not proven. `only` may be dropped, and `all` may become some.
#
# Example:
#     claim:   Guests may leave the car in the yard.
#     passage: Guests may leave the car in the yard overnight.
#     verdict: supported
#
# Example:
#     claim:   Guests must leave the car in the yard.
#     passage: Guests may leave the car in the yard overnight.
#     verdict: unsupported
#     reason:  the quote has 'may' where this has 'must'
#
# Example:
#     claim:   The museum opened on Monday.
#     passage: The museum will open on Monday.
#     verdict: unsupported
#     reason:  the quote limits this by 'will'
#
# Example:
#     claim:   The ferry reached the island.
#     passage: The ferry almost reached the island.
#     verdict: unsupported
#     reason:  the quote limits this by 'almost'


# Classes of which one stands for another without saying the same: must for may.
_STRENGTHS = ("must", "should", "may", "will")
# What a claim may leave out and still be proven.
_DROPPABLE = frozenset(("only", "all", "first", "because", "before", "after"))
# What a claim may add to what is proven without it.
_ADDABLE = frozenset(("may", "some", "guess", "told", "past", "imagined"))
# What limits a statement also from behind it, up to the end of the sentence.
_TRAILING = frozenset(("if",))
# `…, he lied.`: so many words behind it.
_TAG = 2
_STOP = re.compile(r"[;:.!?]|\bbut\b|\bhowever\b|\baber\b|\bmais\b")


@dataclass(frozen=True, slots=True)
class TurningWord:
    """One such word in a sentence: its class, and its place by character."""

    kind: str
    word: str
    start: int
    end: int


@lru_cache(maxsize=1)
def _lexicon() -> tuple[dict[str, str], re.Pattern[str]]:
    text = files("citewell.check").joinpath("turning_words.toml").read_text("utf-8")
    kinds: dict[str, str] = {}
    for kind, listed in tomllib.loads(text).items():
        for word in "".join(str(listed).splitlines()).split("|"):
            kinds.setdefault(folded_text(word.strip()), kind)
    ordered = sorted(kinds, key=lambda word: (-len(word), word))
    return kinds, re.compile(rf"(?<![\w'’-])(?:{'|'.join(map(re.escape, ordered))})(?![\w'’-])")


@lru_cache(maxsize=1024)
def turnings_in(text: str) -> tuple[TurningWord, ...]:
    """The words of a text that turn or limit it, in order."""
    kinds, pattern = _lexicon()
    folded = folded_text(text)
    if len(folded) != len(text):  # a letter that folds into two would shift the places
        folded = text.casefold() if len(text.casefold()) == len(text) else text.lower()
    return tuple(
        TurningWord(kinds[match.group()], match.group(), match.start(), match.end())
        for match in pattern.finditer(folded)
        if match.group() in kinds and not _is_month(text, match) and not folded[: match.start()].endswith("not ")
    )


def _is_month(text: str, match: re.Match[str]) -> bool:
    """`May` beside a number, or in capitals within a sentence."""
    beside = text[max(0, match.start() - 3) : match.start()] + text[match.end() : match.end() + 3]
    return (
        match.group() == "may" and text[match.start()] == "M" and (match.start() > 0 or any(map(str.isdigit, beside)))
    )


def turned(alignment: ClaimAlignment) -> str:
    """In words, what turns or limits one side and not the other; empty where both agree."""
    said = turnings_in(alignment.claim.text)
    here = {one.kind for one in said}
    told = _in_scope(alignment)
    there = {one.kind for one in told}
    everywhere = {one.kind for one in turnings_in(alignment.matched.evidence.text)}
    for one in told:
        if one.kind in here or one.kind in _DROPPABLE:
            continue
        other = _of(said, _STRENGTHS) if one.kind in _STRENGTHS else None
        if other is not None and other.kind not in there:
            return substitution(one.word, other.word)
        return f"the quote limits this by '{one.word}'"
    for one in said:
        if one.kind in everywhere or one.kind in _ADDABLE:
            continue
        other = _of(told, _STRENGTHS) if one.kind in _STRENGTHS else None
        if other is not None:
            return substitution(other.word, one.word)
        return f"'{one.word}' is not in the quote"
    return ""


def _of(found: Iterable[TurningWord], kinds: tuple[str, ...]) -> TurningWord | None:
    return next((one for one in found if one.kind in kinds), None)


def _in_scope(alignment: ClaimAlignment) -> list[TurningWord]:
    """The turning words of the sentence that bear on what it shares with the claim."""
    on = [place for place, same in zip(alignment.words.counterpart, alignment.words.is_same, strict=True) if same]
    places = [alignment.sentence.tokens[place] for place in on if place is not None]
    content = [token for token in places if token.is_content or token.folded[0].isdigit()]
    if not content:
        return []
    text, base = alignment.sentence.text, alignment.sentence.start
    first, last = min(one.start for one in content) - base, max(one.end for one in content) - base
    # What stands before the shared part governs it, back to the last stop.
    opening = max((match.end() for match in _STOP.finditer(text, 0, max(first, 0))), default=0)
    closing = next((match.start() for match in _STOP.finditer(text, last)), len(text))
    return [
        one
        for one in turnings_in(text)
        if opening <= one.start < last
        or (one.kind in _TRAILING and last <= one.start < closing)
        or (one.kind == "told" and last <= one.start and len(text[one.end :].split()) <= _TAG)
    ]
