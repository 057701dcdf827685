"""Windows: which part of a document to show: whole blocks, around the one that says most of what was asked.

A block is a paragraph, a list item, a piece of code, a table (`text/blocks.py`). What it says of the question is
weighed word by word: rare words of the corpus count more, and so do words that few blocks of this document have, since
what stands in every block tells none of them from the others. A heading speaks for what stands below it, so a heading
that asks the question brings its answer, and the header of a table for all of its rows. The words of the title speak
for every block and so say little of any one. Then the window grows block by block to what may be shown: the line that
leads into a list, what follows under the same heading, what comes before. A wider window of the same document holds
the narrower one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citewell.store.port import LexicalQuery, Term
from citewell.text.blocks import Block, blocks_of, headings_above
from citewell.text.chunks import trim
from citewell.text.sentences import sentence_breaks
from citewell.text.words import compound_forms, compounds, find_words

# Where the words of a query stand in a text: word by word, Unicode-aware, with exact spans.


@dataclass(frozen=True, slots=True)
class Match:
    """One word of the text that one term of the query asked for."""

    term: str
    start: int
    end: int


def find_matches(text: str, query: LexicalQuery, language: str | None) -> list[Match]:
    """Every place where a term of the query stands in the text, in order."""
    wanted = _by_form(query.terms)
    found = [Match(wanted[word.form], word.start, word.end) for word in find_words(text, wanted, language)]
    if any(not form.isalnum() for form in wanted):
        for compound in compounds(text):
            for form in compound_forms(compound.form):
                if form in wanted:
                    found.append(Match(wanted[form], compound.start, compound.end))
                    break
    return sorted(found, key=lambda match: (match.start, match.end))


def _by_form(terms: Sequence[Term]) -> dict[str, str]:
    return {form: term.text for term in terms for form in term.forms}


# A repeated term adds little: a block with two different terms beats one that says the same word twice.
_REPEAT_SHARE = 0.1
_SNAP_SHARE = 0.25
# A word in a heading says this much of the first block below it, and of the others.
_HEADED, _HEADED_LATER = 0.7, 0.4
# A heading that has this share of all that was asked asks the question itself: what stands below it answers, and gets
# so much more, as a share of the best block.
_ASKS, _ANSWERS = 0.75, 0.35
# What a block says counts this much for its neighbours under the same heading: "it" and "this" point there.
_NEIGHBOUR = 0.3
# How much the place counts that the ranking found, for what of the question no word of the text says, and where the
# text begins, as shares of the best block.
_FOUND, _OPENING = 0.15, 0.15
_COMMON = 0.3
# A term of the title says this much of a block that has it; and a question that names nothing but the document this
# much of its opening.
_TITLED, _NAMES = 0.25, 0.5


_NOTHING: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class BlockScores:
    """The blocks of a text, the headings above each, and what each says of each term; most say nothing of any."""

    blocks: Sequence[Block]
    paths: Sequence[tuple[int, ...]]
    by_block: Mapping[int, Mapping[str, float]]
    asking: frozenset[int]

    def said(self, number: int) -> Mapping[str, float]:
        return self.by_block.get(number, _NOTHING)


def best_window(
    text: str,
    matches: Sequence[Match],
    weights: Mapping[str, float],
    max_chars: int,
    preferred: tuple[int, int],
    titled: Collection[str] = (),
    *,
    is_opening: bool = True,
) -> tuple[int, int]:
    """The span of at most `max_chars` that says most of what was asked; inside `preferred` where nothing matches.

    `titled` are the terms that name the document; `is_opening` says that the document begins with this text.
    """
    max_chars = max(1, max_chars)
    if len(text) <= max_chars:
        return trim(text, *_snap(text, 0, len(text), *preferred))
    if not matches:
        return _grow(text, preferred[0], preferred[0], max_chars)
    if not blocks_of(text):
        return _grow(text, matches[0].start, matches[0].end, max_chars)
    scored, totals = block_scores(text, matches, weights, preferred, titled, is_opening=is_opening)
    best = max(range(len(totals)), key=lambda number: (totals[number], -number))
    low, high = grown(scored, best, max_chars)
    if high - low > max_chars:
        inside = [match for match in matches if low <= match.start and match.end <= high]
        return _heaviest_part(text, (low, high), inside, weights, max_chars)
    return _filled(text, low, high, max_chars)


def block_scores(
    text: str,
    matches: Sequence[Match],
    weights: Mapping[str, float],
    preferred: tuple[int, int],
    titled: Collection[str] = (),
    *,
    is_opening: bool = True,
) -> tuple[BlockScores, list[float]]:
    """The blocks of a text with what each says of each term, and how good each is as the middle of a window."""
    blocks = blocks_of(text)
    if is_opening:
        titled = {*titled, *_first_heading_terms(blocks, matches)}
    scored = _scored(text, blocks, matches, _beyond_the_title(weights, titled))
    missing = _share({*weights} - {match.term for match in matches}, matches, weights)
    named = _share(titled, matches, weights) if is_opening else None
    return scored, _totals(scored, preferred, named, missing) if blocks else []


def grown(scored: BlockScores, best: int, max_chars: int) -> tuple[int, int]:
    """The span of a block and of as many neighbours that belong to it as fit."""
    return _grown(scored, best, max_chars, (best, best))


def _beyond_the_title(weights: Mapping[str, float], titled: Collection[str]) -> Mapping[str, float]:
    """The weights with those of the title's terms made small: they speak for every block alike."""
    return {**weights, **{term: _TITLED * weights.get(term, 1.0) for term in titled}} if titled else weights


def _first_heading_terms(blocks: Sequence[Block], matches: Sequence[Match]) -> set[str]:
    """The terms of a heading at the top, which names the document as its title does."""
    top = next((block for block in blocks[:2] if block.kind == "heading" and block.level == 1), None)
    return {match.term for match in matches if top and top.start <= match.start < top.end}


def _share(some: Collection[str], matches: Sequence[Match], weights: Mapping[str, float]) -> float:
    """The weight of these terms as a share of all that was asked."""
    asked = {match.term for match in matches} | {*weights}
    whole = sum(weights.get(term, 1.0) for term in asked)
    return sum(weights.get(term, 1.0) for term in asked if term in some) / whole if whole > 0 else 0.0


def wider_window(
    text: str, matches: Sequence[Match], weights: Mapping[str, float], max_chars: int, shown: tuple[int, int]
) -> tuple[int, int]:
    """What is shown and as much around it as there is room for: the same blocks, and more of those that belong."""
    if len(text) <= max_chars:
        return trim(text, *_snap(text, 0, len(text), *shown))
    blocks = blocks_of(text)
    inside = [number for number, block in enumerate(blocks) if block.start < shown[1] and block.end > shown[0]]
    low, high = shown
    if inside and blocks[inside[-1]].end - blocks[inside[0]].start <= max_chars:
        scored = _scored(text, blocks, matches, weights)
        best = max(inside, key=lambda number: (sum(scored.said(number).values()), -number))
        grown = _grown(scored, best, max_chars, (inside[0], inside[-1]))
        low, high = min(low, grown[0]), max(high, grown[1])
    return _filled(text, low, high, max_chars) if high - low < max_chars else shown


def _scored(text: str, blocks: Sequence[Block], matches: Sequence[Match], weights: Mapping[str, float]) -> BlockScores:
    counts = _counts(blocks, matches)
    paths = headings_above(blocks)
    worth = _worth(counts, len(blocks), weights)
    said: dict[int, dict[str, float]] = {
        number: {term: worth[term] * (1 + _REPEAT_SHARE * min(times - 1, 3)) for term, times in own.items()}
        for number, own in counts.items()
    }
    for number in _headed(blocks, paths, counts):
        own = said.setdefault(number, {})
        for heading in paths[number]:
            share = _HEADED if number - heading <= 1 else _HEADED_LATER
            for term in counts.get(heading, ()):
                own[term] = max(own.get(term, 0.0), share * worth[term])
    for number, header in _under_headers(text, blocks, counts):
        own = said.setdefault(number, {})
        for term in {match.term for match in matches if header[0] <= match.start < header[1]}:
            own[term] = max(own.get(term, 0.0), worth[term])
    return BlockScores(blocks, paths, said, _asking(blocks, counts, worth))


def _under_headers(
    text: str, blocks: Sequence[Block], counts: Mapping[int, Counter[str]]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """The later parts of a long table, each with the line of its header: that speaks for every row alike."""
    first = 0
    for number, block in enumerate(blocks):
        if block.kind != "table" or not number or blocks[number - 1].kind != "table":
            first = number
        elif first in counts:
            yield number, (blocks[first].start, text.find("\n", blocks[first].start))


def _counts(blocks: Sequence[Block], matches: Sequence[Match]) -> dict[int, Counter[str]]:
    """How often each term stands in each block that has any."""
    counts: dict[int, Counter[str]] = {}
    at = 0
    for match in matches:
        while at + 1 < len(blocks) and blocks[at].end <= match.start:
            at += 1
        counts.setdefault(at, Counter())[match.term] += 1
    return counts


def _headed(
    blocks: Sequence[Block], paths: Sequence[tuple[int, ...]], counts: Mapping[int, Counter[str]]
) -> Iterator[int]:
    """The blocks that stand under a heading with a term of the question."""
    speaking = {number for number in counts if blocks[number].kind == "heading"}
    if not speaking:
        return
    for number in range(min(speaking) + 1, len(blocks)):
        if blocks[number].kind != "heading" and not speaking.isdisjoint(paths[number]):
            yield number


def _asking(blocks: Sequence[Block], counts: Mapping[int, Counter[str]], worth: Mapping[str, float]) -> frozenset[int]:
    """The headings that ask the question themselves, but for a title at the top: all of the text stands below that."""
    enough = _ASKS * sum(worth.values())
    return frozenset(
        number
        for number, own in counts.items()
        if number > 1
        and blocks[number].kind == "heading"
        and len(own) > 1
        and sum(worth[term] for term in own) >= enough
    )


def _worth(counts: Mapping[int, Counter[str]], blocks: int, weights: Mapping[str, float]) -> dict[str, float]:
    """What a term is worth in this text: the rarer in the corpus and among these blocks, the more."""
    having: Counter[str] = Counter(term for count in counts.values() for term in count)
    whole = math.log(1 + blocks)
    return {
        term: weights.get(term, 1.0) * (_COMMON + (1 - _COMMON) * math.log(1 + blocks / with_it) / whole)
        for term, with_it in having.items()
    }


def _totals(scored: BlockScores, preferred: tuple[int, int], named: float | None, missing: float) -> list[float]:
    """How much each block says, alone and with its neighbours.

    A question that only names the document (`named`) is answered where its text begins, if that is here; where words of
    it are `missing` from the text, the place that the ranking found, perhaps by meaning, counts too.
    """
    totals = [0.0] * len(scored.blocks)
    for number in sorted({near for said in scored.by_block for near in (said - 1, said, said + 1)}):
        if not 0 <= number < len(totals):
            continue
        around = dict(scored.said(number))
        for other in (number - 1, number + 1):
            if 0 <= other < len(totals) and scored.paths[other] == scored.paths[number]:
                for term, value in scored.said(other).items():
                    around[term] = max(around.get(term, 0.0), _NEIGHBOUR * value)
        totals[number] = sum(around.values())
    top = max(totals)
    for number, block in enumerate(scored.blocks):
        if block.kind == "heading":
            totals[number] *= 0.9
        elif number - 1 in scored.asking:
            totals[number] += _ANSWERS * top
        if preferred[0] <= block.start < preferred[1]:
            totals[number] += _FOUND * missing * top
    if named is not None:
        opening = next((n for n, block in enumerate(scored.blocks) if block.kind in ("paragraph", "item")), 0)
        totals[opening] += (_OPENING + _NAMES * named * named) * top
    return totals


def _grown(scored: BlockScores, best: int, max_chars: int, begun: tuple[int, int]) -> tuple[int, int]:
    """The span of what is begun with and of the neighbours that fit, the nearer in structure and more telling first."""
    blocks = scored.blocks
    first, last = begun
    lead = blocks[best].lead
    if lead is not None and lead < first and blocks[last].end - blocks[lead].start <= max_chars:
        first = lead
    shown: dict[str, float] = {}
    for number in range(first, last + 1):
        _show(shown, scored.said(number))
    while True:
        options: list[tuple[float, int]] = []
        if first > 0 and blocks[last].end - blocks[first - 1].start <= max_chars:
            options.append((_gain(scored, shown, first - 1, best, before=True), first - 1))
        if last + 1 < len(blocks) and blocks[last + 1].end - blocks[first].start <= max_chars:
            options.append((_gain(scored, shown, last + 1, best, before=False), last + 1))
        if not options:
            return blocks[first].start, blocks[last].end
        _, number = max(options)
        _show(shown, scored.said(number))
        first, last = min(first, number), max(last, number)


def _show(shown: dict[str, float], said: Mapping[str, float]) -> None:
    for term, value in said.items():
        shown[term] = max(shown.get(term, 0.0), value)


def _gain(scored: BlockScores, shown: Mapping[str, float], number: int, best: int, *, before: bool) -> float:
    """How welcome a block is beside what is shown: what it adds, and whether it belongs to the best one."""
    said = scored.said(number)
    fresh = sum(max(0.0, value - shown.get(term, 0.0)) for term, value in said.items())
    more = 0.2 * sum(said.values())
    top = sum(scored.said(best).values()) or 1.0
    path, own = scored.paths[number], scored.paths[best]
    kinship = 0.5 if path == own else 0.3 if path[: len(own)] == own else 0.1 if before else 0.0
    return fresh + more + kinship * top * (0.8 if before else 1.0)


def _heaviest_part(
    text: str, block: tuple[int, int], matches: Sequence[Match], weights: Mapping[str, float], max_chars: int
) -> tuple[int, int]:
    """The part of a block too long to be shown that holds the most weight."""
    if not matches:
        return _grow(text, block[0], block[0], max_chars)
    first, last = _without_repeats(matches, *_heaviest(matches, weights, max_chars))
    return _grow(text, matches[first].start, matches[last].end, max_chars)


def _filled(text: str, low: int, high: int, max_chars: int) -> tuple[int, int]:
    """The span with whole sentences of what follows and of what comes before, as far as there is room."""
    room = max_chars - (high - low)
    after = [at for at in sentence_breaks(text[high : high + room]) if at]
    if after:
        high = trim(text, high, high + after[-1])[1]
        room = max_chars - (high - low)
    before = text[max(0, low - room) : low]
    breaks = sentence_breaks(before) if low > room else [0]
    if breaks and breaks[0] < len(before):
        low -= len(before) - breaks[0]
    return trim(text, low, high)


def _heaviest(matches: Sequence[Match], weights: Mapping[str, float], max_chars: int) -> tuple[int, int]:
    """The run of neighbouring matches within `max_chars` of each other with the largest weight."""
    best, best_weight = (0, 0), -1.0
    counts: Counter[str] = Counter()
    end = 0
    for first, match in enumerate(matches):
        while end < len(matches) and (end <= first or matches[end].end - match.start <= max_chars):
            counts[matches[end].term] += 1
            end += 1
        weight = _weight(counts, weights)
        if weight > best_weight + 1e-9:
            best, best_weight = (first, end - 1), weight
        counts[match.term] -= 1
    return best


def _without_repeats(matches: Sequence[Match], first: int, last: int) -> tuple[int, int]:
    """The run without matches at its ends that only repeat a term: what is left is put in the middle of the window."""
    counts = Counter(match.term for match in matches[first : last + 1])
    while counts[matches[first].term] > 1 or counts[matches[last].term] > 1:
        if counts[matches[first].term] > 1:
            counts[matches[first].term] -= 1
            first += 1
        else:
            counts[matches[last].term] -= 1
            last -= 1
    return first, last


def _weight(counts: Mapping[str, int], weights: Mapping[str, float]) -> float:
    return sum(
        weights.get(term, 1.0) * (1 + _REPEAT_SHARE * min(count - 1, 3)) for term, count in counts.items() if count
    )


def _grow(text: str, start: int, end: int, max_chars: int) -> tuple[int, int]:
    """Extend a span evenly to the allowance, then let it begin and end with whole sentences where they are near."""
    end = min(end, start + max_chars)
    spare = max_chars - (end - start)
    low = max(0, start - spare // 2)
    high = min(len(text), low + max_chars)
    low = max(0, high - max_chars)
    # The text's own ends are as good as any sentence's.
    low, high = _snap(text, low, high, start if low else 0, end if high < len(text) else high)
    return trim(text, low, high)


def _snap(text: str, low: int, high: int, start: int, end: int) -> tuple[int, int]:
    """Move the edges inwards to whole sentences, else to whole words, but never into what must be shown."""
    slack = int((high - low) * _SNAP_SHARE)
    breaks = [low + at for at in sentence_breaks(text[low:high])]
    if low < start:
        low = _nearest(breaks, low + 1, min(start, low + slack)) or _after_space(text, low, start)
    if high > end:
        high = _farthest(breaks, max(end, high - slack), high) or _before_space(text, end, high)
    return low, high


def _nearest(breaks: Sequence[int], low: int, limit: int) -> int | None:
    return next((at for at in breaks if low <= at <= limit), None)


def _farthest(breaks: Sequence[int], limit: int, high: int) -> int | None:
    return next((at for at in reversed(breaks) if limit <= at <= high), None)


def _after_space(text: str, low: int, limit: int) -> int:
    space = text.find(" ", low, limit)
    return space + 1 if space != -1 else low


def _before_space(text: str, limit: int, high: int) -> int:
    space = text.rfind(" ", limit, high)
    return space if space != -1 else high
