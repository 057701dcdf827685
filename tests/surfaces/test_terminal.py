"""What a terminal is sent: no saved text can move its cursor, ring its bell or change its title."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from citewell.app import Engine

NOTES = {
    "Lamp.md": "# Lamp \x1b]0;owned\x07\x1b[2J\x9b2J of Leith\nThe lamp\x1b[8m was\x07 lit by Josiah Pell.\n",
    "Turbine Seven.md": '---\naliases: ["Big \\e[2J\\aMaggie"]\n---\n# Turbine Seven\nIt stands on the hill.\n',
    "Output.md": "# Output\nBig \x1b[2J\x07Maggie made 40 kWh beside the lamp.\n",
}
TITLE = "Lamp \x1b]0;owned\x07\x1b[2J\x9b2J of Leith"


def on_a_terminal(data: Path, *arguments: str) -> str:
    """What the program writes where its output is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as program:
        os.close(theirs)
        said = bytearray()
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            said += part
    os.close(ours)
    assert program.returncode == 0, said.decode()
    return said.decode("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("search", TITLE, "--explain"), ("research", f"what is {TITLE}", "--explain"), ("topics", "lamp"),
     ("research", "--retrieval-only", "--explain", TITLE), ("get", "note:vault/lamp"), ("runs", "list"),
     ("research", "--retrieval-only", "--explain", "What did Turbine Seven make beside the lamp?"),
     ("research", "--retrieval-only", "--explain", f'what does the note "{TITLE}" say?')],
    ids=["search", "research", "topics", "pack", "get", "runs", "alias", "title"],
)  # fmt: skip
def test_only_our_own_colours_reach_the_terminal(corpus: Engine, command: tuple[str, ...]) -> None:
    data = corpus.settings.data_dir
    if command[0] == "runs":
        on_a_terminal(data, "research", f"what is {TITLE}")
    said = on_a_terminal(data, *command)
    assert "lamp" in said.lower()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", plain), plain
    assert "\x1b[8m" not in said
