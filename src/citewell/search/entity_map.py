"""The entity map: what a name means in the corpus, under which other names, and which documents speak of it.

A name is resolved through titles, front-matter aliases, link texts, "Name (ABBR)" and parts of a person's name. Where
several things answer to it they are listed, never chosen between. It reads the corpus and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from citewell.errors import BadInput, NotFound
from citewell.search.entities import (
    Alias,
    CoOccurrence,
    Entity,
    EntityCandidate,
    EntityDocument,
    EntityMap,
    NamedDocument,
    TopicSpan,
    entities_of,
)
from citewell.search.names import (
    EntityKind,
    abbreviations,
    base_name,
    has_case,
    is_name_like,
    kind_of_document,
    name_key,
    occurrences,
)
from citewell.search.query import check_question, phrase_of
from citewell.search.topic_brief import file_name, read_document
from citewell.store.port import CorpusReader, Filters, KnownName, LexicalQuery
from citewell.text.documents import Document

# Near names: what somebody may have meant by a name that nothing answers to. Pure.


_SUGGESTIONS = 3
_NEAR_ENOUGH = 0.72


def nearest_names(query: str, known: Iterable[KnownName]) -> list[str]:
    """Known names spelled nearly alike, whole or in one of their words."""
    key = name_key(query)
    scores: dict[str, float] = {}
    for entry in known:
        for name in (name_key(entry.name), name_key(entry.title)):
            score = max(_likeness(key, name), *(0.95 * _likeness(key, part) for part in name.split()[:6]), 0.0)
            if score >= _NEAR_ENOUGH:
                shown = entry.name if entry.is_alias and name == name_key(entry.name) else entry.title
                scores[shown] = max(score, scores.get(shown, 0.0))
    return sorted(scores, key=lambda shown: (-scores[shown], shown))[:_SUGGESTIONS]


def most_like(word: str, terms: Sequence[str]) -> str:
    """The term spelled most like a word, or nothing where none is near."""
    scores = {term: _likeness(word, term) for term in terms}
    best = max(scores, key=lambda term: (scores[term], term), default="")
    return best if scores.get(best, 0.0) >= _NEAR_ENOUGH else ""


def _likeness(left: str, right: str) -> float:
    if not left or not right or min(len(left), len(right)) / max(len(left), len(right)) < 0.5:
        return 0.0
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _NEAR_ENOUGH else 0.0


DOCUMENT_LIMIT, MAX_DOCUMENTS = 20, 60
READ_CHARS = 60_000
_FIRST_LOOK = 16
_COOCCURRING = 12
_MOST_NAMES = 8
_MAX_NAME_CHARS = 200
_NOTES = ("vault_note", "apple_note")


@dataclass(frozen=True, slots=True)
class _Owner:
    """A document that is about what a name means, and why that is thought."""

    document: Document
    why: str


class EntityMaps:
    """Makes entity maps over one store."""

    def __init__(self, store: CorpusReader) -> None:
        self._store = store

    def map(self, name: str, filters: Filters, limit: int = DOCUMENT_LIMIT) -> EntityMap:
        """What the corpus knows of a name; `NotFound` with near names where it knows nothing."""
        query = " ".join(check_question(name).split())
        if not name_key(query):
            raise BadInput(f"'{query}' has no letters or digits.", fix="Name a person, project, product or place.")
        if len(query) > _MAX_NAME_CHARS:
            raise BadInput(f"The name has {len(query):,} characters.", fix="Ask about a text with 'citewell search'.")
        mentioning = self._read(self._mentioning([query], filters, _FIRST_LOOK))
        owners, pairs = self._owners(query), self._long_names(query, mentioning)
        if not owners and len(pairs) == 1:
            owners = self._owners(pairs[0].name)
        owners = owners or self._by_link_text(query, mentioning) or self._by_part(query)
        groups = _distinct(owners, query)
        if len(groups) > 1:
            return _ambiguous(query, [_candidate(group[0]) for group in groups])
        if not owners and len(pairs) > 1:
            return _ambiguous(query, pairs)
        about = [owner.document for owner in groups[0]] if groups else []
        return self._map(query, about, pairs, mentioning, filters, limit)

    # What a name means

    def _owners(self, query: str) -> list[_Owner]:
        """Documents that are called so, by title or by an alias of their own."""
        document = self._store.find(query)
        if document is not None:
            return [_Owner(document, "its key")]
        key = name_key(query)
        named = self._store.documents_named(query, phrase_of(query, self._store.languages()).forms)
        exact = [_Owner(found, "its title") for found in named if name_key(found.title) == key]
        if exact and base_name(query) != query:
            return exact  # told apart from the others of that name
        others = (found for found in named if name_key(found.title) != key)
        called = [_Owner(found, why) for found in others if (why := _why_called(found, key))]
        return exact + called

    def _long_names(self, query: str, documents: Iterable[NamedDocument]) -> list[EntityCandidate]:
        """Long names that texts give this name as the short form of."""
        key = name_key(query)
        found: dict[str, EntityCandidate] = {}
        for named in documents:
            for pair in abbreviations(named.text):
                if name_key(pair.short) == key and is_name_like(pair.name):
                    why = f"“{pair.name} ({pair.short})” in {named.key}"
                    found.setdefault(name_key(pair.name), EntityCandidate(pair.name, "name", named.key, why))
        return list(found.values())

    def _by_link_text(self, query: str, documents: Iterable[NamedDocument]) -> list[_Owner]:
        key = name_key(query)
        targets = [
            link.target_key
            for named in documents
            for link in named.links
            if link.target_key and link.alias and name_key(link.alias) == key
        ]
        found = self._store.documents_by_keys(targets, Filters()) if targets else []
        return [_Owner(document, "the text of a link to it") for document in found]

    def _by_part(self, query: str) -> list[_Owner]:
        """People of whose name this is a part."""
        key = name_key(query)
        if " " in key:
            return []
        named = self._store.documents_named(query, phrase_of(query, self._store.languages()).forms)
        return [
            _Owner(found, "a part of its name")
            for found in named
            if _kind(found) == "person" and key in name_key(base_name(found.title)).split()
        ]

    # What the corpus says of it

    def _map(
        self,
        query: str,
        about: Sequence[Document],
        pairs: Sequence[EntityCandidate],
        mentioning: Sequence[NamedDocument],
        filters: Filters,
        limit: int,
    ) -> EntityMap:
        keys = {document.source_key for document in about}
        first = (
            *self._read([(document, 0) for document in about]),
            *(one for one in mentioning if one.key not in keys),
        )
        entity = _meant(entities_of(first, query), query, about, pairs)
        if entity is None:
            raise self._unknown(query, mentioning)
        names = self._own_names(entity, query, about)
        documents = self._documents(names, about, filters, limit)
        shown = [one for named in documents if (one := _shown(named, names, keys)) is not None]
        shown.sort(key=lambda one: (not one.is_about, -one.count, one.source_key))
        matches = self._store.count_matches(self._phrases(names), filters)
        matching = matches.items + matches.sources
        return EntityMap(
            query=query,
            status="found",
            name=entity.name,
            kind=entity.kind,
            aliases=entity.aliases,
            documents=tuple(shown[:limit]),
            # The index knows no capitals: where every match was read, what was seen there counts.
            matching_documents=len(shown) if matching <= limit else max(matching, len(shown)),
            cooccurring=_beside(documents, names, {one.source_key for one in shown}),
        )

    def _own_names(self, entity: Entity, query: str, about: Sequence[Document]) -> list[str]:
        """The names to look for: not those that another document claims as well, nor words for any such thing."""
        keys = {document.source_key for document in about}
        told = base_name(entity.name)
        names = [entity.name, told, *(alias.name for alias in entity.aliases if _is_telling(alias, told))]
        unique = {name_key(name): name for name in reversed(names) if len(name_key(name)) > 1}
        kept = [
            name
            for name in reversed(unique.values())
            if name == entity.name or {owner.document.source_key for owner in self._owners(name)} <= keys
        ]
        return kept[:_MOST_NAMES]

    def _documents(
        self, names: Sequence[str], about: Sequence[Document], filters: Filters, limit: int
    ) -> list[NamedDocument]:
        """Documents about it, those that mention one of its names, and those that link to it."""
        own = [document.source_key for document in about]
        places = dict.fromkeys(own, 0)
        for document, around in self._mentioning(names, filters, limit):
            places.setdefault(document.source_key, around)
        for link in self._store.links_around(own) if own else ():
            if link.target in own and len(places) < 2 * limit:
                places.setdefault(link.source, 0)
        found = self._store.documents_by_keys(list(places), filters)
        return self._read([(document, places[document.source_key]) for document in found])

    def _mentioning(self, names: Sequence[str], filters: Filters, limit: int) -> list[tuple[Document, int]]:
        """Documents with one of these names, each with where. Stems of other languages ("git" for Gitea) come last."""
        whole = self._phrases(names)
        most = max((len(phrase.forms) for phrase in whole.phrases), default=0)
        places: dict[str, tuple[Document, int]] = {}
        for number in range(most):
            phrases = (replace(phrase, forms=phrase.forms[number : number + 1]) for phrase in whole.phrases)
            query = LexicalQuery((), tuple(phrase for phrase in phrases if phrase.forms))
            for found in self._store.rank(query, filters, limit):
                places.setdefault(found.document.source_key, (found.document, found.chunk.start))
        return list(places.values())[:limit]

    def _phrases(self, names: Sequence[str]) -> LexicalQuery:
        languages = self._store.languages()
        phrases = (phrase_of(name, languages) for name in names)
        return LexicalQuery((), tuple(phrase for phrase in phrases if phrase.forms))

    def _read(self, documents: Sequence[tuple[Document, int]]) -> list[NamedDocument]:
        written = self._store.links_written([document.source_key for document, _ in documents]) if documents else {}
        return [
            read_document(self._store, document, written.get(document.source_key, ()), around, READ_CHARS)
            for document, around in documents
        ]

    def _respelled(self, query: str) -> list[str]:
        """The name with the words that occur nowhere put as the most similar ones that do."""
        words = name_key(query).split()[:_MOST_NAMES]
        near = [self._store.near_terms(word) for word in words]
        likely = [most_like(word, terms) for word, terms in zip(words, near, strict=True)]
        return [" ".join(likely)] if likely != words and all(likely) else []

    def _unknown(self, query: str, mentioning: Sequence[NamedDocument]) -> NotFound:
        near = nearest_names(query, self._store.near_names(query)) or self._respelled(query)
        fix = f"Did you mean {', '.join(near)}?" if near else f"Try 'citewell search \"{query}\"'."
        if mentioning:
            word = f"'{query}' occurs in the corpus, but nothing there shows that it is a name."
            return NotFound(word, fix=fix)
        return NotFound(f"No document mentions '{query}'.", fix=fix)


def _is_telling(alias: Alias, name: str) -> bool:
    """Whether an alias means this and nothing else: not `Ewan` alone, not `the turbine`."""
    if alias.origin == "short_form" or (
        " " in alias.name and alias.name == alias.name.lower() and has_case(alias.name)
    ):
        return False
    return alias.origin == "front_matter" or name_key(alias.name) not in name_key(name).split()


def _why_called(document: Document, key: str) -> str | None:
    if any(name_key(alias) == key for alias in document.aliases):
        return "an alias in its front matter"
    if name_key(base_name(document.title)) == key:
        return "its title, but for what tells it apart"
    return "the name of its file" if name_key(file_name(document)) == key else None


def _kind(document: Document) -> EntityKind:
    return kind_of_document(document.user_tags, document.note_path, document.source_type) or "name"


def _distinct(owners: Sequence[_Owner], query: str) -> list[list[_Owner]]:
    """Owners by the thing they are about: each note is its own thing; a page or repository of that very title is the
    same thing as the note on it."""
    groups: dict[str, list[_Owner]] = {}
    for owner in owners:
        is_note = owner.document.source_type in _NOTES
        groups.setdefault(owner.document.source_key if is_note else name_key(owner.document.title), []).append(owner)
    notes = [group for group in groups.values() if group[0].document.source_type in _NOTES]
    same = groups.get(name_key(query))
    if len(notes) == 1 and same is not None and same is not notes[0]:
        notes[0] += same
        del groups[name_key(query)]
    return list(groups.values())


def _candidate(owner: _Owner) -> EntityCandidate:
    return EntityCandidate(owner.document.title, _kind(owner.document), owner.document.source_key, owner.why)


def _ambiguous(query: str, candidates: Sequence[EntityCandidate]) -> EntityMap:
    ordered = tuple(sorted(candidates, key=lambda one: (one.name, one.source_key)))
    return EntityMap(query, "ambiguous", query, "name", (), (), 0, (), ordered)


def _meant(
    entities: Sequence[Entity], query: str, about: Sequence[Document], pairs: Sequence[EntityCandidate]
) -> Entity | None:
    """The entity a name stands for among those found; a document about it is enough to make one."""
    keys = {document.source_key for document in about}
    for entity in entities:
        if keys & set(entity.about):
            return entity
    if about:
        own = tuple(Alias(alias, "front_matter", about[0].source_key) for alias in about[0].aliases)
        return Entity(about[0].title, _kind(about[0]), own, {}, tuple(sorted(keys)))
    wanted = {name_key(query), *(name_key(pair.name) for pair in pairs)}
    for entity in entities:
        if entity.key in wanted or wanted & {name_key(alias.name) for alias in entity.aliases}:
            return entity
    return None


def _shown(named: NamedDocument, names: Sequence[str], about: set[str]) -> EntityDocument | None:
    """A document with its mentions: its names in the text, and links to what they mean."""
    places = [(place.start, place.end) for place in occurrences(named.text, names)]
    limit = len(named.text)
    linked = ((link.start - named.offset, link.end - named.offset) for link in named.links if link.target_key in about)
    for start, end in linked:
        if start >= 0 and end <= limit and not any(low < end and start < high for low, high in places):
            places.append((start, end))
    document = named.document
    if not places and named.key not in about:
        return None
    first = min(places, default=None)
    return EntityDocument(
        source_key=named.key,
        title=document.title,
        source_type=document.source_type,
        is_about=named.key in about,
        count=len(places),
        first=TopicSpan(document.content_hash, first[0] + named.offset, first[1] + named.offset) if first else None,
        written=named.text[first[0] : first[1]] if first else None,
    )


def _beside(documents: Sequence[NamedDocument], names: Sequence[str], shown: set[str]) -> tuple[CoOccurrence, ...]:
    own = {name_key(name) for name in names}
    found = [
        CoOccurrence(entity.name, entity.kind, len(shown & entity.mentions.keys()), entity.total)
        for entity in entities_of([named for named in documents if named.key in shown])
        if entity.key not in own and not own & {name_key(alias.name) for alias in entity.aliases}
    ]
    ranked = sorted(found, key=lambda one: (-one.documents, one.kind == "name", -one.mentions, one.name))
    return tuple(ranked[:_COOCCURRING])
