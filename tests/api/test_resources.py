"""What the program holds after much work is what it held after little: figures that no clock decides.

Descriptors, threads, memory, temporary files and databases are counted after the first tenth of the work and at its
end. The runs themselves are kept, so `runs.db` may grow, by as much for the last run as for an early one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.http_server import RunningServer, running_server
from support.processes import descriptors, memory_mb, threads

pytestmark = pytest.mark.attack("C6")

_CLIENTS = 4
_PATHS = (
    *("/api/search?q=lamp", "/api/search?q=oil+from+Leith", "/api/documents/note:notes/Lamp", "/api/stats"),
    *("/api/topics/lamp", "/api/entities/Halvard", "/api/collections", "/api/runs", "/api/nothing", "/"),
)


@dataclass(frozen=True)
class Held:
    """What a server holds at rest."""

    descriptors: int
    threads: int
    memory_mb: float
    temporary: int
    corpus_bytes: int


def _held(server: RunningServer, temporary: Path) -> Held:
    pid = server.process.pid
    corpus = (server.data / "corpus.db").stat().st_size
    left = sum(1 for _ in temporary.rglob("*"))
    return Held(descriptors(pid), threads(pid), memory_mb(pid), left, corpus)


def _grown(server: RunningServer, temporary: Path, many: int, work: Callable[[int], None]) -> tuple[Held, Held]:
    """What is held after a tenth of the work, and after all of it; a few at a time do it."""
    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(work, range(many // 10)))
        early = _held(server, temporary)
        list(pool.map(work, range(many // 10, many)))
    return early, _held(server, temporary)


def _assert_same(early: Held, late: Held) -> None:
    print(early, late)
    # Pools of threads and of readers may still fill up, up to their size.
    assert late.descriptors - early.descriptors <= 12
    assert late.threads - early.threads <= 12
    assert late.memory_mb - early.memory_mb < 25
    assert late.temporary <= early.temporary
    assert late.corpus_bytes - early.corpus_bytes < 500_000


def test_three_hundred_requests_leave_what_thirty_left(data: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with running_server(data, TMPDIR=str(temporary)) as server:

        def request(number: int) -> None:
            assert server.get(_PATHS[number % len(_PATHS)]).status in (200, 404)

        _assert_same(*_grown(server, temporary, 300, request))


def test_fifty_runs_leave_what_five_left_but_their_records(data: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    sizes: list[int] = []
    with running_server(data, TMPDIR=str(temporary)) as server:

        def run(number: int) -> None:
            assert server.finished(server.start_run("Who lit the lamp?"))["status"] == "done"
            if number in (4, 49):
                sizes.append(sum(path.stat().st_size for path in data.glob("runs.db*")))

        _assert_same(*_grown(server, temporary, 50, run))
    # Ten times as many records, in a file that is made with its tables and folds its log now and then.
    assert sizes[1] < 10 * sizes[0] + 5_000_000, sizes


_READDING = """
import json, os, sys, threading
from pathlib import Path
from citewell import Citewell

data, note = Path(sys.argv[1]), Path(sys.argv[2])

def memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1000

def held():
    size = sum(path.stat().st_size for path in data.glob("corpus.db*"))
    return [len(os.listdir("/proc/self/fd")), threading.active_count(), memory(), size]

with Citewell(data) as cw:
    for number in range(200):
        note.write_text(f"# Tides\\n" + "".join(f"Reading {number}-{line} was high.\\n\\n" for line in range(40)))
        report = cw.add(note)
        assert report.updated + report.indexed == 1, report
        if number == 19:
            early = held()
    print(json.dumps([early, held()]))
"""


def test_two_hundred_additions_of_a_changing_file_leave_what_twenty_left(data: Path) -> None:
    note = data.parent / "notes" / "Tides.md"
    done = subprocess.run(
        [sys.executable, "-c", _READDING, str(data), str(note)], capture_output=True, text=True, check=True
    )
    early, late = json.loads(done.stdout)
    print(early, late)
    assert late[0] - early[0] <= 2
    assert late[1] - early[1] <= 2
    assert late[2] - early[2] < 30
    assert late[3] - early[3] < 1_000_000
