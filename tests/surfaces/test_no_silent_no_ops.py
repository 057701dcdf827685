"""What would do nothing is refused or said; what is set out of range stops before a run starts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from citewell import BadInput, Citewell, Settings, WorkFailed
from citewell.cli.main import run
from citewell.runs.service import RunService
from citewell.settings import load_settings, secret_values, setting_fields, unused_settings, view_settings
from runner.test_runs import collect

NOTES = {
    "Lamp.md": "---\ntags: [lamp]\n---\n# Lamp\nThe lamp was lit by Josiah Pell in 1859. See [[Oil]].",
    "Oil.md": "# Oil\nThe oil of the lamp came from Leith in 1860.",
}
QUESTION = "Who lit the lamp?"


class Shell:
    """The program in this process, over the corpus of a test."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["--data-dir", str(self.data), *arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def shell(corpus: Citewell, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(corpus.settings.data_dir, capsys)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--include-related"], "--include-related"),
        (["--include-related", "--related-limit", "3"], "--related-limit"),
        (["--retrieval-only", "--related-limit", "3"], "--related-limit"),
        (["--retrieval-only", "--planner"], "could plan"),
        (["--retrieval-only", "--planner-timeout", "3"], "time for planning"),
        (["--retrieval-only", "--model", "extractive"], "--model"),
        (["--retrieval-only", "--max-cost", "1"], "--max-cost"),
        (["--retrieval-only", "--timeout", "9"], "--timeout"),
        (["--retrieval-only", "--no-trace"], "--no-trace"),
        (["--retrieval-only", "--keep-all-traces"], "--keep-all-traces"),
        (["--retrieval-only", "--max-evidence-chars", "9000"], "--max-evidence-chars"),
        (["--retrieval-only", "--profile", "deep"], "--profile"),
        (["--no-planner", "--planner-model", "ollama:x"], "--planner-model"),
        (["--planner-timeout", "3"], "time for planning"),
        (["--no-trace", "--keep-all-traces"], "--keep-all-traces"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused_with_a_fix(shell: Shell, options: list[str], named: str) -> None:
    code, out, err = shell("research", QUESTION, *options)
    assert (code, out) == (2, "")
    assert named in err
    assert "→" in err
    assert not (shell.data / "runs.db").exists(), "nothing was started"


def test_the_engine_refuses_related_rows_in_a_run_too(corpus: Citewell) -> None:
    """N3: they enter by the judged expansion alone."""
    with pytest.raises(BadInput, match="by itself"):
        corpus.start(QUESTION, include_related=True)


@pytest.mark.parametrize("options", [[], ["--retrieval-only"], ["--retrieval-only", "--include-related"]])
def test_what_does_something_is_not_refused(shell: Shell, options: list[str]) -> None:
    code, out, _ = shell("research", QUESTION, *options, "--json")
    assert code == 0
    assert json.loads(out)["question"] == QUESTION


def test_explain_says_why_each_row_of_a_run_won(shell: Shell) -> None:
    _, plain, _ = shell("research", QUESTION)
    code, explained, _ = shell("research", QUESTION, "--explain")
    assert code == 0
    assert "why: " not in plain
    assert "why: found by " in explained
    assert explained.index("Josiah Pell") < explained.index("why each row won")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CITEWELL_TRACE_KEEP", "-1"),
        ("CITEWELL_TRACE_MAX_AGE_DAYS", "-3"),
        ("CITEWELL_MAX_EVIDENCE_CHARS", "10"),
        ("CITEWELL_MAX_CHARS_PER_DOC", "1"),
        ("CITEWELL_EXACT_TAG_RESERVED_CHARS", "-1"),
        ("RESEARCH_MAX_CITATIONS_DEEP", "0"),
        ("DEEP_RESEARCH_TIMEOUT_SECONDS", "0"),
        ("DEEP_RESEARCH_TIMEOUT_SECONDS", "nan"),
    ],
)
def test_a_setting_nothing_could_honour_stops_before_a_run_starts(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    code, out, err = shell("research", QUESTION)
    assert (code, out) == (2, "")
    assert name in err
    assert not (shell.data / "runs.db").exists()


def test_every_setting_is_used(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_READER", "off")
    code, out, err = shell("research", QUESTION, "--json")
    assert code == 0
    json.loads(out)
    assert "nothing uses it yet" not in err
    report = json.loads(shell("doctor", "--json")[1])
    assert [view["name"] for view in report["settings"] if not view["used"]] == []


def test_settings_at_their_defaults_are_not_spoken_of() -> None:
    settings = load_settings(environ={"CITEWELL_DATA_DIR": "/nowhere", "CHAT_RESEARCH_MAX_LOOPS": "2"})
    assert unused_settings(settings) == ()


def test_every_setting_of_the_web_loop_is_there_with_its_default() -> None:
    """W9."""
    defaults = {entry.metadata["env"]: entry.default for entry in setting_fields()}
    listed = {
        "AGENTIC_RESEARCH_CHAT_ENABLED": True,
        "AGENTIC_RESEARCH_DEEP_ENABLED": True,
        "CHAT_RESEARCH_MAX_LOOPS": 2,
        "CHAT_RESEARCH_MAX_SOURCES_READ": 4,
        "CHAT_RESEARCH_MAX_SEARCH_QUERIES": 4,
        "CHAT_RESEARCH_TIMEOUT_SECONDS": 20,
        "DEEP_RESEARCH_MAX_LOOPS": 6,
        "DEEP_RESEARCH_MAX_SOURCES_READ": 16,
        "DEEP_RESEARCH_MAX_SEARCH_QUERIES": 18,
        "DEEP_RESEARCH_TIMEOUT_SECONDS": 150,
        "RESEARCH_SOURCE_FETCH_TIMEOUT_SECONDS": 12,
        "RESEARCH_SOURCE_MAX_BYTES": 1_500_000,
        "RESEARCH_MAX_CITATIONS_CHAT": 8,
        "RESEARCH_MAX_CITATIONS_DEEP": 12,
        "RESEARCH_MODEL": "",
    }
    assert {name: defaults[name] for name in listed} == listed


def test_budgets_that_are_set_hold_and_are_on_record(corpus: Citewell) -> None:
    """S1: a replay does not depend on what is set by then."""
    chosen = replace(
        corpus.settings,
        max_evidence_chars=4_000,
        max_chars_per_doc=60,
        exact_tag_reserved_chars=1_111,
        topic_brief_min_remaining_chars=2_222,
        topic_brief_summary_max_chars=333,
        research_max_citations_deep=1,
        deep_research_timeout_seconds=99.0,
    )
    engine = Citewell(chosen, corpus.clock)
    try:
        events, result = asyncio.run(collect(engine.stream("the lamp and the oil", profile="deep")))
        request = events[0].body["request"]
        assert request["reserves"] == {
            "exact_tag_reserved_chars": 1_111,
            "topic_brief_min_remaining_chars": 2_222,
            "topic_brief_summary_max_chars": 333,
        }
        assert (request["max_evidence_chars"], request["max_citations"], request["deadline_seconds"]) == (4_000, 1, 99)
        assert result.truncation.evidence_budget_chars == 4_000
        assert len(result.citations) <= 1
        assert all(len(row.text) <= 60 for row in engine.search("lamp").results)
    finally:
        engine.close()
    assert corpus.runs.replay(result.run_id).identical


def test_a_clean_up_that_fails_is_told_and_the_answer_is_printed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: RunService, **limits: object) -> None:
        raise WorkFailed("not this one")

    monkeypatch.setattr(RunService, "prune", fail)
    code, out, err = shell("research", QUESTION, "--json")
    assert (code, json.loads(out)["answer_status"]) == (0, "ok")
    assert "old runs could not be put away" in err


def test_the_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, openai_url="https://ann:hunter22@models.example/v1")
    shown = {view.name: view.value for view in view_settings(settings)}
    assert shown["CITEWELL_OPENAI_URL"] == "https://ann:••••••••@models.example/v1"
    assert secret_values(settings) == ("hunter22", "hunter22")


@pytest.mark.parametrize("key", ["ollama", "EMPTY", "sk-no-key-required"])
def test_what_stands_for_no_key_is_no_secret(tmp_path: Path, key: str) -> None:
    assert secret_values(Settings(data_dir=tmp_path, model_api_key=key)) == ()
