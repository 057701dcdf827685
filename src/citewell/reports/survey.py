"""Surveying a topic: which documents speak of it, and what they say about it under which headings.

    leave, time off   ->   Leave types: Annual leave, Sick leave, …; Paid parental leave: About PPL, …

It reads the corpus and writes nothing, and gives places and shares, no text: what becomes of them is decided elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from citewell.answer.passages import Passage, is_readable, readable
from citewell.check.claim import is_claim
from citewell.check.lexicon import synonyms
from citewell.check.tokens import content_stems
from citewell.readers.markup import scan
from citewell.reports.brief import SurveyedDocument, SurveyedSection, TopicSurvey
from citewell.search.query import is_function_word, lexical_query, phrase_of
from citewell.search.rows import rarity, term_chunks
from citewell.store.port import CorpusReader, Filters
from citewell.text.blocks import Block, headings_above, whole_blocks_of
from citewell.text.documents import Document, fold_tag
from citewell.text.sentences import is_ended, is_example, leans, leans_early, points_elsewhere, sentences
from citewell.text.words import index_terms, query_tokens

# Standing alone: whether a sentence can be quoted without those around it. Pure.
#
# Turn the compost every three weeks.        yes
# This keeps it from going sour.             no: it goes on from the sentence before
# See the calendar for details.              no: it points elsewhere


LEAST_WORDS = 5
# Characters that are escaped, and links by reference: left of markup that nobody reads.
_MARKS = re.compile(r"\\\W|\]\[")
_MOSTLY = 0.5


def stands_alone(text: str) -> bool:
    """Whether a sentence can be read without those around it, and says something itself."""
    if not is_ended(text) or not text[:1].isupper() or not is_statement(text):
        return False
    return not (leans(text) or leans_early(text) or is_example(text) or points_elsewhere(text))


def is_statement(text: str) -> bool:
    """Whether it reads as a statement on its own: prose of some length that says something."""
    if not is_readable(text) or not is_claim(text) or text.endswith("?") or text.count("[") != text.count("]"):
        return False
    if _MARKS.search(text):
        return False
    return len(content_stems(text)) >= LEAST_WORDS or any(map(str.isdigit, text))


def links_only(passage: Passage) -> bool:
    """Whether a line only points to other documents."""
    raw = passage.source.text[passage.start : passage.end]
    return sum(link.end - link.start for link in scan(raw).links) > _MOSTLY * len(raw)


MOST_DOCUMENTS = 24
MOST_LINKED = 12
# How much of a document is looked through.
LOOK_THROUGH = 60_000
MOST_SECTIONS = 80
# A topic of whose words, by weight, the corpus has less than this is none of its topics.
_KNOWN = 0.6
_TAGGED = 6
# What a word that may stand for one of the topic counts.
_NEAR = 0.6
_ENOUGH = 3
_ALONE = 0.5
# What a tag or an alias counts beside a title.
_TAG = 0.8
# Names of files that say nothing of what is in them.
_NAMELESS = re.compile(r"(?:readme|index|home|main|untitled(?: \d+)?|notes?|_index|summary)(?:\.\w+)?", re.IGNORECASE)
# What is called after less of the topic than this is not looked at closely.
_LEAST_NAMED = 0.15
# A longer item of a list is a paragraph.
_LISTED = 120
_FILE_NAME = re.compile(r"(?=[^a-z]*[a-z])[a-z0-9]+(?:[_-][a-z0-9]+)+")
_MARK = re.compile(r"[ ]{0,3}#{1,6}[ \t]*|[ \t]*#+[ \t]*$")


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of a topic: its stems, those of words that may stand for it, and what it is worth.

    Its rarity squared: where all documents speak of open source projects, it is "start" that tells them apart.
    """

    forms: frozenset[str]
    near: frozenset[str]
    weight: float


@dataclass(frozen=True, slots=True)
class _Subject:
    """One of the things a topic names; `phrases` where it says nothing word by word: "time off"."""

    terms: tuple[_Term, ...]
    phrases: tuple[str, ...] = ()

    def share(self, said: str) -> float:
        """How much of it a text has, given as its stems; by its words, or as a phrase all or nothing."""
        if self.phrases:
            return float(any(f" {phrase} " in f" {said} " for phrase in self.phrases))
        stems = frozenset(said.split())
        found = [
            one.weight * (1.0 if one.forms & stems else _NEAR)
            for one in self.terms
            if one.forms & stems or one.near & stems
        ]
        # One word of several, rare as it may be, is another subject: the savings *plan*, not planning my work.
        alone = _ALONE if len(found) == 1 < len(self.terms) else 1.0
        return alone * sum(found) / sum(one.weight for one in self.terms)


@dataclass(frozen=True, slots=True)
class _Topic:
    """What a topic names, each of which is the topic."""

    subjects: tuple[_Subject, ...]

    def share(self, said: str) -> float:
        return round(max(one.share(said) for one in self.subjects), 4)

    def nearest(self, said: str) -> int:
        """The number of the subject of which a text has most."""
        shares = [one.share(said) for one in self.subjects]
        return shares.index(max(shares))

    def among(self, names: frozenset[str]) -> _Topic:
        """Without the words that no document is called by, where enough others are left to tell what is meant."""
        kept: list[_Subject] = []
        for one in self.subjects:
            named = tuple(term for term in one.terms if (term.forms | term.near) & names)
            kept.append(replace(one, terms=named) if len(named) >= _ENOUGH else one)
        return _Topic(tuple(kept))

    def mentions(self, said: str) -> int:
        stems = Counter(said.split())
        forms = frozenset(form for one in self.subjects if not one.phrases for term in one.terms for form in term.forms)
        phrases = sum(f" {said} ".count(f" {phrase} ") for one in self.subjects for phrase in one.phrases)
        return sum(stems[form] for form in forms) + phrases


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document that was looked through; `names` are the stems of its title, its tags and its headings."""

    document: Document
    text: str
    blocks: Sequence[Block]
    title: str
    names: str

    @classmethod
    def of(cls, store: CorpusReader, document: Document) -> _ReadDocument:
        text = store.slice(document.content_hash, 0, min(document.length, LOOK_THROUGH))
        blocks = whole_blocks_of(text)
        title = _title(document, text, blocks)
        headings = (_heading(text, block) for block in blocks if block.kind == "heading")
        names = index_terms(" . ".join((title, *document.aliases, *document.user_tags, *headings)), document.language)
        return cls(document, text, blocks, title, names)


class TopicSurveys:
    """Surveys over one store."""

    def __init__(self, store: CorpusReader) -> None:
        self._store = store

    def survey(self, topics: Sequence[str], filters: Filters) -> TopicSurvey:
        """What the corpus holds on a topic; nothing where it does not know most of the topic's words."""
        languages = self._store.languages()
        known = [(topic, subject) for topic in topics if (subject := self._subject(topic, languages)) is not None]
        if not known:
            return TopicSurvey(tuple(topics))
        topic = _Topic(tuple(subject for _, subject in known))
        found: dict[str, Document] = {}
        for ranked in zip_longest(*(self._found(name, filters, languages) for name, _ in known)):
            found |= {one.source_key: one for one in ranked if one is not None and one.source_key not in found}
        read = [_ReadDocument.of(self._store, document) for document in found.values()]
        topic = topic.among(frozenset(word for one in read for word in one.names.split()))
        documents = [_surveyed(one, topic) for one in read]
        best = max((one.titled for one in documents), default=0.0)
        linked = self._linked([one.source_key for one in documents if one.titled >= max(_LEAST_NAMED, best)], filters)
        documents = [replace(one, is_linked=one.source_key in linked) for one in documents]
        further = [_ReadDocument.of(self._store, one) for key, one in linked.items() if key not in found]
        documents += [replace(_surveyed(one, topic), is_linked=True) for one in further]
        return TopicSurvey(tuple(topics), tuple(one for one in documents if one.sections))

    def _subject(self, topic: str, languages: Sequence[str]) -> _Subject | None:
        """A topic as it is looked for; None where the corpus does not know it."""
        query = lexical_query(topic, languages)
        counts = term_chunks(self._store, query)
        weights = rarity(counts, self._store.chunk_count())
        known = [term for term in query.terms if counts[term.text]]
        if sum(weights[term.text] for term in known) < _KNOWN * sum(weights.values()) or not known:
            return None
        own = frozenset(form for one in query.terms for form in one.forms)
        terms = tuple(
            _Term(frozenset(one.forms), frozenset().union(*map(synonyms, one.forms)) - own, weights[one.text] ** 2)
            for one in known
        )
        is_phrase = len(terms) == 1 and any(is_function_word(token) for token in query_tokens(topic)[1:])
        return _Subject(terms, phrase_of(topic, languages).forms if is_phrase else ())

    def _found(self, topic: str, filters: Filters, languages: Sequence[str]) -> list[Document]:
        """Documents that are called so, that speak of it, that are tagged with it."""
        called = self._store.documents_named(topic, phrase_of(topic, languages).forms)
        by_name = self._store.documents_by_keys([one.source_key for one in called], filters)
        query = lexical_query(topic, languages)
        spoken = [candidate.document for candidate in self._store.rank(query, filters, MOST_DOCUMENTS)]
        tagged = self._store.tagged((fold_tag(topic), fold_tag(topic).replace(" ", "-")), filters, _TAGGED)
        # The words on a picture are no statements.
        return [one for one in (*by_name[:_TAGGED], *spoken, *tagged) if one.source_type != "image"]

    def _linked(self, keys: Sequence[str], filters: Filters) -> dict[str, Document]:
        """The neighbours of these documents, both ways, the most linked first."""
        weight: Counter[str] = Counter()
        for link in self._store.links_around(keys) if keys else ():
            for inside, outside in ((link.source, link.target), (link.target, link.source)):
                weight[outside] += link.links * (inside in keys and outside not in keys)
        ranked = sorted((key for key in weight if weight[key]), key=lambda key: (-weight[key], key))
        return {one.source_key: one for one in self._store.documents_by_keys(ranked[:MOST_LINKED], filters)}


def _surveyed(read: _ReadDocument, topic: _Topic) -> SurveyedDocument:
    document, language = read.document, read.document.language
    around = index_terms(" . ".join((read.title, *document.aliases, *document.user_tags)), language)
    sections = tuple(_sections(read.text, read.blocks, read.title, topic, around, language))[:MOST_SECTIONS]
    titled = max(topic.share(index_terms(read.title, language)), _TAG * topic.share(around))
    return SurveyedDocument(document.source_key, document.content_hash, read.title, titled, sections)


def _sections(
    text: str, blocks: Sequence[Block], title: str, topic: _Topic, around: str, language: str | None
) -> Iterator[SurveyedSection]:
    """Each heading with what stands under it up to the next one; what stands above the first bears the title."""
    paths = headings_above(blocks)
    starts = [number for number, block in enumerate(blocks) if block.kind == "heading"]
    first = next((n for n, block in enumerate(blocks) if block.kind != "properties"), len(blocks))
    if first < len(blocks) and (not starts or starts[0] > first):
        starts.insert(0, first)
    for place, number in enumerate(starts):
        following = starts[place + 1] if place + 1 < len(starts) else len(blocks)
        block = blocks[number]
        is_headed = block.kind == "heading"
        own = [one for one in blocks[number + is_headed : following] if one.kind != "properties"]
        if not own:
            continue
        # Up to the next heading, so that the last line is seen to be whole.
        end = blocks[following].start if following < len(blocks) else len(text)
        heading = _heading(text, block) if is_headed else title
        path = paths[number][:-1] if is_headed else ()
        headed = index_terms(heading, language)
        above = index_terms(" . ".join(_heading(text, blocks[n]) for n in path), language)
        names = f"{headed} {above} {around}"
        named = topic.share(names)
        said = index_terms(text[own[0].start : own[-1].end], language)
        yield SurveyedSection(
            *(heading, block.level if is_headed else 0, block.start, end),
            *(topic.share(headed), named, topic.share(said), topic.mentions(said)),
            prose=_prose(text, own) if max(named, topic.share(said)) >= _LEAST_NAMED else 0,
            topic=topic.nearest(headed if topic.share(headed) >= named else names),
            above=tuple(blocks[n].start for n in path),
        )


def _prose(text: str, blocks: Sequence[Block]) -> int:
    """How many characters of these blocks can be quoted by themselves: sentences, and lists under their lead-in."""
    found = 0
    for block in blocks:
        body = text[block.start : block.end]
        if block.kind == "item" and block.lead is not None and len(body) < _LISTED:
            found += len(readable(body))
        elif block.kind in ("paragraph", "item"):
            told = (readable(body[start:end]) for start, end in sentences(body))
            found += sum(len(one) for one in told if stands_alone(one))
    return found


def _heading(text: str, block: Block) -> str:
    """A heading as it is read, without its marks."""
    return readable(_MARK.sub("", text[block.start : block.end])).strip(" *_:")


def _title(document: Document, text: str, blocks: Sequence[Block]) -> str:
    """What a document is called: a file name that says nothing gives way to its first heading, then to its folder."""
    if not _NAMELESS.fullmatch(document.title.strip()):
        return _spaced(document.title)
    top = next((block for block in blocks if block.kind == "heading"), None)
    if top is not None and (heading := _heading(text, top)):
        return heading
    folders = (document.note_path or "").split("/")[:-1]
    return _spaced(folders[-1] if folders else document.title)


def _spaced(name: str) -> str:
    """A name as it is read, where it is one of a file: `roadmap_adjustment`."""
    return name.replace("_", " ").replace("-", " ") if _FILE_NAME.fullmatch(name) else name
