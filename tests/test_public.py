"""Citewell from Python: the lines of the README, the same options and documents as the command line."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import citewell
from citewell import BadInput, Citewell, RunEvent, RunResult, to_json
from citewell.cli.research import research
from citewell.corpus_api import Corpus
from citewell.runs_api import Runs

ROOT = Path(__file__).parents[1]
NOTES = {
    "Halvard.md": "# Halvard\nThe ferry Halvard carried 212 passengers and twelve cars.\n",
    "Lamp.md": "# Lamp\nThe lamp was lit by Josiah Pell in 1859. See [[Halvard]].\n",
    "Light.md": "# Orrin Head Light\nThe Orrin Head Light was kept by Magnus Tulloch.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def readme_lines() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    return next(str(block) for block in blocks if "from citewell import Citewell" in block)


@pytest.mark.slow
def test_the_lines_of_the_readme_work_as_printed(notes: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", readme_lines()], cwd=notes.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "212 passengers" in done.stdout


def test_research_gives_the_document_the_command_prints(notes: Path, tmp_path: Path) -> None:
    with Citewell(tmp_path / "data") as cw:
        cw.add(notes)
        answer = cw.research("How many passengers did the Halvard carry?")
        assert isinstance(answer, RunResult)
        assert (answer.answer_status, answer.citations[0].source_key) == ("ok", "note:notes/halvard")
        span = answer.citations[0].span
        (document,) = cw.corpus.get(f"note:notes/halvard@{span.content_hash}", content_mode="full").documents
        assert document.text[span.start : span.end] == answer.citations[0].quote
        assert cw.runs.list().runs[0].surface == "python"
        assert cw.runs.replay(answer.run_id).identical
        stored = cw.runs.show(answer.run_id).result
    assert stored == answer
    command = [sys.executable, "-m", "citewell", "--data-dir", str(tmp_path / "data")]
    printed = subprocess.run(
        [*command, "runs", "show", answer.run_id, "--json"], capture_output=True, text=True, timeout=120
    )
    assert json.loads(printed.stdout)["result"] == json.loads(to_json(answer))


def test_the_options_are_those_of_the_command() -> None:
    """Named as the flags are; those that only print or gather have no place here."""
    command = {option.name for option in research.params if isinstance(option, click.Option)}
    python = set(inspect.signature(Citewell.start).parameters) - {"self", "question"}
    renamed = {"exclude_paths": "not_in", "exclude_domains": "not_from", "no_semantic": "semantic", "no_trace": "trace"}
    only_there = {
        "as_json",
        "verbose",
        "explain",
        "retrieval_only",
        "keep_all_traces",
        "include_related",
        "related_limit",
        "preview",
        "save",
    }
    of_conversations = {"history", "pinned", "conversation_id", "surface"}
    assert {renamed.get(name or "", name) for name in command - only_there} == python - of_conversations


def test_events_come_asynchronously_and_the_result_last(notes: Path, tmp_path: Path) -> None:
    async def watch() -> list[RunEvent | RunResult]:
        async with Citewell(tmp_path / "data") as cw:
            await asyncio.to_thread(cw.add, notes)
            return [event async for event in cw.stream("Who lit the lamp?")]

    *events, result = asyncio.run(watch())
    assert isinstance(result, RunResult)
    assert "Josiah Pell" in result.answer
    assert [event.sequence for event in events if isinstance(event, RunEvent)] == list(range(len(events)))


def test_a_conversation_is_given_as_values(notes: Path, tmp_path: Path) -> None:
    with Citewell(tmp_path / "data") as cw:
        cw.add(notes)
        answer = cw.research("Who kept it?", history=["When was the Orrin Head Light built?"])
        assert "Magnus Tulloch" in answer.answer
        again = cw.research("Who kept it?", history=[{"id": "t1", "question": "When was the Orrin Head Light built?"}])
        assert again.answer == answer.answer
        with pytest.raises(BadInput, match="history"):
            cw.research("Who kept it?", history=[{"text": "?"}])


def test_packs_syntheses_and_explanations_leave_no_record(notes: Path, tmp_path: Path) -> None:
    with Citewell(tmp_path / "data") as cw:
        cw.add(notes)
        pack = cw.pack("Who lit the lamp?")
        assert "Josiah Pell" in cw.synthesize("Who lit the lamp?", pack).answer
        assert cw.explain(pack).reasons
        assert cw.runs.list().runs == ()
        assert asyncio.run(cw.research_async("Who lit the lamp?", trace=False)).trace_path is None
        assert cw.runs.list().runs == ()


def test_settings_are_keywords_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    with Citewell(tmp_path / "data", max_file_mb=3) as cw:
        assert cw.settings.max_file_mb == 3
    with pytest.raises(BadInput, match="no setting colour"):
        Citewell(tmp_path / "data", colour="blue")


def test_every_public_method_says_what_it_does() -> None:
    undocumented = [
        f"{form.__name__}.{name}"
        for form in (Citewell, Corpus, Runs)
        for name, method in vars(form).items()
        if callable(method) and not name.startswith("_") and not method.__doc__
    ]
    assert undocumented == []


def test_the_package_offers_its_names_and_no_others() -> None:
    assert citewell.__version__
    with pytest.raises(AttributeError):
        citewell.nothing_of_the_kind  # noqa: B018


def test_every_public_name_is_there_and_is_the_type_of_its_room() -> None:
    """`from citewell import …` gives what programs rely on, and a name that is not there is an AttributeError."""
    assert sorted([*citewell._WHERE, "__version__"]) == sorted(citewell.__all__)
    for name in citewell.__all__:
        assert getattr(citewell, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        citewell.Nothing  # noqa: B018
