"""Parts of a run that are the user's own: they decide, what they said is on record, and a replay needs none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Citewell, DocumentView, EvidenceRow, ResearchPack, RunResult
from citewell.answer.evidence import PreparedSynthesis, Quote
from citewell.check.verdict import Draft, DraftSentence, Verification
from citewell.check.verify import verify
from citewell.reports.quotes import QuotedQuery
from citewell.reports.strategies import _OWN, ReadMore, Related, Search
from citewell.runs.run import JudgeResult
from citewell.search.query import QueryPlan, Variant

QUESTION = "Who lit the lamp?"


class KeepersOnly:
    def retrieve(self, question: str, plan: QueryPlan, search: Search) -> ResearchPack:
        found = search(plan)
        return replace(found, evidence=tuple(row for row in found.evidence if "Pell" in row.text))


class NeverEnough:
    def judge(self, pack: ResearchPack, retries_left: int, expansions_left: int, tried: Sequence[str]) -> JudgeResult:
        return JudgeResult("weak_evidence", f"{len(pack.evidence)} rows are never enough")


class FirstLines:
    """The first line of text of every source."""

    def write(self, queries: Sequence[QuotedQuery]) -> Draft:
        sentences = []
        for source in queries[0].prepared.sources:
            text = source.text.rstrip().splitlines()[-1]
            start = source.span.start + source.text.index(text)
            quote = Quote(source.source_key, source.span.content_hash, start, start + len(text), text)
            sentences.append(DraftSentence(text, "claim", (quote,)))
        return Draft(tuple(sentences), refused=False)


class Broken:
    def judge(self, pack: ResearchPack, retries_left: int, expansions_left: int, tried: Sequence[str]) -> JudgeResult:
        raise ValueError("no opinion today")


class LampPlanner:
    def plan(self, question: str, plan: QueryPlan) -> QueryPlan:
        return replace(plan, query_variants=(Variant("content", "Josiah Pell", 1.0),))


class Whole:
    def inspect(self, keys: Sequence[str], query: str, read: ReadMore) -> Sequence[DocumentView]:
        return [view for key in keys[:1] if (view := read(key)) is not None]


class FirstOnly:
    def expand(self, key: str, related: Related) -> Sequence[EvidenceRow]:
        return related(key)[:1]


class AsShipped:
    def verify(
        self, question: str, draft: Draft, prepared: PreparedSynthesis, plan: QueryPlan, max_citations: int
    ) -> Verification:
        return verify(question, draft, prepared, plan, max_citations)


class Inventor:
    def retrieve(self, question: str, plan: QueryPlan, search: Search) -> ResearchPack:
        found = search(plan)
        return replace(found, evidence=tuple(replace(row, text="Nobody lit it.") for row in found.evidence))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Lamp.md").write_text("# Lamp\nThe lamp was lit by Josiah Pell in 1859.\n", "utf-8")
    (folder / "Oil.md").write_text("# Oil\nThe lamp was lit with oil from the store.\n", "utf-8")
    return folder


def ask(notes: Path, **components: Any) -> tuple[RunResult, list[dict[str, Any]]]:
    with Citewell(notes.parent / "data", components=components) as cw:
        cw.add(notes)
        result = cw.research(QUESTION)
        return result, [event.body for event in cw.runs.show(result.run_id, with_events=True).events]


def test_a_retriever_a_judge_and_a_synthesizer_of_ones_own_decide_and_a_replay_needs_none_of_them(
    notes: Path,
) -> None:
    result, log = ask(notes, retriever=KeepersOnly(), judge=NeverEnough(), synthesizer=FirstLines())
    assert result.answer == "The lamp was lit by Josiah Pell in 1859. [1]"
    assert [one.source_key for one in result.citations] == ["note:notes/lamp"]
    assert result.stop_reason == "weak_evidence_budget_exhausted"
    assert (result.tool, result.model) == ("synthesizer", "FirstLines")
    assert "weak_evidence: 1 rows are never enough" in [body.get("text") for body in log]
    assert {"retrieve", "judge_evidence", "draft_report"} <= {body.get("action") for body in log}
    for known in _OWN.values():
        known.clear()
    with Citewell(notes.parent / "data") as elsewhere:
        assert elsewhere.runs.replay(result.run_id).identical


def test_every_other_part_can_be_ones_own_too(notes: Path) -> None:
    result, log = ask(notes, planner=LampPlanner(), inspector=Whole(), expander=FirstOnly(), verifier=AsShipped())
    assert "Josiah Pell" in result.answer
    assert result.explored.queries_tried == ("Josiah Pell",)
    assert {"plan_searches", "verify"} <= {body.get("action") for body in log}
    with Citewell(notes.parent / "data") as elsewhere:
        assert elsewhere.runs.replay(result.run_id).identical


def test_a_judge_that_breaks_leaves_the_shipped_one(notes: Path) -> None:
    result, log = ask(notes, judge=Broken())
    assert result.answer_status == "ok"
    assert "component_failed" in result.warnings
    assert any("no opinion today" in str(body.get("text")) for body in log)


@pytest.mark.attack
def test_a_retriever_cannot_bring_in_what_the_corpus_does_not_hold(notes: Path) -> None:
    result, _ = ask(notes, retriever=Inventor())
    assert result.status == "failed"
    assert result.failure is not None
    assert "did not give it" in result.failure.message


def test_a_part_that_a_run_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'oracle'"):
        Citewell(tmp_path / "data", components={"oracle": object()})
