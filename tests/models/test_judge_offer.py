"""A small judge is offered once, on a terminal, after the first answer that a model wrote; never to a script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from runner.scripted_runs import GOOD, mark
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer
from support.terminal import on_terminal

OFFER = r"A 181 MB checker can read each sentence"


def writes_and_judges(request: ModelRequest) -> Reply:
    if "You check sentences" in request.prompt:
        return says(
            '{"verdicts": [{"n": 1, "verdict": "says", "words": "The lamp was lit by Josiah Pell", "wrong": ""}]}'
        )
    return says(GOOD.replace("{lit}", f"{mark(request, 'lit by')} «lit by Josiah Pell»"))


def test_it_is_offered_once_and_only_to_a_person(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Lamp.md").write_text(
        "# Lamp\nThe lamp was lit by Josiah Pell on 14 November 1859.\n", "utf-8"
    )
    data = tmp_path / "data"
    cli = [sys.executable, "-m", "citewell", "--data-dir", str(data)]
    subprocess.run([*cli, "add", str(tmp_path / "notes")], check=True, capture_output=True)
    with ScriptedModelServer(writes_and_judges) as server:
        env = {"CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": server.base_url, "CITEWELL_JUDGE": "auto"}
        asked = [*cli, "research", "Who lit the lamp?"]
        piped = subprocess.run(asked, capture_output=True, text=True, env=env, timeout=120, stdin=subprocess.DEVNULL)
        assert piped.returncode == 0, piped.stderr
        assert "checker" not in piped.stdout + piped.stderr
        assert "«lit by Josiah Pell»" in piped.stdout
        assert "openai:test itself judged" in piped.stdout
        with on_terminal(asked, env) as terminal:
            terminal.wait_for(OFFER)
            terminal.line("n")
            terminal.wait_for("Later: citewell models get nli-deberta-v3-small")
            assert terminal.ended() == 0
        with on_terminal(asked, env) as terminal:
            assert terminal.ended(60) == 0
            assert "checker" not in terminal.plain
