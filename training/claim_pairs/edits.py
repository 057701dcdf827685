"""One change that alters what a sentence says: the wording stays close, the truth does not.

    contrary:  "Prices rose in May."          ->  "Prices fell in May."
    negated:   "The bridge was repaired."     ->  "The bridge was not repaired."
    swapped:   "Anna defeated Ben in 1990."   ->  "Ben defeated Anna in 1990."

Every edit is a function from a sentence to another one, or to nothing where it does not apply.
"""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

from claim_pairs.lexicon import LEXICON
from claim_pairs.wording import FUNCTION_WORDS

_WORD = re.compile(r"[A-Za-z][\w-]*")
_NAME = re.compile(r"\b[A-Z][a-z]+(?:'s)?(?: (?:of |de |van )?[A-Z][a-z]+)*\b")
_SYMMETRIC = re.compile(
    r"\b(?:and|or|met|married|with|between|near|near|same|versus|like|both|than|near|neither|nor|also|called|named)\b|[,;:()]"
)
_DETAILS = (
    "secretly", "reluctantly", "accidentally", "unanimously", "illegally", "for the first time", "despite protests",
    "under pressure", "at great cost", "within a week", "without any help", "against advice", "twice", "in secret",
)  # fmt: skip
_NO_ACTOR = frozenset(LEXICON.groups["month"] + LEXICON.groups["weekday"] + LEXICON.groups["demonym"])
_NOT_AFTER = frozenset({"no", "as", "not", "any", "so", "too", "at", "how", "once", "the"})
_NOUN_AFTER_THE = frozenset({"longer", "more", "most", "less", "first", "long"})


def contrary(random: Random, text: str) -> str | None:
    hits = [match for match in _WORD.finditer(text) if match[0] in LEXICON.contraries and _stands_alone(text, match)]
    return _replaced(random, text, hits, LEXICON.contraries) if hits else None


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Not part of a fixed phrase such as "no longer" or "at least"."""
    before = text[: match.start()].rsplit(None, 1)
    previous = before[-1].lower() if before else ""
    if match[0] in _NOUN_AFTER_THE and previous in _NOT_AFTER - {"the"}:
        return False
    if match[0] in ("most", "least", "more", "less") and previous in ("at", "the", "no", "any"):
        return False
    return not (match[0] == "right" or text[match.end() : match.end() + 1] == "-")


def _replaced(random: Random, text: str, hits: list[re.Match[str]], others: dict[str, tuple[str, ...]]) -> str:
    hit = random.choice(hits)
    other = random.choice(others[hit[0]])
    before = text[: hit.start()]
    if re.search(r"\b[Aa]n? $", before):
        before = re.sub(r"([Aa])n? $", r"\1n " if other[0] in "aeiou" else r"\1 ", before)
    return before + other + text[hit.end() :]


def sibling(random: Random, text: str) -> str | None:
    """Another member of the same group: gold for silver, Tuesday for Monday."""
    hits = [match for match in _WORD.finditer(text) if LEXICON.siblings(match[0]) and not _in_a_name(text, match)]
    if not hits:
        return None
    hit = random.choice(hits)
    near = [word for word in LEXICON.siblings(hit[0]) if re.search(rf"\b{word}\b", text)]
    if near:  # a list such as "red, white and blue" is not changed by one of its own
        return None
    return _replaced(random, text, [hit], {hit[0]: LEXICON.siblings(hit[0])})


def _in_a_name(text: str, match: re.Match[str]) -> bool:
    if not match[0][0].isupper():
        return text[match.end() : match.end() + 1] == "-" or text[match.start() - 1 : match.start()] == "-"
    after = re.match(r" [A-Z]|-", text[match.end() :])
    before = re.search(r"[A-Z][a-z]+ $|-$", text[: match.start()])
    return bool(after or before)


def broader(random: Random, text: str) -> str | None:
    """A member of a group becomes "one of its kind": violin -> musical instrument."""
    hits = [match for match in _WORD.finditer(text) if LEXICON.group_of.get(match[0], "") in LEXICON.kinds_of]
    hits = [
        match
        for match in hits
        if re.search(r"\b(?:[Aa]n?|[Tt]he|his|her) (?:[a-z]+ )?$", text[: match.start()])
        and not _in_a_name(text, match)
    ]
    hits = [
        match
        for match in hits
        if not re.match(r" (?!is|are|was|were|in|on|at|with|and|to|that|who)[a-z]+", text[match.end() :])
    ]
    if not hits:
        return None
    hit = random.choice(hits)
    word = LEXICON.kinds_of[LEXICON.group_of[hit[0]]]
    before = re.sub(r"\b([Aa])n? $", r"\1n " if word[0] in "aeiou" else r"\1 ", text[: hit.start()])
    return before + word + text[hit.end() :]


_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|does|do|did)\b(?= [a-z])(?! (?:not|never|no|n't)\b)"
)


def negated(random: Random, text: str) -> str | None:
    """The first verb that can carry it gains a "not"."""
    if re.search(r"\b(?:not|never|no|neither|nor|none|nobody|without|hardly)\b|n't", text):
        return None
    match = _AUXILIARY.search(text)
    if not match or (
        match[0] in ("have", "do", "had", "has", "did")
        and not re.match(r" (?:been|\w+ed|become|made|taken|given|seen|had)\b", text[match.end() :])
    ):
        return None
    word = "cannot" if match[0] == "can" else random.choice((f"{match[0]} not", f"{match[0]} not", f"{match[0]} never"))
    return text[: match.start()] + word + text[match.end() :]


def affirmed(random: Random, text: str) -> str | None:
    """A sentence with one denial loses it."""
    if len(re.findall(r"\b(?:not|never|cannot|no|nor)\b|n't", text)) != 1 or "not only" in text:
        return None
    if match := re.search(r"\b(is|are|was|were|has|have|had|could|will|would|should|may|must) (?:not|never) ", text):
        return f"{text[: match.start()]}{match[1]} {text[match.end() :]}"
    if match := re.search(r"\bcannot\b", text):
        return f"{text[: match.start()]}can{text[match.end() :]}"
    return None


_TRANSITIVE = re.compile(
    r" (?:\w+ly )?(?:(?:was|were|had been) \w+(?:ed|en) by"
    r"|(?:\w{3,}ed|beat|taught|sold|sent|gave|told|led)(?: to| against| for)?)(?: the)? "
)


def swapped(random: Random, text: str) -> str | None:
    """Two names change places, where the verb between them tells who did what to whom."""
    names = [match for match in _NAME.finditer(text) if match[0].split()[0].lower() not in FUNCTION_WORDS]
    names = [match for match in names if not match[0].endswith("'s") and not _NO_ACTOR & set(match[0].split())]
    for left, right in pairwise(names):
        between = text[left.end() : right.start()]
        stands_free = re.match(r"[.,;]| (?:in|on|at|for|and|as|to|by|with|after|before)\b", text[right.end() :])
        if left[0] != right[0] and stands_free and _TRANSITIVE.fullmatch(between) and not _SYMMETRIC.search(between):
            return text[: left.start()] + right[0] + between + left[0] + text[right.end() :]
    return None


def detailed(random: Random, text: str) -> str | None:
    """A detail that nothing said is added."""
    match = re.search(r"\b(was|were) (?=\w+ed\b)", text)
    if not match:
        return None
    detail = random.choice(_DETAILS)
    if " " in detail or detail == "twice":
        return f"{text.rstrip('.')} {detail}."
    return f"{text[: match.end()]}{detail} {text[match.end() :]}"


def loosened(random: Random, text: str) -> str | None:
    """What happened only nearly did, or only perhaps."""
    if match := re.search(r"\b(was|were) (?=\w+ed\b)", text):
        return (
            text[: match.end()]
            + random.choice(("almost ", "nearly ", "allegedly ", "supposedly ", "possibly ", "to be ", "reportedly "))
            + text[match.end() :]
        )
    if match := re.search(r"\b(is|are|was|were) (?=(?:a|an|the) )", text):
        return (
            text[: match.end()]
            + random.choice(("allegedly ", "supposedly ", "possibly ", "perhaps ", "not necessarily "))
            + text[match.end() :]
        )
    return None


def emphasised(random: Random, text: str) -> str | None:
    """The counterpart of `loosened`: a word that takes nothing back."""
    if match := re.search(r"\b(was|were) (?=\w+ed\b)|\b(is|are|was|were) (?=(?:a|an|the) )", text):
        return (
            text[: match.end()]
            + random.choice(("indeed ", "in fact ", "certainly ", "actually ", "undeniably "))
            + text[match.end() :]
        )
    return None


_MODALS = {
    # passage -> claims that it does not prove
    "may": ("must", "will", "should"),
    "might": ("must", "will", "should"),
    "can": ("must", "should", "will"),
    "could": ("must", "will"),
    "should": ("must", "will"),
}
_SAME_MODALS = {
    "may": ("might", "could"),
    "might": ("may", "could"),
    "must": ("has to",),
    "can": ("is able to",),
    "could": ("might",),
}


def modal(random: Random, text: str) -> tuple[str, str] | None:
    """The same sentence with a weaker and with a stronger verb of obligation or possibility."""
    match = re.search(r"\b(may|might|can|could|should|must|will)\b(?= (?!not|never|have|be able)[a-z]+)", text)
    if not match:
        return None
    weak = random.choice(tuple(_MODALS))
    strong = random.choice(_MODALS[weak])
    return text[: match.start()] + weak + text[match.end() :], text[: match.start()] + strong + text[match.end() :]


def same_modal(random: Random, text: str) -> str | None:
    match = re.search(r"\b(may|might|must|can|could)\b(?= [a-z])", text)
    if not match:
        return None
    return text[: match.start()] + random.choice(_SAME_MODALS[match[0]]) + text[match.end() :]


_QUANTITIES = (
    # what the passage says, what it then does not prove, and whether it excludes it
    ("some", "all", False), ("some", "most", False), ("most", "all", False), ("many", "all", False),
    ("a few", "most", False), ("several", "all", False),
    ("all", "none of the", True), ("all", "only a few", True), ("most", "few", True),
)  # fmt: skip


def quantity(random: Random, text: str) -> tuple[str, str, bool] | None:
    """A sentence about some, many or all, and one about more or about none."""
    match = re.match(r"(Some|Many|Most|All|Several)\b(?= [a-z]+s\b)", text)
    if not match:
        return None
    said, unsaid, excluded = random.choice(_QUANTITIES)
    up = match[0][0].isupper()

    def put(word: str) -> str:
        return text[: match.start()] + (word[0].upper() + word[1:] if up else word) + text[match.end() :]

    return put(said), put(unsaid), excluded


def shortened(random: Random, text: str) -> str | None:
    """Without a bracket, an apposition, a relative clause or a closing phrase: less, but still true."""
    if re.search(r"\b(?:not|no|never|only|all|every|most|few|none|first|last|any|if|unless|[a-z]{3,}est)\b|n't", text):
        return None  # "the deepest lake in Europe" is not "the deepest lake"
    ways = (
        (r" \([^()]*\)", ""),
        (r", (?:which|who|where|whose) [^,]+(?=\.$)", ""),
        (r"(?<=[a-z]), (?:which|who|where|whose) [^,]+,(?= (?:is|was|are|were|has|had|\w+ed)\b)", ""),
        (r"(?<=[a-z]), (?:a|an|the) [^,]{4,50},(?= (?:is|was|are|were|has|had|\w+ed)\b)", ""),
        (r", (?:although|while|but|whereas|making|including|leaving|becoming|with) [^,]+(?=\.$)", ""),
        (r"^(?:However|Moreover|Furthermore|Additionally|Finally|Nevertheless|Thus|Therefore|Today), ", ""),
        (r" (?:in|on|during|at|near) (?:the |an? )?[\w]+(?: [A-Z]\w+)*(?=\.$)", ""),
        (r"\b(?<=[Aa] )(?:young|small|large|old|famous|wooden|tall|long|new|big|little) (?=[b-df-hj-np-tv-z])", ""),
    )  # fmt: skip
    for pattern, new in random.sample(ways, len(ways)):
        short = re.sub(pattern, new, text, count=1)
        if short != text and len(short.split()) >= 4 and short.endswith("."):
            return short[0].upper() + short[1:]
    return None
