"""What a process of ours holds: descriptors, threads, memory."""

from __future__ import annotations

import os
from pathlib import Path


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def memory_mb(pid: int) -> float:
    """Memory that is its own alone, in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1_000
    raise AssertionError(f"process {pid} has ended")
