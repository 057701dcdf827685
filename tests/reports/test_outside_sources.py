"""Reports with sources from outside, on a small internet on the loopback: families, failures, copies, credibility."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, Settings
from citewell.reports import ResearchBrief, ResearchRun
from reports.lighthouse import marked, plans
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer
from web.loopback_internet import Internet, loopback_internet

QUESTION = "When was the Halvard light first lit, and what oil did its lamp burn?"


@pytest.fixture(scope="module")
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def report(tmp_path: Path, net: Internet, brief: Any = None, **settings: Any) -> ResearchRun:
    chosen = {**net.settings, "judge": "off", "embeddings": "off", **settings}
    engine = Citewell(Settings(data_dir=tmp_path / "data", **chosen), resolve=net.names)
    try:
        service = engine.reports()
        run = service.wait(service.start(brief or ResearchBrief(question=QUESTION, credibility_floor=0.2)))
        assert engine.runs.replay(run.run_id).identical
        return run
    finally:
        engine.close()


def items_of(run: ResearchRun) -> list[Any]:
    return [item for found in run.retrieved_items.values() for item in found]


def test_pages_are_read_judged_and_cited_by_a_typed_locator(tmp_path: Path, internet: Internet) -> None:
    run = report(tmp_path, internet)
    assert run.report is not None
    assert any("1871" in claim.text for claim in run.report.claims)
    locators = [citation.locator for citation in run.report.citations]
    assert {locator.family for locator in locators} == {"web"}
    assert all(locator.family == "web" and locator.url.startswith("http") for locator in locators)
    judged = {one.ref_id for one in run.credibility}
    assert judged == {item.ref_id for item in items_of(run) if item.duplicate_of is None}
    dropped = {one.ref_id for one in run.credibility if not one.kept}
    assert not dropped & {item.ref_id for item in items_of(run) if item.retained}


def test_a_source_below_the_floor_is_dropped_and_listed(tmp_path: Path, internet: Internet) -> None:
    run = report(tmp_path, internet, ResearchBrief(question=QUESTION, credibility_floor=0.99))
    assert run.report is None
    assert run.credibility
    assert not any(one.kept for one in run.credibility)
    assert run.methodology is not None
    assert run.methodology.below_floor == len(run.credibility)


def test_a_family_that_fails_is_skipped_and_named_and_the_others_stay(tmp_path: Path, internet: Internet) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "Light.md").write_text("# Light\n\nThe Halvard light was first lit in 1871 and burned colza oil.\n")
    engine = Citewell(Settings(data_dir=tmp_path / "data", embeddings="off"))
    list(engine.corpus.sync(notes))
    engine.close()
    internet.is_down = True
    try:
        run = report(tmp_path, internet)
    finally:
        internet.is_down = False
    assert run.report is not None
    assert run.methodology is not None
    (skipped,) = run.methodology.skipped
    assert skipped.family == "web"
    assert "searxng" in skipped.reason
    assert "source_family_failed" in run.warnings
    assert {citation.locator.family for citation in run.report.citations} == {"knowledge"}


def test_a_family_that_the_brief_leaves_out_is_not_asked(tmp_path: Path, internet: Internet) -> None:
    before = len(internet.searched)
    brief = ResearchBrief.model_validate({"question": QUESTION, "sources": {"web": False}})
    run = report(tmp_path, internet, brief)
    assert len(internet.searched) == before
    assert run.report is None
    assert run.methodology is not None
    assert [one.family for one in run.methodology.families] == ["knowledge"]


def test_no_copy_is_ever_shown_to_the_model_that_judges_sources(tmp_path: Path, internet: Internet) -> None:
    asked: list[str] = []

    def script(request: ModelRequest) -> Reply:
        if "You plan the research" in request.prompt:
            return says(plans("When was the Halvard light first lit?"))
        if "You judge how far web sources" in request.prompt:
            asked.extend(re.findall(r"^id: (\S+)$", request.prompt, re.MULTILINE))
            return says(json.dumps([{"id": ref, "score": 0.9, "reason": "signed"} for ref in asked]))
        draft = "## Summary\nThe Halvard light was first lit in 1871 {first lit in 1871}.\n## Claims\n"
        return says(marked(f"{draft}- fact: It was first lit in 1871 {{first lit in 1871}}.\n", request.prompt))

    with ScriptedModelServer(script) as server:
        run = report(tmp_path, internet, model="openai:test", model_base_url=server.base_url)
    assert run.report is not None
    assert asked
    assert len(asked) == len(set(asked))
    copies = {item.ref_id for item in items_of(run) if item.duplicate_of}
    assert not copies & set(asked)
    judged = [one for one in run.credibility if one.judged_by == "openai:test"]
    assert judged
    assert all(any("signed" in reason for reason in one.reasons) for one in judged)
