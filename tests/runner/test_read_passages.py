"""A reader in a run: asked which passages answer, on record, never waited for too long, and never needed."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from citewell.runner.actions import (
    ActionFailed,
    AnswersRead,
    Compare,
    Compared,
    DeadlinePassed,
    Extract,
    FinishRequested,
    Inspected,
    Judged,
    Observation,
    PlanMade,
    Prepared,
    ReadAnswers,
    Retrieved,
    action_digest,
    digest,
)
from citewell.runner.machine import Machine, Step

from citewell.app import Engine
from citewell.domain.answers import Likeness, Readings
from citewell.domain.lanes import SemanticUse
from citewell.domain.runs import JudgeResult, RunResult
from citewell.settings import Settings
from conftest import SteadyClock, Write, add
from runner.plays import pack, plan, prepared, request, row
from runner.scripted_runs import decisions
from support.toy_models import write_reader

# Two sentences that words cannot tell apart, and a reader that knows which of them answers.
NOTES: dict[str, str | bytes] = {
    "lamp.md": "# Lamp\n\nThe keeper of the lamp was Anna Moor.\n\nThe keeper of the lamp was Josiah Pell.\n",
    "sea.md": "# Sea\n\nKelp grows on ropes in the harbour.\n",
}
QUESTION = "who was the keeper of the lamp?"
PELL = {"josiah": (6.0, 0.0), "pell": (0.0, 6.0), "anna": (-6.0, 0.0), "moor": (0.0, -6.0)}
MOOR = {"josiah": (-6.0, 0.0), "pell": (0.0, -6.0), "anna": (6.0, 0.0), "moor": (0.0, 6.0)}


async def _last(engine: Engine) -> RunResult:
    last: object = None
    async for event in engine.research(QUESTION):
        last = event
    assert isinstance(last, RunResult)
    return last


def asked(data: Path, vault: Path, reader: str) -> tuple[Engine, RunResult]:
    engine = Engine(Settings(data_dir=data, embeddings="off", reader=reader), SteadyClock())
    add(engine, vault)
    return engine, asyncio.run(_last(engine))


@pytest.mark.parametrize(("knows", "first"), [(PELL, "Josiah Pell"), (MOOR, "Anna Moor")], ids=["Pell", "Moor"])
def test_of_passages_alike_in_words_the_one_the_reader_answers_from_comes_first(
    tmp_path: Path, vault: Write, knows: dict[str, tuple[float, float]], first: str
) -> None:
    folder = write_reader(tmp_path / "toy", knows)
    engine, result = asked(tmp_path / "data", vault(NOTES), str(folder))
    assert first in result.sentences[0].text
    events = list(engine.run_store.events(result.run_id))
    (read,) = decisions(events, "passages_read")
    assert read["reader"] == "toy"
    engine.close()
    shutil.rmtree(folder)
    elsewhere = Engine(Settings(data_dir=tmp_path / "data", embeddings="off", reader="off"), SteadyClock())
    assert elsewhere.runs.replay(result.run_id).identical
    elsewhere.close()


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


def play(*observations: Observation, reader: str = "toy", semantic: SemanticUse = "off") -> Step:
    """A run as far as its prepared evidence, and what follows."""
    machine = Machine()
    taken = machine.begin(replace(request(), reader=reader, semantic=semantic))
    found = Retrieved(pack(row("note:a", "lamp", "lit")))
    opening = (PlanMade(plan()), found, Inspected(()), Judged(JudgeResult("enough_evidence", "fine")))
    texts = tuple(f"passage {number}" for number in range(20))
    for number, observation in enumerate((*opening, Prepared(prepared(), texts), *observations), start=1):
        is_control = isinstance(observation, FinishRequested | DeadlinePassed)
        taken = machine.step(taken.state, observation, float(number), None if is_control else taken.state.open[0])
    return taken


def test_the_reader_is_asked_about_a_bounded_number_of_passages_for_a_bounded_time() -> None:
    (action,) = play().state.open
    assert isinstance(action, ReadAnswers)
    assert (action.reader, len(action.texts), action.seconds) == ("toy", 16, 6.0)
    (without,) = play(reader="").state.open
    assert isinstance(without, Extract)


def test_passages_are_compared_by_meaning_first_and_then_read() -> None:
    (compare,) = play(semantic="on").state.open
    assert isinstance(compare, Compare)
    near = tuple(0.5 for _ in compare.texts)
    (read,) = play(Compared(near), semantic="on").state.open
    assert isinstance(read, ReadAnswers)
    answers = tuple(0.25 for _ in read.texts)
    (quote,) = play(Compared(near), AnswersRead(answers), semantic="on").state.open
    assert isinstance(quote, Extract)
    assert quote.likeness == Likeness(compare.texts, near)
    assert quote.readings == Readings(read.texts, answers)


@pytest.mark.parametrize(
    "happens", [ActionFailed("unavailable", "broken"), FinishRequested(), DeadlinePassed("writing")],
    ids=["fails", "finish", "no time"],
)  # fmt: skip
def test_without_the_readers_answer_passages_are_chosen_as_before(happens: Observation) -> None:
    taken = play(happens)
    (action,) = taken.state.open
    assert isinstance(action, Extract)
    assert action.readings == Readings()
    assert "reader_unavailable" in taken.state.warnings


def test_a_quotation_without_readings_is_named_as_it_was_before_there_were_any() -> None:
    (action,) = play(reader="").state.open
    body = msgspec.to_builtins(action)
    del body["readings"]
    del body["in_sections"]
    assert not body["prepared"].pop("other_languages")
    assert action_digest(action) == digest(["Extract", body])
