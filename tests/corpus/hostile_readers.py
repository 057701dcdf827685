"""Readers that misbehave by file name, as broken libraries do: for the pool's tests, in real processes."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from citewell.ingest.sync import FileReading, extract_file
from citewell.ingest.walk import WalkedFile
from citewell.text.documents import SourceType


def misbehave(root: Path, entry: WalkedFile, hash_before: str | None, source_type: SourceType | None) -> FileReading:
    """Hang, crash or eat memory where the name says so; else read the file."""
    if "hang" in entry.path:
        threading.Event().wait()
    if "crash" in entry.path:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "eat" in entry.path:
        bytearray(4_000_000_000)
    return extract_file(root, entry, hash_before, source_type)
