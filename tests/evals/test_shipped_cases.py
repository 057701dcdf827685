"""The shipped cases: what they cover, and that each is about something that is there. `make eval` asks them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from citewell import Citewell, Settings
from citewell.evals.cases import EvalCase, load_cases
from citewell.evals.results import EvalReport, html_report
from citewell.evals.suite import SuiteOptions, run_suite, sample_corpus
from citewell.search.query import FamilyName
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

EVALS = Path(__file__).parents[2] / "evals"
NOTES = EVALS / "real_notes" / "notes"
EVERY = load_cases([EVALS / "cases"])
FILES = [file for file in EVERY if file.corpus == "sample"]
ASKED = [one.case for file in FILES for one in file.cases]
CASES = [case for case in ASKED if case.brief is None]
BRIEFS = [case for case in ASKED if case.brief is not None]
ON_REAL_NOTES = [one.case for file in EVERY if file.corpus != "sample" for one in file.cases]


def test_there_are_sixty_and_more_over_all_nine_families() -> None:
    counts = Counter(case.family for case in CASES)
    assert len(CASES) >= 60
    assert set(counts) == set(get_args(FamilyName)) - {"general"}
    assert min(counts.values()) >= 5


def test_every_one_is_asked_without_a_planner_and_says_why_it_is_there() -> None:
    assert {file.corpus for file in EVERY} == {"sample", "../real_notes/notes"}
    every = [*CASES, *ON_REAL_NOTES]
    assert [case.id for case in every if case.disable_planner is False or not case.note or not case.family] == []


def test_of_each_family_some_are_also_asked_with_a_planner() -> None:
    """By anyone who has a model; where none is set that arm is skipped."""
    both = Counter(case.family for case in CASES if case.disable_planner is None)
    assert set(both) == set(get_args(FamilyName)) - {"general"}
    assert sum(case.disable_planner is None for case in ON_REAL_NOTES) >= 2


@pytest.mark.slow
def test_with_a_planning_model_both_arms_of_those_are_reported_side_by_side(tmp_path: Path) -> None:
    wanted: dict[str | None, str] = {}
    for file in FILES:
        for one in file.cases:
            if one.case.disable_planner is None and one.case.brief is None:
                wanted.setdefault(one.case.family, one.case.id)
    files = [replace(file, cases=tuple(one for one in file.cases if one.case.id in wanted.values())) for file in FILES]
    asked: list[str] = []

    def planner(request: ModelRequest) -> Reply:
        asked.append(request.prompt)
        return says(json.dumps({"variants": ["what the logbook of Skelday says of it"], "concepts": []}))

    with ScriptedModelServer(planner) as model:
        settings = Settings(
            data_dir=tmp_path, embeddings="off", planner_model="openai:test", model_base_url=model.base_url
        )
        *_, report = run_suite([file for file in files if file.cases], settings, SuiteOptions())
    assert isinstance(report, EvalReport)
    assert len(report.cases) == len(wanted) == 9
    assert [(case.id, case.arms) for case in report.cases if case.status != "passed"] == []
    for case in report.cases:
        off, on = case.arms
        assert (off.arm, on.arm) == ("planner_off", "planner_on")
        assert off.planner is not None
        assert on.planner is not None
        assert (off.planner.model, on.planner.model) == (None, "test")
        assert any("logbook of Skelday" in variant for variant in on.planner.variants)
        assert off.top
        assert on.top
    assert len(asked) == len(wanted)
    page = html_report(report).decode()
    assert page.count('<div class="arms"><div class="arm">') == len(wanted)
    assert page.count('<div class="arm">') == 2 * len(wanted)


def test_briefs_are_graded_by_what_they_must_claim() -> None:
    assert len(BRIEFS) >= 2
    assert [case.id for case in BRIEFS if case.brief is None or not case.brief.expected_claims] == []


def test_follow_ups_tags_refusals_and_false_statements_are_among_them() -> None:
    assert sum(bool(case.history) for case in CASES) >= 5
    assert sum(bool(case.expect_exact_tags) for case in CASES) >= 2
    assert sum(case.expect_answer_status == "no_evidence" for case in CASES) >= 10
    assert sum(bool(case.forbid_supported) for case in CASES) >= 5
    assert sum(bool(case.forbid_text) for case in CASES) >= 10


def keys_of(case: EvalCase) -> set[str]:
    named = (case.expect_source_keys, case.any_source_keys, case.expect_top_keys, case.forbid_source_keys)
    return {
        key for keys in (*named, case.expect_citation_source_keys, case.forbid_citation_source_keys) for key in keys
    }


def test_every_key_is_one_of_the_sample(engine: Citewell) -> None:
    for _ in engine.corpus.sync(sample_corpus(), collection="skelday"):
        pass
    wanted = {key for case in CASES for key in keys_of(case)}
    assert [key for key in sorted(wanted) if engine.store.find(key) is None] == []


def test_real_notes_are_asked_for_properties_tables_steps_what_they_lack_and_what_is_false() -> None:
    assert len(ON_REAL_NOTES) >= 15
    assert sum(case.expect_answer_status == "no_evidence" for case in ON_REAL_NOTES) >= 5
    assert sum(bool(case.forbid_supported) for case in ON_REAL_NOTES) >= 5
    for what in ("propert", "table", "list", "orders"):
        assert any(what in case.note for case in ON_REAL_NOTES), what


def test_every_note_that_a_case_names_is_in_the_slice_and_its_licence_beside_it() -> None:
    named = {key for case in ON_REAL_NOTES for key in (*keys_of(case), *(gold.path for gold in case.gold))}
    assert [path for path in sorted(named) if not (NOTES / path).is_file()] == []
    folders = {path.name for path in NOTES.iterdir()} - {"added"}
    assert {path.name.split("-")[0] for path in (EVALS / "real_notes" / "licences").iterdir()} == folders
    assert sum(path.stat().st_size for path in (EVALS / "real_notes").rglob("*") if path.is_file()) <= 300_000
    told = (EVALS / "real_notes" / "README.md").read_text("utf-8")
    assert [name for name in sorted(folders) if f"| `{name}` |" not in told] == []
