"""What is asked of search providers: made of the question, never of notes. Pure.

    "What contradicts the claim that kelp dries in two days?"
        ->  kelp dries two days · kelp dries two days criticism · kelp dries two days disputed

Counter-arguments are looked for only where the question asks for them (`intents_of`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from citewell.domain.queries import QueryPlan
from citewell.domain.web import ResearchIntent
from citewell.text.secrets import kinds_of_secrets
from citewell.text.unseen import UNSEEN

MAX_QUERY_CHARS = 120
_INTENTS: tuple[tuple[ResearchIntent, re.Pattern[str]], ...] = (
    (
        "contradict",
        re.compile(
            r"\b(?:what|who|which|anything)\b[^?.]{0,40}\b(?:contradicts?|disagrees?|disputes?|refutes?)\b"
            r"|\bprove (?:this|that|it|me) wrong\b|\bcounter-?(?:arguments?|evidence)\b|\bargue against\b",
            re.IGNORECASE,
        ),
    ),
    (
        "verify",
        re.compile(
            r"\b(?:verify|check|confirm|fact-?check)\b[^?.]{0,60}"
            r"\b(?:externally|online|on the web|elsewhere|independently|outside)\b",
            re.IGNORECASE,
        ),
    ),
    ("bias", re.compile(r"\b(?:is|are|how)\b[^?.]{0,60}\b(?:biased|one-sided|partisan|slanted)\b", re.IGNORECASE)),
)
# What the request for it says is no part of what is looked for.
_REQUEST = re.compile(
    r"\b(?:what|who|which|anything)\b\s*(?:else\s*)?\b(?:contradicts?|disagrees? with|disputes?|refutes?)\b"
    r"|\b(?:please\s*)?(?:verify|check|confirm|fact-?check)\b|\b(?:externally|independently|on the web|online)\b"
    r"|\bprove (?:this|that|it|me) wrong\b:?|\b(?:biased|one-sided|partisan|slanted)\b"
    r"|\bthe claim that\b|\bis (?:it|this) true that\b",
    re.IGNORECASE,
)
_ADDED: dict[ResearchIntent, tuple[str, ...]] = {
    "contradict": ("criticism", "disputed"),
    "verify": ("evidence",),
    "bias": ("criticism", "other view"),
}
_TIME_BOUND = re.compile(
    r"\b(?:latest|newest|current(?:ly)?|now|today|this (?:year|month|week)|recent(?:ly)?|at present|so far|still|as of|"
    r"these days|upcoming|up to date)\b",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


def intents_of(question: str) -> tuple[ResearchIntent, ...]:
    """What the question asks for beyond an answer."""
    return tuple(intent for intent, pattern in _INTENTS if pattern.search(question))


def is_time_bound(question: str) -> bool:
    """Whether an answer may have changed since: then fresh sources come first."""
    return _TIME_BOUND.search(question) is not None


def first_queries(question: str, plan: QueryPlan, intents: Sequence[ResearchIntent], most: int) -> tuple[str, ...]:
    """The queries of the first round: the question without its frame, then what narrows or widens it."""
    asked = _bare(_REQUEST.sub(" ", question)) if intents else _bare(question)
    content = " ".join(_content(plan))
    wider = [variant.query for variant in plan.query_variants if variant.kind in ("side", "topic", "planner", "dated")]
    core = content if len(content.split()) >= 2 else asked
    if intents:
        added = [f"{core} {word}" for intent in intents for word in _ADDED[intent]]
        return distinct((asked, *added), most)
    return distinct((asked, core, *wider), most)


def gap_queries(
    plan: QueryPlan, gaps: Iterable[str], names: Iterable[str], tried: Iterable[str], most: int
) -> tuple[str, ...]:
    """The queries of a further round: what is missing beside what the question is about, and names that turned up."""
    anchors = [concept.name for concept in plan.concepts if concept.role == "anchor"][:3]
    content = _content(plan)
    missing = list(gaps)
    wanted = [" ".join(dict.fromkeys((*anchors, gap))) for gap in missing]
    wanted += [" ".join(dict.fromkeys((name, *_without(content, anchors)[:4]))) for name in names]
    wanted += [" ".join(dict.fromkeys((*anchors, *missing)))] if len(missing) > 1 else []
    known = {query.casefold() for query in tried}
    return tuple(query for query in distinct(wanted, most + len(known)) if query.casefold() not in known)[:most]


def distinct(queries: Iterable[str], most: int) -> tuple[str, ...]:
    """Queries that may leave: cleaned, bounded, none twice, none with what looks like a secret."""
    kept: dict[str, str] = {}
    for query in queries:
        clean = _bare(query)
        if clean and not kinds_of_secrets(clean):
            kept.setdefault(clean.casefold(), clean)
    return tuple(kept.values())[:most]


def _content(plan: QueryPlan) -> list[str]:
    return [concept.name for concept in plan.concepts if concept.role in ("anchor", "content")][:8]


def _without(words: Sequence[str], others: Sequence[str]) -> list[str]:
    return [word for word in words if word not in others]


def _bare(text: str) -> str:
    plain = _SPACE.sub(" ", UNSEEN.sub("", text)).strip(" ?!.,;:\"'")
    if len(plain) <= MAX_QUERY_CHARS:
        return plain
    return plain[: MAX_QUERY_CHARS + 1].rpartition(" ")[0] or plain[:MAX_QUERY_CHARS]
