"""Questions made from somebody's own notes: from headings, properties, definitions and single sentences. Pure.

Example:
    text: # Heat pump\n\nThe heat pump was installed on 17 March 2023 by Warmstone.
    question: heat pump installed Warmstone
    wanted: 17 March 2023

The sentence of a cloze is held out: the question has its rarest words and not their order, and never the value that is
wanted. Which passages are asked about follows from their text alone, so that a report can be compared with an earlier
one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.domain.eval_reports import QuestionKind
from citewell.text.language import detect_language, is_stop_word
from citewell.text.properties import properties_of
from citewell.text.sentences import sentences
from citewell.text.structure import Block, headings_above, whole_blocks_of

_VALUE = re.compile(
    r"(?<![\w.])(?:[£$€]\s?)?\d[\d.,:/-]*\d(?:\s?(?:%|°C|[kKMG]?[Wwgmbl]h?|years?|days?|hours?))?(?!\w)"
)
_DEFINES = re.compile(r"(?P<name>[^\W\d_][\w .+'’-]{1,48}?) (?:is|are) (?:an?|the) (?P<rest>[^.!?\n]{20,})")
_WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")
_MARKS = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]|\[([^\]]*)\]\([^)]*\)|[*_`~#>]+")
_PLAIN_KEYS = re.compile(
    r"(?:tags?|aliases|cssclass(?:es)?|date|created|modified|updated|id|uid|layout|permalink|draft|slug)", re.I
)
_MOST_WORDS = 6
_LEAST_WORDS = 4
_SHORT_HEADING = 2
_MOST_NOTES = 12
_LEAST_SAID = 5
_EMBED = re.compile(r"!\[\[[^\]]*\]\]|!\[[^\]]*\]\([^)]*\)")
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnNote:
    """A document as questions are made from it."""

    source_key: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question, the passage it was made from, and what an answer must hold; empty: any part of the passage."""

    kind: QuestionKind
    question: str
    source_key: str
    start: int
    end: int
    wanted: str = ""


def questions_from(notes: Sequence[OwnNote], most: int) -> list[OwnQuestion]:
    """At most so many questions, evenly of each kind and drawn evenly from the notes."""
    rarity = Counter(word for note in notes for word in {one.casefold() for one in _WORD.findall(note.text)})
    found: dict[QuestionKind, list[OwnQuestion]] = {"heading": [], "property": [], "definition": [], "cloze": []}
    titles = Counter(note.title.casefold() for note in notes)
    for note in notes:
        # What two notes are called names neither of them.
        is_named = titles[note.title.casefold()] == 1
        blocks = whole_blocks_of(note.text)
        for one in (
            *(_properties(note) if is_named else ()),
            *_headings(note, blocks, is_named=is_named),
            *_sentences(note, blocks, rarity),
        ):
            found[one.kind].append(one)
    unique = _once(found)
    return _evenly(unique, most)


def _once(found: dict[QuestionKind, list[OwnQuestion]]) -> dict[QuestionKind, list[OwnQuestion]]:
    """Without questions that several passages could have been asked: nobody could say which is meant."""
    counts = Counter(one.question.casefold() for several in found.values() for one in several)
    return {
        kind: sorted((one for one in several if counts[one.question.casefold()] == 1), key=_draw)
        for kind, several in found.items()
    }


def _draw(one: OwnQuestion) -> str:
    return hashlib.sha256(f"{one.source_key}\n{one.question}".encode("utf-8", "surrogatepass")).hexdigest()


def _evenly(found: dict[QuestionKind, list[OwnQuestion]], most: int) -> list[OwnQuestion]:
    """In turn from each kind, one of a document before a second of it."""
    queues = {kind: _spread(several) for kind, several in found.items()}
    chosen: list[OwnQuestion] = []
    while len(chosen) < most and any(queues.values()):
        for queue in queues.values():
            if queue and len(chosen) < most:
                chosen.append(queue.pop(0))
    return chosen


def _spread(several: Sequence[OwnQuestion]) -> list[OwnQuestion]:
    seen: Counter[str] = Counter()
    placed: list[tuple[int, int, OwnQuestion]] = []
    for number, one in enumerate(several):
        placed.append((seen[one.source_key], number, one))
        seen[one.source_key] += 1
    return [one for _, _, one in sorted(placed, key=lambda entry: entry[:2])]


def _properties(note: OwnNote) -> Iterator[OwnQuestion]:
    spans, _ = properties_of(note.text)
    for start, end in spans:
        key, _, value = note.text[start:end].partition(":")
        key, plain = key.strip().strip("\"'"), _plain(value).removeprefix("- ").strip(" \"'")
        if (
            _PLAIN_KEYS.fullmatch(key)
            or not 1 < len(plain) <= 60
            or "\n" in value.strip()
            or plain.startswith(("[", "{"))
        ):
            continue
        if plain.casefold() not in note.title.casefold():
            yield OwnQuestion("property", f"What is the {key} of {note.title}?", note.source_key, start, end, plain)


def _headings(note: OwnNote, blocks: Sequence[Block], *, is_named: bool) -> Iterator[OwnQuestion]:
    paths = headings_above(blocks)
    first = next((number for number, block in enumerate(blocks) if block.kind == "heading"), None)
    for number, block in enumerate(blocks):
        # The heading on top names the whole note and no part of it.
        if block.kind != "heading" or (number == first and block.level == 1):
            continue
        heading = _plain(note.text[block.start : block.end]).strip()
        below = [one for at, one in enumerate(blocks) if number in paths[at] and at != number and one.kind != "heading"]
        said = _EMBED.sub(" ", " ".join(note.text[one.start : one.end] for one in below))
        if (
            len(_WORD.findall(said)) < _LEAST_SAID
            or not _WORD.search(heading)
            or heading.casefold() == note.title.casefold()
        ):
            continue
        # A heading of a word or two ("Setup") says what it is about only beside its title.
        words = len(_WORD.findall(heading))
        if words <= _SHORT_HEADING and not is_named:
            continue
        asked = heading if words > _SHORT_HEADING else f"{note.title}: {heading}"
        yield OwnQuestion("heading", asked, note.source_key, block.start, below[-1].end)


def _sentences(note: OwnNote, blocks: Sequence[Block], rarity: Counter[str]) -> Iterator[OwnQuestion]:
    languages = (detect_language(note.text) or "en", "en")
    for block in blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        for start, end in sentences(note.text[block.start : block.end]):
            at, until = block.start + start, block.start + end
            sentence = note.text[at:until]
            if "http" in sentence or not 30 <= len(sentence) <= 400:
                continue
            yield from _definition(note, at, until, sentence, rarity, languages)
            yield from _cloze(note, at, until, sentence, rarity, languages)


def _definition(
    note: OwnNote, start: int, end: int, sentence: str, rarity: Counter[str], languages: tuple[str, ...]
) -> Iterator[OwnQuestion]:
    found = _DEFINES.match(_plain(sentence).lstrip("- \t"))
    if found is None:
        return
    name = _ARTICLE.sub("", found["name"].strip())
    words = [word.casefold() for word in name.split()]
    if not words or len(words) > 4 or any(is_stop_word(word, languages) or not _WORD.fullmatch(word) for word in words):
        return
    # A word that many notes have ("example") is not what a reader would ask for.
    if min(rarity[word] for word in words) <= _MOST_NOTES:
        yield OwnQuestion("definition", f"What is {name}?", note.source_key, start, end)


def _cloze(
    note: OwnNote, start: int, end: int, sentence: str, rarity: Counter[str], languages: tuple[str, ...]
) -> Iterator[OwnQuestion]:
    values = [found[0].strip() for found in _VALUE.finditer(sentence)]
    if len(values) != 1 or len(values[0]) < 2:
        return
    plain = _plain(sentence).replace(values[0], " ")
    words = [word for word in dict.fromkeys(_WORD.findall(plain)) if not is_stop_word(word.casefold(), languages)]
    if len(words) < _LEAST_WORDS:
        return
    kept = set(sorted(words, key=lambda word: (rarity[word.casefold()], word))[:_MOST_WORDS])
    question = " ".join(sorted(kept, key=lambda word: hashlib.sha256(word.encode()).digest()))
    yield OwnQuestion("cloze", question, note.source_key, start, end, values[0])


def _plain(text: str) -> str:
    """Text without the marks of Markdown, links by what they show."""
    return " ".join(_MARKS.sub(lambda match: match[1] or match[2] or "", text).split())
