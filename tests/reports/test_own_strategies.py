"""A user's own planner, retrieval source, deduplicator, triage, synthesizer, verifier and binder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from citewell import BadInput, Citation, Citewell, Conflict, ResearchPack, Settings
from citewell.answer.evidence import PreparedSynthesis
from citewell.answer.passages import passages_of
from citewell.check.verdict import Draft, DraftSentence, Verification
from citewell.reports import (
    BoundCitation,
    Brief,
    CitationBinder,
    Duplicate,
    ItemCredibility,
    QuotedQuery,
    ReportItem,
    ReportPlan,
    ResearchBrief,
    ResearchConfig,
    ResearchRun,
    RuleVerifier,
    SubQuestion,
    register_strategy,
    strategies,
)
from citewell.search.query import QueryPlan
from reports.lighthouse import QUESTION
from web.loopback_internet import loopback_internet

pytestmark = pytest.mark.slow
BRIEF = ResearchBrief(question=QUESTION)


class OnlyTheKeeper:
    """Looks into one thing, whatever is asked; its numbering is of no account."""

    def plan(self, brief: Brief, survey: object = None) -> ReportPlan:
        return ReportPlan((SubQuestion(7, "How much was the keeper of Orrin Head paid?", "the wages"),))


class NewestFirst:
    """The corpus in another order, and nothing of the copy."""

    name = "newest-first"

    def retrieve(self, question: str, plan: QueryPlan, search: strategies.Search) -> ResearchPack:
        pack = search(plan)
        return replace(pack, evidence=tuple(row for row in reversed(pack.evidence) if row.title != "Old copy"))


class Inventing:
    def retrieve(self, question: str, plan: QueryPlan, search: strategies.Search) -> ResearchPack:
        pack = search(plan)
        return replace(pack, evidence=(replace(pack.evidence[0], text="The lamp burned whale oil."),))


class EverythingIsACopy:
    """All but the first item."""

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]:
        return tuple(Duplicate(one.ref_id, items[0].ref_id, "because I say so") for one in items[1:])


class FirstSentence:
    """The first sentence of each source, and one that nothing proves."""

    def write(self, queries: Sequence[QuotedQuery]) -> Draft:
        found = [passages_of(source) for query in queries for source in query.prepared.sources]
        first = [next(one for one in passages if one.kind == "sentence") for passages in found if passages]
        told = [DraftSentence(one.shown, "claim", tuple(one.quotes)) for one in first]
        lie = DraftSentence("The lamp was blown up in 1931.", "claim", told[0].quotes)
        summary, rest = DraftSentence("Summary", "heading"), DraftSentence(queries[0].sub_query.query, "heading")
        return Draft((summary, told[0], rest, *told, lie), refused=False)


class Doubting:
    """Checks as the engine does, and believes nothing about oil."""

    def verify(
        self, question: str, draft: Draft, prepared: PreparedSynthesis, plan: QueryPlan, max_citations: int
    ) -> Verification:
        checked = RuleVerifier().verify(question, draft, prepared, plan, max_citations)
        doubted = [replace(one, verdict="unsupported") if "oil" in one.text else one for one in checked.sentences]
        return replace(checked, sentences=tuple(doubted))


class Counting:
    """Binds as the engine does, and counts."""

    def __init__(self) -> None:
        self.bound = 0

    def bind(
        self, citations: Sequence[Citation], retained: Sequence[ReportItem]
    ) -> tuple[tuple[BoundCitation, ...], tuple[int, ...]]:
        self.bound += len(citations)
        return CitationBinder().bind(citations, retained)


class Trusting:
    """Believes everything that comes from outside."""

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]:
        return tuple(
            ItemCredibility(one.ref_id, one.row.source_key, 1.0, ("told by a friend",), kept=True) for one in items
        )


@pytest.fixture(autouse=True)
def _forgotten_afterwards() -> Iterator[None]:
    yield
    for own in strategies._OWN.values():
        own.clear()


def made(cw: Citewell, stages: dict[Any, object]) -> ResearchRun:
    service = cw.reports(strategies=stages)
    return service.wait(service.start(BRIEF))


def claims(run: ResearchRun) -> str:
    assert run.report is not None, run.error
    return " ".join(one.text for one in run.report.claims if one.verdict == "supported")


@pytest.mark.parametrize(
    ("stages", "has", "lacks"),
    [
        ({"planner": OnlyTheKeeper()}, "60 pounds", "812 gallons"),
        ({"retrieval": NewestFirst()}, "812 gallons", "nothing that is there"),
        ({"synthesizer": FirstSentence()}, "812 gallons", "blown up"),
        ({"verifier": Doubting()}, "Josiah Pell", "oil"),
        ({"deduplicator": EverythingIsACopy()}, "Orrin Head", "60 pounds"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_strategy_of_ones_own_takes_part_and_a_replay_needs_no_code_of_it(
    data: Path, stages: dict[Any, object], has: str, lacks: str
) -> None:
    with Citewell(data, embeddings="off") as cw:
        usual = cw.report(BRIEF)
        run = made(cw, stages)
        assert run.run_id != usual.run_id
        assert has in claims(run)
        assert lacks not in claims(run)
    # Another process has never heard of it.
    program = [sys.executable, "-m", "citewell", "--data-dir", str(data), "runs", "replay", run.run_id, "--json"]
    replayed = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["identical"]


def test_a_binder_of_ones_own_binds(data: Path) -> None:
    mine = Counting()
    with Citewell(data, embeddings="off") as cw:
        run = made(cw, {"binder": mine})
        assert claims(run)
        assert mine.bound > 0
        before = mine.bound
        assert cw.runs.replay(run.run_id).identical
        assert mine.bound == before


def test_a_triage_of_ones_own_judges_what_comes_from_outside(tmp_path: Path) -> None:
    brief = ResearchBrief(question="When was the Halvard light first lit?", credibility_floor=0.99)
    with loopback_internet() as net:
        settings = Settings(data_dir=tmp_path / "data", judge="off", embeddings="off", **net.settings)
        engine = Citewell(settings, resolve=net.names)
        service = engine.reports(strategies={"triage": Trusting()})
        run = service.wait(service.start(brief))
        assert "1871" in claims(run)
        assert {one.reasons for one in run.credibility} == {("told by a friend",)}
        strategies._OWN["triage"].clear()
        assert engine.runs.replay(run.run_id).identical
        engine.close()


def test_a_passage_that_the_corpus_did_not_give_is_no_evidence(data: Path) -> None:
    with Citewell(data, embeddings="off") as cw:
        run = made(cw, {"retrieval": Inventing()})
        assert "whale" not in run.model_dump_json()
        assert run.report is None or not run.report.claims


def test_a_registered_strategy_is_chosen_by_its_name_and_part_of_the_id(data: Path) -> None:
    with Citewell(data, embeddings="off") as cw:
        with pytest.raises(ValidationError, match="there is no planner 'keeper'; known are llm, rules"):
            ResearchConfig(planner="keeper")
        register_strategy("planner", "keeper", OnlyTheKeeper())
        service = cw.reports(ResearchConfig(planner="keeper"))
        run = service.wait(service.start(BRIEF))
        assert run.plan is not None
        assert (run.plan.planned_by, [one.index for one in run.plan.sub_queries]) == ("keeper", [0])
        assert service.start(BRIEF).run_id == run.run_id
        assert cw.reports().run_id_for(BRIEF) != run.run_id


def test_a_run_whose_strategy_is_not_there_says_what_it_needs(data: Path) -> None:
    register_strategy("planner", "keeper", OnlyTheKeeper())
    with Citewell(data, embeddings="off") as cw:
        service = cw.reports(ResearchConfig(planner="keeper"))
        strategies._OWN["planner"].clear()
        run = service.wait(service.start(BRIEF))
    assert run.status == "failed"
    assert "a planner of its user's own, 'keeper', which is not known here" in (run.error or "")


@pytest.mark.parametrize(
    ("stage", "name", "strategy", "said"),
    [
        ("planner", "rules", OnlyTheKeeper(), "cannot be called 'rules'"),
        ("planner", "a b", OnlyTheKeeper(), "cannot be called 'a b'"),
        ("reader", "mine", OnlyTheKeeper(), "no stage 'reader'"),
        ("verifier", "mine", OnlyTheKeeper(), "it has no method `verify`"),
    ],
)
def test_what_is_no_strategy_is_refused(stage: Any, name: str, strategy: object, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        register_strategy(stage, name, strategy)


def test_two_strategies_of_one_name_are_a_conflict() -> None:
    register_strategy("binder", "mine", Counting())
    with pytest.raises(Conflict):
        register_strategy("binder", "mine", CitationBinder())
