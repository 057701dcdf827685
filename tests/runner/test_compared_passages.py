"""Evidence is compared with the question by meaning: asked outside, on record, and never needed for an answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from citewell import Citewell, RunResult, Settings
from citewell.models.embeddings import Embedder
from conftest import SteadyClock, Write, add
from toy_embedder import WordEmbedder

NOTES: dict[str, str | bytes] = {
    "garage.md": "# Garage\n\nThe automobile of the keeper has four tyres. The keeper sold the boat in 2019.\n",
    "sea.md": "# Sea\n\nKelp grows on ropes in the harbour.\n",
}
QUESTION = "how many tyres does the automobile have?"


class Broken(WordEmbedder):
    """Encodes, and fails as soon as a question is to be compared."""

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        raise RuntimeError("bad graph")


class Unmeasured(WordEmbedder):
    tells_answers = False


async def _last(engine: Citewell) -> RunResult:
    last: object = None
    async for event in engine.stream(QUESTION):
        last = event
    assert isinstance(last, RunResult)
    return last


def _asked(data: Path, vault: Path, embedder: Embedder) -> tuple[Citewell, RunResult]:
    engine = Citewell(Settings(data_dir=data, embeddings="on"), SteadyClock(), lambda: embedder)
    add(engine, vault)
    list(engine.corpus.encode())
    return engine, asyncio.run(_last(engine))


def _intended(engine: Citewell, result: RunResult) -> list[str]:
    return [event.body["action"] for event in engine.run_store.events(result.run_id) if event.kind == "action_intended"]


def test_a_comparison_is_on_record_and_a_replay_needs_no_model(tmp_path: Path, vault: Write) -> None:
    engine, result = _asked(tmp_path / "data", vault(NOTES), WordEmbedder())
    assert "compare" in _intended(engine, result)
    assert "four tyres" in result.answer
    engine.close()

    def unasked() -> Embedder:
        raise AssertionError("the model was opened")

    later = Citewell(Settings(data_dir=tmp_path / "data", embeddings="on"), SteadyClock(), unasked)
    assert later.runs.replay(result.run_id).identical
    later.close()


def test_a_model_that_breaks_leaves_the_choice_to_the_words(tmp_path: Path, vault: Write) -> None:
    engine, result = _asked(tmp_path / "data", vault(NOTES), Broken())
    assert "four tyres" in result.answer
    assert "semantic_lane_unavailable" in result.warnings
    assert engine.runs.replay(result.run_id).identical
    engine.close()


def test_a_model_whose_similarities_were_never_measured_has_no_say(tmp_path: Path, vault: Write) -> None:
    measured, first = _asked(tmp_path / "one", vault(NOTES), WordEmbedder())
    unmeasured, second = _asked(tmp_path / "two", vault(NOTES), Unmeasured())
    assert first.pack is not None
    assert second.pack is not None
    assert first.pack.coverage.answerability != second.pack.coverage.answerability
    assert "semantic_lane_unavailable" not in second.warnings
    measured.close()
    unmeasured.close()


@pytest.mark.parametrize("embeddings", ["off", "shadow"])
def test_where_meaning_takes_no_part_nothing_is_compared(tmp_path: Path, vault: Write, embeddings: str) -> None:
    engine = Citewell(Settings(data_dir=tmp_path / "data", embeddings=embeddings), SteadyClock(), WordEmbedder)
    add(engine, vault(NOTES))
    list(engine.corpus.encode())
    result = asyncio.run(_last(engine))
    assert "compare" not in _intended(engine, result)
    engine.close()
