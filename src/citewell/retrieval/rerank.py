"""Reranking: base score plus named signals, each of which a person can read. Pure.

score = base + variant signal + concept matches − missing required concepts + all-required bonus + what the question
says about the row beyond its words (exclusions, an exact title, a kind of source).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.domain.evidence import Signal
from citewell.domain.queries import Concept, ConceptRole
from citewell.retrieval.hybrid import LaneRow

# Only for names, and small, since the words of a concept are in the base already: more made packs rank worse than
# plain search on public collections.
_MATCHED: dict[ConceptRole, float] = {"anchor": 0.03, "content": 0.0002, "intent": 0.0001, "frame": 0.0}
_MISSING: dict[ConceptRole, float] = {"anchor": -0.04, "content": -0.0002, "intent": 0.0, "frame": 0.0}
# What was asked for exactly (a quoted phrase, a handle, a tag) is there or not: ranking by words does not see it.
_EXACT, _NOT_EXACT = 0.12, -0.15
_ALL_REQUIRED = 0.01
_PER_VARIANT = 0.001
# The words of a title are in the base twice: among equals it comes first.
_TITLE = 0.0002


@dataclass(frozen=True, slots=True)
class Weighed:
    """A row's final score with the signals it is the sum of."""

    score: float
    signals: tuple[Signal, ...]
    met: tuple[str, ...]
    missing: tuple[str, ...]


def weigh(
    base: float,
    variants: Sequence[str],
    concepts: Sequence[Concept],
    met: frozenset[str],
    in_title: frozenset[str],
    further: Sequence[Signal] = (),
) -> Weighed:
    """The score of one row; `met` and `in_title` name the concepts its text and its title satisfy.

    `further` signals are what the question says about the row beyond its words.
    """
    signals = [Signal("base", round(base, 6), "share of the best lexical score")]
    if len(variants) > 1:
        signals.append(Signal("variants", _PER_VARIANT * (len(variants) - 1), f"found by {', '.join(variants)}"))
    for concept in concepts:
        if concept.name in met:
            value = _EXACT if concept.protected else _MATCHED[concept.role]
            signals.append(Signal(f"concept:{concept.name}", value, f"{concept.role} matched"))
        elif concept.required:
            value = _NOT_EXACT if concept.protected else _MISSING[concept.role]
            signals.append(Signal(f"missing:{concept.name}", value, f"required {concept.role} missing"))
    titled = [name for name in in_title if any(c.name == name and c.role in ("anchor", "content") for c in concepts)]
    if titled:
        signals.append(Signal("title", _TITLE, f"title names {', '.join(sorted(titled))}"))
    required = [concept.name for concept in concepts if concept.required]
    missing = tuple(name for name in required if name not in met)
    if required and not missing:
        signals.append(Signal("all_required", _ALL_REQUIRED, "every required concept is here"))
    signals += further
    score = round(sum(signal.value for signal in signals), 6)
    shown = tuple(signal for signal in signals if signal.value != 0.0)
    return Weighed(score, shown, tuple(name for name in required if name in met), missing)


def with_meaning(weighed: Weighed, base: float, row: LaneRow) -> Weighed:
    """The same score, its base told apart by lane: what words gave and what meaning gave."""
    if "semantic" not in row.lanes or row.score <= 0:
        return weighed
    meant = round(base * row.semantic / row.score, 6)
    (reason,) = (signal.detail for signal in row.signals if signal.name == "semantic")
    signals = [
        replace(signal, value=round(signal.value - meant, 6), detail="share of the best score, by words")
        if signal.name == "base"
        else signal
        for signal in weighed.signals
    ]
    told = [signals[0], Signal("semantic", meant, reason), *signals[1:]]
    return replace(weighed, signals=tuple(signal for signal in told if signal.value != 0.0))
