"""The evidence taken apart once: its passages, and how far each speaks of each term of the question. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from citewell.domain.answers import PreparedSource, PreparedSynthesis
from citewell.domain.queries import Concept, QueryPlan
from citewell.synthesis.aliases import aliases_in
from citewell.synthesis.answer_values import Given
from citewell.synthesis.names import Spelling
from citewell.synthesis.passages import Passage, passages_of
from citewell.synthesis.topic import Topic, bag_of, surroundings_of, topic_of
from citewell.text.language import detect_language


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage and, for each term of the topic, its support: with its surroundings, in its own words, in its headings.

    `follows` is what stands right below it and belongs to it; `place` counts the passages since the heading above.
    """

    passage: Passage
    support: tuple[float, ...]
    own: tuple[float, ...]
    headed: tuple[float, ...] = ()
    titled: tuple[float, ...] = ()
    follows: Literal["", "code", "list"] = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything scoring needs to know about a question and its evidence."""

    topic: Topic
    concepts: tuple[Concept, ...]
    given: Given
    spelling: Spelling
    read: tuple[ReadPassage, ...]
    top_score: float

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(one.passage for one in self.read)

    def about(self, part: str) -> Reading:
        """The same evidence for one part of the question: what only its other parts mention weighs less."""
        said = bag_of(part, None)
        concepts = tuple(one for one in self.concepts if any(bag_of(term, None) & said for term in one.terms))
        return replace(self, topic=self.topic.about(said), concepts=concepts)


def read_evidence(prepared: PreparedSynthesis, plan: QueryPlan) -> Reading:
    """Take the evidence apart for a planned question."""
    languages = [detect_language(source.text) for source in prepared.sources]
    spoken = sorted({language for language in languages if language})
    documents = [bag_of(source.text, language) for source, language in zip(prepared.sources, languages, strict=True)]
    text = "\n".join(source.text for source in prepared.sources)
    topic = topic_of(plan, prepared.term_weights, prepared.unseen_terms, spoken)
    topic = topic.among(frozenset().union(*documents))
    titles = " ".join(source.title for source in prepared.sources)
    return Reading(
        topic=topic,
        concepts=plan.concepts,
        given=Given.by(plan.text_query),
        spelling=Spelling.of(text, titles),
        read=tuple(_read(prepared.sources, languages, documents, topic)),
        top_score=max((source.score for source in prepared.sources), default=0.0),
    )


def _read(
    sources: Sequence[PreparedSource],
    languages: Sequence[str | None],
    documents: Sequence[frozenset[str]],
    topic: Topic,
) -> Iterator[ReadPassage]:
    for source, language, document in zip(sources, languages, documents, strict=True):
        found = passages_of(source)
        aliases = f"{aliases_in(source.text)} {' '.join(one.shown for one in found if _gives_names(one))}".strip()
        titled = _support(topic, bag_of(source.title, language))
        place = 0
        for at, passage in enumerate(found):
            around = surroundings_of(passage, language, document, aliases)
            support = tuple(around.support(term) for term in topic.terms)
            headed = _support(topic, bag_of(f"{source.title} {passage.heading}", language))
            place = 0 if passage.kind == "heading" else place + 1
            follows = _follows(passage, found[at + 1] if at + 1 < len(found) else None)
            yield ReadPassage(passage, support, _support(topic, around.own), headed, titled, follows, place)


def _gives_names(passage: Passage) -> bool:
    """Whether a property gives other names of its note."""
    return passage.kind == "property" and passage.shown.partition(":")[0].casefold() in ("alias", "aliases")


def _support(topic: Topic, bag: frozenset[str]) -> tuple[float, ...]:
    return tuple(term.support(bag) for term in topic.terms)


def _follows(passage: Passage, following: Passage | None) -> Literal["", "code", "list"]:
    """What a passage leads into."""
    if following is None or passage.kind == "heading":
        return ""
    if following.kind == "code" and following.lead == passage.shown:
        return "code"
    opens = passage.kind in ("sentence", "line") and following.kind == "item" and following.lead == passage.shown
    return "list" if opens else ""
