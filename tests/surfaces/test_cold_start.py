"""What a command from a cold shell does not wait for: modules it has no use for are not imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from citewell import Citewell, Settings
from citewell.cli import main
from citewell.cli.main import cli

# Libraries of models, servers, readers and other databases, and what of ours only runs, packs and answers need.
_NEVER = (
    *("numpy", "onnxruntime", "tokenizers", "openai", "anthropic", "httpx", "httpx2"),
    *("mcp", "starlette", "fastapi", "uvicorn", "pydantic", "asyncio", "psycopg"),
    *("markdown_it", "lxml", "bs4", "trafilatura", "pypdfium2", "yaml", "rich", "dateparser"),
    *(
        "citewell.models.chat",
        "citewell.models.onnx",
        "citewell.web",
        "citewell.readers",
        "citewell.runs",
        "citewell.ingest",
    ),
    *("citewell.answer", "citewell.check", "citewell.notes", "citewell.reports", "citewell.evals"),
    *("citewell.search.pack", "citewell.flows"),
    *("citewell.mcp", "citewell.api", "citewell.page"),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Lamp.md").write_text("# Lamp\nLit by Pell.", "utf-8")
    (tmp_path / "vault" / "Oil.md").write_text("# Oil\nThe oil of the lamp came from Leith.", "utf-8")
    engine = Citewell(Settings(data_dir=tmp_path / "data", embeddings="off"))
    for _ in engine.corpus.sync(tmp_path / "vault"):
        pass
    engine.close()
    return tmp_path / "data"


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a process has imported when it has run a command."""
    program = (
        "import json, sys; from citewell.cli.main import run\n"
        f"assert run({[*arguments]}) == 0\n"
        "print(json.dumps([*sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.strip().splitlines()[-1]))


def test_a_search_by_words_loads_no_model_server_reader_or_other_database(data: Path) -> None:
    """Not even where the folder of a judge could be named: only a run that has something to ask opens it."""
    assert not loaded_by("--data-dir", str(data), "search", "lamp", "--mode", "lexical").intersection(_NEVER)


def test_help_loads_no_command() -> None:
    ours = {name for name in loaded_by("--help") if name.partition(".")[0] == "citewell"}
    assert len(ours) <= 20
    assert not any(name.startswith(("citewell.engine", "citewell.settings")) for name in ours)


def test_the_lines_of_help_are_those_of_the_commands() -> None:
    with click.Context(cli) as context:
        for name, (_, line) in main._COMMANDS.items():
            command = cli.get_command(context, name)
            assert command is not None
            assert command.get_short_help_str(limit=80) == line
            assert not command.hidden
