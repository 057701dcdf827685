"""What a note is about: questions it asks, claims it makes, things it names. Pure, and without a model.

    # Halvard                                        -> concept  Halvard
    How many passengers did she carry?               -> question How many passengers did she carry?
    She was built in 1887 at [[Fara yard]].          -> claim    She was built in 1887 at Fara yard.
                                                     -> concept  Fara yard

What the note asks comes first, then what it states with a number or a date, its headings, and what it links to. It
reads layout and words; it does not know what matters to the writer. A focus leaves what shares a word with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.domain.answers import PreparedSource
from citewell.domain.documents import Span
from citewell.domain.notes import MAX_NOTE_CHARS, MAX_TOPICS, NoteText, NoteTopic, TopicType
from citewell.planning.web_queries import distinct
from citewell.readers.markup import scan
from citewell.synthesis.checking.claim import is_claim
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.markup import readable
from citewell.synthesis.passages import Passage, passages_of
from citewell.synthesis.topic import leans_back
from citewell.synthesis.values import dates_in, quantities_in
from citewell.text.phrases import is_example, leans

MAX_TOPIC_CHARS = 160
# How many of each kind there may be at most, so that no kind crowds out the others.
_MOST: dict[TopicType, int] = {"question": 4, "claim": 4, "concept": 6}
_LIKE = 0.6
# What a note links to is one click away already: it is looked up only where the note gives few other topics.
_LINKED = 4
_FEW = 4
# Headings that say what kind of thing stands below them, and not what it is about.
_LABELS = content_stems(
    """notes note links link references reference sources source see also todo tasks summary overview introduction
    background conclusion misc other ideas thoughts details example examples usage related table contents resources
    log journal daily weekly review meeting agenda attendees quellen literatur"""
)
# A question about somebody named before cannot be looked up by itself.
_LEANS = re.compile(r"\b(?:she|he|they|it|this|that|these|those|her|him|them|you)\b", re.IGNORECASE)
# What one asks oneself at a step of some routine: nothing that was written down answers it.
_ASKS_ONESELF = re.compile(r"(?:can|could|should|do|did|am|will|would|shall|have|may|must) (?:i|we)\b", re.IGNORECASE)
_BOX = re.compile(r"^\[[ xX]\] ")
# What is somebody's own is not to be found on the web, and nobody there is to read it.
_OF_ONESELF = re.compile(
    r"(?:^|[^\w\s]\s*|\b(?:and|but|that|which|what|when|where|why|how|if|as|do|did|can|could|should|would|have|am|was)\s+)"
    r"I\b|\b(?:[Mm]y|[Mm]e|[Mm]yself|[Ww]e|[Oo]ur|us|ourselves|[Ii]ch|[Mm]ein\w{0,2}|[Ww]ir|[Uu]nser\w{0,2}|[Jj]e|[Nn]ous"
    r"|[Nn]otre|[Nn]os)\b"
)
_WEB_WORDS = 12
_WIKI = re.compile(r"[^\[\]|#^]{2,80}")


@dataclass(frozen=True, slots=True)
class _Candidate:
    topic: NoteTopic
    place: int
    rank: int
    stems: frozenset[str]


def note_passages(note: NoteText) -> list[Passage]:
    """What the user's own text says, statement by statement."""
    return passages_of(_as_source(note.title, note.text))


def _as_source(title: str, text: str) -> PreparedSource:
    text = text[:MAX_NOTE_CHARS]
    return PreparedSource(1, "note:", title, "vault_note", "user_note", text, Span("", 0, len(text), ""))


def extract_topics(note: NoteText, focus: str | None = None) -> tuple[NoteTopic, ...]:
    """At most ten topics, in the order of the note."""
    text = note.expanded[:MAX_NOTE_CHARS]
    passages = passages_of(_as_source(note.title, text))
    found = [*_asked(passages), *_claimed(passages), *_headed(passages), *_linked(text), *_titled(note)]
    wanted = _focused(found, focus)
    chosen: list[_Candidate] = []
    for one in sorted(wanted, key=lambda one: (one.rank, one.place)):
        room = sum(other.topic.type == one.topic.type for other in chosen) < _MOST[one.topic.type]
        most = MAX_TOPICS if one.rank < _LINKED else _FEW
        if len(chosen) < most and room and not any(_alike(one, other) for other in chosen):
            chosen.append(one)
    return tuple(one.topic for one in sorted(chosen, key=lambda one: one.place))


def _candidate(text: str, context: str, kind: TopicType, place: int, rank: int) -> Iterator[_Candidate]:
    shown = " ".join(text.split())
    stems = content_stems(shown)
    if stems and len(shown) <= MAX_TOPIC_CHARS:
        yield _Candidate(NoteTopic(shown, context[:MAX_TOPIC_CHARS], kind), place, rank, stems)


def _asked(passages: Sequence[Passage]) -> Iterator[_Candidate]:
    for one in passages:
        shown = _BOX.sub("", one.shown)
        leans_on = leans_back(one) or _LEANS.search(shown) or _ASKS_ONESELF.match(shown)
        # A heading that asks is answered below it.
        if (
            one.kind not in ("code", "heading")
            and shown.endswith("?")
            and not leans_on
            and len(content_stems(shown)) > 2
        ):
            yield from _candidate(shown, one.heading, "question", one.start, 0)


def _claimed(passages: Sequence[Passage]) -> Iterator[_Candidate]:
    """Sentences with something that can be checked: a number or a date, and a subject of their own."""
    for one in passages:
        checkable = one.kind in ("sentence", "item") and (quantities_in(one.shown) or dates_in(one.shown))
        # An item under the line that leads into it is half a statement.
        is_whole = (
            not (one.kind == "item" and one.lead.endswith(":")) and not is_example(one.shown) and not leans(one.shown)
        )
        if checkable and is_whole and is_claim(one.shown) and not leans_back(one) and len(content_stems(one.shown)) > 3:
            yield from _candidate(_BOX.sub("", one.shown), one.heading, "claim", one.start, 2)


def _headed(passages: Sequence[Passage]) -> Iterator[_Candidate]:
    for one in passages:
        leans_on = _LEANS.search(one.shown) or one.shown.endswith("?")
        if one.kind == "heading" and not leans_on and content_stems(one.shown) - _LABELS:
            above = one.heading.rpartition(" › ")[0]
            yield from _candidate(one.shown, above, "concept", one.start, 3)


def _linked(text: str) -> Iterator[_Candidate]:
    for link in scan(text).links:
        if link.kind == "wikilink" and link.target:
            name = link.target.rpartition("/")[2].removesuffix(".md")
            if _WIKI.fullmatch(name):
                line = text[text.rfind("\n", 0, link.start) + 1 : link.end + 80].split("\n", 1)[0]
                yield from _candidate(name, readable(line), "concept", link.start, _LINKED)


def _titled(note: NoteText) -> Iterator[_Candidate]:
    yield from _candidate(note.title, "", "concept", -1, 1)


def _focused(found: Iterable[_Candidate], focus: str | None) -> list[_Candidate]:
    if not focus or not (wanted := content_stems(focus)):
        return list(found)
    kind: TopicType = "question" if focus.rstrip().endswith("?") else "concept"
    itself = list(_candidate(focus[:MAX_TOPIC_CHARS], "", kind, -2, -1))
    return [*itself, *(one for one in found if one.stems & wanted or content_stems(one.topic.context) & wanted)]


def _alike(one: _Candidate, other: _Candidate) -> bool:
    shared = len(one.stems & other.stems)
    return shared / len(one.stems | other.stems) >= _LIKE


def query_of(topic: NoteTopic, title: str) -> str:
    """What is searched for: a heading or a link says little without the note it stands in."""
    if topic.type != "concept" or content_stems(title) & content_stems(topic.topic):
        return topic.topic
    above = topic.context if topic.context and topic.context != title else title
    lent = above if len(content_stems(above)) <= 6 else title
    return f"{topic.topic} {lent}" if len(content_stems(topic.topic)) < 3 else topic.topic


def web_query_of(topic: NoteTopic, topics: Sequence[NoteTopic], title: str) -> str:
    """What the web is asked: the first words of the topic as the user is shown it, and nothing else of the note.

    A short heading is asked with the note's title, where that is a topic too. Empty where it is about oneself or seems
    to hold a secret.
    """
    words = content_stems(topic.topic)
    is_short = topic.type == "concept" and len(words) < 3 and not words & content_stems(title)
    named = f"{topic.topic} {title}" if is_short and any(one.topic == title for one in topics) else topic.topic
    if _OF_ONESELF.search(named):
        return ""
    return next(iter(distinct((" ".join(named.split()[:_WEB_WORDS]),), 1)), "")
