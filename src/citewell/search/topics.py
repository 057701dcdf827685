"""The topic graph: documents, tags and entities around a topic, how they are connected, what connects the most. Pure.

It is made from a bounded set of documents, so it is a map of what was looked at and not of the corpus.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from citewell.search.entities import Alias, Entity, NamedDocument, entities_of
from citewell.search.names import EntityKind, hidden, name_key
from citewell.store.port import GraphLink
from citewell.text.canonical import folded_text
from citewell.text.documents import SourceType, fold_tag
from citewell.text.sentences import properties_of, sentences
from citewell.text.urls import canonical_url
from citewell.text.words import words

# The summary of a topic: sentences of its documents as they stand, each with the key of its document. Pure.
#
# It is derived text: it says what the documents say first about a topic, and nothing weighs one against another. It may
# orient a reader or a model; it is never evidence and never cited.


MAX_SUMMARY_CHARS = 2_000
_HEADING = "Derived from {count}, sentences as they stand:"
_SENTENCES_PER_DOCUMENT = 2
_SHORTEST, _LONGEST = 20, 400
_SHORTEST_DENSE = 6
_LOOK_THROUGH = 6_000
# Blocks that do not read as a statement: headings, tables, tasks, code, front matter, a bare link.
_NO_STATEMENT = re.compile(r"\s*(?:#|\||```|~~~|---|- \[.\]|\d{1,2}:\d\d)")
_ENDS_AS_STATEMENT = re.compile(r"[.!?…。！？।۔][\"'”’»)\]*_」]*$")
_BULLET = re.compile(r"(?:[-*+•>]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class _TopicStatement:
    text: str
    score: float
    place: int


def summarize(seeds: Sequence[NamedDocument], forms: frozenset[str], names: Sequence[str]) -> str:
    """Up to two sentences of each seed, in the order of the seeds, within the limit; empty where nothing fits."""
    own = {name_key(name) for name in names}
    lines: list[str] = []
    sources: set[str] = set()
    seen: set[str] = set()
    left = MAX_SUMMARY_CHARS - len(_HEADING) - 20
    for named in seeds:
        for statement in _best(named, forms, own):
            line = f"{statement.text} [{named.key}]"
            folded = " ".join(folded_text(statement.text).split())
            if folded in seen or len(line) + 1 > left:
                continue
            seen.add(folded)
            sources.add(named.key)
            lines.append(line)
            left -= len(line) + 1
    count = f"{len(sources)} document{'' if len(sources) == 1 else 's'}"
    return "\n".join([_HEADING.format(count=count), *lines]) if lines else ""


def _best(named: NamedDocument, forms: frozenset[str], own: set[str]) -> list[_TopicStatement]:
    """The sentences that speak of the topic; a document named after it need not repeat its name in each."""
    document = named.document
    about = bool(own & {name_key(name) for name in (document.title, *document.aliases)})
    scored = [
        _TopicStatement(text, score, place)
        for place, text in enumerate(_statements(named))
        if (score := _score(text, place, document.language, forms, about=about)) > 0
    ]
    best = sorted(scored, key=lambda one: (-one.score, one.place))[:_SENTENCES_PER_DOCUMENT]
    return sorted(best, key=lambda one: one.place)


def _score(text: str, place: int, language: str | None, forms: frozenset[str], *, about: bool) -> float:
    spoken = {word.form for word in words(text, language)}
    share = len(forms & spoken) / max(1, len(forms))
    if share == 0 and not about:
        return 0.0
    # What a document says first is most often what it is about; a line without an end is most often a heading.
    score = share + (1.0 if about and place == 0 else 0.5 / (place + 1))
    return score if _ENDS_AS_STATEMENT.search(text) else score / 4


def _statements(named: NamedDocument) -> Iterator[str]:
    text = named.text[:_LOOK_THROUGH]
    cut_before = named.offset > 0 and named.text[:1].islower()
    cut_after = len(named.text) > len(text) or named.offset + len(named.text) < named.document.length
    _, body = properties_of(text)
    for start, end in sentences(text):
        if start < body or (start == 0 and cut_before) or (end == len(text) and cut_after):
            continue
        bullet = _BULLET.match(text, start)
        begin = bullet.end() if bullet and bullet.end() < end else start
        statement = text[begin:end]
        shortest = _SHORTEST if statement.isascii() else _SHORTEST_DENSE
        if not shortest <= len(statement) <= _LONGEST or _NO_STATEMENT.match(text, start):
            continue
        # Mostly links or addresses: a list of where to go, not something said.
        if 2 * sum(map(str.isalpha, hidden(statement))) >= len(statement) and statement != named.document.title:
            yield statement


# Topics and entities: what the corpus speaks of, how it is connected, and where each name stands.


NodeKind = Literal["document", "tag", "entity"]
# Read from source to target. A backlink was written by a document outside the seeds, in the direction it was written.
TopicRelationship = Literal[
    "links_to", "backlink", "embeds", "quotes", "shared_url", "shared_tag", "tagged", "mentions", "same_entity"
]


@dataclass(frozen=True, slots=True)
class TopicEntity:
    """A name that documents of a topic mention; `name` means that nothing says what kind of thing it is."""

    name: str
    kind: EntityKind
    aliases: tuple[Alias, ...]
    documents: tuple[str, ...]
    mentions: int


@dataclass(frozen=True, slots=True)
class TopicNode:
    """A document, tag or entity of a topic; `weight` counts the documents it is connected with."""

    id: str
    kind: NodeKind
    label: str
    weight: int
    source_key: str | None = None
    source_type: SourceType | None = None
    is_seed: bool = False


@dataclass(frozen=True, slots=True)
class TopicEdge:
    """How two nodes are connected, and how often."""

    source: str
    target: str
    relationship: TopicRelationship
    weight: int


@dataclass(frozen=True, slots=True)
class Pivot:
    """A node that connects much of a topic: where to go on from here."""

    node: str
    kind: NodeKind
    label: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class TopicBrief:
    """A topic's place in the corpus. The summary is derived, sentences as they stand with their keys: no evidence."""

    topic: str
    source_types: tuple[str, ...]
    seed_limit: int
    related_limit: int
    summary: str
    pivots: tuple[Pivot, ...]
    entities: tuple[TopicEntity, ...]
    nodes: tuple[TopicNode, ...]
    edges: tuple[TopicEdge, ...]


@dataclass(frozen=True, slots=True)
class TopicMap:
    """What of a brief shows how a topic is connected: without its summary and its list of names."""

    topic: str
    pivots: tuple[Pivot, ...]
    nodes: tuple[TopicNode, ...]
    edges: tuple[TopicEdge, ...]


MAX_NODES, MAX_EDGES, MAX_ENTITIES, MAX_PIVOTS = 40, 80, 20, 8
# What says the most about how things are connected stays when there are too many edges.
_STRENGTH: dict[TopicRelationship, int] = {
    "same_entity": 5,
    "quotes": 5,
    "links_to": 4,
    "embeds": 4,
    "backlink": 3,
    "shared_url": 3,
    "shared_tag": 2,
    "mentions": 2,
    "tagged": 1,
}
_QUOTED = re.compile(r"^[ \t]*>[ \t]?(\S.{29,600})$|[“\"«「]([^“”\"«»「」\n]{30,600})[”\"»」]", re.MULTILINE)
_MAX_QUOTES = 20


@dataclass(frozen=True, slots=True)
class TopicMaterial:
    """Everything a brief is made from."""

    topic: str
    names: tuple[str, ...]
    forms: frozenset[str]
    source_types: tuple[str, ...]
    seed_limit: int
    related_limit: int
    seeds: tuple[NamedDocument, ...]
    related: tuple[NamedDocument, ...] = ()
    links: tuple[GraphLink, ...] = ()
    tag_counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[NamedDocument, ...]:
        return (*self.seeds, *self.related)


def brief_topic(material: TopicMaterial) -> TopicBrief:
    """The brief of a topic; the same material always gives the same brief."""
    entities = entities_of(material.documents)[:MAX_ENTITIES]
    edges = sorted(_edges(material, entities), key=_edge_order)
    nodes = _nodes(material, entities, edges)
    kept = {node.id for node in nodes}
    shown = [edge for edge in edges if edge.source in kept and edge.target in kept][:MAX_EDGES]
    return TopicBrief(
        topic=material.topic,
        source_types=material.source_types,
        seed_limit=material.seed_limit,
        related_limit=material.related_limit,
        summary=summarize(material.seeds, material.forms, material.names),
        pivots=tuple(_pivots(material, nodes)),
        entities=tuple(
            TopicEntity(entity.name, entity.kind, entity.aliases, tuple(entity.mentions), entity.total)
            for entity in entities
        ),
        nodes=tuple(nodes),
        edges=tuple(shown),
    )


def _edge_order(edge: TopicEdge) -> tuple[int, int, str, str, str]:
    return (-_STRENGTH[edge.relationship], -edge.weight, edge.source, edge.target, edge.relationship)


# Edges


def _edges(material: TopicMaterial, entities: Sequence[Entity]) -> Iterator[TopicEdge]:
    yield from _links(material)
    yield from _tags(material)
    yield from _urls(material)
    yield from _quotes(material)
    for entity in entities:
        for key, count in entity.mentions.items():
            yield TopicEdge(key, _entity_id(entity), "mentions", count)
        for key in entity.about:
            yield TopicEdge(key, _entity_id(entity), "same_entity", 1)


def _links(material: TopicMaterial) -> Iterator[TopicEdge]:
    seeds = {named.key for named in material.seeds}
    present = {named.key for named in material.documents}
    counts: Counter[tuple[str, str, TopicRelationship]] = Counter()
    for link in material.links:
        if link.source == link.target or link.source not in present or link.target not in present:
            continue
        outward: TopicRelationship = "embeds" if link.kind == "embed" else "links_to"
        counts[link.source, link.target, outward if link.source in seeds else "backlink"] += link.links
    for (source, target, relationship), links in counts.items():
        yield TopicEdge(source, target, relationship, links)


def _tags(material: TopicMaterial) -> Iterator[TopicEdge]:
    carriers: defaultdict[str, list[str]] = defaultdict(list)
    for named in material.documents:
        for tag in dict.fromkeys(fold_tag(tag) for tag in named.document.user_tags):
            carriers[tag].append(named.key)
    for tag, keys in carriers.items():
        for key in keys:
            yield TopicEdge(key, f"tag:{tag}", "shared_tag" if len(keys) > 1 else "tagged", len(keys))


def _urls(material: TopicMaterial) -> Iterator[TopicEdge]:
    """Documents that point at the same page on the web, which is not itself in the corpus."""
    pointing: defaultdict[str, list[str]] = defaultdict(list)
    for named in material.documents:
        pages = (canonical_url(link.target) for link in named.links if link.kind == "url" and not link.target_key)
        own = canonical_url(named.document.url) if named.document.url else None
        for page in dict.fromkeys((own, *pages)):
            if page:
                pointing[page].append(named.key)
    pairs = Counter(
        (left, right)
        for keys in pointing.values()
        for index, left in enumerate(keys)
        for right in keys[index + 1 :]
        if left != right
    )
    for (left, right), shared in pairs.items():
        yield TopicEdge(left, right, "shared_url", shared)


def _quotes(material: TopicMaterial) -> Iterator[TopicEdge]:
    """A document quotes another where words it sets off as a quotation stand in the other, outside any quotation."""
    flat = {named.key: " ".join(named.text.split()) for named in material.documents}
    quoted = {named.key: _quotations(named.text) for named in material.documents}
    for key, quotes in quoted.items():
        for other, text in flat.items():
            count = sum(quote in text and quote not in quoted[other] for quote in quotes) if other != key else 0
            if count:
                yield TopicEdge(key, other, "quotes", count)


def _quotations(text: str) -> list[str]:
    found = (" ".join((match[1] or match[2]).split()).strip(' "“”«»') for match in _QUOTED.finditer(text))
    return list(dict.fromkeys(quote for quote in found if len(quote) >= 30))[:_MAX_QUOTES]


# Nodes


def _entity_id(entity: Entity) -> str:
    return f"entity:{entity.key}"


def _nodes(material: TopicMaterial, entities: Sequence[Entity], edges: Sequence[TopicEdge]) -> list[TopicNode]:
    """Documents first, seeds before the rest; then tags and entities, those that connect the most first."""
    present = {named.key for named in material.documents}
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for edge in edges:
        for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if other in present:
                neighbours[one].add(other)
    documents = [
        TopicNode(
            *(named.key, "document", named.document.title, len(neighbours[named.key])),
            source_key=named.key,
            source_type=named.document.source_type,
            is_seed=number < len(material.seeds),
        )
        for number, named in enumerate(material.documents)
    ]
    labels: dict[str, str] = {}
    for tag in (tag for named in material.documents for tag in named.document.user_tags):
        labels.setdefault(f"tag:{fold_tag(tag)}", tag)
    others = [_named_node(node, "tag", f"#{labels[node]}", neighbours) for node in sorted(labels)]
    others += [_named_node(_entity_id(entity), "entity", entity.name, neighbours) for entity in entities]
    others.sort(key=lambda node: (-node.weight, node.id))
    return (documents + others)[:MAX_NODES]


def _named_node(node: str, kind: NodeKind, label: str, neighbours: Mapping[str, set[str]]) -> TopicNode:
    return TopicNode(node, kind, label, len(neighbours[node]))


# Pivots


def _pivots(material: TopicMaterial, nodes: Sequence[TopicNode]) -> list[Pivot]:
    """Nodes that connect at least two others, the topic itself aside."""
    own = {name_key(name) for name in material.names}
    found = [
        Pivot(node.id, node.kind, node.label, node.weight, _reason(material, node))
        for node in nodes
        if node.weight > 1 and name_key(node.label.lstrip("#")) not in own
    ]
    ranked = sorted(found, key=lambda pivot: (-pivot.count, pivot.kind, pivot.node))
    # A document and the entity it is about are one place to go.
    return list({name_key(pivot.label): pivot for pivot in reversed(ranked)}.values())[::-1][:MAX_PIVOTS]


def _reason(material: TopicMaterial, node: TopicNode) -> str:
    total = len(material.documents)
    match node.kind:
        case "tag":
            everywhere = material.tag_counts.get(node.id.removeprefix("tag:"), node.weight)
            return f"tag of {node.weight} of these {total} documents and of {everywhere} in the corpus"
        case "entity":
            return f"named in {node.weight} of these {total} documents"
        case "document":
            place = "found for the topic" if node.is_seed else "linked with what was found"
            return f"{place}, connected with {node.weight} of these {total} documents"
