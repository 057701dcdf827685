"""The shipped cases: what they cover, and that each is about something that is there. `make eval` asks them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

from citewell.app import Engine
from citewell.domain.eval_cases import EvalCase
from citewell.domain.queries import FamilyName
from citewell.evals.case_files import load_cases
from citewell.evals.sample import sample_corpus

FILES = load_cases([Path(__file__).parents[2] / "evals" / "cases"])
CASES = [one.case for file in FILES for one in file.cases]


def test_there_are_sixty_and_more_over_all_nine_families() -> None:
    counts = Counter(case.family for case in CASES)
    assert len(CASES) >= 60
    assert set(counts) == set(get_args(FamilyName)) - {"general"}
    assert min(counts.values()) >= 5


def test_every_one_is_asked_of_the_sample_without_a_planner_and_says_why_it_is_there() -> None:
    assert {file.corpus for file in FILES} == {"sample"}
    assert [case.id for case in CASES if case.disable_planner is not True or not case.note] == []


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


def test_every_key_is_one_of_the_sample(engine: Engine) -> None:
    for _ in engine.add(sample_corpus(), collection="skelday"):
        pass
    wanted = {key for case in CASES for key in keys_of(case)}
    assert [key for key in sorted(wanted) if engine.corpus.find(key) is None] == []
