"""Running a program the way a shell does, and what it cost: wall clock, processor time, memory, with all its children.

Memory is sampled: every 50 ms the resident sets of all processes of the program's session are added up, so pages that
two of them share count twice. (The kernel's own figure for a child, ru_maxrss, will not do: it begins with the memory of
the process that started it.) Processor time is what the kernel accounts to the program and the children it waited for, or
what was sampled where that is more (a child that was never waited for).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_INTERVAL = 0.05
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run of a program cost."""

    wall: float
    cpu: float
    peak_mb: float
    largest_process_mb: float
    output: str


@dataclass(slots=True)
class _Sampler:
    """Adds up the processes of a session until told to stop."""

    session: int
    peak_bytes: int = 0
    largest_bytes: int = 0
    cpu_ticks: dict[int, int] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while True:
            self._sample()
            if self.stop.wait(_INTERVAL):
                return

    def _sample(self) -> None:
        total = 0
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue  # it has just ended
            fields = stat.rpartition(")")[2].split()
            if int(fields[3]) != self.session:
                continue
            resident = int(fields[21]) * _PAGE
            total += resident
            self.largest_bytes = max(self.largest_bytes, resident)
            self.cpu_ticks[int(entry.name)] = int(fields[11]) + int(fields[12])
        self.peak_bytes = max(self.peak_bytes, total)


def run_measured(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Usage:
    """Run a program to its end. A failing one stops the benchmark: there is nothing to compare."""
    env = {**os.environ, **(environment or {})}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=env,
            start_new_session=True,
        )
        sampler = _Sampler(process.pid)
        thread = threading.Thread(target=sampler.run)
        thread.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        sampler.stop.set()
        thread.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            said = errors.read().decode("utf-8", "replace")[-2000:]
            raise SystemExit(f"{Path(str(command[0])).name} failed with {process.returncode}:\n{said}")
        return Usage(
            wall=wall,
            cpu=max(usage.ru_utime + usage.ru_stime, sum(sampler.cpu_ticks.values()) / _TICK),
            peak_mb=sampler.peak_bytes / 1e6,
            largest_process_mb=sampler.largest_bytes / 1e6,
            output=output.read().decode("utf-8", "replace"),
        )


def folder_bytes(folder: Path) -> int:
    """The size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
