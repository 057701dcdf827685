"""The engine of the families: which one a question belongs to, and its parts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from citewell.domain.documents import SourceType
from citewell.domain.queries import FamilyName, Variant
from citewell.planning.families.family import Family
from citewell.planning.families.table import FAMILIES, GENERAL
from citewell.planning.normalizer import Normalized, is_function_word, is_intent, strip_filler
from citewell.planning.overviews import bare_topic, overview_topic
from citewell.text.words import query_tokens

# Longer questions are texts: patterns that look for a whole sentence say nothing about them.
MAX_CHARS = 400
_MAX_VALUES = 6
_YEAR = re.compile(r"(?<!\w)(?:1[5-9]|20|21)\d\d(?!\w)")
_SEVERAL = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|vs\.?|versus)\s+", re.IGNORECASE)
_BARE = re.compile(
    r"^(?:the|an?|my|our|his|her|their|der|die|das|den|dem|le|la|les|el|los|las)\s+|^l['’]", re.IGNORECASE
)
# The end of a topic that only says when.
_RANGE = re.compile(
    r"\s+(?:from|since|between|in|until|before|after|during)\s+\D{0,20}(?:1[5-9]|20|21)\d\d\b.*$", re.IGNORECASE
)
_FIELD = re.compile(r"\{(\w+)\}")

Parts = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Recognised:
    """A question's family with the parts its rules work on."""

    family: Family
    parts: Parts

    def is_cleaned_away(self, word: str) -> bool:
        return word in self.family.cleanup and word not in self.parts.get("kept", ())

    def is_optional(self, word: str) -> bool:
        return any(word in self.parts.get(part, ()) for part in self.family.optional)

    def required(self) -> Iterator[tuple[str, str]]:
        """Parts that must be found as a whole: which part, and each of its values."""
        for part in self.family.required:
            for value in self.parts.get(part, ()):
                yield part, value

    def variants(self) -> Iterator[Variant]:
        for rule in self.family.variants:
            names = _FIELD.findall(rule.template)
            # A part that a question lacks leaves a gap, but the first one is what the rule is about.
            values = [self.parts.get(name, ("",)) for name in names]
            if not names or not self.parts.get(names[0]):
                continue
            for chosen in list(product(*values))[:_MAX_VALUES]:
                query = rule.template.format(**dict(zip(names, chosen, strict=True)))
                yield Variant(rule.kind, " ".join(query.split()), rule.weight)

    def source_types(self, question: Normalized) -> tuple[SourceType, ...]:
        """The kinds of source the question points to."""
        found = [kind for token in question.tokens for kind in self.family.sources.get(token.folded, ())]
        return tuple(dict.fromkeys(found))


def recognise(question: Normalized, *, is_correction: bool = False, leaves_out: bool = False) -> Recognised:
    """The first family that has the question; a topic and nothing else is an overview, anything more is general."""
    text = " ".join(question.question.split())
    if is_correction:
        return Recognised(_family("corrective"), _with_common({}, question))
    if len(text) > MAX_CHARS:
        return Recognised(GENERAL, {})
    for family in FAMILIES:
        parts = _overview(text) if family.name == "overview" else _matched(family, text)
        if parts is not None:
            return _completed(family, parts, question)
    if not leaves_out and (topic := bare_topic(question)):
        return _completed(_family("overview"), {"topic": (topic,)}, question)
    return Recognised(GENERAL, {})


def _family(name: FamilyName) -> Family:
    return next(family for family in FAMILIES if family.name == name)


def _overview(text: str) -> Parts | None:
    topic = overview_topic(text)
    return {"topic": (topic,)} if topic else None


def _matched(family: Family, text: str) -> Parts | None:
    if any(pattern.search(text) for pattern in family.unless):
        return None
    # A greeting before the question is no part of it; a title may well begin with such a word.
    for candidate in dict.fromkeys((text, strip_filler(text))):
        for pattern in family.patterns:
            if match := pattern.search(candidate):
                return _parts(match)
    return None


def _parts(match: re.Match[str]) -> Parts:
    """The named groups of a match; numbered ones are values of the same part."""
    found: dict[str, list[str]] = {}
    for name, value in match.groupdict().items():
        if value and value.strip():
            found.setdefault(name.rstrip("0123456789"), []).append(value.strip(" ,;:"))
    return {name: tuple(values) for name, values in found.items()}


def _completed(family: Family, parts: Parts, question: Normalized) -> Recognised:
    if "side" in parts:
        sides = _sides(parts["side"])
        if len(sides) < 2:
            return Recognised(GENERAL, {})
        parts = {**parts, "side": sides}
    if "topic" in parts:
        parts = {**parts, "topic": tuple(_RANGE.sub("", topic).strip() or topic for topic in parts["topic"])}
    if "kept" in parts:
        parts = {**parts, "kept": tuple(token.folded for value in parts["kept"] for token in query_tokens(value))}
    if "name" in parts:
        parts = {**parts, "name": tuple(filter(None, (_name(value) for value in parts["name"])))}
    return Recognised(family, _with_common(parts, question, family))


def _sides(found: tuple[str, ...]) -> tuple[str, ...]:
    """Each side by itself; a bare year or number stands for the other side with it in place: 2025 output, 2024."""
    sides = [_BARE.sub("", part).strip() for side in found for part in _SEVERAL.split(side) if part.strip()]
    sides = [side for side in sides if any(not is_function_word(token) for token in query_tokens(side))]
    if len(sides) == 2 and _YEAR.fullmatch(sides[1]) and (year := _YEAR.search(sides[0])):
        sides[1] = sides[0][: year.start()] + sides[1] + sides[0][year.end() :]
    return tuple(dict.fromkeys(sides))[:_MAX_VALUES]


def _name(value: str) -> str:
    """A name without its article and possessive; nothing where only such words stand there."""
    bare = re.sub(r"['’]s$", "", _BARE.sub("", value.strip()))
    tokens = query_tokens(bare)
    return bare if any(not is_function_word(token) and not is_intent(token) for token in tokens) else ""


def _with_common(parts: Parts, question: Normalized, family: Family | None = None) -> Parts:
    """Parts every rule may use: the years of the question, and its words without those that are cleaned away."""
    years = tuple(dict.fromkeys(_YEAR.findall(question.text)))
    cleanup = family.cleanup if family else frozenset()
    rest = " ".join(token.text for token in question.content if token.folded not in cleanup)
    return {**parts, **({"year": years} if years else {}), **({"rest": (rest,)} if rest else {})}
