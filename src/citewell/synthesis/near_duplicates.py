"""Near-duplicates: statements that are copies of one another with small edits. Pure.

Measured by three-word shingles. Two short statements on one subject can look alike without being copies, so very short
ones count as copies only when they are word for word the same.
"""

from __future__ import annotations

from citewell.text.words import index_terms

COPY_AT = 0.5
_LEAST_WORDS = 7


def shingles(text: str) -> frozenset[str]:
    """The three-word runs of a text; the whole text where it is shorter."""
    spoken = index_terms(text, None).split()
    if len(spoken) < _LEAST_WORDS:
        return frozenset({" ".join(spoken)})
    return frozenset(" ".join(spoken[at : at + 3]) for at in range(len(spoken) - 2))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared shingles over all shingles: 1 for a copy, 0 for nothing in common."""
    union = len(one | other)
    return round(len(one & other) / union, 6) if union else 0.0


def are_copies(one: frozenset[str], other: frozenset[str]) -> bool:
    return likeness(one, other) >= COPY_AT
