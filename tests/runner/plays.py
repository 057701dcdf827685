"""Small values, and a run whose outside is the test: it says what comes of the calls that are open."""

from __future__ import annotations

from typing import Any

import msgspec

from citewell import Citation, Coverage, EvidenceRow, Filters, ResearchPack, RunResult, Span
from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Quote, Truncation
from citewell.check.verdict import Draft, DraftSentence, Gate, Verification
from citewell.flows.outside import PackReply
from citewell.flows.play import FLOWS, PROFILES, Flow, Play
from citewell.flows.state import Findings
from citewell.models.rerank import Signal
from citewell.runs.events import Entry
from citewell.runs.journal import Call, Run, Scope
from citewell.runs.run import Control, RunRequest
from citewell.search.conversation import ChatPrompt
from citewell.search.plan import plan_question
from citewell.search.query import Limits, QueryPlan
from citewell.store.port import CorpusMatches

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


class Playing:
    """A run that nobody executes: a test answers its calls, one at a time. A second passes with everything it says."""

    def __init__(self, wanted: RunRequest, flow: Flow | None = None) -> None:
        self.seconds = 0.0
        # Every call in the order it was begun, by the name of its function.
        self.asked: list[str] = []
        self.entries: list[Entry] = []
        self.run, self.found = Run("run", wanted, PROFILES[wanted.profile], monotonic=lambda: self.seconds), Findings()
        self.run.start((flow or FLOWS[wanted.profile])(self.run, self.found))
        self._took_entries()

    @property
    def open(self) -> list[str]:
        return [call.name for call in self.run.open]

    def call(self, name: str) -> Call:
        """The call of this name that is open."""
        return next(call for call in self.run.open if call.name == name)

    def gives(self, name: str, value: Any) -> Playing:
        return self._answers(name, {"value": msgspec.to_builtins(value)})

    def fails(self, name: str, code: str = "broken", message: str = "it broke") -> Playing:
        return self._answers(name, {"failed": {"code": code, "message": message}})

    def control(self, control: Control | Scope) -> Playing:
        self.seconds += 1.0
        self.run.control(control)
        return self._took_entries()

    @property
    def result(self) -> RunResult:
        play = Play(self.run, self.found, "0")
        play.check()
        return play.result

    def decided(self, name: str) -> list[dict[str, Any]]:
        return [one.body["data"] for one in self.entries if one.kind == "decision_made" and one.body["name"] == name]

    def _answers(self, name: str, outcome: dict[str, Any]) -> Playing:
        self.seconds += 1.0
        self.run.observe(self.call(name), outcome)
        return self._took_entries()

    def _took_entries(self) -> Playing:
        entries = self.run.take_entries()
        self.asked += [entry.body["action"] for entry in entries if entry.kind == "action_intended"]
        self.entries += entries
        return self


def found(*rows: EvidenceRow, missing: tuple[str, ...] = (), question: str = "Who lit the lamp?") -> PackReply:
    return PackReply(pack(*rows, missing=missing, question=question))
