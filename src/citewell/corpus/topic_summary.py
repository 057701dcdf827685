"""The summary of a topic: sentences of its documents as they stand, each with the key of its document. Pure.

It is derived text: it says what the documents say first about a topic, and nothing weighs one against another. It may
orient a reader or a model; it is never evidence and never cited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.corpus.entities import NamedDocument
from citewell.corpus.mentions import hidden
from citewell.corpus.names import name_key
from citewell.text.folding import folded_text
from citewell.text.properties import properties_of
from citewell.text.sentences import sentences
from citewell.text.words import words

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
class _Statement:
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


def _best(named: NamedDocument, forms: frozenset[str], own: set[str]) -> list[_Statement]:
    """The sentences that speak of the topic; a document named after it need not repeat its name in each."""
    document = named.document
    about = bool(own & {name_key(name) for name in (document.title, *document.aliases)})
    scored = [
        _Statement(text, score, place)
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
