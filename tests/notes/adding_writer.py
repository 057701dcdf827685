"""Adds one line of its own to a note. Arguments: data folder, root, path, the line."""

from __future__ import annotations

import sys
from pathlib import Path

from citewell.notes.file import NotePlace, NoteRewriter
from citewell.wiring import SystemClock

if __name__ == "__main__":
    data, root, path, line = sys.argv[1:]
    NoteRewriter(Path(data), SystemClock()).rewrite(NotePlace(root, path), lambda text: f"{text}{line}\n")
