"""`eval propose`: from a bad run to a case that fails until the answer is right, without a sentence of the answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from citewell import BadInput, Citewell, Filters, RunResult, Settings
from citewell.evals.cases import load_cases
from citewell.evals.propose import Review, as_yaml, propose, write_cases
from citewell.evals.results import EvalReport
from citewell.evals.suite import SuiteOptions, run_suite, sample_corpus

NOTES = {
    "lamp.md": "# The lamp\n\nThe lamp of Holm burned colza oil until 1871.\n",
    "oil.md": "# Paraffin\n\nParaffin came to Holm in 1872 and was cheaper than colza.\n",
}
LAMP, OIL = "note:vault/lamp", "note:vault/oil"
QUESTION = "Which oil did the lamp of Holm burn?"


def ask(engine: Citewell, question: str = QUESTION, history: Sequence[str] = ()) -> RunResult:
    return engine.runs.wait(engine.start(question, history=history))


def asked_again(engine: Citewell, *files: Path) -> EvalReport:
    *_, report = run_suite(load_cases(files), engine.settings, SuiteOptions())
    assert isinstance(report, EvalReport)
    return report


def test_what_a_run_did_becomes_a_case_that_passes_and_its_twin(tmp_path: Path, corpus: Citewell) -> None:
    result = ask(corpus)
    cases = propose(corpus, "last", Review())
    assert [case.disable_planner for case in cases] == [None, True]
    assert cases[0].expect_answer_status == "ok"
    assert cases[0].expect_citation_source_keys == (LAMP,)
    path = tmp_path / "cases.yaml"
    write_cases(cases, path)
    report = asked_again(corpus, path)
    assert (report.passed, report.failed) == (2, 0)
    assert cases == propose(corpus, str(corpus.settings.data_dir / str(result.trace_path)), Review())


def test_no_sentence_of_the_answer_and_no_quotation_is_kept(corpus: Citewell) -> None:
    result = ask(corpus)
    text = as_yaml(propose(corpus, result.run_id, Review()))
    held = [sentence.text for sentence in result.sentences] + [citation.quote for citation in result.citations]
    assert held
    assert not [one for one in held if one in text or "colza" in text]


def test_what_a_reviewer_says_instead_fails_until_it_is_so(tmp_path: Path, corpus: Citewell) -> None:
    ask(corpus)
    path = tmp_path / "cases.yaml"
    write_cases(propose(corpus, "last", Review(expect=(OIL,), forbid=(LAMP,))), path)
    report = asked_again(corpus, path)
    assert report.failed == 2
    assert {one.assertion for one in report.cases[0].arms[0].failures} == {
        "expect_citation_source_keys",
        "forbid_citation_source_keys",
    }


def test_a_follow_up_keeps_the_questions_before_it(corpus: Citewell) -> None:
    ask(corpus, "And until when?", [QUESTION])
    assert propose(corpus, "last", Review())[0].history == (QUESTION,)


def test_what_the_run_was_limited_to_limits_the_case(corpus: Citewell) -> None:
    filters = Filters(source_types=("vault_note",), tags=("light",), collections=("vault",), since="1800")
    run_id = corpus.start(QUESTION, filters=filters)
    corpus.runs.wait(run_id)
    for case in propose(corpus, run_id, Review()):
        assert (case.source_types, case.filter_tags, case.collections) == (("vault_note",), ("light",), ("vault",))
        assert "since" in case.note, "what a case cannot say is told to whoever reviews it"


def test_what_was_found_first_and_cited_is_expected_first(corpus: Citewell) -> None:
    ask(corpus)
    assert {case.expect_top_keys for case in propose(corpus, "last", Review())} == {(LAMP,)}
    assert {case.expect_top_keys for case in propose(corpus, "last", Review(expect=(OIL,)))} == {()}


def test_what_a_run_turned_away_is_not_to_be_cited(tmp_path: Path) -> None:
    """From its trace as from its record; what a reviewer wants is none of it."""
    engine = Citewell(Settings(data_dir=tmp_path / "data", embeddings="off"))
    for _ in engine.corpus.sync(sample_corpus(), collection="skelday"):
        pass
    result = ask(engine, "Why did Big Maggie's gearbox break down in February 2025?")
    noise = set(result.explored.rejected)
    assert noise
    assert not noise & {one.source_key for one in result.citations}
    for source in (result.run_id, str(engine.settings.data_dir / str(result.trace_path))):
        for case in propose(engine, source, Review()):
            assert set(case.forbid_citation_source_keys) == noise
    wanted = sorted(noise)[0]
    (case, _) = propose(engine, result.run_id, Review(expect=(wanted,)))
    assert set(case.forbid_citation_source_keys) == noise - {wanted}
    shutil.rmtree(engine.settings.data_dir / str(result.trace_path))
    assert set(propose(engine, result.run_id, Review())[0].forbid_citation_source_keys) == noise
    engine.close()


def test_more_cases_go_after_those_of_a_file_and_its_comments_stay(tmp_path: Path, corpus: Citewell) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text("# mine\ncases:\n  - id: a  # the first\n    question: Why?\n    min_evidence: 0\n", "utf-8")
    ask(corpus)
    cases = propose(corpus, "last", Review())
    write_cases(cases, path)
    text = path.read_text("utf-8")
    assert text.startswith("# mine\ncases:\n  - id: a  # the first\n")
    assert [one.case for one in load_cases([path])[0].cases][1:] == cases
    with pytest.raises(BadInput, match="already"):
        write_cases(cases, path)
    assert path.read_text("utf-8") == text


def test_a_file_that_cannot_be_added_to_is_left_alone(tmp_path: Path, corpus: Citewell) -> None:
    path = tmp_path / "cases.yaml"
    before = "cases: [{id: a, question: Why, min_evidence: 0}]\nabout: mine\n"
    path.write_text(before, "utf-8")
    ask(corpus)
    with pytest.raises(BadInput):
        write_cases(propose(corpus, "last", Review()), path)
    assert path.read_text("utf-8") == before
    assert list(tmp_path.glob(".*.yaml")) == []


def test_every_turn_of_a_conversation_becomes_a_case(tmp_path: Path, corpus: Citewell) -> None:
    result = ask(corpus)
    turns = [
        {"question_id": "q1", "question": QUESTION, "run_id": result.run_id, "answer_status": "ok", "cited_keys": []},
        {
            "question_id": "q2",
            "question": "And until when?",
            "run_id": "20200101T000000-00000000",
            "answer_status": "ok",
            "cited_keys": [OIL],
            "pinned_keys": [],
            "reviewed": [LAMP],
        },
    ]
    path = tmp_path / "monday.json"
    path.write_text(json.dumps({"schema_version": "chat_transcript.v1", "turns": turns}), "utf-8")
    cases = propose(corpus, str(path), Review())
    assert [(case.question, case.history) for case in cases[::2]] == [
        (QUESTION, ()),
        ("And until when?", (QUESTION,)),
    ]
    # The run on record says more than the transcript; where it is gone, the transcript and its review remain.
    assert cases[0].expect_citation_source_keys == (LAMP,)
    assert cases[2].expect_citation_source_keys == (LAMP,)
    assert yaml.safe_load(as_yaml(cases))["schema_version"] == "eval_cases.v1"


def test_a_file_that_is_no_transcript_is_refused(tmp_path: Path, corpus: Citewell) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"turns": 3}', "utf-8")
    with pytest.raises(BadInput, match=r"chat_transcript\.v1"):
        propose(corpus, str(path), Review())
