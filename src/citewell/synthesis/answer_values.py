"""Whether a passage states a value of the kind a question asks for, and not only what the question gives. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.synthesis.asking import Asked, ValueKind
from citewell.synthesis.names import Spelling, names_in
from citewell.synthesis.values import Quantity, dates_in, quantities_in
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word
from citewell.text.words import index_terms, stem

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
class Given:
    """What the question itself already states: no answer to itself."""

    names: frozenset[str]
    dates: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def by(cls, question: str) -> Given:
        folded = frozenset(index_terms(question, "en").split())
        dates = frozenset(date.stated for date in dates_in(question))
        return cls(folded, dates, frozenset(quantity.value for quantity in quantities_in(question)))


def value_strength(asked: Asked, text: str, given: Given, spelling: Spelling) -> float:
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


def _name_strength(asked: Asked, text: str, given: Given, spelling: Spelling) -> float:
    """A new name counts fully; for the name *of* something it has to stand beside the word for that thing.

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


def _may_open_with_a_name(text: str, given: Given, spelling: Spelling) -> bool:
    """Whether the first word, which has a capital anyway, is one that the evidence never writes without."""
    first = _WORD.match(text)
    if first is None or not first.group()[0].isupper() or is_stop_word(folded := folded_text(first.group())):
        return False
    return folded not in spelling.lower and stem(folded, "en") not in given.names


def _wanted(asked: Asked) -> str:
    """The word for the thing whose name is asked for: its stem, or as a name where the question writes it as one."""
    if not asked.attributes:
        return ""
    word = asked.attributes[-1]
    return f"{word} " if word.capitalize() in _WORD.findall(asked.text) else stem(word, "en")


def speaks_of_its_day(text: str) -> bool:
    """Whether a text says when by the day it was written on."""
    return _RELATIVE.search(folded_text(text)) is not None


def _place_strength(text: str, given: Given, spelling: Spelling) -> float:
    places = [match.group() for match in _WHERE.finditer(text)]
    if any(_new_names(place, given, spelling) for place in places):
        return 1.0
    return 0.7 if places else 0.3


def _new_names(text: str, given: Given, spelling: Spelling) -> list[str]:
    """Names that the question does not give already."""
    return [name for name in names_in(text, spelling) if not set(index_terms(name, "en").split()) <= given.names]


def _date_strength(text: str, given: Given) -> float:
    new = [date for date in dates_in(text) if date.stated not in given.dates]
    if new:
        return 1.0 if any(date.year or date.day for date in new) else 0.8
    times = {match.group() for match in _TIME.finditer(folded_text(text))}
    if any(time not in given.dates for time in times):
        return 0.6
    return 0.4 if _DURING.search(text) or speaks_of_its_day(text) else 0.0


def _quantity_strength(asked: Asked, kind: ValueKind, text: str, given: Given) -> float:
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


def _duration_strength(asked: Asked, new: list[Quantity], text: str) -> float:
    """How long something is, or has been, without a number of days or years: 40 m, since 1950, for decades."""
    spoken = folded_text(asked.text)
    if _HOW_LONG_IS.search(spoken) and any(quantity.measure == "length" for quantity in new):
        return 1.0
    return 0.6 if _SPAN_OF_TIME.search(folded_text(text)) else 0.0
