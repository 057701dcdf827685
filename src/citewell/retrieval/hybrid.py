"""Fusing the lanes: what words found and what meaning found become one list, each row with its lanes and reasons. Pure.

A row's score is the sum of its signals: its share of the best score by words, and its place between the worst and the
best similarity, weighted. A row that has what was asked for exactly (a quoted phrase, a handle, a tag, a version) is
never passed by a row without it that the words ranked lower. The row nearest in meaning has a place among the first
five whatever the words say: the best row by words always has the full share, however little it has of the question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from citewell.domain.evidence import Lane, Signal
from citewell.domain.lanes import Moved, SemanticReport, SemanticUse
from citewell.domain.ports import Candidate
from citewell.domain.values import dataclass
from citewell.retrieval.lexical import Found

# Both lanes are asked for so many documents, however few are shown: shares depend on them.
DEPTH = 100
# Weights that follow the query (how far the best row leads, how much of it is matched, how far the lanes agree) were no
# better than this one on queries they were not tuned on.
_WEIGHT = 0.4
# The row nearest in meaning stands no lower than this.
RESERVED_PLACE = 5
RESERVED = "semantic_reserved"


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A document that some lane found, with the signals its score is the sum of."""

    candidate: Candidate
    score: float
    signals: tuple[Signal, ...]
    lanes: tuple[Lane, ...]

    @property
    def key(self) -> str:
        return self.candidate.document.source_key

    @property
    def semantic(self) -> float:
        """What meaning contributes to the score."""
        return sum(signal.value for signal in self.signals if signal.name == "semantic")


def semantic_weight(lexical: Sequence[Found], semantic: Sequence[Candidate]) -> float:
    """How much meaning counts in this search, between 0 and 1."""
    if not lexical or not semantic:
        return 1.0 if semantic else 0.0
    return _WEIGHT


def fuse_lanes(
    lexical: Sequence[Found], semantic: Sequence[Candidate], weight: float, exact: Collection[str] = ()
) -> list[LaneRow]:
    """Every document once, best first. `exact` names those that have what was asked for exactly."""
    by_words = {found.candidate.document.source_key: found for found in lexical}
    by_meaning = {candidate.document.source_key: candidate for candidate in semantic}
    top = max((found.score for found in lexical), default=0.0)
    shares = _shares(semantic)
    rows = [
        _row(by_words.get(key), top, by_meaning.get(key), shares.get(key, 0.0), weight)
        for key in dict.fromkeys((*by_words, *by_meaning))
    ]
    if exact:
        rows = _with_exact_first(rows, [found.candidate.document.source_key for found in lexical], exact)
    ordered = sorted(rows, key=lambda row: (-row.score, row.key not in exact, row.key))
    return _with_reserved(ordered, nearest_key(semantic), exact)


def nearest_key(semantic: Sequence[Candidate]) -> str | None:
    """The document nearest in meaning; of several as near, the first by its key."""
    best = min(semantic, key=lambda candidate: (-candidate.score, candidate.document.source_key), default=None)
    return best.document.source_key if best else None


def _with_reserved(ordered: list[LaneRow], nearest: str | None, exact: Collection[str]) -> list[LaneRow]:
    """The row nearest in meaning among the first five, or behind the rows that have exactly what was asked for."""
    place = next((number for number, row in enumerate(ordered) if row.key == nearest), 0)
    behind = max((number + 1 for number, row in enumerate(ordered[:place]) if row.key in exact), default=0)
    target = max(RESERVED_PLACE - 1, behind)
    if place <= target:
        return ordered
    lifted = _reserved(ordered[place], ordered[target].score)
    rest = [row for row in ordered if row.key != nearest]
    return [*rest[:target], lifted, *rest[target:]]


def reserved_signal(gain: float) -> Signal:
    """Why a row stands in a place that its score alone would not give it."""
    return Signal(RESERVED, round(max(gain, 0.0), 6), "nearest in meaning, so among the first five")


def _reserved(row: LaneRow, score: float) -> LaneRow:
    signal = reserved_signal(score - row.score)
    return replace(row, score=round(row.score + signal.value, 6), signals=(*row.signals, signal))


def _shares(semantic: Sequence[Candidate]) -> dict[str, float]:
    """Where each similarity stands between the lowest and the highest."""
    if not semantic:
        return {}
    scores = [candidate.score for candidate in semantic]
    low, span = min(scores), max(scores) - min(scores)
    return {c.document.source_key: (c.score - low) / span if span > 0 else 1.0 for c in semantic}


def _row(found: Found | None, top: float, near: Candidate | None, share: float, weight: float) -> LaneRow:
    signals: list[Signal] = []
    lanes: list[Lane] = []
    if found is not None:
        scale = (1.0 - weight) / top if top > 0 else 0.0
        signals += [replace(signal, value=round(signal.value * scale, 6)) for signal in found.signals]
        lanes.append("lexical")
    by_words = sum(signal.value for signal in signals)
    if near is not None:
        signals.append(Signal("semantic", round(weight * share, 6), f"meaning: similarity {near.score:.3f}"))
        lanes.append("semantic")
    # The passage of the lane that says more for the document.
    candidate = near if found is None or (near is not None and weight * share > by_words) else found.candidate
    assert candidate is not None  # a row comes from one lane at least
    return LaneRow(candidate, round(sum(signal.value for signal in signals), 6), tuple(signals), tuple(lanes))


def _with_exact_first(rows: Sequence[LaneRow], by_words: Sequence[str], exact: Collection[str]) -> list[LaneRow]:
    """Lift an exact row to the level of every inexact one that the words ranked below it."""
    place = {key: number for number, key in enumerate(by_words)}
    inexact = [row for row in rows if row.key not in exact]
    lifted: list[LaneRow] = []
    for row in rows:
        if row.key in exact:
            own = place.get(row.key, len(place))
            floor = max((other.score for other in inexact if place.get(other.key, len(place)) >= own), default=0.0)
            row = _lifted(row, floor - row.score)
        lifted.append(row)
    return lifted


def _lifted(row: LaneRow, gain: float) -> LaneRow:
    if gain <= 0:
        return row
    signal = Signal("exact", round(gain, 6), "has exactly what was asked for, so meaning alone passes it by no row")
    return replace(row, score=round(row.score + signal.value, 6), signals=(*row.signals, signal))


def compare(use: SemanticUse, model: str, weight: float, before: Sequence[str], after: Sequence[str]) -> SemanticReport:
    """What the semantic lane makes of a list of documents."""
    old, new = ({key: number for number, key in enumerate(keys, start=1)} for keys in (before, after))
    return SemanticReport(
        use=use,
        model=model,
        weight=round(weight, 4),
        entered=tuple(key for key in after if key not in old),
        left=tuple(key for key in before if key not in new),
        moved=tuple(Moved(key, old[key], new[key]) for key in after if key in old and old[key] != new[key]),
    )
