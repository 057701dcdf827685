"""A loop that fails leaves an answer: what was weighed before, one pass with snippets, or the corpus alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from citewell import Citewell, ResearchPack, RunResult, Settings
from citewell.flows.kept_pages import PageStore
from citewell.search.query import QueryPlan
from web.loopback_internet import Internet, loopback_internet

LIT = "When was the Halvard light first lit?"
LENS = "Who ground the lens of the lamp of the Halvard light?"


class FailingStore(PageStore):
    """A store of pages that breaks when passages are looked for the n-th time, once or for good."""

    def __init__(self, store: PageStore, fails_at: int, *, for_good: bool) -> None:
        super().__init__(store.store)
        self._left, self._for_good = fails_at, for_good

    def rank(self, question: str, plan: QueryPlan, paths: Sequence[str]) -> ResearchPack:
        self._left -= 1
        if self._left == 0 or (self._for_good and self._left < 0):
            raise OSError("the disk is gone")
        return super().rank(question, plan, paths)


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def run(net: Internet, data: Path, question: str, profile: str, fails_at: int, *, for_good: bool = False) -> RunResult:
    engine = Citewell(Settings(data_dir=data / "data", judge="off", **net.settings), resolve=net.names)
    (data / "own.md").write_text("The Halvard light stands on a rock. Its keeper kept a diary.")
    list(engine.corpus.sync(data / "own.md"))
    engine.web.__dict__["pages"] = FailingStore(engine.web.pages, fails_at, for_good=for_good)
    try:
        result = engine.runs.wait(engine.start(question, profile=profile))
        assert engine.runs.replay(result.run_id).identical
        return result
    finally:
        engine.close()


@pytest.mark.parametrize("profile", ["chat", "deep"])
def test_one_pass_with_snippets_and_a_warning(profile: str, internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path, LIT, profile, 1)
    assert result.web is not None
    assert {"web_loop_failed", "web_snippets_only"} <= set(result.warnings)
    assert {page.flags for page in result.web.pages} == {("snippet",)}
    assert "1871" in result.answer
    assert (result.status, result.web.stop, result.metrics.raw_stop) == ("done", "error", "error")
    assert result.stop_reason == "weak_evidence_budget_exhausted"
    assert "weak_evidence" in result.answer_warnings


def test_the_corpus_alone_where_snippets_cannot_be_had_either(internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path, "Who kept a diary at the Halvard light?", "chat", 1, for_good=True)
    assert result.web is not None
    assert "web_loop_failed" in result.warnings
    assert (result.status, result.web.stop) == ("done", "error")
    assert {citation.source_key.partition(":")[0] for citation in result.citations} == {"note"}
    assert result.stop_reason == "weak_evidence_budget_exhausted"


def test_nothing_at_all_is_said_to_be_nothing(internet: Internet, tmp_path: Path) -> None:
    result = run(
        internet, tmp_path, "What is the price of zinc in Bolivia, by the Halvard light?", "chat", 1, for_good=True
    )
    assert result.web is not None
    assert result.web.stop == "error"
    assert (result.answer_status, result.stop_reason) == ("no_evidence", "no_evidence")


def test_what_was_weighed_before_stays(internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path, LENS, "deep", 2, for_good=True)
    assert result.web is not None
    assert "web_loop_failed" in result.warnings
    assert "web_snippets_only" not in result.warnings
    assert result.web.stop == "error"
    assert any(row.source_key.startswith("web:online/") for row in result.pack.evidence) if result.pack else False
