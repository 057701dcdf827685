"""A tiny builder: sources as values, and the plan the product itself would make for a question."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from citewell import Filters, Span
from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Truncation
from citewell.answer.quote import extract
from citewell.answer.score import QuestionEvidence
from citewell.check.verdict import Draft, Verification
from citewell.check.verify import verify
from citewell.search.conversation import parse_chat_prompt
from citewell.search.plan import plan_question
from citewell.search.query import Limits, QueryPlan


def source(
    text: str, title: str = "Note", *, dated: str | None = None, start: int = 0, tags: tuple[str, ...] = ()
) -> PreparedSource:
    """One source; its number is given by `prepared`."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    key = f"note:vault/{title.lower().replace(' ', '-')}"
    return PreparedSource(
        n=0,
        source_key=key,
        title=title,
        source_type="vault_note",
        role="user_note",
        text=text,
        span=Span(f"{digest}:{start}", start, start + len(text), digest),
        note_path=f"{title}.md",
        dated=dated,
        user_tags=tags,
        score=1.0,
    )


def plan(question: str) -> QueryPlan:
    limits = Limits(limit=8, max_chars_per_doc=2000, include_related=False, related_limit=0)
    return plan_question(parse_chat_prompt(question), Filters(), limits)


def prepared(question: str, sources: Sequence[PreparedSource]) -> PreparedSynthesis:
    """The synthesis input for these sources, numbered in order; every term of the question weighs the same."""
    numbered = tuple(replace(one, n=n) for n, one in enumerate(sources, start=1))
    weights = dict.fromkeys(plan(question).terms, 3.0)
    return PreparedSynthesis(question, numbered, Truncation(24_000, 0), "", weights)


def answer(question: str, *sources: PreparedSource) -> Draft:
    return extract(QuestionEvidence(prepared(question, sources), plan(question)))


def lines(question: str, *sources: PreparedSource) -> list[str]:
    """The sentences of the answer as they are shown."""
    return [sentence.text for sentence in answer(question, *sources).sentences]


def check(question: str, draft: Draft, *sources: PreparedSource) -> Verification:
    return verify(question, draft, prepared(question, sources), plan(question))
