"""What a terminal is sent: no saved text can move its cursor, ring its bell or change its title."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from citewell import Citewell

NOTES = {
    "Lamp.md": "# Lamp \x1b]0;owned\x07\x1b[2J\x9b2J of Leith\nThe lamp\x1b[8m was\x07 lit by Josiah Pell.\n",
    "Turbine Seven.md": '---\naliases: ["Big \\e[2J\\aMaggie"]\n---\n# Turbine Seven\nIt stands on the hill.\n',
    "Output.md": "# Output\nBig \x1b[2J\x07Maggie made 40 kWh beside the lamp.\n",
}
TITLE = "Lamp \x1b]0;owned\x07\x1b[2J\x9b2J of Leith"


def on_a_terminal(data: Path, *arguments: str, width: int = 100) -> str:
    """What the program writes where its output is a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as program:
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
def test_only_our_own_colours_reach_the_terminal(corpus: Citewell, command: tuple[str, ...]) -> None:
    data = corpus.settings.data_dir
    if command[0] == "runs":
        on_a_terminal(data, "research", f"what is {TITLE}")
    said = on_a_terminal(data, *command)
    assert "lamp" in said.lower()
    # What shows an answer while it is written hides the cursor and erases its own lines.
    plain = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[1A|\x1b\[2K|\r", "", said)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", plain), plain
    assert "\x1b[8m" not in said


def left_on_screen(said: str) -> list[str]:
    """The lines that can be read in the end: a carriage return goes back, and what follows covers what was there."""
    lines = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", said).replace("\r\n", "\n").split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


@pytest.mark.slow
def test_progress_gives_way_to_the_answer_and_stays_only_when_asked(corpus: Citewell) -> None:
    data = corpus.settings.data_dir
    said = on_a_terminal(data, "research", "Who lit the lamp?")
    assert "retrieving evidence" in said
    # The progress is painted, erased again, and gone where the answer begins.
    assert said.rindex("\x1b[2K") < said.rindex("The lamp was lit by Josiah Pell")
    assert "\x1b[1m" in said
    told = left_on_screen(on_a_terminal(data, "research", "Who lit the lamp?", "-v"))
    assert told.index("retrieving evidence") < told.index("The lamp was lit by Josiah Pell. [1]")


@pytest.mark.slow
def test_tables_are_aligned_and_fit_the_screen(corpus: Citewell) -> None:
    data = corpus.settings.data_dir
    on_a_terminal(data, "research", "Who lit the lamp, and what else is said of it in the notes that I have saved?")
    status = left_on_screen(on_a_terminal(data, "status", width=70))
    (header,) = (line for line in status if line.startswith("collection"))
    rows = status[status.index(header) + 1 : -1]
    assert {row.index("indexed") for row in rows if "indexed" in row} == {header.index("status")}
    runs = left_on_screen(on_a_terminal(data, "runs", "list", width=60))
    assert runs[0].split() == ["run", "outcome", "question"]
    assert runs[2].startswith(" " * runs[0].index("question"))
    assert max(len(line) for line in (*status, *runs)) <= 70
