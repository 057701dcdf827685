"""Real transcripts for the docs: a command run over the bundled sample corpus, without what differs each time."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile

from citewell.evals.suite import sample_corpus


def of(command: str) -> str:
    """The command and what it prints, as a Markdown block."""
    with tempfile.TemporaryDirectory() as folder:
        _run(folder, ["add", str(sample_corpus()), "--collection", "skelday"])
        printed = _run(folder, shlex.split(command)[1:])
    timeless = re.sub(r"\d{8}T\d{6}-[0-9a-f]{8}", "20260105T101500-0a1b2c3d", printed)
    timeless = re.sub(r"; \d+\.\d+ s,", "; 0.12 s,", timeless)
    timeless = re.sub(r"documents in \d+ ms", "documents in 3 ms", timeless)
    return f"```text\n$ {command}\n{timeless.rstrip()}\n```"


def _run(folder: str, arguments: list[str]) -> str:
    command = [sys.executable, "-m", "citewell", "--data-dir", folder, *arguments]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, env=environment)
    return done.stdout
