"""Twenty questions over the sample corpus (docs/measurements/questions.md): the right passage, or refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.evals.suite import sample_corpus

pytestmark = pytest.mark.slow

QUESTIONS = json.loads((Path(__file__).parents[2] / "evals" / "sample_questions.json").read_text("utf-8"))
BY_ID = {entry["id"]: entry for entry in QUESTIONS["questions"]}
TWENTY = [BY_ID[name] for name in QUESTIONS["twenty"]]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Citewell]:
    opened = Citewell(Settings(data_dir=tmp_path_factory.mktemp("sample")))
    for _ in opened.corpus.sync(sample_corpus(), collection="skelday"):
        pass
    yield opened
    opened.close()


async def answer(engine: Citewell, question: str) -> RunResult:
    async for event in engine.stream(question):
        if isinstance(event, RunResult):
            return event
    raise AssertionError("a run ends with its result")


def ids(entry: dict[str, Any]) -> str:
    return f"{entry['id']}-{entry['kind']}"


def test_there_are_twenty_of_all_kinds_and_five_cannot_be_answered() -> None:
    kinds = [entry["kind"] for entry in TWENTY]
    assert (len(TWENTY), kinds.count("unanswerable")) == (20, 5)
    assert set(kinds) >= {"who", "when", "where", "how_many", "why", "how", "what", "compare", "list", "yes_no"}


@pytest.mark.parametrize("entry", TWENTY, ids=ids)
def test_a_question_is_answered_from_the_right_passage_or_refused(engine: Citewell, entry: dict[str, Any]) -> None:
    result = asyncio.run(answer(engine, entry["question"]))
    assert result.flow.holds
    assert engine.runs.replay(result.run_id).identical
    if entry["kind"] == "unanswerable":
        assert (result.answer_status, result.citations) == ("no_evidence", ())
        return
    assert result.answer_status == "ok"
    first_three = " ".join(sentence.text for sentence in result.sentences[:3]).casefold()
    assert all(fact.casefold() in first_three for fact in entry["fact"]), result.answer
    assert {gold["path"] for gold in entry["gold"]} & {citation.note_path for citation in result.citations}
    assert {sentence.verdict for sentence in result.sentences} == {"supported"}
    for citation in result.citations:
        (document,) = engine.corpus.get(
            f"{citation.source_key}@{citation.span.content_hash}", content_mode="full"
        ).documents
        assert document.text[citation.span.start : citation.span.end] == citation.quote


def test_no_answer_repeats_a_saved_ai_answer_or_an_injected_order(engine: Citewell) -> None:
    for name in ("q11", "q13", "q14"):
        entry = BY_ID[name]
        result = asyncio.run(answer(engine, entry["question"]))
        assert not [wrong for wrong in entry["avoid"] if wrong.casefold() in result.answer.casefold()]
