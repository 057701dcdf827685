"""What a question asks for: the kind of answer, the kind of value it must state, and the words that name the attribute.

A question may ask several things ("what is it, and why?"); each is one `QuestionPart`. Rules over English question
words; a question in another language, or without a question word, asks `what` and needs no value of a particular kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from citewell.answer.passages import Passage
from citewell.answer.values import MONTH_NAMES, NUMBER_WORDS, Quantity, WordCase, dates_in, names_in, quantities_in
from citewell.check.lexicon import opposites, others_of, stemmed_groups, synonyms, verb_forms
from citewell.search.query import QueryPlan, forms_of, is_frame, is_intent
from citewell.text.canonical import folded_text
from citewell.text.languages import is_stop_word
from citewell.text.words import compound_forms, compound_terms, index_terms, query_tokens, stem

AnswerKind = Literal["who", "when", "where", "how_many", "why", "compare", "list", "yes_no", "what", "how"]
ValueKind = Literal[
    "name", "date", "number", "money", "length", "weight", "temperature", "duration", "percentage", "frequency",
    "colour", "reason", "place",
]  # fmt: skip


MAX_PARTS = 3
# What a question asks stands near its start; a pasted page is not parsed for more.
MAX_ASKED_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class QuestionPart:
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


def asked(question: str) -> tuple[QuestionPart, ...]:
    """Everything a question asks for, in order."""
    parts = [part.strip(" ,;") for part in _SPLIT.split(question[:MAX_ASKED_CHARS])]
    asking = [part for part in parts if part and _asks_something(folded_text(part))]
    return tuple(_asked(part) for part in (asking or [question[:MAX_ASKED_CHARS]]))[:MAX_PARTS]


def _asks_something(part: str) -> bool:
    return bool(_ASKS.search(part) or _YES_NO.match(part) or _COMPARE.search(part) or _LIST.search(part))


def _asked(part: str) -> QuestionPart:
    spoken = folded_text(part)
    kind, value = _kind_and_value(spoken)
    nouns = _attribute_nouns(spoken)
    if value is None and kind in ("what", "compare") and nouns:
        value = _NOUN_VALUES.get(nouns[-1])
    names = value == "name" and _NAME_OF.search(spoken) is not None
    defines = not names and not nouns and kind in ("who", "what") and _WHAT_IS.fullmatch(spoken) is not None
    bare = _ASKS.search(spoken) is None and _YES_NO.match(spoken) is None
    plural = kind in ("list", "what", "compare") and _PLURAL.search(spoken) is not None
    return QuestionPart(kind, value, nouns, part, defines, names, bare, plural)


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
    if _YES_NO.match(spoken) and not (match and match.start() < 12):
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


# Whether a passage states a value of the kind a question asks for, and not only what the question gives. Pure.


# A value without which a passage cannot be the answer, however much it speaks of the subject.
DECIDING: frozenset[ValueKind] = frozenset(
    {"date", "number", "money", "length", "weight", "temperature", "duration", "percentage", "frequency", "colour"}
)
_MEASURED: frozenset[ValueKind] = frozenset({"money", "length", "weight", "temperature", "duration", "percentage"})
_FREQUENT: tuple[ValueKind, ...] = ("duration", "percentage")
_TIME = re.compile(
    r"""\b(?:\d{1,2}(?:st|nd|rd|th)[ ](?:and[ ]\d{1,2}\w\w[ ])?centur(?:y|ies)|\d{3,4}0?s\b|\d{1,4}[ ](?:bc|ad|bce|ce)\b
      |(?:spring|summer|autumn|winter|easter|christmas|midsummer)\b|\d{1,2}:\d{2}|\d{1,2}[ ]?(?:am|pm)|o'clock
      |(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:\w+[ ])?(?:years?|months?|weeks?|days?)[ ](?:ago|later|after)
      |ad[ ]\d{1,4}|(?:1[0-9]|20)\d\d)\b""",
    re.VERBOSE,
)
_FREQUENCY = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|annually|hourly|once|twice|per (?:day|week|month|year)"
    r"|(?:a|times a) (?:day|week|month|year))\b"
)
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|caused by|as a result|so that|in order to|thanks to|therefore|led to|reason"
    r"|reasons|to avoid|to prevent|in response to|resulted|result of|on account of|hence|why|prompted|attributed"
    r"|causes?|caused|blamed|ascribed?|for fear|so as to|(?:intended|designed|meant|aimed|wanted|needed) to)\b"
    r"|, (?:so|as) "
)
_CALLED = re.compile(r"\b(?:called|named|known as|referred to as|termed|dubbed|nicknamed|goes by|answers to)\b")
_SPAN_OF_TIME = re.compile(
    r"\b(?:since|until|from|between) (?:\w+ ){0,3}\d{3,4}s?\b|\b(?:decades|centuries|generations)\b"
)
_HOW_LONG_IS = re.compile(r"\bhow long (?:is|are|was|were)\b")
_ASIDE = re.compile(r"\([^()]{2,60}\)|[\"“][^\"“”]{2,60}[\"”]")
_SOME = re.compile(r"\b(?:several|single|dozens|hundreds|thousands|millions|both|couple|half)\b")
_DURING = re.compile(r"\b(?:since|during|after|before|until) (?:the )?[A-Z]")
_WHERE = re.compile(
    r"\b(?:in|at|near|from|on|to|off|above|below|behind|beside|under|between|inside|outside|north|south|east|west)"
    r" (?:[\w'’-]+ ){0,4}[\w'’-]+"
)
_RELATIVE = re.compile(r"\b(?:yesterday|today|tonight|tomorrow|last night|this (?:morning|afternoon|evening))\b")
_BESIDE = 6
_WORD = re.compile(r"[\w'-]+")
_COLOUR = re.compile(
    r"\b(?:red|green|blue|yellow|black|white|gr[ea]y|brown|orange|purple|pink|violet|turquoise|crimson|scarlet|golden"
    r"|navy|cream|beige|maroon|teal|ochre|silver)\b"
)


@dataclass(frozen=True, slots=True)
class QuestionValues:
    """What the question itself already states: no answer to itself."""

    names: frozenset[str]
    dates: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def by(cls, question: str) -> QuestionValues:
        folded = frozenset(index_terms(question, "en").split())
        dates = frozenset(date.stated for date in dates_in(question))
        return cls(folded, dates, frozenset(quantity.value for quantity in quantities_in(question)))


def value_strength(asked: QuestionPart, text: str, given: QuestionValues, spelling: WordCase) -> float:
    """From 0 (no such value) to 1 (just what was asked for); 0.5 where any passage may do."""
    match asked.value:
        case None:
            return 0.5
        case "date":
            return _date_strength(text, given)
        case "name":
            return _name_strength(asked, text, given, spelling)
        case "reason":
            return 1.0 if _REASON.search(folded_text(text)) else 0.3
        case "place":
            return _place_strength(text, given, spelling)
        case "colour":
            return 1.0 if _COLOUR.search(folded_text(text)) else 0.0
        case "frequency":
            if _FREQUENCY.search(folded_text(text)):
                return 1.0
            return max(_quantity_strength(asked, kind, text, given) for kind in _FREQUENT)
        case measured:
            return _quantity_strength(asked, measured, text, given)


def _name_strength(asked: QuestionPart, text: str, given: QuestionValues, spelling: WordCase) -> float:
    """A new name counts fully; for the name *of* something it has to are beside the word for that thing.

    What something is called may also be a common word, in brackets or quotation marks.
    """
    new = _new_names(text, given, spelling)
    if not asked.names:
        return 1.0 if new else 0.6 if _may_open_with_a_name(text, given, spelling) else 0.0
    # As written: "Ross & Son" is a name, not somebody's son.
    spoken = [stem(word, "en") if word.islower() else f"{word.lower()} " for word in _WORD.findall(text)]
    named = {f"{name} " for name in new}
    places = [at for at, word in enumerate(spoken) if word == _wanted(asked)]
    if _CALLED.search(folded_text(text)):
        return 1.0
    if any(named & set(spoken[max(0, at - _BESIDE) : at + _BESIDE + 1]) for at in places):
        return 1.0
    aside = not asked.attributes and _ASIDE.search(text)
    return 0.5 if aside else 0.4 if new else 0.0


def _may_open_with_a_name(text: str, given: QuestionValues, spelling: WordCase) -> bool:
    """Whether the first word, which has a capital anyway, is one that the evidence never writes without."""
    first = _WORD.match(text)
    if first is None or not first.group()[0].isupper() or is_stop_word(folded := folded_text(first.group())):
        return False
    return folded not in spelling.lower and stem(folded, "en") not in given.names


def _wanted(asked: QuestionPart) -> str:
    """The word for the thing whose name is asked for: its stem, or as a name where the question writes it as one."""
    if not asked.attributes:
        return ""
    word = asked.attributes[-1]
    return f"{word} " if word.capitalize() in _WORD.findall(asked.text) else stem(word, "en")


def speaks_of_its_day(text: str) -> bool:
    """Whether a text says when by the day it was written on."""
    return _RELATIVE.search(folded_text(text)) is not None


def _place_strength(text: str, given: QuestionValues, spelling: WordCase) -> float:
    places = [match.group() for match in _WHERE.finditer(text)]
    if any(_new_names(place, given, spelling) for place in places):
        return 1.0
    return 0.7 if places else 0.3


def _new_names(text: str, given: QuestionValues, spelling: WordCase) -> list[str]:
    """Names that the question does not give already."""
    return [name for name in names_in(text, spelling) if not set(index_terms(name, "en").split()) <= given.names]


def _date_strength(text: str, given: QuestionValues) -> float:
    new = [date for date in dates_in(text) if date.stated not in given.dates]
    if new:
        return 1.0 if any(date.year or date.day for date in new) else 0.8
    times = {match.group() for match in _TIME.finditer(folded_text(text))}
    if any(time not in given.dates for time in times):
        return 0.6
    return 0.4 if _DURING.search(text) or speaks_of_its_day(text) else 0.0


def _quantity_strength(asked: QuestionPart, kind: ValueKind, text: str, given: QuestionValues) -> float:
    new = [quantity for quantity in quantities_in(text) if quantity.value not in given.numbers]
    if kind in _MEASURED:
        if any(quantity.measure == kind for quantity in new):
            return 1.0
        return _duration_strength(asked, new, text) if kind == "duration" else 0.0
    wanted = {stem(noun, "en") for noun in asked.attributes}
    if any(stem(quantity.unit, "en") in wanted for quantity in new):
        return 1.0
    if new:
        return 0.8
    return 0.4 if _SOME.search(folded_text(text)) else 0.0


def _duration_strength(asked: QuestionPart, new: list[Quantity], text: str) -> float:
    """How long something is, or has been, without a number of days or years: 40 m, since 1950, for decades."""
    spoken = folded_text(asked.text)
    if _HOW_LONG_IS.search(spoken) and any(quantity.measure == "length" for quantity in new):
        return 1.0
    return 0.6 if _SPAN_OF_TIME.search(folded_text(text)) else 0.0


# Words of the evidence of one root with a word of the question, and words that rule it out. Pure.
#
# A question says "Britain" or "measured" where a note says "British" or "measurement". Roots are told by endings, so
# words may be taken for related that are not ("general" and "generate"): a related word lends support at a discount,
# and numbers, versions and tags have none.


_LEAST_ROOT = 4
# Where both words have an ending, the root has to be longer: Martin is no marten.
_LEAST_BARE_ROOT = 5
_LONGEST = 24
# With the fewest letters the rest must have: "import" is not the contrary of "port".
_DENYING = {"un": 4, "non": 4, "in": 7, "im": 7, "ir": 7}

# What English stems of one root may differ in.
_ENDINGS = frozenset(
    """a al an anc ant ar ari at ate ation ator e ean ed en enc ent er es ese i ia ial ian ic ici ier if ifi il in ing
    ion is ish ism ist it iti ity iv ive iz ize ment n ness or ori ous s t th tion ur y""".split()
)

_PEOPLE_OF = others_of(stemmed_groups("peoples"))
_INSTEAD_OF = others_of(stemmed_groups("exclusive"))


def same_root_words(forms: Iterable[str], stems: frozenset[str]) -> frozenset[str]:
    """The stems of the evidence that are of one root with one of these forms."""
    found: set[str] = set()
    for form in forms:
        if form.isalpha() and len(form) <= _LONGEST:
            # A short word, such as an initialism, is related to its plural only.
            found |= (_PEOPLE_OF.get(form, frozenset()) | {f"{form}s"}) & stems
            found.update(one for one in stems if one[:3] == form[:3] and _share_a_root(form, one))
    return frozenset(found.difference(forms))


def excluding_words(forms: Iterable[str], stems: frozenset[str]) -> frozenset[str]:
    """The stems of the evidence that rule a word out: unpopular for popular, fourth for fifth."""
    found: set[str] = set()
    for form in forms:
        found |= _INSTEAD_OF.get(form, frozenset()) & stems
        for prefix, least in _DENYING.items():
            if len(form) >= least and f"{prefix}{form}" in stems:
                found.add(f"{prefix}{form}")
            if form.startswith(prefix) and len(form) - len(prefix) >= least and form[len(prefix) :] in stems:
                found.add(form[len(prefix) :])
    return frozenset(found)


def _share_a_root(one: str, other: str) -> bool:
    """Whether what two words have in common is long enough, and only endings tell them apart."""
    common = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        common += 1
    # An ending may begin with a letter that both words have.
    for at in range(max(_LEAST_ROOT, common - 2), common + 1):
        endings = {ending for ending in (one[at:], other[at:]) if ending}
        if endings <= _ENDINGS and (len(endings) < 2 or at >= _LEAST_BARE_ROOT):
            return True
    return False


# The question as extraction sees it: its terms with what each is worth, and how well a passage speaks of them.
#
# A term counts fully in the passage itself and at a discount in what surrounds it: a sentence may lean on its heading,
# the line before its list or the sentence before it, but not on another page of the same document.


MAX_TERMS = 32
_SYNONYM = 0.7
_AKIN = 0.85
_UNSEEN_WEIGHT = 5.0
_GENERIC_WORTH = 0.4
_ASIDE_WORTH = 0.35
_TERM_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class TopicTerm:
    """One term of the question; `parts` holds, for each of its words, the stems that match it."""

    text: str
    parts: tuple[frozenset[str], ...]
    wholes: frozenset[str]
    near: frozenset[str]
    opposed: frozenset[str]
    weight: float
    is_exact: bool
    is_dense: bool
    is_unseen: bool = False  # no passage of the whole corpus has it
    related: frozenset[str] = frozenset()  # stems of the evidence that are of one root with it

    def aside(self) -> TopicTerm:
        """The term where another part of the question mentions it: it still tells what the answer is about."""
        return replace(self, weight=self.weight * _ASIDE_WORTH, is_exact=False, is_unseen=False)

    def among(self, stems: frozenset[str]) -> TopicTerm:
        """The term with the words of the evidence related to it, and those that say its contrary."""
        if self.is_exact or self.is_dense or len(self.parts) != 1:
            return self
        opposed = self.opposed | excluding_words(self.parts[0], stems)
        return replace(self, related=same_root_words(self.parts[0], stems), opposed=opposed)

    def support(self, bag: frozenset[str], *, meanings: bool = True) -> float:
        """How far a bag of stems speaks of this term."""
        if not self.wholes.isdisjoint(bag):
            return 1.0
        if self.is_dense:
            # Without spaces a whole question is one run: what share of its pairs of characters is there?
            return sum(not part.isdisjoint(bag) for part in self.parts) / len(self.parts)
        # The parts of a version or a date say nothing out of order: 2.0 is not in 1.2.0.
        if len(self.parts) == 1:
            if not self.parts[0].isdisjoint(bag):
                return 1.0
        elif self.parts and not self.is_exact and not any(part.isdisjoint(bag) for part in self.parts):
            return 1.0
        if not self.opposed.isdisjoint(bag):
            return 0.0
        if not self.related.isdisjoint(bag):
            return _AKIN
        return 0.0 if not meanings or self.near.isdisjoint(bag) else _SYNONYM


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """What the question is about."""

    terms: tuple[TopicTerm, ...]

    def about(self, said: frozenset[str]) -> QuestionTerms:
        """The same topic for a part of the question with these stems."""
        return QuestionTerms(tuple(term if term.support(said, meanings=False) else term.aside() for term in self.terms))

    def among(self, stems: frozenset[str]) -> QuestionTerms:
        """The same topic for evidence with these stems: each term with the words related to it."""
        return QuestionTerms(tuple(term.among(stems) for term in self.terms))


def _is_unseen(text: str, unseen: Collection[str]) -> bool:
    """Whether nothing in the corpus has a word, or one part of a compound: `two-pizza` where none has pizza."""
    parts = _TERM_WORD.findall(text) if "-" in text else [text]
    return text not in GENERIC and (text in unseen or any(part in unseen for part in parts))


def topic_of(
    plan: QueryPlan, weights: Mapping[str, float], unseen: Collection[str], languages: Sequence[str]
) -> QuestionTerms:
    """The terms of a planned question with their weights; words that name a unit match its symbols."""
    spoken = ("en", *languages)
    texts = [text for text in dict.fromkeys(plan.terms) if not is_stop_word(text, spoken)] or plan.terms
    terms = [replace(_term(text, weights, languages), is_unseen=_is_unseen(text, unseen)) for text in texts]
    # What a follow-up points back to is no word of it, and still what its answer must be about.
    terms += [_term(text, weights, languages).aside() for text in _pointed_at(plan)]
    said = folded_text(plan.text_query).split()
    terms += [_term(word, {word: _RELATION_WEIGHT}, languages) for word in _RELATIONS if word in said[1:]]
    telling = sorted(terms, key=lambda term: -term.weight)[:MAX_TERMS]
    return QuestionTerms(tuple(term for term in terms if term in telling))


def _pointed_at(plan: QueryPlan) -> list[str]:
    """The words of earlier questions that stand before a follow-up in what is searched for."""
    spoken = bag_of(plan.text_query, None)
    carried = [text for one in plan.concepts if one.role in ("anchor", "content") for text in one.terms]
    return [text for text in dict.fromkeys(carried) if text not in plan.terms and bag_of(text, None) <= spoken]


def _term(text: str, weights: Mapping[str, float], languages: Sequence[str]) -> TopicTerm:
    tokens = query_tokens(text)
    parts = tuple(part for token in tokens for part in token.parts)
    stems = tuple(_forms(part, languages) for part in parts)
    wholes = frozenset(form for token in tokens if token.is_compound for form in compound_forms(token.folded))
    near = frozenset(near for forms in stems for form in forms for near in synonyms(form)) if len(parts) == 1 else ()
    opposed = frozenset(other for forms in stems for form in forms for other in opposites(form))
    known = [weights[name] for name in (text, *parts) if name in weights]
    exact = any(map(str.isdigit, text)) or text[:1] in "@#"
    weight = max(known, default=_UNSEEN_WEIGHT) * (_GENERIC_WORTH if text in GENERIC else 1.0)
    return TopicTerm(
        text,
        _with_number_words(stems, text),
        wholes,
        frozenset(near),
        opposed,
        weight,
        exact,
        any(token.is_dense for token in tokens),
    )


def _forms(word: str, languages: Sequence[str]) -> frozenset[str]:
    stems = forms_of(word, languages)
    return frozenset((*stems, *(form for one in stems for form in verb_forms(one))))


def _with_number_words(stems: tuple[frozenset[str], ...], text: str) -> tuple[frozenset[str], ...]:
    """A small number matches its word and the other way round."""
    values = [quantity.value for quantity in quantities_in(text)]
    if len(stems) != 1 or len(values) != 1 or values[0] not in NUMBER_WORDS:
        return stems
    return (stems[0] | {values[0], stem(NUMBER_WORDS[values[0]], "en")},)


@lru_cache(maxsize=4_096)
def bag_of(text: str, language: str | None) -> frozenset[str]:
    """The stems of a text, its compounds, and what its symbols and dates spell out: `MWh`, `Jan`, `2025-04-01`."""
    stems = frozenset(index_terms(text, language).split())
    spelled = [_UNIT_NAMES[form] for form in sorted(stems) if form in _UNIT_NAMES]
    if _DATED.search(text):
        spelled += [f"{date.year or ''} {MONTH_NAMES[date.month]}" for date in dates_in(text)]
    written = frozenset(index_terms(" ".join(spelled), "en").split())
    return stems | written | frozenset(compound_terms(text).split())


_DATED = re.compile(r"\d")


# `MWh` also says megawatt hour; only symbols that are not words of their own are spelled out.
_UNIT_NAMES = {
    "kwh": "kilowatt hour",
    "mwh": "megawatt hour",
    "gwh": "gigawatt hour",
    "kw": "kilowatt",
    "mw": "megawatt",
    "km": "kilometre kilometer",
    "cm": "centimetre centimeter",
    "mm": "millimetre millimeter",
    "kg": "kilogram kilo",
    "t": "tonne ton",
    "m": "metre meter",
    "mph": "mile hour",
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The stems of a passage and of what it may lean on, each with what a word there is worth, the most first."""

    own: frozenset[str]
    around: tuple[tuple[float, frozenset[str]], ...]

    def support(self, term: TopicTerm) -> float:
        best = term.support(self.own)
        for worth, bag in self.around:
            if worth <= best:
                break
            best = max(best, worth * term.support(bag, meanings=False))
        return best


# Before, after, during: they tie a question to one of several times, so a passage that has them fits better.
_RELATIONS = ("before", "after", "during", "until", "since", "without")
_RELATION_WEIGHT = 1.5
_LEANING = frozenset("it he she they this that these those his her its their him them both".split())


def leans_back(passage: Passage) -> bool:
    """Whether a passage opens with a word that only the sentence before it explains."""
    first = folded_text(passage.shown[:12]).lstrip("\"'“‘(").partition(" ")[0]
    return first in _LEANING


_REVERSES = re.compile(
    r"^(?:but|however|yet|though|although|nevertheless|instead|except|unless|on the contrary|actually|in fact"
    r"|unfortunately)\b"
    r"|\b(?:myth|not true|no longer|except)\b"
)


def reverses(text: str) -> bool:
    """Whether a sentence takes back or limits what was said just before it."""
    return _REVERSES.search(folded_text(text)) is not None


def surroundings_of(passage: Passage, language: str | None, document: frozenset[str], aliases: str) -> Surroundings:
    """A passage with its heading, lead, neighbours and document; `document` is the bag of the whole window."""
    source = passage.source
    before = 0.8 if leans_back(passage) else 0.5
    around = (
        (0.9, passage.header_text),
        (0.75, passage.lead),
        (0.75, aliases),
        (0.95 if passage.kind == "property" else 0.7, f"{source.title} {passage.heading or source.heading or ''}"),
        (0.5, f"{' '.join(source.user_tags)} {(source.note_path or '').replace('/', ' ')}"),
        (before, passage.before),
        (0.35, passage.after),
    )
    bags = [*((worth, bag_of(text, language)) for worth, text in around if text), (0.25, document)]
    # A tag is a statement about the whole note: every passage of it is tagged.
    tags = frozenset(f"#{folded_text(tag).lstrip('#')}" for tag in source.user_tags)
    by_worth = tuple(sorted(bags, key=lambda one: -one[0]))
    return Surroundings(bag_of(passage.shown, language) | tags, by_worth)
