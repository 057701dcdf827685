"""Entities: the names that a set of documents mentions, brought together under all their aliases. Pure.

It is handed a bounded set of documents when somebody asks, so nothing of this slows down adding. Names come from
titles, front matter, links and running text (`search/names.py`); spellings that differ in case or accents, "Name
(ABBR)", and a part of a person's name that fits only one person become one entity. A name that two documents claim
stays apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from citewell.search.names import (
    CaseCounts,
    EntityKind,
    Mention,
    abbreviations,
    base_name,
    has_case,
    hidden,
    introduced_names,
    is_name_like,
    kind_of_document,
    kind_of_spelling,
    mentions_in,
    name_key,
    occurrences,
    reads_as_name,
)
from citewell.store.port import WrittenLink
from citewell.text.documents import Document, SourceType
from citewell.text.languages import is_stop_word

# Where an alias comes from: the document's title or front matter, the text shown for a link, "Name (ABBR)", a turn of
# phrase ("posts as @kelpwife"), another spelling of the same name, or a part of a person's name.
AliasOrigin = Literal["title", "front_matter", "link", "abbreviation", "introduced", "spelling", "short_form"]


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name, and the document that gives it."""

    name: str
    origin: AliasOrigin
    source_key: str | None = None


@dataclass(frozen=True, slots=True)
class TopicSpan:
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
    first: TopicSpan | None = None
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


_LEAST_MENTIONS = 3


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document with the part of its text that is looked through, which begins at `offset`."""

    document: Document
    text: str
    offset: int
    links: tuple[WrittenLink, ...] = ()

    @property
    def key(self) -> str:
        return self.document.source_key

    @property
    def kind(self) -> EntityKind | None:
        return kind_of_document(self.document.user_tags, self.document.note_path, self.document.source_type)


@dataclass(frozen=True, slots=True)
class Entity:
    """A name with everything found about it; offsets are those of the whole text."""

    name: str
    kind: EntityKind
    aliases: tuple[Alias, ...]
    mentions: Mapping[str, int]
    about: tuple[str, ...] = ()
    is_linked: bool = False

    @property
    def key(self) -> str:
        return name_key(self.name)

    @property
    def total(self) -> int:
        return sum(self.mentions.values())


@dataclass(slots=True)
class _NameFacts:
    """What is known of one name while it is being gathered."""

    title: str | None = None
    spellings: Counter[str] = field(default_factory=Counter)
    kinds: Counter[EntityKind] = field(default_factory=Counter)
    aliases: dict[str, Alias] = field(default_factory=dict)
    mentions: Counter[str] = field(default_factory=Counter)
    about: dict[str, EntityKind | None] = field(default_factory=dict)
    is_linked: bool = False


class _Register:
    """Which key stands for which entity. A name that two of them claim is listed with both and counted for neither."""

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}
        self._disputed: set[str] = set()
        self.entities: dict[str, _NameFacts] = {}

    def entity(self, key: str) -> _NameFacts:
        return self.entities.setdefault(self.owner(key), _NameFacts())

    def owner(self, key: str) -> str:
        seen = {key}
        while (next_key := self._owner.get(key)) is not None and next_key not in seen:
            key = next_key
            seen.add(key)
        return key

    def knows(self, key: str) -> bool:
        return self.owner(key) in self.entities

    def is_disputed(self, key: str) -> bool:
        """Whether several documents give themselves this name."""
        return key in self._disputed

    def is_named(self, key: str) -> bool:
        """Whether running text names this by itself."""
        held = self.entities.get(self.owner(key))
        return held is not None and bool(held.mentions)

    def add_alias(self, key: str, name: str, origin: AliasOrigin, source_key: str | None) -> None:
        """`name` is another name of the entity `key`."""
        alias, owner = name_key(name), self.owner(key)
        held = self.owner(alias)
        if not alias or (held in self.entities and held != owner and self.entities[held].title and held == alias):
            return  # a document of that very name exists: it is somebody else
        self.entity(owner).aliases.setdefault(alias, Alias(name.strip(), origin, source_key))
        if alias == owner or held == owner or alias in self._disputed:
            return
        if held != alias:
            self._disputed.add(alias)
            del self._owner[alias]
        else:
            self._absorb(owner, alias)

    def _absorb(self, owner: str, alias: str) -> None:
        self._owner[alias] = owner
        other = self.entities.pop(alias, None)
        if other is not None:
            target = self.entity(owner)
            target.spellings += other.spellings
            target.kinds += other.kinds
            target.mentions += other.mentions
            target.aliases = {**other.aliases, **target.aliases}
            target.is_linked = target.is_linked or other.is_linked


def entities_of(documents: Sequence[NamedDocument], asked: str | None = None) -> list[Entity]:
    """The entities these documents mention: in the most documents first, then the most often.

    A name somebody asks about, with its capital, is taken for one where the documents write it so inside sentences.
    """
    register = _Register()
    for named in documents:
        _register_document(register, named)
    spelling = CaseCounts.of(hidden(named.text) for named in documents)
    found = {named.key: mentions_in(named.text, named.document.language, spelling) for named in documents}
    vouched = _vouched(found.values(), register)
    if asked and asked[:1].isupper() and spelling.upper[name_key(asked)] > 1:
        vouched |= {name_key(asked)}
    for named in documents:
        for mention in found[named.key]:
            _count(register, named.key, mention, vouched)
    for named in documents:
        _count_links(register, named)
    for named in documents:
        _introduced(register, named)
    _count_uncased(register, documents)
    _join_short_forms(register)
    shown = {
        key: one
        for key, one in register.entities.items()
        if one.mentions and (asked or register.is_disputed(key) or _has_evidence(one))
    }
    made = [_entity(key, gathered) for key, gathered in shown.items()]
    return sorted(
        made, key=lambda one: (not one.is_linked, -len(one.mentions), one.kind == "name", -one.total, one.key)
    )


def _has_evidence(gathered: _NameFacts) -> bool:
    """A name from running text alone must stand in two documents, or three times, or show what it names."""
    is_often = len(gathered.mentions) > 1 or gathered.mentions.total() >= _LEAST_MENTIONS
    is_introduced = any(alias.origin != "short_form" for alias in gathered.aliases.values())
    return _is_made_known(gathered) or is_often or is_introduced or _kind_of(gathered) != "name"


def _is_made_known(gathered: _NameFacts) -> bool:
    """Whether a document, a link or an alias makes it a name, and not its spelling alone."""
    return (
        bool(gathered.about)
        or gathered.is_linked
        or any(one.origin == "front_matter" for one in gathered.aliases.values())
    )


def _register_document(register: _Register, named: NamedDocument) -> None:
    """A document gives its title and its aliases to what it is about."""
    document, kind = named.document, named.kind
    if not is_name_like(document.title):
        return
    gathered = register.entity(name_key(document.title))
    gathered.title = gathered.title or document.title
    gathered.about[named.key] = kind
    author = (document.author or "").split()
    if 2 <= len(author) <= 4 and is_name_like(" ".join(author)) and kind_of_spelling(author) is None:
        register.entity(name_key(" ".join(author))).kinds["person"] += 2
    plain = base_name(document.title)
    if plain != document.title:
        register.add_alias(name_key(document.title), plain, "title", named.key)
    for alias in document.aliases:
        if is_name_like(alias) and name_key(alias) != name_key(document.title):
            register.add_alias(name_key(document.title), alias, "front_matter", named.key)


def _vouched(found: Iterable[Sequence[Mention]], register: _Register) -> frozenset[str]:
    """Names that something other than the start of a sentence or a heading speaks for."""
    strong = {
        name_key(mention.name)
        for mentions in found
        for mention in mentions
        if not mention.is_weak and mention.rest is None
    }
    return frozenset(strong | _known_names(register))


def _known_names(register: _Register) -> set[str]:
    """Titles that read as names, and the aliases of every document."""
    keys: set[str] = set()
    for key, gathered in register.entities.items():
        if _is_known(gathered):
            keys |= {key, *gathered.aliases}
    return keys


def _is_known(gathered: _NameFacts) -> bool:
    return any(gathered.about.values()) or (gathered.title is not None and reads_as_name(gathered.title))


def _count(register: _Register, source_key: str, mention: Mention, vouched: frozenset[str]) -> None:
    name = mention.name
    if mention.rest is not None and name_key(name) not in vouched:
        rest = name[mention.rest - mention.start :]
        name = rest if name_key(rest) in vouched else name
    key = name_key(name)
    if not key or (mention.is_weak and key not in vouched):
        return
    gathered = register.entity(key)
    gathered.spellings[name] += 1
    gathered.mentions[source_key] += 1
    if mention.kind:
        # What a name says of itself (Burra Hill) weighs more than what is beside it.
        gathered.kinds[mention.kind] += 3 if kind_of_spelling(name.split()) == mention.kind else 1


def _count_links(register: _Register, named: NamedDocument) -> None:
    """A link mentions what its target is about, and its text is another name for it."""
    for link in named.links:
        if link.kind == "url" or not link.target.strip():
            continue
        name = link.target_title or link.target.rsplit("/", 1)[-1]
        if not is_name_like(name) or "." in name.rsplit(" ", 1)[-1]:
            continue
        key = name_key(name)
        held = register.entities.get(register.owner(key))
        # "Snag list" is a note and no name; of a document outside this set only its title can tell.
        if not reads_as_name(name) and not (held is not None and _is_known(held)):
            continue
        gathered = register.entity(key)
        gathered.is_linked = True
        gathered.mentions[named.key] += 1
        gathered.spellings[name] += 1
        if kind := kind_of_document((), link.target_path, ""):
            gathered.kinds[kind] += 3
        shown = (link.alias or "").strip()
        # "[Slack](tools/slack-etiquette)": what texts name by itself is not what a link of that text leads to.
        is_own = _is_person(gathered) or not register.is_named(name_key(shown))
        if is_own and is_name_like(shown) and name_key(shown) != key and _looks_like_name(shown):
            register.add_alias(key, shown, "link", named.key)


def _looks_like_name(text: str) -> bool:
    return not has_case(text) or text[0].isupper() or text[0] == "@"


def _introduced(register: _Register, named: NamedDocument) -> None:
    for pair in abbreviations(hidden(named.text)):
        if register.knows(name_key(pair.name)):
            register.add_alias(name_key(pair.name), pair.short, "abbreviation", named.key)
    if named.kind is None or not register.knows(name_key(named.document.title)):
        return
    for name in introduced_names(hidden(named.text)):
        if (
            len(name_key(name)) > 2
            and not is_stop_word(name_key(name))
            and (_looks_like_name(name) or register.knows(name_key(name)))
        ):
            register.add_alias(name_key(named.document.title), name, "introduced", named.key)


def _count_uncased(register: _Register, documents: Sequence[NamedDocument]) -> None:
    """Names in scripts without capitals are found where a title, an alias or a link has made them known."""
    names = {key: key for key in _known_names(register) if not has_case(key) and len(key) > 1}
    for gathered in register.entities.values():
        for key in names:
            if key in gathered.aliases:
                names[key] = gathered.aliases[key].name
    for named in documents:
        for place in occurrences(hidden(named.text), names) if names else ():
            gathered = register.entity(place.key)
            gathered.mentions[named.key] += 1


def _join_short_forms(register: _Register) -> None:
    """`Agnes` is Agnes Tulloch where no other person of these documents has that part of a name."""
    people: dict[str, set[str]] = {}
    for key, gathered in register.entities.items():
        parts = base_name(key).split()
        if len(parts) > 1 and (_kind_of(gathered) == "person" or _goes_by_both(register, gathered, parts)):
            gathered.kinds["person"] += 1
            for part in parts:
                people.setdefault(part, set()).add(key)
    for part, owners in sorted(people.items()):
        short = register.entities.get(part)
        if len(owners) == 1 and short is not None and short.title is None and len(part) > 2:
            register.add_alias(min(owners), _spelled(short, part), "short_form", None)


def _goes_by_both(register: _Register, gathered: _NameFacts, parts: Sequence[str]) -> bool:
    """Ilse Brandvold is a person where texts also say Ilse, and also Brandvold, and one of them speaks."""
    alone = [one for part in parts if (one := register.entities.get(part)) is not None and not one.title]
    speaks = any(one.kinds["person"] for one in (gathered, *alone))
    return len(parts) == 2 and len(alone) == 2 and _kind_of(gathered) == "name" and speaks


def _is_person(gathered: _NameFacts) -> bool:
    return _kind_of(gathered) == "person"


def _entity(key: str, gathered: _NameFacts) -> Entity:
    name = gathered.title or _spelled(gathered, key)
    own = name_key(name)
    aliases = [alias for other, alias in gathered.aliases.items() if other != own]
    known = {own, *gathered.aliases}
    aliases += [Alias(text, "spelling") for text in sorted(gathered.spellings) if name_key(text) not in known]
    ordered = tuple(sorted(aliases, key=lambda alias: (alias.origin, alias.name)))
    mentions = dict(sorted(gathered.mentions.items()))
    return Entity(name, _kind_of(gathered), ordered, mentions, tuple(sorted(gathered.about)), _is_made_known(gathered))


def _spelled(gathered: _NameFacts, key: str) -> str:
    own = [text for text in gathered.spellings if name_key(text) == key]
    return min(own, key=lambda text: (-gathered.spellings[text], text), default=key)


def _kind_of(gathered: _NameFacts) -> EntityKind:
    """What the documents about it say; else what its spelling and surroundings say most often."""
    for kind in gathered.about.values():
        if kind is not None:
            return kind
    votes = {kind: count for kind, count in gathered.kinds.items() if _is_enough(kind, count, gathered)}
    return min(votes, key=lambda kind: (-votes[kind], kind), default="name")


def _is_enough(kind: EntityKind, count: int, gathered: _NameFacts) -> bool:
    """Once may be chance: "near Slack", "Topic 2.1", "the Guide says"."""
    match kind:
        case "place":
            return count > 1
        case "product":
            return count > 1 and 4 * count >= gathered.mentions.total()
        case "person":
            return count > 1 or len(gathered.mentions) == 1 or 4 * count >= gathered.mentions.total()
        case _:
            return True
