"""What a question asks for: the kind of answer, the kind of value it must state, and the words that name the attribute.

A question may ask several things ("what is it, and why?"); each is one `Asked`. Rules over English question words; a
question in another language, or without a question word, asks `what` and needs no value of a particular kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from citewell.planning.normalizer import is_frame, is_intent
from citewell.text.folding import folded_text
from citewell.text.words import query_tokens

AnswerKind = Literal["who", "when", "where", "how_many", "why", "compare", "list", "yes_no", "what", "how"]
ValueKind = Literal[
    "name", "date", "number", "money", "length", "weight", "temperature", "duration", "percentage", "frequency",
    "colour", "reason", "place",
]  # fmt: skip


MAX_PARTS = 3
# What a question asks stands near its start; a pasted page is not parsed for more.
MAX_ASKED_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing a question asks for. `attributes` must be met by the answer; a known value kind may stand for them.

    It `defines` where it asks what or who something is, and `names` where it asks how something is called.
    """

    kind: AnswerKind
    value: ValueKind | None
    attributes: tuple[str, ...]
    text: str
    defines: bool = False
    names: bool = False
    # Without a question word: "kill everything on a port", "vim word count".
    is_bare: bool = False
    # It asks for several: "which supplements", "what are the parts".
    plural: bool = False


_SPLIT = re.compile(
    r"(?:[,;:]\s*(?:and\s+)?|\s+and\s+)(?=(?:how|why|when|where|who|what|which)\b)|[.?!]\s+(?=\S)", re.IGNORECASE
)
_ASKS = re.compile(r"\b(who|whom|whose|when|where|why|which|what|how)\b")
_YES_NO = re.compile(
    r"(?:am|is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|must|isn't|aren't|doesn't|didn't)\b"
)
# "Leave out notes when searching" asks for no time.
_IN_PASSING = re.compile(r"(?!(?:what|how|why|who|which|where|when)\b)\S+ .*\bwhen \w+ing\b[^?]*")
# "How far ahead", "how far in advance": a time.
_AHEAD = re.compile(r" far (?:ahead|in advance|before)\b")
# "Steps to make two whisky sours".
_STEPS = re.compile(r"(?:the )?(?:steps|instructions|directions|recipe|way|ways) (?:to|for)\b")
_IS_IT = re.compile(r"\b(?:is that|is this|is it|am i|was i)\b[^?]{0,40}\b(?:right|correct|true|wrong|still)\b")
_COMPARE = re.compile(
    r"\b(?:compare|compared|comparison|versus|vs|differ|difference|differences)\b"
    r"|\bwhich\b.+\b(?:\w{3,}est|most|least|better|best|worst)\b"
)
_LIST = re.compile(
    r"^(?:list|name|enumerate)\b|\blist (?:the|them|all|of)\b|\bwhat (?:are|were)\b|\bwhich (?:\w+ ){1,3}are\b"
)
_CAUSE = re.compile(
    r"\bwhat (?:caused|causes|led|made|explains|triggered)\b|\b(?:the |a )?(?:reason|cause)s? (?:for|of|why|behind)\b"
)
_PAY = re.compile(r"\b(?:pay|paid|pays|cost|costs|spend|spent|charge|charged|charges|price|earn|sold|worth|budget)\b")
# "When should I use it?" asks for an occasion; "when are they evaluated?" for a moment in the course of things.
_CONDITION = re.compile(r" (?:should|do|does|can|could|would|to|must|may|are|is it)\b")
# "How much sick leave do I earn": an amount of something, not of money.
_MUCH_OF = re.compile(
    r" much (?!money\b|cash\b|rent\b|per\b)(?:\w+ ){1,3}?(?:do|does|did|is|are|was|were|can|will|should) "
    r"(?!.*\b(?:cost|charge)\b)"
)
_PAID_FOR = re.compile(r"\b(?:pay|paid|pays|spend|spent) (?:it |the money )?(?:for|on)\s*(?:in|during|$|\?)")
_WHAT_IS = re.compile(r"(?:who|what) (?:is|are|was|were) [^?]{1,60}\??")
_NAME_OF = re.compile(
    r"\b(?:name|names|title) of\b|\b(?:called|named|titled)\W*$|\bwhat(?: is|'s| was) .{0,40}\bname\b"
)
_HOW_MEASURE: dict[str, tuple[AnswerKind, ValueKind]] = {
    "many": ("how_many", "number"),
    "much": ("how_many", "number"),
    "often": ("how_many", "frequency"),
    "long": ("how_many", "duration"),
    "old": ("how_many", "number"),
    "far": ("how_many", "length"),
    "deep": ("how_many", "length"),
    "high": ("how_many", "length"),
    "tall": ("how_many", "length"),
    "wide": ("how_many", "length"),
    "thick": ("how_many", "length"),
    "heavy": ("how_many", "weight"),
    "hot": ("how_many", "temperature"),
    "cold": ("how_many", "temperature"),
    "fast": ("how_many", "number"),
    "big": ("how_many", "number"),
    "large": ("how_many", "number"),
}
_VALUE_NOUNS: dict[ValueKind, str] = {
    "date": "year date day month century decade season",
    "colour": "colour color colours colors",
    "money": "price cost fee salary wage rent budget revenue income",
    "length": "height depth width length distance altitude elevation thickness diameter",
    "weight": "weight mass",
    "temperature": "temperature temperatures",
    "percentage": "percentage proportion share percent",
    "number": "number amount quantity population count capacity score size rate reserve tariff reading voltage speed",
    "duration": "duration",
    "name": "company firm organisation organization person people man woman author scientist artist king queen "
    "president minister leader actor singer country countries city town state nation region island river team "
    "university captain manager founder director owner maker manufacturer bank insurer supplier name",
}
_NOUN_VALUES: dict[str, ValueKind] = {noun: kind for kind, nouns in _VALUE_NOUNS.items() for noun in nouns.split()}
# Words that announce an answer without naming anything: no passage has to repeat them.
GENERIC = frozenset(
    """type types kind kinds sort form forms entity entities thing things process style group groups term terms word
    words example examples category categories area areas field method methods item items role case part parts concept
    factor factors aspect feature event situation handle username nickname alias article page essay tagged talk
    find""".split()
)
_OPENERS = frozenset("is are was were do does did has have had can could will would should".split())


def asked(question: str) -> tuple[Asked, ...]:
    """Everything a question asks for, in order."""
    parts = [part.strip(" ,;") for part in _SPLIT.split(question[:MAX_ASKED_CHARS])]
    asking = [part for part in parts if part and _asks_something(folded_text(part))]
    return tuple(_asked(part) for part in (asking or [question[:MAX_ASKED_CHARS]]))[:MAX_PARTS]


def _asks_something(part: str) -> bool:
    return bool(_ASKS.search(part) or _YES_NO.match(part) or _COMPARE.search(part) or _LIST.search(part))


def _asked(part: str) -> Asked:
    spoken = folded_text(part)
    kind, value = _kind_and_value(spoken)
    nouns = _attribute_nouns(spoken)
    if value is None and kind in ("what", "compare") and nouns:
        value = _NOUN_VALUES.get(nouns[-1])
    names = value == "name" and _NAME_OF.search(spoken) is not None
    defines = not names and not nouns and kind in ("who", "what") and _WHAT_IS.fullmatch(spoken) is not None
    bare = _ASKS.search(spoken) is None and _YES_NO.match(spoken) is None
    plural = kind in ("list", "what", "compare") and _PLURAL.search(spoken) is not None
    return Asked(kind, value, nouns, part, defines, names, bare, plural)


def _kind_and_value(spoken: str) -> tuple[AnswerKind, ValueKind | None]:
    if _COMPARE.search(spoken):
        return "compare", None
    if _LIST.search(spoken):
        return "list", None
    if _CAUSE.search(spoken):
        return "why", "reason"
    match = None if _IN_PASSING.fullmatch(spoken) else _ASKS.search(spoken)
    if match is None and _STEPS.match(spoken):
        return "how", None
    if _IS_IT.search(spoken) or (_YES_NO.match(spoken) and not (match and match.start() < 12)):
        return "yes_no", None
    return _by_question_word(spoken, match)


def _by_question_word(spoken: str, match: re.Match[str] | None) -> tuple[AnswerKind, ValueKind | None]:
    word = match[1] if match else "what"
    rest = spoken[match.end() :] if match else spoken
    if word in ("who", "whom", "whose"):
        return "who", "name"
    if word == "when" and _CONDITION.match(rest):
        return "when", None
    if word == "when" or re.match(r" (?:time of )?(?:the )?(?:year|day|date|time)\b", rest):
        return "when", "date"
    if word == "where":
        return "where", "place"
    if word == "why":
        return "why", "reason"
    if word == "how":
        return _how(rest, spoken)
    if _PAY.search(spoken) and re.match(r" (?:did|does|do|has|have)\b", rest) and not _PAID_FOR.search(spoken):
        return "how_many", "money"
    return "what", "name" if _NAME_OF.search(spoken) else None


def _how(rest: str, spoken: str) -> tuple[AnswerKind, ValueKind | None]:
    if _AHEAD.match(rest):
        return "how_many", "duration"
    measure = re.match(r" ([a-z]+)", rest)
    if measure is None or measure[1] not in _HOW_MEASURE:
        return "how", None
    if measure[1] == "much" and _PAY.search(spoken) and not _MUCH_OF.match(rest):
        return "how_many", "money"
    return _HOW_MEASURE[measure[1]]


def _attribute_nouns(spoken: str) -> tuple[str, ...]:
    """The words between the question word and the verb, or between `is the` and `of`: what is asked of the subject."""
    found = _NAMED.search(spoken) or _DIRECT.search(spoken) or _ASKED_OF.search(spoken) or _FIRST_WORD.search(spoken)
    if not found or found[1].split()[0] in _OPENERS:
        return ()
    tokens = query_tokens(found[1])
    meant = (token for token in tokens if not is_frame(token) and not is_intent(token))
    return tuple(token.folded for token in meant if token.folded not in GENERIC)


_NAMED = re.compile(
    r"\bnames? of (?:the |my |our |a |an |his |her |their )?((?:[\w'-]+ ?){1,4}?)(?=of\b|in\b|that\b|who\b|\W*$)"
)
_DIRECT = re.compile(
    r"\b(?:what|which|how many|how much) ((?:[\w'-]+ ){1,3}?)"
    r"(?=(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|of|that|per|in|to|for|at|on)\b)"
)
_ASKED_OF = re.compile(
    r"\bwhat (?:is|was|are|were|will be) (?:the|my|our|its|his|her|their) ((?:[\w'-]+ ){1,3}?)(?:of|for|from|in|on)\b"
)
_PLURAL = re.compile(
    r"\b(?:what|which) (?!(?:is|was|does|has|are|were) )(?:[\w'-]+ ){0,2}?"
    r"(?!(?:is|was|does|has|this|its|his)\b)[a-z]{2,}[^s\W]s\b"
)
_FIRST_WORD = re.compile(r"\bwhich ([\w'-]+)")
