"""Other names of what a question names, as the corpus itself gives them: they help to find rows and satisfy nothing.

A name is looked up among file names and front-matter aliases, and in the passages found first ("Skelday Energy (SE)",
"posts as @kelpwife"). At most three are used, and none of a name that several things have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.models.rerank import Signal
from citewell.search.names import (
    abbreviations,
    base_name,
    has_case,
    hidden,
    introduced_names,
    is_name_like,
    name_key,
    reads_as_name,
)
from citewell.search.query import QueryPlan, Variant, is_function_word, is_intent
from citewell.store.port import Candidate, CorpusReader
from citewell.text.documents import Document
from citewell.text.words import QueryToken, query_tokens

MOST = 3
WEIGHT = 0.5
_PASSAGES = 6
_WORDS = 24
_LONGEST = 3


@dataclass(frozen=True, slots=True)
class OtherName:
    """A name of the question, another for the same thing, and the document that says so."""

    name: str
    other: str
    source_key: str

    def signal(self) -> Signal:
        return Signal("alias", 0.0, f"found as '{self.other}', which {self.source_key} gives for '{self.name}'")


@dataclass(frozen=True, slots=True)
class AliasExpansion:
    """The other names that are searched for, and those that are known and left alone."""

    tried: tuple[OtherName, ...] = ()
    untried: tuple[OtherName, ...] = ()


def expand_aliases(store: CorpusReader, plan: QueryPlan, found: Sequence[Candidate]) -> AliasExpansion:
    """Other names for what a question names; `found` is what its own words found."""
    tokens = query_tokens(plan.text_query)[:_WORDS]
    names = {name_key(name): name for name in _names(tokens)}
    given: dict[str, dict[str, OtherName]] = {}
    for one in (*_by_title(store, names), *_by_text(store, names, found[:_PASSAGES])):
        given.setdefault(name_key(one.name), {}).setdefault(name_key(one.other), one)
    own = {token.folded for token in tokens} | {part for token in tokens for part in token.parts}
    ruled_out = {name_key(concept.name) for concept in plan.excluded}
    new = [
        one
        for others in given.values()
        for key, one in others.items()
        if key not in ruled_out and not own.issuperset(key.split())
    ]
    telling = [one for one in new if _is_telling(one.other)]
    vague = [one for one in new if one not in telling]
    return AliasExpansion(tuple(telling[:MOST]), (*telling[MOST:], *vague))


def variant_with(plan: QueryPlan, others: Sequence[OtherName]) -> Variant:
    """The question with its names exchanged for the others."""
    replaced = {part for one in others for part in name_key(one.name).split()}
    kept = [term for term in plan.terms if name_key(term) not in replaced]
    return Variant("alias", " ".join((*kept, *(one.other for one in others))), WEIGHT)


def _is_telling(name: str) -> bool:
    """Whether a name means this and nothing else: not `the gauge project`."""
    described = " " in name and has_case(name) and name == name.lower()
    return is_name_like(name) and not described


def _names(tokens: Sequence[QueryToken]) -> Iterator[str]:
    """What in a question may be a name: words that stand together, longest first, and single words that matter."""
    meant = [token for token in tokens if not token.is_dense]
    for size in range(_LONGEST, 1, -1):
        for at in range(len(meant) - size + 1):
            run = meant[at : at + size]
            if not is_function_word(run[0]) and not is_function_word(run[-1]):
                yield " ".join(token.text for token in run)
    for token in tokens:
        if not is_function_word(token) and not is_intent(token):
            yield token.text


def _by_title(store: CorpusReader, names: dict[str, str]) -> Iterator[OtherName]:
    """Aliases and titles of the one document that is called so."""
    called: dict[str, dict[str, Document]] = {}
    for name, document in store.documents_called([*names, *(f"@{key}" for key in names)]):
        called.setdefault(name_key(name), {})[document.source_key] = document
    for key, documents in called.items():
        if len(documents) > 1 or key not in names:
            continue
        for document in documents.values():
            for other in (base_name(document.title), *document.aliases) if document.aliases else ():
                if name_key(other) != key:
                    yield OtherName(names[key], other, document.source_key)


def _by_text(store: CorpusReader, names: dict[str, str], found: Sequence[Candidate]) -> list[OtherName]:
    """Long and short forms that the passages give; a short form of several long ones is left alone."""
    texts = store.slices([(c.document.content_hash, c.chunk.start, c.chunk.end) for c in found])
    given: list[OtherName] = []
    for candidate, text in zip(found, texts, strict=True):
        shown = hidden(text)
        for pair in abbreviations(shown):
            given += _one_for_the_other(names, pair.name, pair.short, candidate.document.source_key)
        title = candidate.document.title
        for name in introduced_names(shown) if reads_as_name(title) else ():
            if name[0] == "@" or name[0].isupper() or not has_case(name):
                given += _one_for_the_other(names, base_name(title), name, candidate.document.source_key)
    meanings: dict[str, set[str]] = {}
    for one in given:
        meanings.setdefault(name_key(one.name), set()).add(name_key(one.other))
    return [one for one in given if len(meanings[name_key(one.name)]) == 1]


def _one_for_the_other(names: dict[str, str], long: str, short: str, source_key: str) -> Iterator[OtherName]:
    if name_key(short) in names:
        yield OtherName(names[name_key(short)], long, source_key)
    elif name_key(long) in names:
        yield OtherName(names[name_key(long)], short, source_key)
