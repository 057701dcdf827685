"""Small values for playing a run as a script: these observations in, these actions out."""

from __future__ import annotations

from citewell.domain.answers import (
    Citation,
    Draft,
    DraftSentence,
    Gate,
    PreparedSource,
    PreparedSynthesis,
    Quote,
    Truncation,
    Verification,
)
from citewell.domain.counts import CorpusMatches
from citewell.domain.documents import Span
from citewell.domain.evidence import EvidenceRow, Signal
from citewell.domain.packs import Coverage, ResearchPack
from citewell.domain.queries import Filters, Limits, QueryPlan
from citewell.domain.runs import RunRequest
from citewell.planning.chat_prompt import ChatPrompt
from citewell.planning.strategy import plan_question

HASH = "a" * 64
LIMITS = Limits(8, 700, False, 2)


def request(question: str = "Who lit the lamp?") -> RunRequest:
    return RunRequest(question, "local", "cli", Filters(), LIMITS, 24_000)


def plan(question: str = "Who lit the lamp?") -> QueryPlan:
    return plan_question(ChatPrompt(question), Filters(), LIMITS)


def row(key: str, *met: str, text: str = "The lamp was lit by Pell.", related_to: str | None = None) -> EvidenceRow:
    """A row that satisfies the named concepts."""
    signals = tuple(Signal(f"concept:{name}", 0.05) for name in met)
    span = Span(f"{HASH[:12]}:0-{len(text)}", 0, len(text), HASH)
    return EvidenceRow(
        *(key, "item", "vault_note", key, "user_note", text, span, 1.0), signals=signals, related_to=related_to
    )


def pack(*rows: EvidenceRow, missing: tuple[str, ...] = (), question: str = "Who lit the lamp?") -> ResearchPack:
    coverage = Coverage(
        *(len(rows), {}, {}, (), (), CorpusMatches(len(rows), 0), 10, 10, 10, {}, 8, 2, 0, 0, missing, "a note"),
    )
    return ResearchPack(question, "evidence_only", plan(question), coverage, rows, (), ())


def source(key: str, n: int = 1, text: str = "The lamp was lit by Pell.") -> PreparedSource:
    span = Span(f"{HASH[:12]}:0-{len(text)}", 0, len(text), HASH)
    return PreparedSource(n, key, key, "vault_note", "user_note", text, span)


def prepared() -> PreparedSynthesis:
    return PreparedSynthesis("Who lit the lamp?", (source("note:a"),), Truncation(24_000, 10), "text", {})


def draft(*, refused: bool = False) -> Draft:
    quote = Quote("note:a", HASH, 0, 10, "The lamp w")
    return Draft((DraftSentence("The lamp w", "refusal" if refused else "claim", (quote,)),), refused)


def verification(*, passes: bool = True, cites: bool = True) -> Verification:
    span = Span(f"{HASH[:12]}:0-10", 0, 10, HASH)
    citation = Citation(1, "note:a", "a", None, None, "The lamp w", span)
    return Verification((Gate("cited_in_evidence", passes),), (), (citation,) if cites else (), (), 0.0)
