"""What a process of ours holds: descriptors, threads, memory; and waiting for what another process does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
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


def wait_for(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds; a test fails where it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.05)
