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
from html import unescape

from citewell.answer.evidence import PreparedSource
from citewell.answer.passages import Passage, is_readable, passages_of, readable
from citewell.answer.question import leans_back
from citewell.answer.values import dates_in, quantities_in
from citewell.check.claim import is_claim
from citewell.check.tokens import content_stems
from citewell.notes.task import MAX_NOTE_CHARS, MAX_TOPICS, NoteText, NoteTopic, TopicType
from citewell.readers.markup import scan
from citewell.search.plan import distinct
from citewell.text.canonical import folded_text
from citewell.text.documents import Span
from citewell.text.languages import detect_language
from citewell.text.sentences import (
    furniture,
    is_ended,
    is_example,
    is_pleasantry,
    leans,
    leans_early,
    points_elsewhere,
    points_further,
    states,
)

# What can be put into somebody's note: a statement that can be read there, and is about its topic. Pure.
#
#     The sail loft costs forty crowns a month.      yes
#     Thanks for reading, and have fun!              no: it says nothing
#     (Before you begin, read the rules.)            no: an aside that points elsewhere
#     Total file size for /usr                       no: it names something and says nothing of it
#
# Rules of form, the same for every vault. What is left out by mistake can still be searched; noise in a note has to be
# deleted by hand.


_LEAST_WORDS = 5
_MOSTLY = 0.5
# Up to where in a sentence stands what it is about.
_EARLY = 0.6
# Escaped characters and links by reference: left of markup that nobody reads.
_MARKS = re.compile(r"(?<=\w)\\(?=\w)|\]\[|^[*+•-] ")
# Where a sentence does not end: what followed stands in another line.
_CUT = re.compile(
    r"(?:\b(?:to|of|the|a|an|and|or|in|for|with|by|at|on|from|that|is|are|und|der|die|das|et|de|le|la)|[,;:–—-])$"
)
_ASIDE = re.compile(r"\([^()]*\)")
_SHORT_NAME = re.compile(r"(?:The |A |An )?([A-Z][A-Z0-9&]{1,7})\b")


def is_keepable(text: str) -> bool:
    """Whether a sentence can be read where it is put, and says something there."""
    if not is_readable(text) or _MARKS.search(text) or _SPEAKER.match(text) or text.endswith(("!", "?")):
        return False
    if text.startswith("(") or not _is_balanced(text):
        return False
    if is_pleasantry(text) or is_example(text) or points_elsewhere(text) or points_further(text):
        return False
    if leans(text) or leans_early(text):
        return False
    return len(content_stems(text)) >= _LEAST_WORDS or bool(quantities_in(text) or dates_in(text))


def is_whole(passage: Passage) -> bool:
    """Whether a passage is no title, no half of a statement, and no mere link."""
    shown = passage.shown
    if content_stems(shown) <= content_stems(passage.source.title) or links_only(passage):
        return False
    if passage.kind == "row":
        return True
    if passage.kind == "item" and passage.lead.endswith(":"):
        return is_ended(shown)
    return is_ended(shown) or (passage.kind != "sentence" and says_something(shown))


def says_something(text: str) -> bool:
    """Whether a line that does not end as a sentence states something all the same, and to its end."""
    return is_ended(text) or (not _CUT.search(text) and (states(text) or bool(quantities_in(text))))


def without_asides(text: str) -> str:
    """What stands in parentheses is mentioned, and not what the sentence is about."""
    return _ASIDE.sub(" ", text)


def begins_with(text: str, wanted: frozenset[str]) -> bool:
    """Whether one of these words stands early, where a sentence says what it is about."""
    end = text.find(" ", int(len(text) * _EARLY))
    return bool(content_stems(text[: end if end != -1 else len(text)]) & wanted)


def names_another(text: str, known: str) -> bool:
    """Whether it begins with a short name ("DVL is …") that is not among what is known: it is about something else."""
    found = _SHORT_NAME.match(text)
    return found is not None and re.search(rf"\b{re.escape(found[1])}\b", known) is None


def _is_balanced(text: str) -> bool:
    pairs = (("(", ")"), ("[", "]"), ("“", "”"))
    return all(text.count(one) == text.count(other) for one, other in pairs) and text.count('"') % 2 == 0


def links_only(passage: Passage) -> bool:
    """Whether a line only points to notes: it says nothing of its own."""
    raw = passage.source.text[passage.start : passage.end]
    linked = sum(link.end - link.start for link in scan(raw).links)
    return linked > _MOSTLY * len(raw)


MAX_TOPIC_CHARS = 160
# How many of each kind there may be at most, so that no kind crowds out the others.
_MOST: dict[TopicType, int] = {"question": 4, "claim": 4, "concept": 6}
_LIKE = 0.6
# What a note links to is one click away already: it is looked up only where the note gives few other topics.
_CLAIMED = 2
_LINKED = 4
_FEW = 4
# Headings that say what kind of thing stands below them, and not what it is about.
_LABELS = content_stems(
    """notes note links link references reference sources source see also todo tasks summary overview introduction
    background conclusion misc other ideas thoughts details example examples usage related table contents resources
    log journal daily weekly review meeting agenda attendees quellen literatur
    image images picture pictures screenshot screenshots video videos book books article articles tool tools rule rules
    ingredient ingredients direction directions step steps bilder bücher zutaten livres ingrédients"""
)
# A question about somebody named before cannot be looked up by itself.
_LEANS = {
    "en": re.compile(r"\b(?:she|he|they|it|this|that|these|those|her|him|them|your?)\b", re.IGNORECASE),
    "de": re.compile(
        r"(?<!gibt )\bes\b|\b(?:er|sie|ihn|ihm|ihr|ihre[mnrs]?|ihnen|dies|diese[mnrs]?|du|deine?\w?)\b", re.I
    ),
    "fr": re.compile(
        r"^(?:qui )?[\w'’]*-(?:ils?|elles?)\b|(?<!-)\b(?:ils?|elles?|ce)\b"
        r"|\b(?:cet|cette|ces|cela|ça|vous|votre|vos|tu|ton|tes|(?:le|la|les)quel(?:le)?s?)\b",
        re.I,
    ),
    "es": re.compile(r"\b(?:él|ella|ellos|ellas|ést[aeo]s?|est[aeo]s?|es[aeo]s|usted|tú)\b", re.IGNORECASE),
}
# What one asks oneself at a step of some routine: nothing that was written down answers it.
_ASKS_ONESELF = re.compile(
    r"(?:can|could|should|do|did|am|will|would|shall|have|may|must) (?:i|we)\b"
    r"|(?:kann|soll|sollte|muss|darf|will|möchte|habe|bin|können|sollen|müssen|haben) (?:ich|wir)\b"
    r"|(?:puis|dois|suis|ai)-je\b",
    re.IGNORECASE,
)
_BOX = re.compile(r"^\[[ xX]\] ")
# Who speaks in a dialogue ("Q: …"): its questions are answered there.
_SPEAKER = re.compile(r"\W*[^\W\d_]{1,2}: ")
# Markup that a topic is read without: links by reference, footnotes, addresses, escaped characters.
_BY_REFERENCE = re.compile(r"!?\[([^\[\]\n]{1,300})\]\[[^\[\]\n]{0,100}\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\n]{1,60}\]")
_ADDRESS = re.compile(r"<?\bhttps?://[^\s<>]+>?")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--|\{[{%]")
# The place in a row of chapters, which is no part of what a chapter is about.
_NUMBERED = re.compile(
    r"(?:chapter|part|step|section|lesson|lecture|week|day|kapitel|teil|schritt|abschnitt|chapitre|partie|étape|capítulo|parte"
    r"|paso)\s+(?:\d{1,3}|[IVX]{1,5})\s*[-–—:.)]+\s*(?=\S)",
    re.IGNORECASE,
)
# A condition about what was said before.
_CONDITION = re.compile(
    r"(?:if|when|while|because|with|after|before|since|as) (?:it|they|this|that|these|those)\b", re.I
)
# One or two of something are no figure that could be checked.
_FEW_WORDS = frozenset({"1", "2"})
# What is somebody's own is not to be found on the web, and nobody there is to read it.
_OF_ONESELF = re.compile(
    r"(?:^|[^\w\s]\s*|\b(?:and|but|that|which|what|when|where|why|how|if|as|do|did|can|could|should|would|have|am|was)\s+)"
    r"I\b|\b(?:[Mm]y|[Mm]e|[Mm]yself|[Ww]e|[Oo]ur|us|ourselves|[Ii]ch|[Mm]ein\w{0,2}|[Ww]ir|[Uu]nser\w{0,2}|[Jj]e|[Nn]ous"
    r"|[Nn]otre|[Nn]os)\b"
)
_WEB_WORDS = 12
_WIKI = re.compile(r"[^\[\]|#^]{2,80}")


@dataclass(frozen=True, slots=True)
class _TopicCandidate:
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
    return tuple(one.topic for one in _chosen(note, focus))


def _chosen(note: NoteText, focus: str | None) -> list[_TopicCandidate]:
    text = note.expanded[:MAX_NOTE_CHARS]
    passages = passages_of(_as_source(note.title, text))
    # Notes of other languages quote English too.
    language = detect_language(text)
    leaning = tuple(pattern for name, pattern in _LEANS.items() if name in ("en", language))
    found = [
        *_asked(passages, leaning),
        *_claimed(passages),
        *_headed(passages, leaning),
        *_linked(text),
        *_titled(note),
    ]
    wanted = _focused(found, focus)
    chosen: list[_TopicCandidate] = []
    for one in sorted(wanted, key=lambda one: (one.rank, one.place)):
        room = sum(other.topic.type == one.topic.type for other in chosen) < _MOST[one.topic.type]
        most = MAX_TOPICS if one.rank < _LINKED else _FEW
        if len(chosen) < most and room and not any(_alike(one, other) for other in chosen):
            chosen.append(one)
    return sorted(chosen, key=lambda one: one.place)


def numbered_as(text: str) -> bool:
    """Whether it begins with its place in a row of chapters."""
    return _NUMBERED.match(text) is not None


def plain(text: str) -> str:
    """A line as one would say it: link marks, footnotes, addresses and escapes taken away; empty where it is HTML."""
    if _TAG.search(text):
        return ""
    shown = unescape(_FOOTNOTE.sub("", _BY_REFERENCE.sub(r"\1", text)))
    return " ".join(_ESCAPED.sub(r"\1", _ADDRESS.sub("", shown)).split())


def _candidate(text: str, context: str, kind: TopicType, place: int, rank: int) -> Iterator[_TopicCandidate]:
    shown = plain(text)
    stems = content_stems(shown)
    if stems and len(shown) <= MAX_TOPIC_CHARS:
        yield _TopicCandidate(NoteTopic(shown, plain(context)[:MAX_TOPIC_CHARS], kind), place, rank, stems)


def _leans_on(text: str, leaning: Sequence[re.Pattern[str]]) -> bool:
    return any(pattern.search(text) for pattern in leaning)


def _asked(passages: Sequence[Passage], leaning: Sequence[re.Pattern[str]]) -> Iterator[_TopicCandidate]:
    for one in passages:
        shown = plain(_BOX.sub("", one.shown))
        leans_on = leans_back(one) or leans(shown) or _leans_on(shown, leaning) or _ASKS_ONESELF.match(shown)
        is_aside = _SPEAKER.match(shown) or "(" in shown or not is_readable(shown)
        # A heading that asks is answered below it.
        if one.kind in ("code", "heading") or not shown.endswith("?") or leans_on or is_aside:
            continue
        if len(content_stems(shown)) > 2:
            yield from _candidate(shown, one.heading, "question", one.start, 0)


def _claimed(passages: Sequence[Passage]) -> Iterator[_TopicCandidate]:
    """Sentences with something that can be checked: a number or a date, and a subject of their own."""
    for one in passages:
        shown = plain(_BOX.sub("", one.shown))
        # An item under the line that leads into it is half a statement.
        is_half = one.kind not in ("sentence", "item") or (one.kind == "item" and one.lead.endswith(":"))
        if is_half or not _is_checkable(shown) or leans_back(one) or not is_claim(shown) or links_only(one):
            continue
        if _is_statement(shown) and len(content_stems(shown)) > 3 and not _says_little(shown):
            yield from _candidate(shown, one.heading, "claim", one.start, _CLAIMED)


def _is_statement(text: str) -> bool:
    """Prose: no sum, and no line of a list that only names an amount."""
    return is_readable(text) and "=" not in text and (is_ended(text) or states(text))


def _is_checkable(text: str) -> bool:
    return bool(dates_in(text)) or any(
        one.value not in _FEW_WORDS or any(map(str.isdigit, text[one.start : one.end])) for one in quantities_in(text)
    )


def _says_little(text: str) -> bool:
    """Examples, what goes on from another sentence, dialogue, and what sends its reader elsewhere."""
    elsewhere = points_elsewhere(text) or points_further(text) or is_pleasantry(text)
    goes_on = leans(text) or _CONDITION.match(text) is not None
    return elsewhere or is_example(text) or goes_on or bool(_SPEAKER.match(text)) or text.isupper()


def _headed(passages: Sequence[Passage], leaning: Sequence[re.Pattern[str]]) -> Iterator[_TopicCandidate]:
    for one in passages:
        shown = _NUMBERED.sub("", plain(one.shown), count=1)
        # Shouted lines of running text are no headings.
        leans_on = _leans_on(shown, leaning) or shown.endswith(("?", "!")) or (shown.isupper() and shown.count(" ") > 2)
        if one.kind == "heading" and not leans_on and _names_something(shown):
            above = one.heading.rpartition(" › ")[0]
            yield from _candidate(shown, above, "concept", one.start, 3)


def _names_something(heading: str) -> bool:
    return bool(content_stems(heading) - _LABELS) and folded_text(heading).strip(" :.") not in furniture()


def _linked(text: str) -> Iterator[_TopicCandidate]:
    for link in scan(text).links:
        if link.kind == "wikilink" and link.target:
            name = link.target.rpartition("/")[2].removesuffix(".md").replace("_", " ")
            if _WIKI.fullmatch(name):
                line = text[text.rfind("\n", 0, link.start) + 1 : link.end + 80].split("\n", 1)[0]
                yield from _candidate(name, readable(line), "concept", link.start, _LINKED)


def _titled(note: NoteText) -> Iterator[_TopicCandidate]:
    yield from _candidate(_NUMBERED.sub("", note.title, count=1), "", "concept", -1, 1)


def _focused(found: Iterable[_TopicCandidate], focus: str | None) -> list[_TopicCandidate]:
    if not focus or not (wanted := content_stems(focus)):
        return list(found)
    kind: TopicType = "question" if focus.rstrip().endswith("?") else "concept"
    itself = list(_candidate(focus[:MAX_TOPIC_CHARS], "", kind, -2, -1))
    return [*itself, *(one for one in found if one.stems & wanted or content_stems(one.topic.context) & wanted)]


def _alike(one: _TopicCandidate, other: _TopicCandidate) -> bool:
    shared = len(one.stems & other.stems)
    return shared / len(one.stems | other.stems) >= _LIKE


def query_of(topic: NoteTopic, title: str) -> str:
    """What is searched for: a heading or a link says little without the note it stands in."""
    if topic.type != "concept" or content_stems(title) & content_stems(topic.topic):
        return topic.topic
    above = topic.context if topic.context and topic.context != title else title
    lent = above if len(content_stems(above)) <= 6 else title
    return f"{topic.topic} {lent}" if len(content_stems(topic.topic)) < 3 else topic.topic


def web_queries(note: NoteText, focus: str | None = None, *, with_claims: bool) -> tuple[str, ...]:
    """All that the web may be asked for a note: its title, headings, questions and the focus that was given.

    What it states and what it links to, which stands in its sentences, is asked for `with_claims` only.
    """
    chosen = _chosen(note, focus)
    topics = [one.topic for one in chosen]
    named = [one.topic for one in chosen if with_claims or one.rank not in (_CLAIMED, _LINKED)]
    return tuple(dict.fromkeys(filter(None, (web_query_of(topic, topics, note.title) for topic in named))))


def nearest_query(topic: NoteTopic, queries: Sequence[str]) -> str:
    """The query that has most words with a topic in common; empty where none has any."""
    stems = content_stems(topic.topic)
    shared = [(len(stems & content_stems(query)), query) for query in queries]
    most, query = max(shared, key=lambda one: one[0], default=(0, ""))
    return query if most else ""


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
