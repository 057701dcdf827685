"""Runs with a real model: llama.cpp and SmolLM2, 135 million parameters. It writes fluently and invents freely.

What is tested is never whether it is right, only that what it writes is bound, checked, recorded and replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import AddReport, Citewell, RunResult, Settings
from runner.scripted_runs import displayed
from runner.test_runs import NOTES, collect

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]
pytestmark = pytest.mark.slow
QUESTIONS = ["Who lit the lamp?", "Where did the oil come from?"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_whatever_a_small_model_writes_nothing_unsupported_passes_for_supported(
    llama: str, vault: Write, add_path: AddPath, engine: Citewell, question: str
) -> None:
    add_path(vault(NOTES))
    settings = Settings(
        engine.settings.data_dir,
        model="llamacpp:smollm2",
        planner_model="llamacpp:smollm2",
        model_base_url=llama,
        max_output_tokens=90,
        judge="off",
    )
    opened = Citewell(settings)
    events, result = asyncio.run(collect(opened.stream(question, max_evidence_chars=3_000)))
    assert result.stop_reason in ("enough_evidence", "weak_evidence_budget_exhausted", "no_evidence") or (
        result.stop_reason in ("verification_failed", "synthesis_failed") and result.answer == ""
    )
    _check_sentences(opened, result)
    kept = {sentence.text for sentence in result.sentences if sentence.verdict != "contradicted"}
    shown, gone = displayed(events)
    assert len(set(shown) - kept) <= len(gone), "what was shown and did not hold was taken back"
    assert result.metrics.model_calls >= 2
    assert all(call.tokens_are_reported for call in result.metrics.calls if not call.problem)
    assert opened.runs.replay(result.run_id).identical
    opened.close()


def _check_sentences(opened: Citewell, result: RunResult) -> None:
    """Every sentence called supported has its quote, its judge's words and its numbers in the very document."""
    for sentence in result.sentences:
        if sentence.verdict != "supported":
            continue
        assert sentence.quote is not None
        place = f"{sentence.quote.source_key}@{sentence.quote.content_hash}"
        (document,) = opened.corpus.get(place, content_mode="full").documents
        assert document.text[sentence.quote.start : sentence.quote.end] == sentence.quote.text
        assert sentence.check.kind == "exact" or sentence.check.words in document.text
        numbers = {word for word in sentence.text.replace(",", " ").split() if word.isdigit()}
        assert all(number in document.text for number in numbers)
