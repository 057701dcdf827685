"""A reader in a run: asked which passages answer, on record, never waited for too long, and never needed."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.answer.evidence import Likeness, PreparedSynthesis, Read, Readings
from citewell.check.verdict import Draft
from citewell.flows.local import first_plan, search
from citewell.flows.outside import Similarities
from citewell.flows.state import Findings
from citewell.flows.write import answer, answer_form
from citewell.runs.journal import Run
from citewell.search.lanes import SemanticUse
from conftest import SteadyClock, Write, add
from runner.plays import Playing, found, request, row
from runner.scripted_runs import decisions
from support.toy_models import write_reader

# Two sentences that words cannot tell apart, and a reader that knows who answers.
NOTES: dict[str, str | bytes] = {
    "lamp.md": "# Lamp\n\nThe keeper of the lamp was Anna Moor.\n\nThe keeper of the lamp was Josiah Pell.\n",
    "sea.md": "# Sea\n\nKelp grows on ropes in the harbour.\n",
}
QUESTION = "who was the keeper of the lamp?"
PELL = {"josiah": (6.0, 0.0), "pell": (0.0, 6.0), "anna": (-6.0, 0.0), "moor": (0.0, -6.0)}


async def _last(engine: Citewell) -> RunResult:
    last: object = None
    async for event in engine.stream(QUESTION):
        last = event
    assert isinstance(last, RunResult)
    return last


def asked(data: Path, vault: Path, reader: str) -> tuple[Citewell, RunResult]:
    engine = Citewell(Settings(data_dir=data, embeddings="off", reader=reader), SteadyClock())
    add(engine, vault)
    return engine, asyncio.run(_last(engine))


def test_the_words_the_reader_answers_with_are_marked_and_a_replay_needs_no_reader(
    tmp_path: Path, vault: Write
) -> None:
    folder = write_reader(tmp_path / "toy", PELL)
    engine, result = asked(tmp_path / "data", vault(NOTES), str(folder))
    (citation,) = [one for one in result.citations if one.highlight]
    assert citation.highlight is not None
    start = citation.span.start
    marked = citation.quote[citation.highlight.start - start : citation.highlight.end - start]
    assert marked == "Josiah Pell"
    events = list(engine.run_store.events(result.run_id))
    (read,) = decisions(events, "passages_read")
    assert read["reader"] == "toy"
    engine.close()
    shutil.rmtree(folder)
    elsewhere = Citewell(Settings(data_dir=tmp_path / "data", embeddings="off", reader="off"), SteadyClock())
    assert elsewhere.runs.replay(result.run_id).identical
    elsewhere.close()


def test_where_the_reader_is_sure_that_nothing_answers_nothing_is_answered(tmp_path: Path, vault: Write) -> None:
    folder = write_reader(tmp_path / "toy", {}, null=6.0)
    engine, result = asked(tmp_path / "data", vault(NOTES), str(folder))
    assert result.answer_status == "no_evidence"
    assert "Josiah Pell" in str(result.nearest)
    engine.close()


def test_a_reader_that_cannot_be_used_leaves_the_words_and_a_warning(tmp_path: Path, vault: Write) -> None:
    notes = vault(NOTES)
    engine, result = asked(tmp_path / "one", notes, str(tmp_path / "nowhere"))
    assert "reader_unavailable" in result.warnings
    assert "has no model.onnx" in str(decisions(list(engine.run_store.events(result.run_id)), "reader_failed"))
    engine.close()
    other, without = asked(tmp_path / "two", notes, "off")
    assert without.sentences == result.sentences
    assert without.warnings == ()
    other.close()


class Watched:
    """A run as far as its evidence; what its quotation was chosen by is kept."""

    def __init__(self, reader: str = "toy", semantic: SemanticUse = "off") -> None:
        self.chosen_by: list[tuple[Likeness, Readings]] = []
        self.playing = Playing(replace(request(), reader=reader, semantic=semantic), self._flow)
        rows = (row(f"note:{n}", "lamp", "lit", text=f"The lamp {n} was lit by Pell.") for n in range(20))
        self.playing.gives("retrieve", found(*rows))

    async def _flow(self, run: Run, found: Findings) -> None:
        form = answer_form(run, found)

        async def quote(prepared: PreparedSynthesis, likeness: Likeness, readings: Readings) -> Draft:
            self.chosen_by.append((likeness, readings))
            return await form.quote(prepared, likeness, readings)

        await search(run, found, first_plan(run))
        await answer(run, found, replace(form, quote=quote))


def test_the_reader_is_asked_about_a_bounded_number_of_passages_for_a_bounded_time() -> None:
    playing = Watched().playing
    assert playing.open == ["read_answers"]
    asked = playing.call("read_answers").arguments
    assert (asked["reader"], len(asked["texts"]), asked["seconds"]) == ("toy", 12, 6.0)
    assert Watched(reader="").playing.open == ["keep_texts"]


def test_passages_are_compared_by_meaning_first_and_then_read() -> None:
    run = Watched(semantic="on")
    assert run.playing.open == ["compare"]
    near = tuple((*window, 0.5) for window in run.playing.call("compare").arguments["windows"])
    run.playing.gives("compare", Similarities(near))
    assert run.playing.open == ["read_answers"]
    read = run.playing.call("read_answers").arguments["texts"]
    answers = tuple(Read(0.25, 0, 3) for _ in read)
    run.playing.gives("read_answers", answers)
    assert run.chosen_by == [(Likeness(near), Readings(read, answers))]


@pytest.mark.parametrize("happens", ["fails", "finish", "writing"])
def test_without_the_readers_answer_passages_are_chosen_as_before(happens: Any) -> None:
    run = Watched()
    run.playing.fails("read_answers") if happens == "fails" else run.playing.control(happens)
    assert run.playing.open == ["keep_texts"]
    assert run.chosen_by == Watched(reader="").chosen_by == [(Likeness(), Readings())]
    assert "reader_unavailable" in run.playing.run.warnings
