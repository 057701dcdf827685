"""`eval research` and `eval mcp` over a real corpus: each assertion holds or fails for what it says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from citewell import BadInput, Citewell, Settings
from citewell.cli.evals import print_eval_report
from citewell.evals.cases import ASSERTIONS, load_cases
from citewell.evals.results import EvalKind, EvalReport, compared, html_report, junit_report, write_baseline
from citewell.evals.suite import SuiteOptions, run_suite
from runner.scripted_runs import mark, plans
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

NOTES = {
    "lamp.md": "---\ntags: [light/house]\n---\n# The lamp\n\nThe lamp of Holm burned colza oil until 1871.\n",
    "ferry.md": "# The ferry\n\nThe ferry to Holm runs twice a day in winter.\n",
    "oil.md": "# Paraffin\n\nParaffin came to Holm in 1872 and was cheaper than colza.\n",
}
LAMP, FERRY = "note:vault/lamp", "note:vault/ferry"
QUESTION = "Which oil did the lamp of Holm burn?"


def suite(tmp_path: Path, settings: Settings, cases: list[dict[str, Any]], kind: EvalKind = "research") -> EvalReport:
    path = tmp_path / "cases.yaml"
    path.write_text(yaml.safe_dump({"cases": cases}, allow_unicode=True), "utf-8")
    *_, report = run_suite(load_cases([path]), settings, SuiteOptions(kind))
    assert isinstance(report, EvalReport)
    return report


HOLDS: dict[str, Any] = {
    "min_evidence": 1,
    "expect_source_keys": [LAMP],
    "any_source_keys": [FERRY, LAMP],
    "expect_top_keys": ["lamp.md"],
    "forbid_source_keys": ["note:vault/none"],
    "expect_exact_tags": ["light/house"],
    "expect_matched_terms": ["lamp"],
    "forbid_missing_terms": ["lamp"],
    "min_retrieval_signals": {"base": 0.1},
    "expect_planner": False,
    "expect_query_terms": ["lamp"],
    "expect_query_variants": ["which oil did the lamp of holm burn? #light/house"],
    "forbid_query_variants": ["ferry"],
    "expect_concepts": ["lamp"],
    "forbid_concepts": ["ferry"],
    "expect_planner_error_contains": "",
    "expect_text": ["COLZA oil"],
    "forbid_text": ["whale"],
    "max_latency_ms": 600_000,
    "expect_answer_status": "ok",
    "expect_citation_source_keys": [LAMP],
    "forbid_citation_source_keys": [FERRY],
    "max_unsupported_rate": 0.0,
    "expect_stop_reason": "enough_evidence",
    "expect_inspected_keys": [LAMP],
    "expect_supported": ["The lamp of Holm burned colza oil until 1871."],
    "forbid_supported": ["The lamp of Holm burned colza oil until 1891."],
    "answers": ["colza||rapeseed"],
    "gold": [{"path": "lamp.md", "quote": "burned colza oil"}],
    "answerable": True,
}
FAILS: dict[str, Any] = {
    "min_evidence": 9,
    "expect_source_keys": ["note:vault/none"],
    "any_source_keys": ["note:vault/none"],
    "expect_top_keys": [FERRY],
    "forbid_source_keys": ["lamp.md"],
    "expect_exact_tags": ["other"],
    "expect_matched_terms": ["whale"],
    "min_retrieval_signals": {"base": 1e9},
    "expect_planner": True,
    "expect_query_terms": ["ferry"],
    "expect_query_variants": ["ferry"],
    "forbid_query_variants": ["which oil did the lamp of holm burn? #light/house"],
    "expect_concepts": ["ferry"],
    "forbid_concepts": ["lamp"],
    "expect_planner_error_contains": "timeout",
    "expect_text": ["whale"],
    "forbid_text": ["colza"],
    "max_latency_ms": 0,
    "expect_answer_status": "no_evidence",
    "expect_citation_source_keys": [FERRY],
    "forbid_citation_source_keys": [LAMP],
    "expect_stop_reason": "no_evidence",
    "expect_inspected_keys": ["note:vault/none"],
    "expect_supported": ["The lamp of Holm burned colza oil until 1891."],
    "forbid_supported": ["The lamp of Holm burned colza oil until 1871."],
    "answers": ["whale"],
    "gold": [{"path": "ferry.md"}],
    "answerable": False,
}
# Asked of what lacks the term, of an answer that a model wrote, and of a planner that fails.
FAILS_ELSEWHERE = {"forbid_missing_terms", "max_unsupported_rate"}


def test_every_assertion_is_tried_both_ways() -> None:
    assert set(HOLDS) == set(ASSERTIONS)
    assert set(FAILS) | FAILS_ELSEWHERE == set(ASSERTIONS)


def test_each_assertion_holds_or_fails_for_itself(tmp_path: Path, corpus: Citewell) -> None:
    tagged = f"{QUESTION} #light/house"
    cases = [
        {"id": f"{name} {what}", "question": tagged, "disable_planner": True, name: value}
        for what, values in (("holds", HOLDS), ("fails", FAILS))
        for name, value in values.items()
        # Nothing is asserted by an empty text; the other way round it is.
        if value != ""
    ]
    report = suite(tmp_path, corpus.settings, cases)
    assert {case.id: [one.assertion for one in case.arms[0].failures] for case in report.cases} == {
        case["id"]: [case["id"].split()[0]] if case["id"].endswith("fails") else [] for case in cases
    }
    assert (report.passed, report.failed) == (len(HOLDS) - 1, len(FAILS))
    assert [case.status for case in report.cases][: report.failed] == ["failed"] * report.failed


def test_a_term_that_the_best_row_lacks_is_seen(tmp_path: Path, corpus: Citewell) -> None:
    case = {"question": "Which whale oil did the lamp of Holm burn?", "forbid_missing_terms": ["whale"]}
    report = suite(tmp_path, corpus.settings, [case], "mcp")
    assert [one.assertion for one in report.cases[0].arms[0].failures] == ["forbid_missing_terms"]


def test_a_whole_run_has_the_rows_and_windows_of_the_option_profile_that_a_case_names(
    tmp_path: Path, corpus: Citewell
) -> None:
    case = {"question": QUESTION, "disable_planner": True, "min_evidence": 1}
    named: list[dict[str, Any]] = [
        {**case, "id": "none"},
        {**case, "id": "cli", "option_profile": "cli"},
        {**case, "id": "web", "option_profile": "web"},
        {**case, "id": "fewer", "option_profile": "web", "limit": 2},
    ]
    report = suite(tmp_path, corpus.settings, named)
    limits = {}
    for one in report.cases:
        pack = corpus.runs.result(one.arms[0].run_id or "").pack
        assert pack is not None
        limits[one.id] = (pack.query_plan.limits.limit, pack.query_plan.limits.max_chars_per_doc)
    assert limits == {"none": (8, 700), "cli": (8, 700), "web": (10, 4_000), "fewer": (2, 4_000)}


def test_the_arm_with_a_planner_is_skipped_where_no_model_is_set(tmp_path: Path, corpus: Citewell) -> None:
    report = suite(
        tmp_path,
        corpus.settings,
        [
            {"id": "both", "question": QUESTION, "min_evidence": 1},
            {"id": "on", "question": QUESTION, "min_evidence": 99, "disable_planner": False},
            {"id": "off", "question": QUESTION, "min_evidence": 1, "disable_planner": True},
        ],
    )
    assert {case.id: (case.status, [(arm.arm, arm.status) for arm in case.arms]) for case in report.cases} == {
        "both": ("passed", [("planner_off", "passed"), ("planner_on", "skipped")]),
        "on": ("skipped", [("planner_off", "shown"), ("planner_on", "skipped")]),
        "off": ("passed", [("planner_off", "passed")]),
    }
    assert (report.passed, report.failed, report.skipped) == (2, 0, 1)


def test_both_arms_run_where_a_model_plans(tmp_path: Path, corpus: Citewell) -> None:
    reply = json.dumps({"variants": ["colza lamp fuel"], "concepts": []})
    with ScriptedModelServer(plans(says(reply), "")) as server:
        settings = replace(corpus.settings, planner_model="openai:test", model_base_url=server.base_url)
        case = {"question": "How did they come to keep the lamp of Holm lit, and with which oil?", "min_evidence": 1}
        report = suite(tmp_path, settings, [{**case, "expect_planner": True}], "mcp")
    arms = {arm.arm: arm for arm in report.cases[0].arms}
    assert arms["planner_on"].planner is not None
    assert (arms["planner_on"].planner.model, arms["planner_on"].planner.error) == ("test", None)
    assert (arms["planner_on"].status, arms["planner_on"].failures) == ("passed", ())
    assert arms["planner_off"].status == "passed"
    assert arms["planner_off"].not_checked == ("expect_planner",)


def test_what_a_planner_failed_with_is_compared_and_the_plan_of_rules_is_used(tmp_path: Path, corpus: Citewell) -> None:
    with ScriptedModelServer(says("I would rather not.")) as server:
        settings = replace(corpus.settings, planner_model="openai:test", model_base_url=server.base_url)
        case = {"question": QUESTION, "disable_planner": False, "expect_source_keys": [LAMP]}
        cases = [
            {**case, "id": "right", "expect_planner_error_contains": "JSON"},
            {**case, "id": "wrong", "expect_planner_error_contains": "no such error"},
        ]
        report = suite(tmp_path, settings, cases, "mcp")
    told = {case.id: case.arms[1] for case in report.cases}
    assert (told["right"].status, told["wrong"].status) == ("passed", "failed")
    assert [one.assertion for one in told["wrong"].failures] == ["expect_planner_error_contains"]
    assert told["right"].planner is not None
    assert told["right"].planner.status == "planner_failed_deterministic_used"


def test_sentences_that_nothing_supports_are_counted_against_an_answer(tmp_path: Path, corpus: Citewell) -> None:
    def script(request: ModelRequest) -> Reply:
        good = mark(request, "burned colza oil")
        return says(f"The lamp of Holm burned colza oil until 1871 {good}. Whales were hunted for it in Norway {good}.")

    with ScriptedModelServer(script) as server:
        settings = replace(corpus.settings, model="openai:test", model_base_url=server.base_url, judge="off")
        case = {"question": QUESTION, "disable_planner": True}
        cases = [{**case, "id": str(rate), "max_unsupported_rate": rate} for rate in (0.0, 1.0)]
        report = suite(tmp_path, settings, cases)
    assert {case.id: [one.assertion for one in case.arms[0].failures] for case in report.cases} == {
        "0.0": ["max_unsupported_rate"],
        "1.0": [],
    }


def test_a_failed_case_shows_both_arms_with_their_plans_and_signals(
    tmp_path: Path, corpus: Citewell, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = json.dumps({"variants": ["colza lamp fuel"], "concepts": []})
    with ScriptedModelServer(plans(says(reply), "")) as server:
        settings = replace(corpus.settings, planner_model="openai:test", model_base_url=server.base_url)
        question = "How did they come to keep the lamp of Holm lit, and with which oil?"
        case = {"question": question, "expect_query_variants": ["colza lamp fuel"]}
        report = suite(tmp_path, settings, [case], "mcp")
    assert [(arm.arm, arm.status) for arm in report.cases[0].arms] == [
        ("planner_off", "failed"),
        ("planner_on", "passed"),
    ]
    assert all(arm.top and arm.top[0].signals and arm.planner for arm in report.cases[0].arms)
    print_eval_report(report)
    printed = capsys.readouterr().out
    page = html_report(report).decode()
    for told in ("planner off", "planner on", "openai:test"[7:], "deterministic"):
        assert told in printed
        assert told in page
    assert printed.count("base ") >= 2
    assert page.count("<th>signals") == 2
    # In one row of the page, not one below the other.
    (beside,) = re.findall(r'<div class="arms">(.*)</div></details>', page)
    assert re.findall(r"<h2>(planner \w+)", beside) == ["planner off", "planner on"]
    assert beside.count('<div class="arm">') == 2


def test_a_case_that_is_known_to_fail_is_told_and_not_counted_until_it_passes(
    tmp_path: Path, corpus: Citewell, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {"question": QUESTION, "disable_planner": True, "known_failing": "whales are not in it"}
    cases: list[dict[str, Any]] = [
        {**case, "id": "still", "expect_text": ["whale"]},
        {**case, "id": "fixed", "expect_text": ["colza"]},
    ]
    report = suite(tmp_path, corpus.settings, cases)
    assert {one.id: one.status for one in report.cases} == {"still": "known_failing", "fixed": "passed"}
    assert (report.passed, report.failed, report.known_failing, report.now_passing) == (1, 0, 1, ("fixed",))
    print_eval_report(report)
    printed = capsys.readouterr().out
    assert "known to fail: still: whales are not in it" in printed
    assert "passes now: fixed: take out its known_failing" in printed
    skipped = list(ElementTree.fromstring(junit_report(report)).iter("skipped"))
    assert [one.attrib["message"] for one in skipped] == ["known to fail: whales are not in it"]
    assert "Known to fail, and passing now" in html_report(report).decode()


def test_a_run_of_a_case_leaves_a_trace_that_the_report_names(tmp_path: Path, corpus: Citewell) -> None:
    report = suite(tmp_path, corpus.settings, [{"question": QUESTION, "expect_text": ["whale"]}])
    arm = report.cases[0].arms[0]
    assert arm.trace_path is not None
    assert Path(arm.trace_path, "run.md").exists()
    page = html_report(report).decode()
    assert "run.md" in page
    assert "the answer lacks “whale”" in page
    (test, _) = ElementTree.fromstring(junit_report(report)).iter("testcase")
    failure = test.find("failure")
    assert failure is not None
    assert "whale" in failure.attrib["message"]


def test_the_page_shows_what_a_question_says_as_text(tmp_path: Path, corpus: Citewell) -> None:
    hostile = "Which oil? <script>alert(1)</script>\u202e & \x07"
    report = suite(tmp_path, corpus.settings, [{"question": hostile, "expect_text": ["whale"]}], "mcp")
    assert "<script" not in html_report(report).decode()
    ElementTree.fromstring(junit_report(report))


def test_what_passed_before_and_fails_now_is_a_regression(tmp_path: Path, corpus: Citewell) -> None:
    cases: list[dict[str, Any]] = [
        {"id": "a", "question": QUESTION, "min_evidence": 1},
        {"id": "b", "question": QUESTION, "min_evidence": 99},
    ]
    path = tmp_path / "baseline.json"
    first = compared(suite(tmp_path, corpus.settings, cases, "mcp"), path)
    assert (first.regressions, path.exists()) == ((), True)
    cases = [{**cases[0], "min_evidence": 99}, {**cases[1], "min_evidence": 1}]
    second = compared(suite(tmp_path, corpus.settings, cases, "mcp"), path)
    assert (second.regressions, second.fixed, second.cases[0].is_regression) == (("a",), ("b",), True)
    write_baseline(second, path)
    assert compared(second, path).regressions == ()
    with pytest.raises(BadInput, match="eval mcp"):
        compared(replace(second, kind="research"), path)
