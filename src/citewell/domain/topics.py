"""Topics and entities: what the corpus speaks of, how it hangs together, and where each name stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from citewell.domain.documents import SourceType

EntityKind = Literal["person", "project", "product", "handle", "place", "organisation", "name"]
ENTITY_KINDS: tuple[EntityKind, ...] = get_args(EntityKind)

# Where an alias comes from: the document's title or front matter, the text shown for a link, "Name (ABBR)", a turn of
# phrase ("posts as @kelpwife"), another spelling of the same name, or a part of a person's name.
AliasOrigin = Literal["title", "front_matter", "link", "abbreviation", "introduced", "spelling", "short_form"]

NodeKind = Literal["document", "tag", "entity"]
# Read from source to target. A backlink was written by a document outside the seeds, in the direction it was written.
TopicRelationship = Literal[
    "links_to", "backlink", "embeds", "quotes", "shared_url", "shared_tag", "tagged", "mentions", "same_entity"
]


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name, and the document that gives it."""

    name: str
    origin: AliasOrigin
    source_key: str | None = None


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
    """What of a brief shows how a topic hangs together: without its summary and its list of names."""

    topic: str
    pivots: tuple[Pivot, ...]
    nodes: tuple[TopicNode, ...]
    edges: tuple[TopicEdge, ...]


@dataclass(frozen=True, slots=True)
class TextSpan:
    """`text[start:end]` of the canonical text with this hash."""

    content_hash: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EntityDocument:
    """A document that mentions an entity, or is about it; `first` is where the name stands first, as `written`."""

    source_key: str
    title: str
    source_type: SourceType
    is_about: bool
    count: int
    first: TextSpan | None = None
    written: str | None = None


@dataclass(frozen=True, slots=True)
class CoOccurrence:
    """Another entity that the same documents mention."""

    name: str
    kind: EntityKind
    documents: int
    mentions: int


@dataclass(frozen=True, slots=True)
class EntityCandidate:
    """One of several things a name may mean."""

    name: str
    kind: EntityKind
    source_key: str
    why: str


@dataclass(frozen=True, slots=True)
class EntityMap:
    """What the corpus knows of a name. An ambiguous one has candidates to choose from and nothing else."""

    query: str
    status: Literal["found", "ambiguous"]
    name: str
    kind: EntityKind
    aliases: tuple[Alias, ...]
    documents: tuple[EntityDocument, ...]
    matching_documents: int
    cooccurring: tuple[CoOccurrence, ...]
    candidates: tuple[EntityCandidate, ...] = ()
