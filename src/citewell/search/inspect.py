"""Reading more of what was found: of all documents the parts that say most of what was asked, within one budget.

A row shows one window of its document. Here the blocks of all documents (`windows.py`) are weighed together: by what
they say of the question, by how near the chunk they stand in comes to it in meaning, and by how well their document
was found. The best are shown, each grown to what belongs to it, until the budget is used or what is left says little.
A short document that was found first or second is shown whole. Windows that nearly touch are one.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citewell.search.lanes import OpenLane
from citewell.search.pack import ResearchPack
from citewell.search.query import doubtful_words, lexical_query, normalize
from citewell.search.rows import LOOK_THROUGH, Context, contexts_of, rarity, read_around, term_chunks
from citewell.search.spelling import respell
from citewell.search.windows import BlockScores, block_scores, grown
from citewell.store.port import CorpusReader, Filters
from citewell.text.documents import Chunk, Document, DocumentView, SectionView, Span
from citewell.text.languages import is_stop_word
from citewell.text.sentences import properties_of
from citewell.text.words import index_terms

# What a prompt says beside its evidence, of the same budget: the rules, the question, what is looked for.
PROMPT_CHARS = 3_500
WHOLE_CHARS = 6_000
_WHOLE_ROWS = 2
_WINDOW_CHARS = 900
# How much of a document is looked through, of the first rows and (`LOOK_THROUGH`) of the others.
_LOOK_CHARS, _LOOKED_ROWS = 200_000, 3
# Windows with less than this between them are shown as one.
_GAP_CHARS = 250
# What a window costs beside its text: its line of names, and the marks of its sentences.
_HEAD_CHARS, _MARKS = 130, 1.12
# How much meaning says of a block beside its words, and how little of the best one is still worth showing.
_MEANING, _LEAST = 0.5, 0.2
_FURTHER = 0.8
# A document is named where this much of the question stands in its names; what its opening is worth then.
_NAMED, _OPENING = 0.75, 0.7


@dataclass(frozen=True, slots=True)
class Found:
    """A document that was found: the part shown so far, and how good the row is."""

    source_key: str
    start: int
    end: int
    score: float
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a document; `text` is its canonical text from `start` to `end`."""

    source_key: str
    content_hash: str
    start: int
    end: int
    text: str
    sections: tuple[SectionView, ...] = ()
    context: tuple[Context, ...] = ()


def looked_for(pack: ResearchPack) -> tuple[tuple[str, ...], tuple[Found, ...]]:
    """What windows are chosen by, and for which documents: those that a search found itself."""
    plan = pack.query_plan
    further = [variant.query for variant in plan.query_variants if variant.kind == "planner"]
    rows = [row for row in pack.evidence if row.related_to is None]
    found = (
        Found(row.source_key, row.span.start, row.span.end, row.score, is_named=row.source_key in plan.named_keys)
        for row in rows
    )
    return (" ".join(plan.terms) or plan.text_query, *further), tuple(found)


def window_of_view(view: DocumentView) -> Window:
    """What an inspector read of a document."""
    return Window(view.source_key, view.content_hash, view.start, view.end, view.text, view.sections)


@dataclass(slots=True)
class _Inspected:
    """A document that is read: its blocks, what each is worth, and what is shown of it so far."""

    document: Document
    text: str
    offset: int
    scored: BlockScores
    worth: list[float]
    shown: list[tuple[int, int]] = field(default_factory=list)

    def show(self, start: int, end: int, room: int) -> int:
        """Show this too, as one window with what it nearly touches; what it costs, or 0 where there is no room."""
        merged, kept = (start, end), []
        for low, high in self.shown:
            if low <= merged[1] + _GAP_CHARS and merged[0] <= high + _GAP_CHARS:
                merged = min(low, merged[0]), max(high, merged[1])
            else:
                kept.append((low, high))
        cost = _cost([*kept, merged]) - _cost(self.shown)
        if cost > room:
            return 0
        self.shown = sorted([*kept, merged])
        return cost

    def is_shown(self, number: int) -> bool:
        block = self.scored.blocks[number]
        return any(low <= block.start and block.end <= high for low, high in self.shown)


def _cost(windows: Sequence[tuple[int, int]]) -> int:
    return sum(_HEAD_CHARS + round(_MARKS * (end - start)) for start, end in windows)


def inspect_rows(
    store: CorpusReader,
    open_lane: OpenLane | None,
    question: str,
    queries: Sequence[str],
    rows: Sequence[Found],
    max_chars: int,
    per_document: int | None = None,
) -> tuple[Window, ...]:
    """The windows of these documents, in the order of the rows and of the text; `per_document` bounds one's together.

    A document that is gone keeps what it shows. Without `open_lane` words alone decide. Of the `queries` the first
    holds what the question is about; the others are other ways to ask for it.
    """
    documents = {one.source_key: one for one in store.documents_by_keys([row.source_key for row in rows], Filters())}
    there = [row for row in rows if row.source_key in documents]
    read = _read(store, queries[0], there, documents)
    for other in queries[1:]:
        for one, known in zip(_read(store, other, there, documents), read, strict=True):
            known.worth = [max(a, _FURTHER * b) for a, b in zip(known.worth, one.worth, strict=True)]
    if open_lane is not None:
        _by_meaning(store, open_lane, question, read)
    for one in read:
        _weigh_properties(question, one)
    _fill(read, there, max_chars, per_document or max_chars)
    windows = [
        Window(
            one.document.source_key,
            one.document.content_hash,
            one.offset + low,
            one.offset + high,
            one.text[low:high],
            store.sections_between(
                one.document.source_key, one.document.content_hash, one.offset + low, one.offset + high
            ),
        )
        for one in read
        for low, high in one.shown
    ]
    return with_contexts(store, windows)


def with_contexts(store: CorpusReader, windows: Sequence[Window]) -> tuple[Window, ...]:
    """The windows with what stands above each and belongs to it."""
    spans = [Span("", one.start, one.end, one.content_hash) for one in windows]
    above = contexts_of(store, [(one.source_key, span) for one, span in zip(windows, spans, strict=True)])
    return tuple(
        Window(one.source_key, one.content_hash, one.start, one.end, one.text, one.sections, context)
        for one, context in zip(windows, above, strict=True)
    )


def _read(
    store: CorpusReader, query: str, rows: Sequence[Found], documents: Mapping[str, Document]
) -> list[_Inspected]:
    normalized = normalize(query)
    asked = lexical_query(normalized.text, store.languages(), normalized.phrases)
    asked = respell(store, asked, doubtful_words(normalized.text, normalized.phrases)).query
    weights = rarity(term_chunks(store, asked), store.chunk_count())
    sizes = [_LOOK_CHARS if at < _LOOKED_ROWS else LOOK_THROUGH for at in range(len(rows))]
    chunks = [
        (document, Chunk(f"{document.content_hash[:12]}:{row.start}-{row.end}", 0, row.start, row.end, "raw_source"))
        for row in rows
        for document in [documents[row.source_key]]
    ]
    found: list[_Inspected] = []
    readings = [read_around(store, *chunk, asked, size) for chunk, size in zip(chunks, sizes, strict=True)]
    for row, (document, _), reading in zip(rows, chunks, readings, strict=True):
        shown = (row.start - reading.offset, row.end - reading.offset)
        scored, totals = block_scores(
            reading.text, reading.matches, weights, shown, reading.named_by, is_opening=reading.is_opening
        )
        asked_for = sum(weights.values()) or 1.0
        worth = [min(1.0, total / asked_for) for total in totals]
        if row.is_named or sum(weights.get(term, 1.0) for term in reading.named_by) >= _NAMED * asked_for:
            # What names the document asks for all of it, from its opening on.
            worth = [max(value, _OPENING * (1 - at / (2 * len(worth)))) for at, value in enumerate(worth)]
        found.append(_Inspected(document, reading.text, reading.offset, scored, worth))
    return found


def _by_meaning(store: CorpusReader, open_lane: OpenLane, query: str, read: Sequence[_Inspected]) -> None:
    """Add to each block how near its chunk comes to the question, between the farthest and the nearest of them all."""
    try:
        near = open_lane().chunks_near(query, [one.document.source_key for one in read])
    except Exception:  # noqa: BLE001 - whatever a model's libraries raise, words still choose
        return
    low, high = min(near.values(), default=0.0), max(near.values(), default=0.0)
    if high <= low:
        return
    for one in read:
        places = sorted(place for place in near if place[0] == one.document.source_key)
        for number, block in enumerate(one.scored.blocks):
            start = one.offset + block.start
            score = next((near[place] for place in places if place[1] <= start < place[2]), low)
            one.worth[number] = (1 - _MEANING) * one.worth[number] + _MEANING * (score - low) / (high - low)


def _weigh_properties(question: str, one: _Inspected) -> None:
    """Front matter is shown where one of its properties is asked for, and never else."""
    blocks = one.scored.blocks
    if blocks and blocks[0].kind == "properties":
        one.worth[0] = max(one.worth[0], _OPENING) if asked_properties(question, one.text) else 0.0


# A property answers "when" by its date, "who" by its key.
_WHEN = re.compile(
    r"\b(?:when|what (?:year|date|day|month)|which (?:year|date|day|month)|wann|quand|cu[aá]ndo|quando)\b|いつ"
)
_WHO = re.compile(r"\b(?:who|whose|whom|author|wer|von wem|qui|qui[eé]n|chi|quem)\b|誰|だれ")
_BY = re.compile(
    r"\W*(?:author|creator|by|director|artist|writer|editor|maker|owner|speaker|host|people|attendee)", re.IGNORECASE
)
_DATED = re.compile(r"(?:19|20)\d\d")


def asked_properties(question: str, text: str) -> tuple[tuple[int, int], ...]:
    """The properties at the beginning of a text that a question asks for, by a word, or as its date or its author."""
    asked, spoken = _stems(question), question.casefold()

    def is_asked(start: int, end: int) -> bool:
        said = text[start:end]
        by_word = not asked.isdisjoint(_stems(said))
        return by_word or bool(
            (_WHEN.search(spoken) and _DATED.search(said)) or (_WHO.search(spoken) and _BY.match(said))
        )

    return tuple(span for span in properties_of(text)[0] if is_asked(*span))


def _stems(text: str) -> frozenset[str]:
    return frozenset(form for form in index_terms(text, "en").split() if len(form) > 2 and not is_stop_word(form))


def _fill(read: Sequence[_Inspected], rows: Sequence[Found], room: int, per_document: int) -> None:
    """Choose what is shown: what was shown, short documents whole, then block by block, the best of all first."""
    most = max((row.score for row in rows), default=0.0) or 1.0
    queue: list[tuple[float, int, int]] = []
    left = [per_document] * len(read)

    def show(place: int, start: int, end: int) -> None:
        nonlocal room
        cost = read[place].show(start, end, min(room, left[place]))
        room -= cost
        left[place] -= cost

    for place, (one, row) in enumerate(zip(read, rows, strict=True)):
        show(place, row.start - one.offset, row.end - one.offset)
        share = max(0.0, row.score) / most
        queue += [(-share * worth, place, number) for number, worth in enumerate(one.worth) if worth > 0]
    for place, one in enumerate(read[:_WHOLE_ROWS]):
        scored = zip(one.scored.blocks, one.worth, strict=True)
        body = [block for block, worth in scored if worth or block.kind != "properties"]
        if body and len(one.text) <= WHOLE_CHARS and one.document.length <= 2 * WHOLE_CHARS:
            show(place, body[0].start, body[-1].end)
    heapq.heapify(queue)
    least = _LEAST * queue[0][0] if queue else 0.0
    while queue and queue[0][0] <= least:
        _, place, number = heapq.heappop(queue)
        one = read[place]
        if not one.is_shown(number):
            size = min(_WINDOW_CHARS, max(0, room - _HEAD_CHARS), max(0, left[place] - _HEAD_CHARS))
            show(place, *grown(one.scored, number, size))
