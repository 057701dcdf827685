"""Near names: what somebody may have meant by a name that nothing answers to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from citewell.corpus.names import name_key
from citewell.domain.links import KnownName

_SUGGESTIONS = 3
_NEAR_ENOUGH = 0.72


def nearest_names(query: str, known: Iterable[KnownName]) -> list[str]:
    """Known names spelled nearly alike, whole or in one of their words."""
    key = name_key(query)
    scores: dict[str, float] = {}
    for entry in known:
        for name in (name_key(entry.name), name_key(entry.title)):
            score = max(_likeness(key, name), *(0.95 * _likeness(key, part) for part in name.split()[:6]), 0.0)
            if score >= _NEAR_ENOUGH:
                shown = entry.name if entry.is_alias and name == name_key(entry.name) else entry.title
                scores[shown] = max(score, scores.get(shown, 0.0))
    return sorted(scores, key=lambda shown: (-scores[shown], shown))[:_SUGGESTIONS]


def most_like(word: str, terms: Sequence[str]) -> str:
    """The term spelled most like a word, or nothing where none is near."""
    scores = {term: _likeness(word, term) for term in terms}
    best = max(scores, key=lambda term: (scores[term], term), default="")
    return best if scores.get(best, 0.0) >= _NEAR_ENOUGH else ""


def _likeness(left: str, right: str) -> float:
    if not left or not right or min(len(left), len(right)) / max(len(left), len(right)) < 0.5:
        return 0.0
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _NEAR_ENOUGH else 0.0
