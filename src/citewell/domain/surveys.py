"""A survey of a topic: which documents speak of it, and under which headings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SurveyedSection:
    """What stands under one heading, or above the first one; `start..end` includes the heading.

    The shares say how much of the topic, its rarer words heavier, stands where: in the heading itself, in everything
    the section is called (title, tags, headings above), in its text. `mentions` counts its words in the text.
    """

    heading: str
    level: int
    start: int
    end: int
    headed: float
    named: float
    said: float
    mentions: int
    # How many characters of it can be quoted by themselves.
    prose: int = 0
    # Which of the topics it is called after, by its number.
    topic: int = 0
    # Where the headings above it stand, outermost first: sections of one part share them.
    above: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SurveyedDocument:
    """A document that speaks of the topic, and its sections.

    `is_linked`: a link leads to it from a document named after the topic, or from it to such a one. `titled` is how
    much of the topic its title has, or nearly so its tags and other names.
    """

    source_key: str
    content_hash: str
    title: str
    titled: float
    sections: tuple[SurveyedSection, ...]
    is_linked: bool = False


@dataclass(frozen=True, slots=True)
class TopicSurvey:
    """What the corpus holds on a topic, the nearest document first."""

    topics: tuple[str, ...]
    documents: tuple[SurveyedDocument, ...] = ()
