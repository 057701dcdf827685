"""The question as extraction sees it: its terms with what each is worth, and how well a passage speaks of them.

A term counts fully in the passage itself and at a discount in what surrounds it: a sentence may lean on its heading,
the line before its list or the sentence before it, but not on another page of the same document.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.domain.queries import QueryPlan
from citewell.planning.lexical import forms_of
from citewell.synthesis.asking import GENERIC
from citewell.synthesis.lexicon.related_words import excluding_words, same_root_words
from citewell.synthesis.lexicon.synonyms_and_opposites import opposites, synonyms, verb_forms
from citewell.synthesis.passages import Passage
from citewell.synthesis.values import MONTH_NAMES, NUMBER_WORDS, dates_in, quantities_in
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word
from citewell.text.words import compound_forms, compound_terms, index_terms, query_tokens, stem

MAX_TERMS = 32
_SYNONYM = 0.7
_AKIN = 0.85
_UNSEEN_WEIGHT = 5.0
_GENERIC_WORTH = 0.4
_ASIDE_WORTH = 0.35
_WORD = re.compile(r"[^\W\d_]+")


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
        if self.wholes & bag:
            return 1.0
        if self.is_dense:
            # Without spaces a whole question is one run: what share of its pairs of characters is there?
            return sum(1 for part in self.parts if part & bag) / len(self.parts)
        # The parts of a version or a date say nothing out of order: 2.0 is not in 1.2.0.
        if self.parts and not (self.is_exact and len(self.parts) > 1) and all(part & bag for part in self.parts):
            return 1.0
        if self.opposed & bag:
            return 0.0
        if self.related & bag:
            return _AKIN
        return _SYNONYM if meanings and self.near & bag else 0.0


@dataclass(frozen=True, slots=True)
class Topic:
    """What the question is about."""

    terms: tuple[TopicTerm, ...]

    def about(self, said: frozenset[str]) -> Topic:
        """The same topic for a part of the question with these stems."""
        return Topic(tuple(term if term.support(said, meanings=False) else term.aside() for term in self.terms))

    def among(self, stems: frozenset[str]) -> Topic:
        """The same topic for evidence with these stems: each term with the words related to it."""
        return Topic(tuple(term.among(stems) for term in self.terms))


def _is_unseen(text: str, unseen: Collection[str]) -> bool:
    """Whether nothing in the corpus has a word, or one part of a compound: `two-pizza` where none has pizza."""
    parts = _WORD.findall(text) if "-" in text else [text]
    return text not in GENERIC and (text in unseen or any(part in unseen for part in parts))


def topic_of(plan: QueryPlan, weights: Mapping[str, float], unseen: Collection[str], languages: Sequence[str]) -> Topic:
    """The terms of a planned question with their weights; words that name a unit match its symbols."""
    spoken = ("en", *languages)
    texts = [text for text in dict.fromkeys(plan.terms) if not is_stop_word(text, spoken)] or plan.terms
    terms = [replace(_term(text, weights, languages), is_unseen=_is_unseen(text, unseen)) for text in texts]
    # What a follow-up points back to is no word of it, and still what its answer must be about.
    terms += [_term(text, weights, languages).aside() for text in _pointed_at(plan)]
    said = folded_text(plan.text_query).split()
    terms += [_term(word, {word: _RELATION_WEIGHT}, languages) for word in _RELATIONS if word in said[1:]]
    telling = sorted(terms, key=lambda term: -term.weight)[:MAX_TERMS]
    return Topic(tuple(term for term in terms if term in telling))


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
    """The stems of a passage and of what it may lean on, each with what a word there is worth."""

    own: frozenset[str]
    around: tuple[tuple[float, frozenset[str]], ...]

    def support(self, term: TopicTerm) -> float:
        own = term.support(self.own)
        return max([own, *(worth * term.support(bag, meanings=False) for worth, bag in self.around)])


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
    bags = tuple((worth, bag_of(text, language)) for worth, text in around if text)
    # A tag is a statement about the whole note: every passage of it is tagged.
    tags = frozenset(f"#{folded_text(tag).lstrip('#')}" for tag in source.user_tags)
    return Surroundings(bag_of(passage.shown, language) | tags, (*bags, (0.25, document)))
