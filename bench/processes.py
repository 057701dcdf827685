"""Running a program the way a shell does, and what it cost: wall clock, processor time, memory, with all its children.

Memory is sampled: every 50 ms the resident sets of the program and of every process descended from it are added up,
so pages that two of them share count twice. Descent is followed by parent, not by session or group: readers may have
one of their own. (The kernel's figure for a child, ru_maxrss, will not do: it begins with the memory of the process
that started it.) Processor time is what the kernel accounts to the program and the children it waited for, or what was
sampled where that is more (a child that was never waited for). What other programs took meanwhile is measured too: wall
clocks of two programs compare only where that is alike.
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
MOST_OTHERS = 0.2  # of the machine
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run of a program cost."""

    wall: float
    cpu: float
    peak_mb: float
    largest_process_mb: float
    others: float
    output: str


@dataclass(slots=True)
class _Sampler:
    """Adds up a process and its descendants until told to stop."""

    root: int
    peak_bytes: int = 0
    largest_bytes: int = 0
    cpu_ticks: dict[int, int] = field(default_factory=dict)
    family: set[int] = field(default_factory=set)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while True:
            self._sample()
            if self.stop.wait(_INTERVAL):
                return

    def _sample(self) -> None:
        seen = _processes()
        # Who was once of the family stays in it, also when its parent has gone.
        self.family = ({self.root} | self.family) & seen.keys()
        grown = True
        while grown:
            children = {pid for pid, fields in seen.items() if int(fields[1]) in self.family} - self.family
            self.family |= children
            grown = bool(children)
        total = 0
        for pid in self.family:
            resident = int(seen[pid][21]) * _PAGE
            total += resident
            self.largest_bytes = max(self.largest_bytes, resident)
            self.cpu_ticks[pid] = int(seen[pid][11]) + int(seen[pid][12])
        self.peak_bytes = max(self.peak_bytes, total)


def _processes() -> dict[int, list[str]]:
    """The fields of /proc/PID/stat after the name, of every process."""
    found: dict[int, list[str]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
    return found


def run_measured(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Usage:
    """Run a program to its end. A failing one stops the benchmark: there is nothing to compare."""
    env = {**os.environ, **(environment or {})}
    # An installed program is compiled once; without this a development machine may compile it for every command.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started, busy = time.perf_counter(), _busy_seconds()
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
        wall, busy = time.perf_counter() - started, _busy_seconds() - busy
        sampler.stop.set()
        thread.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            said = errors.read().decode("utf-8", "replace")[-2000:]
            raise SystemExit(f"{Path(str(command[0])).name} failed with {process.returncode}:\n{said}")
        cpu = max(usage.ru_utime + usage.ru_stime, sum(sampler.cpu_ticks.values()) / _TICK)
        return Usage(
            wall=wall,
            cpu=cpu,
            others=max(0.0, busy - cpu) / (wall * (os.cpu_count() or 1)),
            peak_mb=sampler.peak_bytes / 1e6,
            largest_process_mb=sampler.largest_bytes / 1e6,
            output=output.read().decode("utf-8", "replace"),
        )


def _busy_seconds() -> float:
    """Processor time all programs of the machine have taken so far."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    idle, waiting = int(fields[3]), int(fields[4])
    return (sum(map(int, fields)) - idle - waiting) / _TICK


def is_disturbed(*usages: Usage) -> bool:
    """Whether other programs took so much, or so unequally, that the wall clocks of these do not compare."""
    shares = [usage.others for usage in usages]
    return max(shares) > MOST_OTHERS or max(shares) - min(shares) > MOST_OTHERS / 2


def folder_bytes(folder: Path) -> int:
    """The size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
