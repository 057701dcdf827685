"""The topic brief: finds the documents a topic is about, reads a bounded part of each, and has the graph made of them.

It reads the corpus and writes nothing. A brief orients: its summary is derived and no row of it is evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from citewell.search.entities import NamedDocument
from citewell.search.lanes import Results, fuse
from citewell.search.names import base_name, name_key
from citewell.search.pack import ResearchPack
from citewell.search.query import Variant, lexical_query, normalize, phrase_of, tag_queries
from citewell.search.rows import rarity, term_chunks
from citewell.search.topics import TopicBrief, TopicMaterial, brief_topic
from citewell.search.windows import find_matches
from citewell.store.port import Candidate, CorpusReader, Filters, GraphLink, LexicalQuery, WrittenLink
from citewell.text.documents import Document, fold_tag

SEED_LIMIT, RELATED_LIMIT = 12, 8
MAX_SEEDS, MAX_RELATED = 20, 12
# How much of a document is looked through for names and sentences.
SEED_CHARS, RELATED_CHARS = 20_000, 4_000
# A long document may fill the top of a ranking with its own chunks, and some documents are turned away.
_LOOK_DEEPER = 3
_OTHER_NAMES = 3
_TAGGED = 4
# A document that has less of the topic's words than this, the rarer ones heavier, is about something else.
_LEAST_SHARE = 0.6


def with_brief(pack: ResearchPack, brief: TopicBrief) -> ResearchPack:
    """A pack that opens with a topic's brief; its evidence stays what it was."""
    coverage = replace(pack.coverage, topic_nodes=len(brief.nodes), topic_edges=len(brief.edges))
    return replace(pack, mode="topic_brief_and_evidence", coverage=coverage, topic_brief=brief)


class TopicBriefs:
    """Makes briefs over one store."""

    def __init__(self, store: CorpusReader) -> None:
        self._store = store

    def brief(
        self, topic: str, filters: Filters, seed_limit: int = SEED_LIMIT, related_limit: int = RELATED_LIMIT
    ) -> TopicBrief:
        """The brief of a topic; one that the corpus knows nothing of has empty lists."""
        languages = self._store.languages()
        query = lexical_query(normalize(topic).text, languages)
        names = self._names(topic, languages)
        seeds = self._seeds(topic, names, filters, seed_limit, languages)
        links = self._store.links_around([document.source_key for document, _ in seeds]) if seeds else []
        related = self._related(seeds, links, filters, related_limit)
        read = self._read(seeds, SEED_CHARS)
        types = Counter[str](document.source_type for document, _ in seeds)
        material = TopicMaterial(
            topic=topic,
            names=tuple(names),
            forms=frozenset(form for term in query.terms for form in term.forms),
            source_types=filters.source_types or tuple(sorted(types, key=lambda kind: (-types[kind], kind))),
            seed_limit=seed_limit,
            related_limit=related_limit,
            seeds=read,
            related=self._read([(document, 0) for document in related], RELATED_CHARS),
            links=tuple(links),
            tag_counts=self._tag_counts([*(document for document, _ in seeds), *related]),
        )
        return brief_topic(material)

    def _names(self, topic: str, languages: Sequence[str]) -> list[str]:
        """The topic and the other names of the documents that are called so."""
        key = name_key(topic)
        names = [topic]
        for document in self._store.documents_named(topic, phrase_of(topic, languages).forms):
            if key in {name_key(name) for name in own_names(document)}:
                names += own_names(document)
        unique = {name_key(name): name for name in reversed(names) if name_key(name)}
        return list(reversed(unique.values()))[: 1 + _OTHER_NAMES] or [topic]

    def _seeds(
        self, topic: str, names: Sequence[str], filters: Filters, limit: int, languages: Sequence[str]
    ) -> list[tuple[Document, int]]:
        """Documents called by the topic's name first, then those that speak of it, then those tagged with it."""
        called = [
            document.source_key
            for document in self._store.documents_named(topic, phrase_of(topic, languages).forms)
            if name_key(topic) in {name_key(name) for name in own_names(document)}
        ]
        found: dict[str, tuple[Document, int]] = {}
        for document in self._store.documents_by_keys(called, filters)[:limit]:
            found[document.source_key] = (document, 0)
        for candidate in self._speaking(names, filters, limit, languages):
            found.setdefault(candidate.document.source_key, (candidate.document, candidate.chunk.start))
        tags = tuple(dict.fromkeys((fold_tag(topic).replace(" ", "-"), *tag_queries(normalize(topic))[-4:])))
        exact = tags if len(normalize(topic).content) > 1 else (fold_tag(topic),)
        for document in self._store.tagged(exact, filters, _TAGGED):
            found.setdefault(document.source_key, (document, 0))
        return list(found.values())[:limit]

    def _speaking(
        self, names: Sequence[str], filters: Filters, limit: int, languages: Sequence[str]
    ) -> list[Candidate]:
        queries = [lexical_query(normalize(name).text, languages) for name in names]
        results = [
            Results(
                Variant("original", name, 1.0 if n == 0 else 0.7),
                self._store.rank(query, filters, limit * _LOOK_DEEPER),
            )
            for n, (name, query) in enumerate(zip(names, queries, strict=True))
        ]
        weighed = [(query, rarity(term_chunks(self._store, query), self._store.chunk_count())) for query in queries]
        fitting = (fused.candidate for fused in fuse(results)[: limit * _LOOK_DEEPER])
        return [candidate for candidate in fitting if self._speaks_of(candidate, weighed)][:limit]

    def _speaks_of(self, candidate: Candidate, queries: Iterable[tuple[LexicalQuery, dict[str, float]]]) -> bool:
        document, chunk = candidate.document, candidate.chunk
        around = " ".join((document.title, *document.aliases, *chunk.heading_path, *document.user_tags))
        text = f"{around}\n{self._store.slice(document.content_hash, chunk.start, chunk.end)}"
        for query, weights in queries:
            matched = {match.term for match in find_matches(text, query, document.language)}
            total = sum(weights.values())
            if total and sum(weight for term, weight in weights.items() if term in matched) >= _LEAST_SHARE * total:
                return True
        return False

    def _related(
        self, seeds: Sequence[tuple[Document, int]], links: Sequence[GraphLink], filters: Filters, limit: int
    ) -> list[Document]:
        """Neighbours of the seeds, both ways: those connected with the most seeds first."""
        keys = {document.source_key for document, _ in seeds}
        connected: dict[str, set[str]] = {}
        weight: Counter[str] = Counter()
        for link in links:
            for inside, outside in ((link.source, link.target), (link.target, link.source)):
                if inside in keys and outside not in keys:
                    connected.setdefault(outside, set()).add(inside)
                    weight[outside] += link.links
        ranked = sorted(connected, key=lambda key: (-len(connected[key]), -weight[key], key))
        # Filters may turn some away: look a little further than the limit.
        return self._store.documents_by_keys(ranked[: 4 * limit], filters)[:limit]

    def _read(self, documents: Sequence[tuple[Document, int]], most: int) -> tuple[NamedDocument, ...]:
        written = self._store.links_written([document.source_key for document, _ in documents]) if documents else {}
        return tuple(
            read_document(self._store, document, written.get(document.source_key, ()), around, most)
            for document, around in documents
        )

    def _tag_counts(self, documents: Sequence[Document]) -> dict[str, int]:
        tags = list(dict.fromkeys(fold_tag(tag) for document in documents for tag in document.user_tags))
        return {fold_tag(entry.tag): entry.count for entry in self._store.exact_tags(tags, Filters())} if tags else {}


def own_names(document: Document) -> tuple[str, ...]:
    """What a document is called: its title, without what tells it from others, its file name, its aliases."""
    return (document.title, base_name(document.title), file_name(document), *document.aliases)


def file_name(document: Document) -> str:
    """The name of a note's file without folder and extension; empty for a document that is no file of its own."""
    name = (document.note_path or "").rsplit("/", 1)[-1]
    return name.rpartition(".")[0] or name


def read_document(
    store: CorpusReader, document: Document, links: tuple[WrittenLink, ...], around: int, most: int
) -> NamedDocument:
    """A document with at most this much of its text, from where it begins or from a little before `around`."""
    sections = store.sections_between(document.source_key, document.content_hash, 0, document.length)
    first = sections[0].start if sections else 0
    start = first if around < most else max(first, around - most // 4)
    text = store.slice(document.content_hash, start, min(document.length, start + most))
    return NamedDocument(document, text, start, links)
