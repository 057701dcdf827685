"""The twenty questions of docs/questions.md, asked for real over the bundled sample corpus."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from citewell.engine import Citewell
from citewell.evals.suite import sample_corpus
from citewell.runs.run import RunResult
from citewell.settings import Settings

QUESTIONS = Path(__file__).resolve().parents[1] / "evals" / "sample_questions.json"


def table() -> str:
    """A row for each question: what was asked, what came back, and where it stands."""
    data = json.loads(QUESTIONS.read_text("utf-8"))
    by_id = {entry["id"]: entry for entry in data["questions"]}
    lines = ["| kind | question | answer | cited |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        engine = Citewell(Settings(data_dir=Path(folder)))
        for _ in engine.corpus.sync(sample_corpus(), collection="skelday"):
            pass
        for name in data["twenty"]:
            entry = by_id[name]
            result = asyncio.run(_answer(engine, entry["question"]))
            lines.append(
                f"| {entry['kind']} | {_cell(entry['question'])} | {_cell(result.answer)} | {_places(result)} |"
            )
        engine.close()
    return "\n".join(lines)


async def _answer(engine: Citewell, question: str) -> RunResult:
    async for event in engine.stream(question, trace=False):
        if isinstance(event, RunResult):
            return event
    raise AssertionError("a run ends with its result")


def _places(result: RunResult) -> str:
    return ", ".join(f"`{citation.note_path}`" for citation in result.citations) or "–"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("[[", "").replace("]]", "").split())
