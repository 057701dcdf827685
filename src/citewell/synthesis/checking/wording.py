"""Whether a claim says what one sentence says in nearly its words, with nothing added, moved or taken from its whole.

Pure. The claim is laid on the sentence word against word. A phrase may move with its preposition, an aside may be left
out, words of grammar may change. Anything else is for a judge that understands; by the wording alone it is not proven.

Example:
    claim:   In 1859 the lamp was lit.
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

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import pairwise

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, carries_meaning
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.synthesis.checking.word_alignment import align_words
from citewell.synthesis.values import MONTH_NAMES, UNITS

_PREPOSITIONS = frozenset(
    """of in on at by to from for with without about against between during before after under over through into onto
    than as since until via per than against toward towards among within along across behind beside beyond
    von in im am an auf bei mit ohne für gegen nach vor seit bis aus zu zum zur durch über unter um ab während wegen
    de du des dans sur à au aux par pour avec sans chez vers depuis pendant contre entre sous dès""".split()
)
_DENYING = frozenset("not no never nicht kein keine nie pas jamais".split())
_EXCEPTING = frozenset("except unless excluding außer ausgenommen sauf hormis".split())
_LONG_TAIL = 9
# Left out, the rest is another statement: a half line in which somebody else does something.
_JOINING = frozenset(
    """and or but because while whereas which who that where when if then so although though however than to
    und oder aber weil während der die das wenn dann obwohl et ou mais parce qui que dont quand si donc""".split()
)
_MOST_SKIPPED = 4
_OPENERS, _CLOSERS = ",;:(–—-[", ",;:)–—-].!?"
_NARROWING = frozenset(
    """in on at during for within from until between with when while after before by per only as
    im am an bei mit für während bis zwischen nur dans en à pendant avec pour sur entre""".split()
)
_GENERAL = frozenset(
    """is are can may must should will has have need needs do does cannot allowed ist sind kann können darf dürfen muss
    müssen soll hat haben est sont peut peuvent doit doivent ont""".split()
)
_PERMITTING = frozenset(
    """can may must should shall cannot allowed permitted forbidden free required kann können darf dürfen muss müssen
    soll erlaubt verboten kostenlos peut peuvent doit doivent permis interdit gratuit""".split()
)
_DONE = frozenset("was were been had did wurde wurden worden war waren été était étaient".split())
_SHORT = 4
_PRONOUNS = frozenset("it he she they this these er sie es il elle ils elles".split())
# Phrases that belong to the word before them.
_BINDING = frozenset("of by than as to von durch als zu zum zur de du des par que à".split())
_BY = ("by", "von", "durch", "par")
_VALUE_WORDS = frozenset((*MONTH_NAMES, *UNITS))
_ARTICLES = frozenset(
    """the a an this that these those his her its their our my your der die das den dem des ein eine einen einem einer
    le la les un une des ce cette ces son sa ses leur leurs""".split()
)


def differs_in_wording(alignment: ClaimAlignment) -> str:
    """In words, where the claim leaves the wording of its nearest sentence; empty where it keeps it."""
    found = _differences(alignment)
    return found if found and all(_differences(one) for one in _rotated(alignment)) else ""


def _rotated(alignment: ClaimAlignment) -> Iterator[ClaimAlignment]:
    """The claim with the phrase at its beginning put at its end, and the other way round: `In 1859 it was lit`."""
    tokens = alignment.claim.tokens
    movable = _PREPOSITIONS - _BINDING
    opens = bool(tokens) and tokens[0].folded in movable
    cuts = list(range(2, min(6, len(tokens)))) if opens else []
    cuts += [at for at in range(max(1, len(tokens) - 5), len(tokens)) if tokens[at].folded in movable]
    for cut in cuts:
        turned = (*tokens[cut:], *tokens[:cut])
        if (words := align_words(turned, alignment.sentence.tokens, alignment.close)) is not None:
            claim = replace(alignment.matched.claim, tokens=turned)
            yield replace(alignment, matched=replace(alignment.matched, claim=claim), words=words)


def _differences(alignment: ClaimAlignment) -> str:
    checks = (_moved, _other_preposition, _made_plural, _left_out, _cut_behind, _narrower, _not_done)
    return next((said for check in checks if (said := check(alignment))), "")


def _moved(alignment: ClaimAlignment) -> str:
    """Words that the sentence has, but not in this place, and not as a phrase with its preposition."""
    tokens, told = alignment.claim.tokens, alignment.sentence.tokens
    moved: list[tuple[str, str, str]] = []
    for first, last in _runs([not one for one in alignment.words.is_same]):
        # Values are compared apart, however they are written.
        content = [
            at for at in range(first, last + 1) if tokens[at].is_content and tokens[at].folded not in _VALUE_WORDS
        ]
        for block in _blocks(content, alignment):
            forms = [alignment.close.get(tokens[at].stem, {}).keys() | {tokens[at].stem} for at in block]
            found = _place_of(forms, told)
            if found is None and _is_meant(block, forms, alignment):
                continue
            if found is None:
                return f"not in this place in the quote: {' '.join(tokens[at].folded for at in block)}"
            moved.append((tokens[block[0]].folded, _before(tokens, block[0]), _before(told, found)))
    agents = _agents(alignment)
    if agents and not moved:
        return f"the quote has it done by '{agents[0]}'"
    # Active for passive: who does it stands behind `by` on one side only, and what it is done to changes place too.
    is_turned = bool(agents) or any((ours in _BY) != (theirs in _BY) for _, ours, theirs in moved)
    for word, ours, theirs in moved:
        if not (is_turned and {ours, theirs} <= {"", *_BY}) and (ours != theirs or not ours):
            return f"the quote has '{word}' in another place"
    return ""


def _is_meant(block: list[int], forms: Sequence[Set[str]], alignment: ClaimAlignment) -> bool:
    """Whether the claim names what the sentence begins with a pronoun for: `The ferry is late. It carries coal.`"""
    matched = alignment.matched
    if block[0] > _first_content(alignment.claim.tokens) + 1 or not matched.best:
        return False
    opens = alignment.whole.tokens[0].folded if alignment.whole.tokens else ""
    before = matched.evidence.sentences[matched.best - 1].stems
    return opens in _PRONOUNS and all(form & before for form in forms)


def _blocks(content: list[int], alignment: ClaimAlignment) -> list[list[int]]:
    """The words of a run as they stand in the sentence: together, or each for itself."""
    tokens = alignment.claim.tokens
    forms = [alignment.close.get(tokens[at].stem, {}).keys() | {tokens[at].stem} for at in content]
    if not content or _place_of(forms, alignment.sentence.tokens) is not None:
        return [content] if content else []
    return [[at] for at in content]


def _agents(alignment: ClaimAlignment) -> list[str]:
    """Words in their place that stand behind `by` on one side only."""
    tokens, told = alignment.claim.tokens, alignment.sentence.tokens
    return [
        tokens[at].folded
        for at, on in enumerate(alignment.words.counterpart)
        if on is not None
        and alignment.words.is_same[at]
        and tokens[at].is_content
        and (_directly_before(tokens, at) in _BY) != (_directly_before(told, on) in _BY)
    ]


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
        if tokens[place].folded in _PREPOSITIONS:
            return tokens[place].folded
        if tokens[place].folded not in _ARTICLES and carries_meaning(tokens[place]) and place < at - 1:
            return ""
    return ""


def _other_preposition(alignment: ClaimAlignment) -> str:
    tokens, told = alignment.claim.tokens, alignment.sentence.tokens
    for at, on in enumerate(alignment.words.counterpart):
        if on is None or not alignment.words.is_same[at] or not carries_meaning(tokens[at]):
            continue
        if _is_value(tokens[at]) or _is_value(told[on]):
            continue
        ours, theirs = _directly_before(tokens, at), _directly_before(told, on)
        if theirs and not ours and at == _first_content(tokens):
            return f"the quote says this '{theirs}' {_phrase(alignment.claim, at)}, not of it as a whole"
        if ours and theirs and ours != theirs:
            return f"the quote has '{theirs}' where this has '{ours}'"
    return ""


def _is_value(token: Token) -> bool:
    return token.folded[0].isdigit() or token.folded in _VALUE_WORDS


def _directly_before(tokens: Sequence[Token], at: int) -> str:
    place = at - 1
    while place >= 0 and tokens[place].folded in _ARTICLES:
        place -= 1
    return tokens[place].folded if place >= 0 and tokens[place].folded in _PREPOSITIONS else ""


def _first_content(tokens: Sequence[Token]) -> int:
    return next((at for at, token in enumerate(tokens) if carries_meaning(token)), -1)


def _phrase(claim: Sentence, at: int) -> str:
    first = at - 1 if at and claim.tokens[at - 1].folded in _ARTICLES else at
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
    return tokens[at - 1].folded in (
        "to",
        "will",
        "can",
        "may",
        "must",
        "should",
        "would",
        "could",
        "i",
        "we",
        "you",
        "they",
    )


def _left_out(alignment: ClaimAlignment) -> str:
    """Words skipped within the part the claim keeps: an aside may go, half a sentence may not."""
    told, text, base = alignment.sentence.tokens, alignment.sentence.text, alignment.sentence.start
    for one, other in pairwise(sorted(_kept(alignment))):
        skipped = told[one + 1 : other]
        if not any(carries_meaning(token) for token in skipped):
            continue
        opening = text[told[one].end - base : skipped[0].start - base]
        closing = text[skipped[-1].end - base : told[other].start - base]
        aside = any(mark in opening for mark in _OPENERS) and any(mark in closing for mark in _CLOSERS)
        joins = any(token.folded in _JOINING for token in skipped)
        phrase = skipped[0].folded in _PREPOSITIONS and not joins
        if not aside and not phrase and (joins or len(skipped) > _MOST_SKIPPED):
            return f"left out of the quote: {' '.join(token.folded for token in skipped[:6])}"
    return ""


def _kept(alignment: ClaimAlignment) -> list[int]:
    """The places of the sentence that the claim keeps."""
    pairs = zip(alignment.words.counterpart, alignment.words.is_same, strict=True)
    return [on for on, same in pairs if on is not None and same]


def _narrower(alignment: ClaimAlignment) -> str:
    """What holds in general in the claim and only somewhere, sometimes or somehow in the quote: `… on a lead`.

    What happened once happened, whatever is left out about it.
    """
    last = max(_kept(alignment), default=None)
    told = [token.folded for token in alignment.sentence.tokens]
    if last is None or last + 1 >= len(told) or told[last + 1] not in _NARROWING:
        return ""
    general = any(word in _PERMITTING for word in told[: last + 1]) and not any(word in _DONE for word in told[:last])
    return f"the quote says this only '{' '.join(told[last + 1 : last + 4])}'" if general else ""


def _not_done(alignment: ClaimAlignment) -> str:
    """Something done in the claim that the quote has as a note to do it."""
    said = [token.folded for token in alignment.claim.tokens]
    told = [token.folded for token in alignment.sentence.tokens]
    done = any(word in _DONE for word in said) and not any(word in _DONE or word in _GENERAL for word in told)
    behind = next((at for at, word in enumerate(said) if word in _DONE), len(said))
    same = set(said[behind + 1 : behind + 4]) & set(told) - _ARTICLES - _PREPOSITIONS
    acts = any(word.endswith("ed") and len(word) > _SHORT for word in told)
    return "the quote does not say that it was done" if done and not same and not acts else ""


def _cut_behind(alignment: ClaimAlignment) -> str:
    """An exception right behind what the claim keeps: `all windows are clean, only the one in the bath is not`."""
    last = max(_kept(alignment), default=None)
    if last is None:
        return ""
    sentence = alignment.sentence
    rest = [token.folded for token in sentence.tokens[last + 1 :]]
    claimed = {token.folded for token in alignment.claim.tokens}
    if len(rest) > 1 and rest[0] in _DENYING and rest[1][0].isdigit():
        return ""  # `3.241 m, not 3.214 m`
    if not rest or _DENYING & claimed:
        return ""
    word = rest[0] if rest[0] in _DENYING else next((one for one in rest if one in _EXCEPTING), "")
    word = word or (rest[-1] if len(rest) < _LONG_TAIL and rest[-1] in _DENYING else "")
    return f"the quote goes on with '{word}'" if word else ""


def _runs(holds: Sequence[bool]) -> list[tuple[int, int]]:
    """The stretches of places where it holds, first and last of each."""
    found: list[tuple[int, int]] = []
    for at, one in enumerate(holds):
        if one and found and found[-1][1] == at - 1:
            found[-1] = (found[-1][0], at)
        elif one:
            found.append((at, at))
    return found
