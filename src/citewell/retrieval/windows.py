"""Windows: which part of a document to show. It is centred on the rarest matches, never simply the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from citewell.retrieval.matching import Match
from citewell.text.chunking import trim
from citewell.text.sentences import sentence_breaks

# A repeated term adds little: a window with two different terms beats one that says the same word twice.
_REPEAT_SHARE = 0.15
_SNAP_SHARE = 0.25


def best_window(
    text: str, matches: Sequence[Match], weights: Mapping[str, float], max_chars: int, preferred: tuple[int, int]
) -> tuple[int, int]:
    """The span of at most `max_chars` that holds the most weight; inside `preferred` where nothing matches."""
    max_chars = max(1, max_chars)
    if len(text) <= max_chars:
        return trim(text, *_snap(text, 0, len(text), *preferred))
    if not matches:
        return _grow(text, preferred[0], preferred[0], max_chars)
    first, last = _without_repeats(matches, *_heaviest(matches, weights, max_chars))
    return _grow(text, matches[first].start, matches[last].end, max_chars)


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
